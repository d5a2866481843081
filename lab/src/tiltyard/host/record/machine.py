"""The machine and its firmware, as its maker describes it (DMI, SMBIOS; dmidecode(8)).

Serial numbers and the UUID of the machine are not recorded: a report is made to be published.
"""

from tiltyard.host.record import dmi
from tiltyard.host.record.section import ABSENT, Section, Seen, either, joined

_DMI = "/sys/class/dmi/id"
_TREE = "/proc/device-tree/model"
_PROFILE = "/sys/firmware/acpi/platform_profile"
_EFI = "/sys/firmware/efi"


def _tell(seen: Seen) -> dict[str, str]:
    def told(name: str) -> str:
        return seen.file(f"{_DMI}/{name}")

    firmware = joined(told("bios_vendor"), told("bios_version"))
    return {
        "vendor": told("sys_vendor"),
        "model": either(joined(told("product_name"), told("product_version")), seen.file(_TREE)),
        "mainboard": joined(told("board_vendor"), told("board_name"), told("board_version")),
        "firmware": firmware,
        "firmware date": told("bios_date"),
        "booted by": _booted(seen, firmware),
        "power profile of the platform": seen.file(_PROFILE),
        "power supplies": dmi.each(
            seen, "System Power Supply", "Manufacturer", "Model Part Number", "Max Power Capacity"
        ),
    }


def _booted(seen: Seen, firmware: str) -> str:
    if _EFI in seen.links:
        return "UEFI"
    return ABSENT if firmware == ABSENT else "BIOS"


SECTION = Section(
    name="machine",
    tell=_tell,
    files=(
        *(
            f"{_DMI}/{name}"
            for name in (
                "sys_vendor", "product_name", "product_version", "board_vendor", "board_name",
                "board_version", "bios_vendor", "bios_version", "bios_date",
            )
        ),
        _TREE,
        _PROFILE,
    ),
    links=(_EFI, *dmi.LINKS),
    ask=dmi.ask,
)  # fmt: skip
