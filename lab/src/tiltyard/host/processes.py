"""Which boot of this host it is, and which processes of some name a host has."""

from collections.abc import Iterable
from pathlib import Path

from tiltyard.host.place import HERE, Place

BOOT_ID = Path("/proc/sys/kernel/random/boot_id")
_NAME_LENGTH = 15
_PROCESSES = "/proc/[0-9]*"


def boot_id() -> str:
    """Which boot of this host this is: random(4)."""
    return HERE.read(BOOT_ID) or ""


def named(names: Iterable[str], place: Place = HERE) -> tuple[int, ...]:
    """The processes of a host with one of these names, as ``/proc/PID/comm`` cuts them.

    One that has ended, and that nobody has reaped yet, is none.
    """
    wanted = {name[:_NAME_LENGTH] for name in names}
    comms = place.ask(lambda host: host.read(files=[f"{_PROCESSES}/comm"])).files
    with place.understood():
        pids = sorted(int(path.split("/")[2]) for path in comms if comms[path].rstrip() in wanted)
        stats = place.read_all(map(_stat, pids)) if pids else {}
        return tuple(pid for pid in pids if _begun(stats.get(_stat(pid), "")))


def _stat(pid: int) -> str:
    return f"/proc/{pid}/stat"


def _begun(stat: str) -> int:
    """Start time in ticks since boot; 0 of a process that has ended with all its threads."""
    fields = stat.rpartition(") ")[2].split()
    has_ended = not fields or (fields[0] in "ZX" and int(fields[17]) <= 1)
    return 0 if has_ended else int(fields[19])
