"""Runbooks of printed studies: they give the tools the very words of the print."""

import os
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from tempfile import NamedTemporaryFile

import pytest

from support.hosts import needs_root
from support.patience import PATIENCE_S
from support.publications import PUBLISHED
from tiltyard.analysis.collected import analyse_collection
from tiltyard.analysis.runbook import script
from tiltyard.collected.model import Collection
from tiltyard.executors.engine import Engine
from tiltyard.host.changes import PREFIX
from tiltyard_published.read import read_publication

FOLDERS = sorted(path.parent for path in PUBLISHED.glob("*/published.toml"))
STAND_IN = (
    '#!/bin/sh\necho "$(basename "$0") $*" >> "$CALLS"\ncat >> "$CALLS"\nexit "${STATUS:-0}"\n'
)
"""In the place of a tool: it writes down how it was called and what it read."""


class Host:
    """A directory with stand-ins for tools, and what they were told."""

    def __init__(self, at: Path, *tools: str) -> None:
        self.at, self.calls = at, at / "calls"
        for name in tools:
            path = at / name
            path.write_text(STAND_IN)
            path.chmod(0o755)

    def run(self, study: str, *steps: str, **environment: str) -> list[str]:
        """Lines of the calls."""
        status, calls = self.end(study, *steps, **environment)
        assert status == 0, calls
        return calls

    def end(self, study: str, *steps: str, **environment: str) -> tuple[int, list[str]]:
        """The exit status, and lines of the calls."""
        known = {**os.environ, "CALLS": str(self.calls), **environment}
        known["PATH"] = f"{self.at}:{known['PATH']}"
        argv = ("bash", str(PUBLISHED / study / "runbook.sh"), *steps)
        done = subprocess.run(
            argv, cwd=self.at, env=known, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            check=False, timeout=PATIENCE_S,
        )  # fmt: skip
        return done.returncode, self.calls.read_text().splitlines()


def collection(study: str) -> Collection:
    return read_publication(PUBLISHED / study).collection


