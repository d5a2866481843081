"""Servers of programs at the server's end of a pair: started there, reached from here, and gone."""

import json
import shlex
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from support.hosts import needs_root
from support.kills import token_of
from support.networks import left_behind
from support.patience import wait_until
from support.runs import Watcher, go_on, wait_for_trial
from support.snapshots import put_back_by_itself
from tiltyard.app.freeze import planned
from tiltyard.executors.engine import Engine
from tiltyard.folder import StudyFolder
from tiltyard.host.links import namespace_path
from tiltyard.plan.model import Plan
from tiltyard.plan.store import write_plan
from tiltyard.run.read import read_run
from tiltyard.run.runner import run_study
from tiltyard.study.problems import StudyFileError

STUDY = """\
question = "q"
[factors]
FACTOR
[systems]
SHARED
[[workload]]
use = "program"
command = ["/usr/bin/python3", "-c", '''
import socket, sys
asked = socket.create_connection((sys.argv[1], 8000))
print(sys.argv[2], len(set([asked.getsockname()[0], asked.getpeername()[0]])), "ends")
''', "{server}", "{word}"]
user = "nobody"
executions = 1
turn.setup = ["touch", "made"]
prepare = ["test", "-e", "made"]
turn.cleanup = ["rm", "made"]
metrics = { ends = { regex = '(\\d) ends', unit = "count", better = "higher" } }
[[workload.servers]]
at = "server"
command = ["/usr/bin/python3", "-m", "http.server", "--bind", "{server}", "8000"]
ready = { port = "8000" }
"""
SERVICE = """\
question = "q"
[factors]
FACTOR
[systems.service]
start = START
READY
[[workload]]
use = "program"
command = CLIENT
metrics = { found = { regex = 'REGEX', unit = "1/s", better = "higher" } }
"""
NGINX = """
daemon off; pid pid; error_log stderr; events {} http { access_log off;
client_body_temp_path a; proxy_temp_path b; fastcgi_temp_path c; uwsgi_temp_path d;
scgi_temp_path e; server { listen {server}:{port}; root .; } }
"""
SERVICES = {
    "redis": (
        "redis-server --bind {server} --port {port} --dir {dir} --protected-mode no",
        'ready = { command = ["redis-cli", "-h", "{server}", "-p", "{port}", "ping"] }',
        "redis-benchmark -h {server} -p {port} -n 100 -t set",
        "([0-9.]+) requests per second",
    ),
    "nginx": (
        "nginx -p {dir} -c {dir}/nginx.conf",
        f'ready = {{ port = \'{{port}}\' }}\nfiles = {{ \'nginx.conf\' = """{NGINX}""" }}',
        "ab -q -n 50 http://{server}:{port}/nginx.conf",
        "per second: +([0-9.]+)",
    ),
    "iperf3": (
        "iperf3 -s -B {server} -p {port} --pidfile {dir}/pid",
        'ready = { path = "{dir}/pid" }',
        # its server takes one client at a time, and ends a test after the client has
        "sh -c 'for i in 1 2 3 4; do iperf3 -c {server} -p {port} -n 1M && exit; sleep 1; done'",
        "([0-9.]+) .bits/sec +receiver",
    ),
    "sockperf": (
        "sockperf server -i {server} -p {port} --tcp",
        "",
        "sockperf ping-pong -i {server} -p {port} -t 1 --tcp",
        "Latency is ([0-9.]+)",
    ),
}
"""Program → how it is started, how it is seen that it serves, its client, what that prints."""
IPERF3 = """\
question = "q"
[factors]
mtu = [1500, 9000]
[[workload]]
use = "iperf3"
seconds = 600
"""

pytestmark = needs_root


def study(factor: str, shared: str) -> str:
    return STUDY.replace("FACTOR", factor).replace("SHARED", shared)


def short(folder: StudyFolder, text: str) -> Plan:
    """One block of a study."""
    folder.study.write_text(text)
    plan = planned(folder, Engine.find(), trust=True)
    plan = plan.model_copy(update={"blocks": plan.blocks[:1], "spares": (), "noise_limits": None})
    folder.plan.unlink()
    write_plan(folder, plan)
    return plan


