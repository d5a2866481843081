"""The daemon that tunes a host by profiles of its own: tuned-adm(8)."""

from typing import Final

LOOK: Final = (
    "sh",
    "-c",
    "tuned-adm active | sed -n 's/^Current active profile: *\\([^ ]*\\).*/\\1/p'",
)
"""Prints the active profile; nothing if none is."""


def command(profile: str) -> tuple[str, ...]:
    """The command that makes a profile the active one; with an empty name none."""
    return ("tuned-adm", "profile", profile) if profile else ("tuned-adm", "off")
