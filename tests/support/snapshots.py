"""All of a host that a run may change, as text: two moments can be compared byte by byte."""

import json
import os
import re
import subprocess
from pathlib import Path

from support.hosts import KEPT
from support.networks import WATCHED
from support.patience import wait_until
from tiltyard.host import sysctls
from tiltyard.host.host import hosts
from tiltyard.host.links import namespace_path

_RESTLESS = ("random", "dentry-state", "inode", "file-nr", "ns_last_pid", "pty.nr", "aio-nr")
"""Parts of the names of kernel parameters that change by themselves."""
_QUEUE = ("scheduler", "read_ahead_kb", "nr_requests", "rq_affinity", "nomerges", "add_random")
"""What a person sets; the rest of a loop device's queue follows from what was last attached."""
_HUGE_PAGES = Path("/sys/kernel/mm/transparent_hugepage")
_OF_HUGE_PAGES = ("enabled", "defrag", "shmem_enabled", "use_zero_page", "khugepaged/defrag")


def snapshot(home: Path, state: Path, *, alone: bool = False) -> dict[str, object]:
    """What is to be as before, by what it is.

    What others on this machine have mounted, attached or started meanwhile is left out.

    Args:
        home: the directory that the runs work in.
        state: their directory of ledgers.
        alone: what others may change meanwhile as well: all kernel parameters, and the queues of
            all loop devices that are not in use.
    """
    loops = Path("/sys/block").glob("loop*") if alone else ()
    idle = [loop for loop in loops if not (loop / "loop").exists()]
    return {
        "mounts": sorted(_lines_with(str(home), Path("/proc/self/mountinfo"))),
        "loop devices": [loop for loop in _losetup() if str(home) in loop["back-file"]],
        "queues": {
            loop.name: {name: (loop / "queue" / name).read_text() for name in _QUEUE}
            for loop in idle
        },
        "huge pages": {
            name: path.read_text()
            for name in _OF_HUGE_PAGES
            if (path := _HUGE_PAGES / name).exists()
        },
        "parameters": _every_parameter() if alone else _watched(),
        "namespaces": _namespaces(state),
        "processes": processes_of(state),
        "ledgers": sorted({path.name for path in state.iterdir()} - KEPT),
        "files": sorted(str(path) for work in home.glob("*/work") for path in work.rglob("*")),
    }


def assert_same(before: dict[str, object], now: dict[str, object]) -> None:
    """Byte by byte; devices that were made meanwhile are left out."""
    queues, earlier = now["queues"], before["queues"]
    assert isinstance(queues, dict)
    assert isinstance(earlier, dict)
    known = {device: queues[device] for device in queues.keys() & earlier.keys()}
    for what, was in before.items():
        found = known if what == "queues" else now[what]
        assert found == was, f"{what}: {found}, before: {was}"


def processes_of(state: Path) -> list[str]:
    """Processes other than this one, its threads and its agents that keep their ledgers there.

    An agent whose lab was killed takes everything back, and ends.
    """
    hosts.close()
    wait_until(lambda: not any(" agent " in words for words in _processes_of(state)), "an agent")
    return _processes_of(state)


def put_back_by_itself(state: Path) -> None:
    """Wait until the agents of labs that were killed have taken all back, and nothing is left."""
    wait_until(lambda: not processes_of(state), "what a lab that was killed has started")
    assert not [*state.glob("*.ops")]


def _processes_of(state: Path) -> list[str]:
    wanted = f"TILTYARD_STATE={state}".encode()
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and int(entry.name) != os.getpid():
            try:
                if wanted in (entry / "environ").read_bytes().split(b"\0"):
                    words = (entry / "cmdline").read_bytes().decode(errors="replace").split("\0")
                    found.append(" ".join(words))
            except OSError:
                continue
    return found


def _namespaces(state: Path) -> list[str]:
    """Names of network namespaces that runs with these ledgers have made."""
    marks = state.with_name(f"{state.name}.tokens")
    known = set(marks.read_text().split()) if marks.exists() else set()
    for path in state.glob("*.ops"):
        known |= set(re.findall(r"tiltyard-([0-9a-f]{8})", path.read_text()))
    marks.write_text("\n".join(sorted(known)))
    names = [path.name for path in namespace_path(".").glob("tiltyard-*")]
    return sorted(name for name in names if name.split("-")[1] in known)


def _watched() -> dict[str, str]:
    return {key: sysctls.read(key) for key in (*WATCHED, "vm.vfs_cache_pressure")}


def _every_parameter() -> dict[str, str]:
    done = subprocess.run(("sysctl", "-a"), check=False, capture_output=True, text=True)
    pairs = (line.partition(" = ") for line in done.stdout.splitlines())
    return {key: value for key, _, value in pairs if not any(part in key for part in _RESTLESS)}


def _losetup() -> list[dict[str, str]]:
    said = subprocess.run(("losetup", "-J"), check=True, capture_output=True).stdout
    found: list[dict[str, str]] = json.loads(said)["loopdevices"] if said else []
    return found


def _lines_with(part: str, path: Path) -> list[str]:
    return [line for line in path.read_text().splitlines() if part in line]
