"""Vulnerabilities of the processors, and what the kernel does about each: it costs time."""

from tiltyard.host.record.section import ABSENT, Section, Seen

_ALL = "/sys/devices/system/cpu/vulnerabilities"


def _tell(seen: Seen) -> dict[str, str]:
    inside = f"{_ALL}/"
    found = {
        path.removeprefix(inside): text
        for path, text in sorted(seen.files.items())
        if path.startswith(inside)
    }
    return found or {"mitigations": ABSENT}


SECTION = Section(name="mitigations", tell=_tell, files=(f"{_ALL}/*",))
