"""Tables of the firmware that only root may read, as dmidecode(8) prints them."""

from collections import Counter

from tiltyard.host.record.section import Command, Seen, because, fields

_TABLE = "/sys/firmware/dmi/tables/DMI"
_DMIDECODE: Command = ("dmidecode", "-q", "-t", "4,17,39")
"""Processors, memory devices, power supplies (SMBIOS reference specification, chapter 7)."""
_NOTHING = ("", "Unknown", "Not Specified", "None", "No Module Installed", "To Be Filled By O.E.M.")

LINKS = (_TABLE,)


def ask(seen: Seen) -> list[Command]:
    """Where there is no table, dmidecode would search the memory for one: it is not asked."""
    return [_DMIDECODE] if _TABLE in seen.links else []


def entries(seen: Seen, title: str) -> list[dict[str, str]]:
    """The entries of one kind, each by field; what the maker left blank is left out."""
    blocks = seen.answer(_DMIDECODE).split("\n\n")
    found = [fields(block) for block in blocks if block.strip().splitlines()[:1] == [title]]
    return [{name: value for name, value in one.items() if value not in _NOTHING} for one in found]


def each(seen: Seen, title: str, *names: str, needs: str | None = None) -> str:
    """Certain fields of all entries of one kind, those that are alike counted: ``2 × Dell …``.

    Args:
        seen: what the host answered.
        title: of the kind.
        names: the fields.
        needs: entries without this field are empty sockets.
    """
    told = (
        " ".join(one[name] for name in names if name in one)
        for one in entries(seen, title)
        if needs is None or needs in one
    )
    counts = Counter(text for text in told if text)
    return ", ".join(f"{count} × {text}" for text, count in counts.items()) or _why(seen)


def _why(seen: Seen) -> str:
    if _TABLE not in seen.links:
        return because("the kernel shows no DMI tables of this machine")
    if not seen.answer(_DMIDECODE):
        return because("dmidecode is not installed, or only root may ask it")
    return because("the DMI tables do not name it")
