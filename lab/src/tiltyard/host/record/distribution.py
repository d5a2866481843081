"""The distribution, its language, and the profile that it is tuned by."""

import re

from tiltyard.host.record.section import ABSENT, Section, Seen, either

_RELEASE = "/etc/os-release"
_LOCALES = ("/etc/locale.conf", "/etc/default/locale")
_TUNED = "/etc/tuned/active_profile"
_SECURITY = "/sys/kernel/security/lsm"
_SELINUX = "/sys/fs/selinux/enforce"
_FIRST = "/proc/1/comm"


def _tell(seen: Seen) -> dict[str, str]:
    return {
        "name": _value(seen, _RELEASE, "PRETTY_NAME"),
        "language": either(*(_value(seen, path, "LANG") for path in _LOCALES)),
        "tuned profile": seen.file(_TUNED),
        "security modules": seen.file(_SECURITY),
        "SELinux": {"1": "enforcing", "0": "permissive"}.get(seen.file(_SELINUX), "off"),
        "first process": seen.file(_FIRST),
    }


def _value(seen: Seen, path: str, name: str) -> str:
    """A line ``NAME=value`` of a file."""
    match = re.search(rf'^{name}="?([^"\n]*)"?$', seen.files.get(path, ""), re.MULTILINE)
    return match[1] if match and match[1] else ABSENT


SECTION = Section(
    name="distribution",
    tell=_tell,
    files=(_RELEASE, *_LOCALES, _TUNED, _SECURITY, _SELINUX, _FIRST),
)
