"""Memory: how much, in which modules, and how the kernel hands it out."""

from tiltyard.host.record import dmi
from tiltyard.host.record.section import ABSENT, Section, Seen
from tiltyard.units import format_size

_INFO = "/proc/meminfo"
_SWAPS = "/proc/swaps"
_PAGES = "/sys/kernel/mm/transparent_hugepage"
_ZSWAP = "/sys/module/zswap/parameters/enabled"
_KSM = "/sys/kernel/mm/ksm/run"
_DAMON = "/sys/kernel/mm/damon/admin/kdamonds"
_DAMON_RECLAIM = "/sys/module/damon_reclaim/parameters/enabled"
_IDLE = "stat"
"""The action of a scheme that only counts: Documentation/admin-guide/mm/damon/usage.rst."""


def _tell(seen: Seen) -> dict[str, str]:
    module = "Memory Device"
    return {
        "size": _size(seen, "MemTotal"),
        "available at start": _size(seen, "MemAvailable"),
        "modules": dmi.each(
            seen, module, "Size", "Type", "Manufacturer", "Part Number", "Rank", needs="Speed"
        ),
        "speed of the modules": dmi.each(seen, module, "Speed", needs="Speed"),
        "speed they run at": dmi.each(seen, module, "Configured Memory Speed", needs="Speed"),
        "swap": _size(seen, "SwapTotal"),
        "swap on": _swaps(seen),
        "compressed swap (zswap)": {"Y": "on", "N": "off"}.get(seen.file(_ZSWAP), ABSENT),
        "transparent huge pages": seen.chosen(f"{_PAGES}/enabled"),
        "their defragmentation": seen.chosen(f"{_PAGES}/defrag"),
        "huge pages": f"{seen.field(_INFO, 'HugePages_Total')} of {_size(seen, 'Hugepagesize')}",
        "merging of equal pages (KSM)": {"0": "off", "1": "on", "2": "off"}.get(
            seen.file(_KSM), ABSENT
        ),
        "reclaimed while there is enough (DAMON)": _reclaimed(seen),
    }


def _reclaimed(seen: Seen) -> str:
    """What the kernel does with pages because of their age alone: files leave the page cache."""
    found = {"DAMON_RECLAIM"} if seen.file(_DAMON_RECLAIM) == "Y" else set()
    for number in seen.names(_DAMON):
        own = f"{_DAMON}/{number}"
        if seen.file(f"{own}/state") == "on":
            schemes = (path for path in seen.files if path.startswith(f"{own}/contexts/"))
            found.update(seen.file(path) for path in schemes)
    return ", ".join(sorted(found - {_IDLE})) or "no"


def _size(seen: Seen, name: str) -> str:
    """A line of ``/proc/meminfo``."""
    text = seen.field(_INFO, name)
    return ABSENT if text == ABSENT else format_size(int(text.split()[0]) * 1024)


def _swaps(seen: Seen) -> str:
    lines = seen.files.get(_SWAPS, "").splitlines()
    return ", ".join(" ".join(line.split()[:2]) for line in lines[1:]) or "nothing"


SECTION = Section(
    name="memory",
    tell=_tell,
    files=(
        *(_INFO, _SWAPS, f"{_PAGES}/enabled", f"{_PAGES}/defrag", _ZSWAP, _KSM, _DAMON_RECLAIM),
        f"{_DAMON}/*/state",
        f"{_DAMON}/*/contexts/*/schemes/*/action",
    ),
    links=(*dmi.LINKS, f"{_DAMON}/*"),
    ask=dmi.ask,
    volatile=frozenset({"available at start"}),
)
