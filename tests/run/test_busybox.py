"""A host with a kernel and BusyBox and nothing else, no Python in particular."""

import contextlib
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Final
from urllib.error import URLError
from urllib.request import urlopen

import pytest

from support.hosts import needs_root
from support.looks import mounts, read_small
from support.patience import wait_until
from support.runs import Watcher, go_on, place, plan_of
from support.sshd import children_of
from tiltyard.address import Address
from tiltyard.executors.engine import Engine
from tiltyard.folder import StudyFolder
from tiltyard.host.facts import facts_of_another
from tiltyard.host.host import hosts
from tiltyard.host.ledger import Ledger, restore
from tiltyard.host.place import Place
from tiltyard.plan.model import Plan
from tiltyard.run.journal import read_journal
from tiltyard.run.read import read_run
from tiltyard.run.record import RunRecord
from tiltyard.run.runner import run_study
from tiltyard.study.model import SystemSpec, WorkloadSpec
from tiltyard.systems import kind
from tiltyard.systems.kind import Site

pytestmark = needs_root
HOST: Final = "root@busybox"
KEY: Final = "vm.vfs_cache_pressure"
SSH: Final = """\
#!/bin/sh
[ "$1" = -V ] && exec echo OpenSSH_9 >&2
while [ "${{1#-}}" != "$1" ]; do [ "$1" = -o ] && shift; shift; done
shift
exec env -i PATH=/bin HOME=/root {chroot} {root} /bin/sh -c "cd /root && $*"
"""
"""Its options and the host are left out."""
STREAM: Final = WorkloadSpec(
    name="stream", use="tcp_stream", parameters={"message": "64k", "seconds": 1}
)
FILES: Final = WorkloadSpec(
    name="files", use="iozone", parameters={"file": "1M", "record": "64k", "tests": ["write"]}
)


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The root of that host; afterwards nothing of ours is in it."""
    root, busybox, chroot = tmp_path / "root", shutil.which("busybox"), shutil.which("chroot")
    assert busybox is not None
    assert chroot is not None
    (stub := tmp_path / "programs" / "ssh").parent.mkdir()
    stub.write_text(SSH.format(root=root, chroot=chroot))
    stub.chmod(0o755)
    monkeypatch.setenv("PATH", f"{stub.parent}:{os.environ['PATH']}")
    root.mkdir()
    with ExitStack() as mounted:

        def mount(*words: str, at: Path) -> None:
            at.mkdir(exist_ok=True)
            subprocess.run(("mount", *words, at), check=True)
            mounted.callback(subprocess.run, ("umount", at), check=True)

        mount("-t", "tmpfs", "tmpfs", at=root)
        for name in ("proc", "sys", "dev"):
            mount("--bind", f"/{name}", at=root / name)
        # A test that is killed leaves it there, and whoever removes old directories would empty it.
        subprocess.run(("mount", "-o", "remount,bind,ro", root / "dev"), check=True)
        for name in ("bin", "root", "run", "srv"):
            (root / name).mkdir()
        shutil.copy(busybox, root / "bin" / "busybox")
        subprocess.run((chroot, root, "/bin/busybox", "--install", "-s", "/bin"), check=True)
        yield root
        hosts.close(here=False)  # Its agent is in there.
        wait_until(lambda: not works_in(root), "the agent of a lab that was killed")
        assert not [*(root / "root").iterdir(), *(root / "srv").iterdir()]


@pytest.fixture
def file_systems(root: Path) -> Path:
    """Programs that BusyBox has not, with the libraries that they need."""
    for name in ("mkfs.ext4", "mkfs.xfs", "dumpe2fs"):
        program = shutil.which(name, path="/usr/sbin:/sbin")
        assert program is not None
        needed = subprocess.run(("ldd", program), check=True, capture_output=True, text=True)
        for path in (program, *re.findall(r"(/\S+)", needed.stdout)):
            (copy := root / path.removeprefix("/")).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(path, copy)
    return root


def works_in(root: Path) -> list[str]:
    """Processes whose root it is."""
    found = []
    for entry in Path("/proc").iterdir():
        with contextlib.suppress(OSError):
            if entry.name.isdigit() and (entry / "root").readlink() == root:
                found.append(entry.name)
    return found


def spec(name: str, kind: str, **settings: object) -> SystemSpec:
    document = {"name": name, "levels": {"where": name}, "kind": kind, "settings": settings}
    return SystemSpec.model_validate(document)


def carry_out(folder: Path, workload: WorkloadSpec, kind: str, **settings: object) -> RunRecord:
    plan = plan_of((spec("there", kind, **settings),), workloads=(workload,), blocks=1)
    made = place(folder, plan)
    run_study(made, plan, Engine.find(), go_on, Watcher())
    return read_run(made, plan)


def test_a_directory_of_it_is_measured_watched_and_put_back(root: Path, tmp_path: Path) -> None:
    assert (root / "bin" / "sh").readlink().name == "busybox"
    run = carry_out(tmp_path / "study", FILES, "remote", host=HOST, directory="/srv")
    (trial,) = run.trials
    assert (trial.outcome, trial.reason) == ("done", None)
    assert trial.samples
    assert trial.telemetry is not None
    assert trial.telemetry.clock_sources
    assert trial.telemetry.swapped_pages is not None
    (prepared,) = run.prepared
    assert prepared.facts["file system"] == "tmpfs"
    assert prepared.facts["kernel"] == f"Linux {os.uname().release} {os.uname().machine}"


def test_it_is_the_server_of_a_network(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Watched as if its kernel were its own."""
    monkeypatch.setattr("tiltyard.host.telemetry.boot_id", lambda: "another boot")
    run = carry_out(tmp_path / "study", STREAM, "hosts", server=HOST, address="127.0.0.1")
    (trial,) = run.trials
    assert (trial.outcome, trial.reason) == ("done", None)
    assert trial.telemetry is not None
    (other,) = trial.telemetry.others
    assert other.host == HOST
    assert other.servers_s  # How much depends on what else is at work here.
    assert other.external_s is not None


