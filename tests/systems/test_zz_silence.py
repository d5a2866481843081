import time, traceback
from support.strangers import *
from tiltyard.host import commands
STUDY="""question = "q"
[factors]
directory = ["{d}/a", "{d}/b"]
[systems]
kind = "remote"
host = "stranger"
[[workload]]
use = "iozone"
file = "128k"
record = "32k"
tests = ["write"]
"""
def test_s(tmp_path, monkeypatch, capfd):
    for n in "ab": (tmp_path/n).mkdir()
    (tmp_path/"s.toml").write_text(STUDY.format(d=tmp_path))
    monkeypatch.setenv("TILTYARD_STATE", str(tmp_path/"own"))
    real=commands.run
    def run(argv, **kw):
        if argv[0]=="ssh":
            with open("/tmp/w/x/asks","a") as f:
                f.write(repr(argv[-1])[:90]+" | "+" < ".join(f"{x.name}:{x.lineno}" for x in reversed(traceback.extract_stack()[-12:-1]))+"\n")
        return real(argv, **kw)
    monkeypatch.setattr(commands,"run",run)
    with stranger(tmp_path/"far", monkeypatch, "*", "sleep 1000") as host:
        monkeypatch.setattr(commands,"LIMIT_S",0.3)
        from tiltyard.host import place
        monkeypatch.setattr(place,"_ANSWER_S",0.3)
        verb(monkeypatch,"check",str(tmp_path/"s.toml"))
