"""Settings of the firmware, as far as its maker lets the kernel read them.

Dell, HP and Lenovo have a driver (ABI/testing/sysfs-class-firmware-attributes); root may read it.
"""

import re
from typing import Final

from tiltyard.folder import sha256
from tiltyard.host.record.section import ABSENT, Section, Seen, because

DIGEST: Final = "all of them, SHA-256"
_CLASS: Final = "/sys/class/firmware-attributes"
_VALUES: Final = f"{_CLASS}/*/attributes/*/current_value"
_NAMES: Final = f"{_CLASS}/*/attributes/*"
_SECURE: Final = "/sys/firmware/efi/efivars/SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c"
"""EFI_GLOBAL_VARIABLE: four bytes of attributes, one that is 1 or 0 (UEFI specification, 3.3)."""
_PRIVATE: Final = re.compile(r"asset|owner|passw|serial|secret|tag|uuid|key|user|message", re.I)
"""What says whose machine it is, or opens it."""


def _tell(seen: Seen) -> dict[str, str]:
    values = {
        path.split("/")[-2]: " ".join(text.split())
        for path, text in seen.files.items()
        if path.startswith(_CLASS) and not _PRIVATE.search(path.split("/")[-2])
    }
    return {
        "secure boot": _secure(seen),
        DIGEST: sha256(repr(sorted(values.items())).encode()) if values else _why(seen),
        **dict(sorted(values.items())),
    }


def _secure(seen: Seen) -> str:
    text = seen.files.get(_SECURE)
    if text is None:
        return ABSENT
    return "on" if text.endswith("\x01") else "off"


def _why(seen: Seen) -> str:
    if any(path.startswith(_CLASS) for path in seen.links):
        return because("only root may read them")
    return because("the kernel has no driver for the settings of this firmware")


SECTION = Section(
    name="firmware settings",
    tell=_tell,
    files=(_VALUES, _SECURE),
    links=(_NAMES,),
)
