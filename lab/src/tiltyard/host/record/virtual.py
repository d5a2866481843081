"""Virtualisation: what is below us, what we are inside of, and whether guests can run here."""

from typing import Final

from tiltyard.host.record.section import ABSENT, Command, Section, Seen, either, fields

NONE_SEEN: Final = "none seen"
"""No hypervisor shows itself."""

_INFO = "/proc/cpuinfo"
_STAT = "/proc/stat"
_TYPE = "/sys/hypervisor/type"
_VENDOR = "/sys/class/dmi/id/sys_vendor"
_KVM = "/dev/kvm"
_NESTED = ("/sys/module/kvm_intel/parameters/nested", "/sys/module/kvm_amd/parameters/nested")
_CONTAINERS = {"/.dockerenv": "Docker", "/run/.containerenv": "Podman"}
_CONTAINER = "/run/systemd/container"
_LSCPU: Command = ("lscpu",)
_STEAL = 7
"""Place of stolen time among the times of ``/proc/stat``; proc_stat(5)."""


def _tell(seen: Seen) -> dict[str, str]:
    return {
        "hypervisor": _hypervisor(seen),
        "container": either(
            seen.file(_CONTAINER),
            next((name for path, name in _CONTAINERS.items() if path in seen.links), NONE_SEEN),
        ),
        "guests by KVM": f"{_KVM} is there" if _KVM in seen.links else f"no {_KVM}",
        "guests of guests": {"Y": "on", "1": "on", "N": "off", "0": "off"}.get(
            either(*(seen.file(path) for path in _NESTED)), ABSENT
        ),
        "stolen since the start": _stolen(seen),
    }


def _hypervisor(seen: Seen) -> str:
    if "hypervisor" not in seen.field(_INFO, "flags").split():
        return NONE_SEEN
    told = fields(seen.answer(_LSCPU)).get("Hypervisor vendor", ABSENT)
    name = either(seen.file(_TYPE), told, seen.file(_VENDOR))
    return "virtual machine" if name == ABSENT else f"virtual machine ({name})"


def _stolen(seen: Seen) -> str:
    """Share of all CPU time, as the hypervisor admits."""
    times = [int(word) for word in seen.files.get(_STAT, "").partition("\n")[0].split()[1:9]]
    if len(times) <= _STEAL or not sum(times):
        return ABSENT
    return f"{100 * times[_STEAL] / sum(times):.2g} %"


def _ask(seen: Seen) -> list[Command]:
    return [_LSCPU] if "hypervisor" in seen.field(_INFO, "flags").split() else []


SECTION = Section(
    name="virtualisation",
    tell=_tell,
    files=(_INFO, _STAT, _TYPE, _VENDOR, _CONTAINER, *_NESTED),
    links=(_KVM, *_CONTAINERS),
    ask=_ask,
    volatile=frozenset({"stolen since the start"}),
)