@pytest.mark.usefixtures("root")
def test_its_facts_are_those_of_the_kernel() -> None:
    there = Place(Address(HOST))
    facts = facts_of_another(there)
    assert facts["kernel"] == f"Linux {os.uname().release} {os.uname().machine}"
    assert facts["distribution"] == "not available"
    assert not there.has("python3")
    assert there.has("sh")


def two_file_systems(folder: Path, blocks: int) -> tuple[StudyFolder, Plan]:
    """Made anew for each turn on one image there; the kernel is tuned for one of them."""
    image = {"host": HOST, "backing": {"image": "300M"}, "read_ahead": "64k"}
    tables = {"sysctl": {KEY: 77}, "block": {"nr_requests": 32}}
    tuned = {"tuning": [tables]}
    systems = (
        spec("ext4", "loop-image", filesystem="ext4", mount=["noatime"], **image, **tuned),
        spec("xfs", "loop-image", filesystem="xfs", **image),
    )
    plan = plan_of(systems, workloads=(FILES,), blocks=blocks)
    return place(folder, plan), plan


def mounted_in(root: Path) -> list[Path]:
    inside = (mount.target for mount in mounts() if mount.target.is_relative_to(root / "root"))
    return [*inside]


@pytest.mark.usefixtures("file_systems")
def test_file_systems_are_made_mounted_tuned_and_put_back(root: Path, tmp_path: Path) -> None:
    before = Path(f"/proc/sys/{KEY.replace('.', '/')}").read_text()
    folder, plan = two_file_systems(tmp_path / "study", blocks=2)
    run_study(folder, plan, Engine.find(), go_on, Watcher())
    record = read_run(folder, plan)
    assert [(trial.outcome, trial.reason) for trial in record.trials] == [("done", None)] * 4
    facts = {prepared.system: prepared.facts for prepared in record.prepared}
    assert (facts["ext4"]["file system"], facts["xfs"]["file system"]) == ("ext4", "xfs")
    assert "noatime" in facts["ext4"]["mount options"]
    assert facts["xfs"]["read-ahead"] == "64 KiB"
    assert facts["ext4"]["journal"]
    assert facts["ext4"]["host"] == HOST
    tuning = {name: fact for name, fact in facts["ext4"].items() if name.startswith("tuning ")}
    assert tuning == {
        f"tuning {KEY}": f"77 (was {before.strip()})",
        "tuning device nr_requests": "32 (was 128)",
    }
    assert mounted_in(root) == []
    assert Path(f"/proc/sys/{KEY.replace('.', '/')}").read_text() == before


def test_what_is_mounted_there_without_a_device(root: Path, tmp_path: Path) -> None:
    """A file system in memory, and layers over each other."""
    systems = (
        spec("tmpfs", "tmpfs", host=HOST, size="64M", mount=["noatime"]),
        spec("overlay", "overlay", host=HOST, lower="/srv"),
    )
    plan = plan_of(systems, workloads=(FILES,), blocks=2)
    folder = place(tmp_path / "study", plan)
    run_study(folder, plan, Engine.find(), go_on, Watcher())
    record = read_run(folder, plan)
    assert [(trial.outcome, trial.reason) for trial in record.trials] == [("done", None)] * 4
    facts = {prepared.system: prepared.facts for prepared in record.prepared}
    assert facts["tmpfs"]["size"] == "64 MiB"
    assert "noatime" in facts["tmpfs"]["mount options"]
    assert facts["overlay"]["file system"] == "overlay"
    assert facts["overlay"]["lower layer"] == "/srv"
    assert facts["overlay"]["layers lie on"] == "tmpfs on tmpfs"
    assert mounted_in(root) == []


