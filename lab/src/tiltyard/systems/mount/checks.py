"""What would keep something from being mounted here; looks only, changes nothing."""

import functools
import os
from pathlib import Path

from tiltyard.host.namespaces import why_not
from tiltyard.host.packages import find_program, install_command, knows_filesystem, load_command
from tiltyard.ownership import stranger_above
from tiltyard.systems.kind import Problem

_FUSE = Path("/dev/fuse")
_HELPERS = {
    "nfs": "nfs-common",
    "nfs4": "nfs-common",
    "cifs": "cifs-utils",
    "glusterfs": "glusterfs-client",
    "ceph": "ceph-common",
}
"""Type → package of its helper for mount(8)."""
_ADMIT = "sudo; or let users have namespaces (sysctl user.max_user_namespaces)"


def strangers(directory: Path) -> list[Problem]:
    """Another user who could have root write, format or mount in another place than is meant."""
    reason = stranger_above(directory)
    return [exchangeable(directory, reason)] if reason else []


def exchangeable(directory: Path, reason: str) -> Problem:
    """The same, for that reason."""
    text = f"{directory} is not used, because others could exchange what root makes in it: {reason}"
    return Problem("error", text, "a directory of root's: chown root and chmod o-w; or its user")


def rights_to_mount(*, served: bool) -> list[Problem]:
    """Root may mount; others in namespaces of their own, where the kernel lets them.

    Args:
        served: whether a server in user space will do it (FUSE).
    """
    if os.geteuid() == 0:
        return []
    if refusal := _why_not():
        text = f"only root can mount here: users have no namespaces of their own ({refusal})"
        return [Problem("error", text, _ADMIT)]
    if served and not os.access(_FUSE, os.R_OK | os.W_OK):
        return [Problem("error", f"{_FUSE} is not yours to open", f"chmod a+rw {_FUSE}, as root")]
    return []


def knows_how_to_mount(type_: str) -> list[Problem]:
    """A driver of the kernel, a helper of mount(8), or a FUSE server."""
    family, _, server = type_.partition(".")
    if family in ("fuse", "fuseblk") and server:
        if find_program(server) is None:
            return [Problem("error", f"{server} is not installed", install_command(server))]
        if find_program(f"mount.{family}") is None:
            return [Problem("error", f"mount.{family} is not installed", install_command("fuse3"))]
        family = "fuse"
    if knows_filesystem(family) or find_program(f"mount.{family}"):
        return []
    text = f"neither this kernel nor a program mount.{family} can mount {type_}"
    package = _HELPERS.get(family)
    return [Problem("error", text, install_command(package) if package else load_command(family))]


@functools.cache
def _why_not() -> str | None:
    """Asked once."""
    return why_not()
