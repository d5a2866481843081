import sys,time,os,pytest
from pathlib import Path
from support.strangers import *
STUDY='''question = "q"
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
'''
@pytest.mark.parametrize("asked", list(ASKED))
@pytest.mark.parametrize("how", list(ANSWERS))
@pytest.mark.parametrize("v", ["check","run","record"])
def test_x(tmp_path, monkeypatch, capfd, asked, how, v):
    for n in "ab": (tmp_path/n).mkdir()
    (tmp_path/"s.toml").write_text(STUDY.format(d=tmp_path))
    monkeypatch.setenv("TILTYARD_STATE", str(tmp_path/"own"))
    with stranger(tmp_path/"far", monkeypatch, ASKED[asked], ANSWERS[how]) as host:
        t=time.monotonic()
        words={"check":["check",str(tmp_path/"s.toml")],"run":["run",str(tmp_path/"s.toml"),"--trust","--blocks","6","--folder",str(tmp_path/"f")],"record":["record","--host","stranger"]}[v]
        code=verb(monkeypatch,*words)
        dt=time.monotonic()-t
    out,err=capfd.readouterr()
    with open("/tmp/w/far_explore.log","a") as f:
        f.write(f"## {v} | {asked} | {how} | code {code} | {dt:.1f}s\n"+"\n".join(l[:300] for l in (err or '').splitlines()[-6:])+"\n")
    assert "Traceback" not in err
