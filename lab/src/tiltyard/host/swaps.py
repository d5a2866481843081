"""Swap areas of a host, proc(5) and swapon(8)."""

from tiltyard.host.mounts import unescaped
from tiltyard.host.place import Place


def areas(place: Place) -> dict[str, int]:
    """Files and devices that are swapped to, each with its priority."""
    found = {}
    lines = (place.read("/proc/swaps") or "").splitlines()[1:]
    with place.understood():
        for line in lines:
            path, _, _, _, priority = line.split()
            found[unescaped(path)] = int(priority)
    return found


def command(path: str, priority: int) -> tuple[str, ...]:
    """Swaps to one again; priorities below 0 are the kernel's own to give."""
    given = ("--priority", str(priority)) if priority >= 0 else ()
    return ("swapon", *given, path)
