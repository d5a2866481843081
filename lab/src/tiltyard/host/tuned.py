"""The daemon that tunes a host by profiles of its own: tuned-adm(8)."""

import re

from tiltyard.host.place import Place

_ACTIVE = re.compile(r"^Current active profile: (\S+)", re.MULTILINE)


def active(place: Place) -> str:
    """The active profile; empty if none is.

    Raises:
        TiltyardError: if it does not answer.
    """
    match = _ACTIVE.search(place.run(("sh", "-c", "tuned-adm active; true")).stdout)
    return match[1] if match else ""


def choose(place: Place, profile: str) -> None:
    """Make a profile the active one; with an empty name none.

    Raises:
        TiltyardError: if there is none of that name.
    """
    place.by_shell(command(profile))


def command(profile: str) -> tuple[str, ...]:
    """The command that makes a profile the active one; with an empty name none."""
    return ("tuned-adm", "profile", profile) if profile else ("tuned-adm", "off")