@pytest.mark.usefixtures("file_systems")
def test_a_file_system_is_aged_there_and_put_back_in_each_turn(root: Path, tmp_path: Path) -> None:
    """By the same history as here."""
    settings = {
        "filesystem": "ext4",
        "backing": {"image": "64M"},
        "state": {"aged": "mail-spool", "full": "60%", "turnover": 1},
    }
    systems = (
        spec("there", "loop-image", host=HOST, **settings),
        spec("here", "loop-image", **settings),
    )
    plan = plan_of(systems, workloads=(FILES,), blocks=2)
    folder = place(tmp_path / "study", plan)
    run_study(folder, plan, Engine.find(), go_on, Watcher())
    record = read_run(folder, plan)
    assert [(trial.outcome, trial.reason) for trial in record.trials] == [("done", None)] * 4
    (there, again), (here, _) = (
        [
            {name: fact for name, fact in prepared.facts.items() if name.startswith("state")}
            for prepared in record.prepared
            if prepared.system == system
        ]
        for system in ("there", "here")
    )
    assert there == again
    assert there["state"] == "aged: mail-spool, seed 1"
    assert 59 <= float(there["state: space in use"].split()[0]) <= 61
    assert len(there["state: SHA-256"]) == 64
    # How much is written at the end goes by how full the file system says it is.
    files, as_many = (int(one["state: files"].split()[0]) for one in (there, here))
    assert abs(files - as_many) <= 0.02 * as_many
    assert mounted_in(root) == []


def test_a_service_there_is_started_as_its_user(root: Path, tmp_path: Path) -> None:
    (root / "etc").mkdir()
    (root / "etc" / "passwd").write_text("root:x:0:0::/root:/bin/sh\nnobody:x:65534:65534::/:\n")
    (root / "tmp").mkdir()
    service = {
        "files": {"www/index.html": "from {dir}"},
        "initialise": ["touch", "www/made"],
        "start": ["httpd", "-f", "-p", "127.0.0.1:{port}", "-h", "{dir}/www"],
    }
    settings = {"host": HOST, "size": "8M", "service": service}
    with Ledger() as ledger:
        site = Site(root=tmp_path, work=tmp_path, ledger=ledger)
        system = kind("tmpfs").system("one", settings, site)
        assert [each for each in system.problems() if each.severity == "error"] == []
        up = system.bring_up()
        address = f"http://127.0.0.1:{up.variables['port']}"
        with urlopen(f"{address}/index.html") as answer:
            assert answer.read().decode() == f"from {up.variables['service_dir']}"
        system.refresh()
        with urlopen(f"{address}/made") as answer:
            assert answer.read() == b""
        assert up.facts["service runs as"] == "nobody"
        assert up.facts["service program"].startswith("/bin/busybox, ")
        system.take_down()
        with pytest.raises(URLError):
            urlopen(address)
    assert mounted_in(root) == []
    assert not [*(root / "tmp").iterdir()]


@pytest.mark.usefixtures("file_systems")
@pytest.mark.parametrize("with_agent", [False, True], ids=["alone", "and its agent"])
def test_a_run_that_is_killed_leaves_nothing_there(
    root: Path, tmp_path: Path, *, with_agent: bool
) -> None:
    """The agent there sees that nobody asks it any more; what a killed one left the next finds."""
    folder, _ = two_file_systems(tmp_path / "study", blocks=50)
    argv = (sys.executable, "-m", "support.runs", str(folder.root))
    for events in (6, 18):
        with subprocess.Popen(argv, cwd=Path(__file__).resolve().parents[1]) as process:
            wait_until(lambda least=events: len(read_journal(folder.journal)) > least, "no turn")
            wait_until(lambda: mounted_in(root), "nothing is mounted there", pause_s=0.001)
            process.send_signal(signal.SIGSTOP)
            try:
                for pid in agents_there(process.pid) if with_agent else ():
                    with contextlib.suppress(ProcessLookupError):
                        os.kill(pid, signal.SIGKILL)
            finally:
                process.kill()
        if with_agent:
            assert restore(Place(Address(HOST))).left == ()
        wait_until(lambda: not mounted_in(root), "it stays mounted")
        wait_until(lambda: not [*(root / "root").iterdir()], "the image, or a copy, stays")
        assert restore().left == ()


def agents_there(lab: int) -> list[int]:
    found, fresh = {lab}, [lab]
    while fresh:
        fresh = [one for pid in fresh for one in children_of(pid)]
        found.update(fresh)
    names = {pid: read_small(f"/proc/{pid}/comm") for pid in found}
    return [pid for pid, name in names.items() if name == "tiltyard-agent\n"]