@pytest.mark.parametrize(
    ("factor", "shared", "ends"),
    [
        ("mtu = [1500, 9000]", 'word = "x"', 2),
        ('family = ["ipv4", "ipv6"]', 'word = "x"\nkind = "pair"\nserver_cpus = [0]', 2),
        ('family = ["ipv4", "ipv6"]', 'word = "x"\nkind = "loopback"', 1),
        ('word = ["x", "y"]', "", 1),
    ],
    ids=("pair", "families", "loopback", "host"),
)
def test_a_server_is_at_the_far_end_where_there_is_one(
    open_folder: StudyFolder, factor: str, shared: str, ends: int
) -> None:
    """As a user who may not enter namespaces; its port is probed where it is."""
    plan = short(open_folder, study(factor, shared))
    assert plan.workloads[0].target == ("far" if shared else "directory")
    run_study(open_folder, plan, Engine.find(), go_on, Watcher())
    record = read_run(open_folder, plan)
    assert [trial.reason for trial in record.trials] == [None, None]
    found = [one.value for trial in record.trials for one in trial.samples if one.metric == "ends"]
    assert found == [ends, ends]


@pytest.mark.parametrize(
    ("name", "factor"),
    [
        *((name, "mtu = [1500, 9000]") for name in SERVICES),
        ("redis", 'family = ["ipv4", "ipv6"]\n[systems]\nkind = "loopback"'),
    ],
)
def test_a_service_of_two_ends_is_at_the_far_one(
    open_folder: StudyFolder, name: str, factor: str
) -> None:
    """Ready by a command, by its port as the client reaches it, by a file; as nobody."""
    start, ready, client, regex = SERVICES[name]
    text = SERVICE.replace("READY", ready).replace("REGEX", regex).replace("FACTOR", factor)
    words = {"START": json.dumps(start.split()), "CLIENT": json.dumps(shlex.split(client))}
    for word, value in words.items():
        text = text.replace(word, value)
    plan = short(open_folder, text)
    run_study(open_folder, plan, Engine.find(), go_on, Watcher())
    record = read_run(open_folder, plan)
    assert [trial.reason for trial in record.trials] == [None, None]
    found = [one.value for trial in record.trials for one in trial.samples if one.metric == "found"]
    assert len(found) == 2
    assert min(found) > 0
    for turn in record.prepared:
        assert turn.facts["service runs as"] == "nobody"
        (argv,) = (one.argv for one in turn.commands if start.split()[0] in one.argv)
        assert argv[1].endswith("-server") is ("mtu" in factor)


def test_no_server_is_started_on_another_host(open_folder: StudyFolder) -> None:
    shared = 'kind = "hosts"\nword = "x"'
    open_folder.study.write_text(study('server = ["a@b", "a@c"]', shared))
    says = r"no program can be executed on hosts: .* Fix: start it there"
    with pytest.raises(StudyFileError, match=says):
        planned(open_folder, Engine.find(), trust=True)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL], ids=lambda n: n.name)
def test_while_a_far_server_serves(
    open_folder: StudyFolder, state: Path, number: signal.Signals
) -> None:
    """However the run ends, neither server nor namespace is left."""
    short(open_folder, IPERF3)
    with subprocess.Popen(
        (sys.executable, "-m", "support.runs", str(open_folder.root)),
        cwd=Path(__file__).resolve().parents[1],
        stderr=subprocess.DEVNULL,
    ) as process:
        try:
            wait_for_trial(open_folder, "iperf3")
            token = token_of(state)
            wait_until(lambda: "iperf3" in names(token), "no server at the other end")
            serving = pids(token)
        except BaseException:
            number = signal.SIGTERM
            raise
        finally:
            process.send_signal(number)
    put_back_by_itself(state)
    assert left_behind(token) == []
    wait_until(lambda: not [pid for pid in serving if Path(f"/proc/{pid}").exists()], "it serves")


def pids(token: str) -> list[int]:
    """Processes in the server's namespace of a run."""
    spaces = [one.name for one in namespace_path(".").glob(f"*{token}*server*")]
    asked = (("ip", "netns", "pids", name) for name in spaces)
    done = [subprocess.run(ask, capture_output=True, text=True, check=False) for ask in asked]
    return [int(pid) for one in done for pid in one.stdout.split()]


def names(token: str) -> set[str]:
    """Their programs."""
    return {Path(f"/proc/{pid}/comm").read_text().strip() for pid in pids(token)}
