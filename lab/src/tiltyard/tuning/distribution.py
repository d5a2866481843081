"""What a distribution sets at boot: the files of sysctl.d(5)."""

from tiltyard.host import sysctls
from tiltyard.host.place import Place

_FOLDERS = ("/etc/sysctl.d", "/run/sysctl.d", "/usr/local/lib/sysctl.d", "/usr/lib/sysctl.d",
            "/lib/sysctl.d")  # fmt: skip
"""A file hides those of its name in later folders."""
_LAST = "/etc/sysctl.conf"


def sysctls_at_boot(place: Place) -> dict[str, str]:
    """Kernel parameters that the files of a host set at boot, the last word on each.

    Patterns (``net.ipv4.conf.*.rp_filter``) are left out: they are about devices.
    """
    by_name: dict[str, str] = {}
    for folder in _FOLDERS:
        for path in place.find(f"{folder}/*.conf"):
            by_name.setdefault(path.rpartition("/")[2], path)
    paths = [*(by_name[name] for name in sorted(by_name)), _LAST]
    texts = place.read_all(paths)
    found: dict[str, str] = {}
    for path in paths:
        for line in texts.get(path, "").splitlines():
            key, equals, value = line.strip().partition("=")
            key = key.strip().removeprefix("-").strip().replace("/", ".")
            if equals and not key.startswith(("#", ";")) and "*" not in key:
                found[key] = sysctls.normal(value)
    return found
