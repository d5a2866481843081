"""Swap areas of a host, proc(5) and swapon(8)."""

from typing import Final

from tiltyard.host.mounts import unescaped
from tiltyard.host.place import Place

OFF: Final = "off"
_ON: Final = "on, priority"
_LOOK: Final = (
    "state=off; while read -r path _ _ _ priority; do "
    f'[ "$path" = "$1" ] && state="{_ON} $priority"; done < /proc/swaps; echo "$state"'
)
_ESCAPED: Final = {ord(sign): f"\\{ord(sign):03o}" for sign in " \t\n\\"}
"""As the kernel writes paths."""


def areas(place: Place) -> dict[str, int]:
    """Files and devices that are swapped to, each with its priority."""
    found = {}
    lines = (place.read("/proc/swaps") or "").splitlines()[1:]
    with place.understood():
        for line in lines:
            path, _, _, _, priority = line.split()
            found[unescaped(path)] = int(priority)
    return found


def state(areas: dict[str, int], path: str) -> str:
    """Whether one of them is swapped to, as :func:`look` prints it."""
    return f"{_ON} {areas[path]}" if path in areas else OFF


def look(path: str) -> tuple[str, ...]:
    """The command that prints it."""
    return ("sh", "-c", _LOOK, "sh", path.translate(_ESCAPED))


def command(path: str, priority: int) -> tuple[str, ...]:
    """Swaps to one again; priorities below 0 are the kernel's own to give."""
    given = ("--priority", str(priority)) if priority >= 0 else ()
    return ("swapon", *given, path)