def printed(study: str, beginning: str) -> Iterator[str]:
    """Command lines that begin so, each once, without redirections."""
    lines = [line for one in collection(study).workloads for line in one.commands]
    for line in dict.fromkeys(lines):
        if beginning in line:
            yield line[line.index(beginning) :].partition(" > ")[0].removeprefix("./")


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_it_is_a_script_that_does_nothing_by_itself(folder: Path, tmp_path: Path) -> None:
    path = folder / "runbook.sh"
    assert subprocess.run(("bash", "-n", str(path)), check=False).returncode == 0
    done = subprocess.run(
        ("bash", str(path)), cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode != 0
    assert done.stdout or done.stderr
    assert not list(tmp_path.iterdir())
    findings = analyse_collection(read_publication(folder).collection)
    assert script(findings) == path.read_text()


def test_the_magazine_runs_its_four_lines_as_often_as_it_says(tmp_path: Path) -> None:
    calls = Host(tmp_path, "iozone").run("iozone-magazine", RUNS="2")
    wanted = list(printed("iozone-magazine", "./iozone"))
    assert len(wanted) == 4
    assert calls == [
        line.replace("-Rb ", f"-Rb run-{run}/") for run in (1, 2) for line in wanted
    ]  # fmt: skip


def test_the_file_system_paper_runs_its_three_scripts(tmp_path: Path) -> None:
    steps = ("inc", "a", "dio", "a", "otc", "a")
    calls = Host(tmp_path, "iozone").run(
        "iozone-rhel6", *steps, TEST=str(tmp_path / "test"), DROP_CACHES="/dev/null"
    )
    said = [line.replace(str(tmp_path), "").replace("/a/", "/$1/") for line in calls]
    (beyond,) = printed("iozone-rhel6", "./iozone -s 32g")
    cached, direct = printed("iozone-rhel6", "./iozone -n 1024")
    assert said == [cached, direct, *(beyond.replace("$r", r) for r in ("64k", "1024k"))]


@pytest.mark.parametrize("steps", [("inc", "a", "dio", "a"), ("build", "inc", "a")])
def test_a_step_that_fails_is_the_last_one(steps: tuple[str, ...], tmp_path: Path) -> None:
    host = Host(tmp_path, "iozone", "yum", "wget")
    there = {"TEST": str(tmp_path / "test"), "DROP_CACHES": "/dev/null", "STATUS": "1"}
    status, calls = host.end("iozone-rhel6", *steps, **there)
    assert (status, len(calls)) == (1, 1), calls


def test_a_netperf_that_fails_is_the_last_one(tmp_path: Path) -> None:
    host = Host(tmp_path, "numactl")
    (tmp_path / "tuna").symlink_to("/bin/true")
    status, calls = host.end("netperf-rhel6", "rr", ADDRESS="x", QUIET="0", STATUS="1")
    assert (status, len(calls)) == (1, 1), calls


@pytest.mark.parametrize(("step", "workloads"), [("rr", "_rr"), ("stream", "_stream")])
def test_the_network_paper_measures_all_of_its_sizes(
    step: str, workloads: str, tmp_path: Path
) -> None:
    host = Host(tmp_path, "tuna", "numactl")
    calls = host.run("netperf-rhel6", step, ADDRESS="192.0.2.1", QUIET="0")
    said = [line.split() for line in calls if line.startswith("numactl ")]
    found = [(one[one.index("-t") + 1], int(one[-1])) for one in said]
    own = [one for one in collection("netperf-rhel6").workloads if one.name.endswith(workloads)]
    assert len(own) == 2
    wanted = {
        (workload.use.removeprefix("netperf "), reading.at["message"])
        for workload in own
        for reading in workload.readings
    }
    assert sorted(found) == sorted(wanted, key=lambda pair: (pair[0], int(pair[1])))
    assert {one[one.index("-l", 3) + 1] for one in said} == {own[0].parameters["seconds"]}


def test_postmark_is_told_its_eight_commands(tmp_path: Path) -> None:
    calls = Host(tmp_path, "postmark").run("postmark-systems", DIRECTORY=str(tmp_path))
    (workload,) = collection("postmark-systems").workloads
    assert calls == ["postmark ", *workload.commands, "quit"]


AS_NETPERF = """#!/bin/bash
arguments=()
for word; do
  case $word in 10) word=-20 ;; 120) word=-1000000 ;; esac
  arguments+=("$word")
done
exec -a netperf {engine} "${arguments[@]}"
"""
"""Its command line of the engine, for so many transactions or bytes instead of seconds."""
AS_NETSERVER = '#!/bin/bash\nexec -a netserver {engine} "$@"\n'
ANYWHERE = '#!/bin/bash\nwhile [ "$1" != nice ]; do shift; done\nexec "$@"\n'
"""In the place of numactl, on a host that has fewer nodes."""
BOTH_ENDS = """set -e
ip link set lo up
bash {runbook} server
until ss -tln | grep -q :12865; do sleep 0.05; done
bash {runbook} rr
bash {runbook} stream
"""


@needs_root
def test_the_network_paper_measures_between_its_ends(tmp_path: Path) -> None:
    """Over the loopback device of a namespace, which ends with all that was started in it."""
    Host(tmp_path, "tuna")
    engine = Engine.find().path
    for name, text in (
        ("netperf", AS_NETPERF),
        ("netserver", AS_NETSERVER),
        ("numactl", ANYWHERE),
    ):
        path = tmp_path / name
        path.write_text(text.replace("{engine}", str(engine)))
        path.chmod(0o755)
    known = {"NP": tmp_path, "ADDRESS": "127.0.0.1", "QUIET": "0", "CALLS": tmp_path / "calls"}
    known["PATH"] = f"{tmp_path}:{os.environ['PATH']}"
    script = BOTH_ENDS.format(runbook=PUBLISHED / "netperf-rhel6/runbook.sh")
    inside = ("unshare", "--net", "--pid", "--fork", "--kill-child", "bash", "-c", script)
    done = subprocess.run(
        inside, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=PATIENCE_S,
        env={**os.environ, **{name: str(value) for name, value in known.items()}},
        stdin=subprocess.DEVNULL,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    for test, sizes in (("TCP_RR", 11), ("UDP_RR", 11), ("TCP_STREAM", 12)):
        assert done.stdout.count(f"running {test} to 127.0.0.1") == sizes, test
    # As in the original, the text of -B is not printed with it.
    assert len(re.findall(r"^\d+ +\d+ +[\d.]+ +\d+ +0 +[\d.]+$", done.stdout, re.M)) == 12
    assert "tuna --cpu 0 --isolate -t netserver --move" in (tmp_path / "calls").read_text()


SMALL = """#!/bin/bash
arguments=()
for word; do
  case $word in 4096000) word=1024 ;; 32g) word=2m ;; esac
  arguments+=("$word")
done
exec -a iozone {engine} "${{arguments[@]}}"
"""
"""IOzone's command line of the engine, on files that a test has room for."""


@needs_root
def test_the_file_system_paper_measures_what_it_has_made(tmp_path: Path) -> None:
    """On a real file system; a step that makes another one takes the one before it down."""
    disk, mounted = tmp_path / "disk1", tmp_path / "test"
    iozone = tmp_path / "iozone"
    iozone.write_text(SMALL.format(engine=Engine.find().path))
    iozone.chmod(0o755)
    with NamedTemporaryFile(prefix=PREFIX, dir="/dev/shm") as image:
        image.truncate(32 << 20)
        device = run("losetup", "--find", "--show", image.name).strip()
    disk.symlink_to(device)
    known = {**os.environ, "DISK": str(disk)[:-1], "TEST": str(mounted)}
    known |= {"DROP_CACHES": "/dev/null", "PATH": f"/usr/sbin:{os.environ['PATH']}"}
    steps = ("make_ext4", "make_ext4", "inc", "a", "dio", "a", "otc", "a")
    argv = ("bash", str(PUBLISHED / "iozone-rhel6/runbook.sh"), *steps)
    try:
        subprocess.run(argv, cwd=tmp_path, env=known, check=True, timeout=PATIENCE_S)
        at = [one for one in Path("/proc/mounts").read_text().splitlines() if str(mounted) in one]
        assert [line.split()[:3] for line in at] == [[device, str(mounted), "ext4"]]
        for name in ("incache_a", "directio_a", "outcache_a-64k", "outcache_a-1024k"):
            assert "iozone test complete" in (tmp_path / f"{name}.txt").read_text(), name
    finally:
        subprocess.run(("umount", str(mounted)), check=False)
        run("losetup", "--detach", device)


def run(*argv: object) -> str:
    done = subprocess.run([*map(str, argv)], check=True, capture_output=True, text=True)
    return done.stdout
