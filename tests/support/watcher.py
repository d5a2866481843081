"""All of the machine that a test could change, looked at before the tests and after each file.

What is other than before is looked at again, for a moment. Of several processes side by side each
writes down after which file it has seen it first, and it counts where it is there when all have
ended.
"""

import contextlib
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest
from xdist.workermanage import WorkerController

from tiltyard.host.changes import PREFIX

Look = dict[str, dict[str, str]]
"""What is looked at → each thing of it → its value."""

_BEFORE: Final = pytest.StashKey[Look]()
_SEEN: Final = pytest.StashKey[dict[str, str]]()
"""Difference → the file after which it was first seen."""
_RESTLESS: Final = ("perf_event_max_sample_rate", "ns_last_pid", "tainted", "random")
"""Kernel parameters that change by themselves."""
_COMES_AND_GOES: Final = ("affinity", "control groups", "cpusets", "parameters", "modules")
"""Of these only what was there before counts: others start programs, and the kernel loads modules
for what is mounted."""
_LOOKS: Final = 8
_PAUSE_S: Final = 0.5
_PROC: Final = Path("/proc")
_GROUPS: Final = Path("/sys/fs/cgroup")
LOCK: Final = Path("/run/tiltyard.lock")
"""Of a machine whose settings a run changes."""


def look() -> Look:
    """How everything is now."""
    affinity, groups = dict[str, str](), dict[str, str]()
    for task in _tasks():
        try:
            name, _, fields = (task / "stat").read_text().rpartition(")")
            who = f"{name}) since {fields.split()[19]}"
            allowed = re.search(r"Cpus_allowed_list:\s*(\S+)", (task / "status").read_text())
            lines = (task / "cgroup").read_text().splitlines()
        except OSError:
            continue
        affinity[who] = allowed[1] if allowed else ""
        groups[who] = " ".join(line for line in lines if "cpuset" in line or line[:3] == "0::")
    settings = _GROUPS.rglob("cpuset.cpus*") if _GROUPS.is_dir() else ()
    temporary = {Path(tempfile.gettempdir()), Path("/tmp"), Path("/var/tmp")}
    states = (Path("/var/lib/tiltyard"), Path.home() / ".local/state/tiltyard")
    left = [path for one in temporary for path in one.glob(f"{PREFIX}*")]
    left += [path for one in states for path in one.glob("*.ops")]
    left += [path for path in (LOCK,) if path.exists()]
    left += [path for path in _GROUPS.rglob("tiltyard*") if path.is_dir()]
    return {
        "affinity": affinity,
        "control groups": groups,
        "cpusets": {str(path): _text(path) for path in settings},
        "parameters": dict(_parameters()),
        "mounts": {line.partition(" - ")[0].split(" ", 4)[4]: line.partition(" - ")[2]
                   for line in _text(_PROC / "self/mountinfo").splitlines()},
        "loop devices": {str(path): _text(path)
                         for path in Path("/sys/block").glob("loop*/loop/backing_file")},
        "namespaces": {path.name: "" for path in Path("/run/netns").glob("*")},
        "routes": _lines("ip", "-oneline", "route", "show", "table", "all"),
        "qdiscs": _lines("tc", "qdisc", "show"),
        "modules": {line.split()[0]: "" for line in _text(_PROC / "modules").splitlines()},
        "left": {str(path): "" for path in left},
    }  # fmt: skip


def _tasks() -> Iterator[Path]:
    for process in _PROC.glob("[0-9]*"):
        with contextlib.suppress(OSError):
            yield from [*(process / "task").iterdir()]


def differences(before: Look, now: Look) -> Iterator[str]:
    """What is other than it was, one sentence each."""
    for what, was in before.items():
        found = now[what]
        for thing in was.keys() | found.keys():
            if was.get(thing) == found.get(thing):
                continue
            lasts = thing in was and (thing in found or what == "modules")
            # Another run on this machine has ended meanwhile.
            is_of_others = thing not in found and "tiltyard" in f"{thing}{was[thing]}"
            if (what in _COMES_AND_GOES and not lasts) or is_of_others:
                continue
            yield f"{what}: {thing}: {_told(found.get(thing))}, before: {_told(was.get(thing))}"


def _lasting(before: Look) -> list[str]:
    """Those that are there at each of several looks."""
    lasting = set(differences(before, look()))
    for _ in range(_LOOKS):
        if not lasting:
            break
        time.sleep(_PAUSE_S)
        lasting &= set(differences(before, look()))
    return sorted(lasting)


def _told(value: str | None) -> str:
    return "none" if value is None else repr(value)


def _parameters() -> Iterator[tuple[str, str]]:
    """Those that can be written, and read."""
    # Those of a device that goes meanwhile are none; rglob would fail for it.
    found = os.walk(_PROC / "sys")
    for path in (Path(folder, name) for folder, _, names in found for name in names):
        try:
            is_setting = path.is_file() and path.stat().st_mode & 0o200
            if is_setting and path.stat().st_mode & 0o400 and path.name not in _RESTLESS:
                yield str(path), path.read_text(errors="replace")
        except OSError:
            continue


def _text(path: Path) -> str:
    try:
        return path.read_text(errors="replace").strip()
    except OSError:
        return ""


def _lines(*argv: str) -> dict[str, str]:
    said = subprocess.run(argv, check=False, capture_output=True, text=True).stdout
    return {re.sub(r" expires \S+| refcnt \d+", "", line): "" for line in said.splitlines()}


def pytest_sessionstart(session: pytest.Session) -> None:
    """Before any test."""
    session.config.stash[_BEFORE] = look()
    session.config.stash[_SEEN] = {}


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_teardown(item: pytest.Item, nextitem: pytest.Item | None) -> Iterator[None]:
    """After the last test of a file: alone its end fails; beside others it is written down."""
    yield
    if nextitem is not None and nextitem.path == item.path:
        return
    config = item.config
    if hasattr(config, "workerinput"):
        for one in differences(config.stash[_BEFORE], look()):
            config.stash[_SEEN].setdefault(one, str(item.path))
        return
    if not (found := _lasting(config.stash[_BEFORE])):
        return
    config.stash[_BEFORE] = look()
    told = (f"{item.path}: left the machine changed: {one}" for one in found)
    pytest.fail("\n".join(told), pytrace=False)


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """Of several processes each tells what it has seen; when all have ended it counts."""
    config = session.config
    if hasattr(config, "workerinput"):
        config.workeroutput["seen"] = config.stash[_SEEN]  # type: ignore[attr-defined]
        return
    if not getattr(config.option, "numprocesses", None):
        return
    for one in _lasting(config.stash[_BEFORE]):
        after = config.stash[_SEEN].get(one, "a file that is not known")
        sys.stdout.write(f"\n{after}: left the machine changed: {one}\n")
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: WorkerController, error: Any) -> None:
    """A process of several has ended."""
    told = getattr(node, "workeroutput", {}).get("seen", {})
    for one, file in told.items():
        node.config.stash[_SEEN].setdefault(one, file)
