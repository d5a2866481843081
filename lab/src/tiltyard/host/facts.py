"""What a reader must know of a host at first sight: a few facts of its record, in short."""

import functools
from collections.abc import Mapping

from tiltyard.host.place import Place
from tiltyard.host.processes import BOOT_ID
from tiltyard.host.record import SECTIONS, Record, RecordRequest, firmware, limits, take
from tiltyard.host.record.controllers import LINKS
from tiltyard.host.record.disks import WORKED_ON
from tiltyard.host.record.limits import CPU_QUOTA
from tiltyard.host.record.section import ABSENT
from tiltyard.host.record.virtual import NONE_SEEN, SECTION

__all__ = ["ABSENT", "NONE_SEEN", "cpu_quota", "facts_of_another", "host_facts", "virtualisation"]

_SHORT: Mapping[str, tuple[str, str]] = {
    "CPU": ("processor", "model"),
    "memory": ("memory", "size"),
    "memory available at start": ("memory", "available at start"),
    "swap": ("memory", "swap"),
    "distribution": ("distribution", "name"),
    "virtualisation": ("virtualisation", "hypervisor"),
    "memory modules": ("memory", "modules"),
    "firmware settings": (firmware.SECTION.name, firmware.DIGEST),
    "PCI Express links": ("controllers", LINKS),
    "SELinux": ("distribution", "SELinux"),
    "clock source": ("clock", "source"),
    "CPU frequency governor": ("processor", "frequency governor"),
    "CPU idle driver": ("processor", "idle driver"),
    "CPU quota": (limits.SECTION.name, CPU_QUOTA),
    "transparent huge pages": ("memory", "transparent huge pages"),
}
"""Short name → section and fact of the record."""
_CHANGING = {"memory available at start", "CPU frequency governor", "transparent huge pages"}
"""By itself, or by a tuning profile."""
_ASKED = {"kernel", "mitigations", *(section for section, _ in _SHORT.values())}
_UNHARMED = "Not affected"


def host_facts(record: Record) -> dict[str, str]:
    """The short facts, in names that a reader knows."""
    storage = record["file system of the study folder"]
    return {
        **_whole(record),
        "work directory on": f"{storage['file system']} on {storage.get('source', ABSENT)}",
        "its mount options": storage.get("mount options", ABSENT),
        **_disk(record["disks"]),
    }


def facts_of_another(place: Place) -> dict[str, str]:
    """The short facts of another host that stay as they are; all is asked once in each boot of it.

    Raises:
        UnreachableError: if it is not reached.
    """
    return _since(place, place.read(BOOT_ID) or "")


@functools.lru_cache(maxsize=64)
def _since(place: Place, _boot: str) -> dict[str, str]:
    sections = (SECTIONS.named(name) for name in SECTIONS.names if name in _ASKED)
    facts = _whole(take(RecordRequest(), place, sections))
    return {name: value for name, value in facts.items() if name not in _CHANGING}


def _whole(record: Record) -> dict[str, str]:
    """What is of the whole host, whatever disk is worked on."""
    short = {name: record[section][fact] for name, (section, fact) in _SHORT.items()}
    kernel = record["kernel"]
    return {
        "CPU": short.pop("CPU"),
        "CPUs": record["processor"]["CPUs in number"],
        "kernel": f"Linux {kernel['release']} {kernel['architecture']}",
        **short,
        "mitigations": _mitigations(record["mitigations"]),
    }


def cpu_quota() -> str:
    """``0.5 of 2 CPUs``, of the control groups of this process; empty where no quota is seen."""
    return limits.quota_of(take(RecordRequest(), sections=(limits.SECTION,)))


def virtualisation() -> str:
    """Whether a hypervisor is below us, and which, as far as it tells."""
    return take(RecordRequest(), sections=(SECTION,))[SECTION.name]["hypervisor"]


def _disk(disks: Mapping[str, str]) -> dict[str, str]:
    """The disk under the study folder; the first one where there are several."""
    marks = (fact.partition(":")[0] for fact, value in disks.items() if _is_mark(fact, value))
    name = next(marks, None)
    if name is None:
        return {"disk": ABSENT}
    size, model = disks[f"{name}: size"], disks[f"{name}: model"]
    return {
        "disk": f"{name}, {size}, model {model}",
        "disk scheduler": disks[f"{name}: scheduler"],
        "disk write cache": disks[f"{name}: write cache"],
    }


def _is_mark(fact: str, value: str) -> bool:
    return fact.endswith(f": {WORKED_ON}") and value == "yes"


def _mitigations(states: Mapping[str, str]) -> str:
    """Vulnerabilities that cost time here, each with its mitigation, shortly."""
    active = [
        f"{name}: {state.removeprefix('Mitigation: ').partition(';')[0]}"
        for name, state in states.items()
        if state not in (_UNHARMED, ABSENT)
    ]
    return ", ".join(active) or (ABSENT if ABSENT in states.values() else "none needed")
