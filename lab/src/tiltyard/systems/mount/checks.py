"""What would keep something from being mounted here; looks only, changes nothing."""

import functools
import stat
from pathlib import Path
from typing import Final

from tiltyard.host.namespaces import why_not
from tiltyard.host.packages import install_command, load_command
from tiltyard.host.place import HERE, Place
from tiltyard.ownership import stranger_above
from tiltyard.systems.kind import Problem

_FUSE: Final = "/dev/fuse"
_HELPERS = {
    "nfs": "nfs-common",
    "nfs4": "nfs-common",
    "cifs": "cifs-utils",
    "glusterfs": "glusterfs-client",
    "ceph": "ceph-common",
}
"""Type → package of its helper for mount(8)."""
_ADMIT = "sudo; or let users have namespaces (sysctl user.max_user_namespaces)"


def strangers(directory: Path, place: Place = HERE) -> list[Problem]:
    """Another user who could have root write, format or mount in another place than is meant."""
    reason = _stranger_there(directory, place) if place.is_remote else stranger_above(directory)
    return [exchangeable(directory, reason)] if reason else []


def _stranger_there(directory: Path, place: Place) -> str:
    """The same of another host, where root is asked to make something."""
    above = [str(each) for each in (directory, *directory.parents)]
    there = place.find_all(above)
    found = place.run(("stat", "-L", "-c", "%u %a %n", *(each for each in above if each in there)))
    for line in found.stdout.splitlines():
        user, mode, path = line.split(" ", 2)
        if user != "0":
            return f"{path} belongs to user {user}"
        if int(mode, 8) & stat.S_IWOTH and not int(mode, 8) & stat.S_ISVTX:
            return f"{path} anybody can write to it"
    return ""


def exchangeable(directory: Path, reason: str) -> Problem:
    """The same, for that reason."""
    text = f"{directory} is not used, because others could exchange what root makes in it: {reason}"
    return Problem("error", text, "a directory of root's: chown root and chmod o-w; or its user")


def rights_to_mount(place: Place = HERE, *, served: bool) -> list[Problem]:
    """Root may mount; others of this host in namespaces of their own, where the kernel lets them.

    Args:
        place: where it is mounted.
        served: whether a server in user space will do it (FUSE).
    """
    if place.is_root:
        return []
    if place.is_remote:
        return [Problem("error", "only root can mount there", "root@ before the host's name")]
    if refusal := _why_not():
        text = f"only root can mount here: users have no namespaces of their own ({refusal})"
        return [Problem("error", text, _ADMIT)]
    if served and not all(place.passes(("-r", _FUSE), ("-w", _FUSE))):
        return [Problem("error", f"{_FUSE} is not yours to open", f"chmod a+rw {_FUSE}, as root")]
    return []


def knows_how_to_mount(type_: str, place: Place = HERE) -> list[Problem]:
    """A driver of the kernel, a helper of mount(8), or a FUSE server."""
    family, _, server = type_.partition(".")
    if family in ("fuse", "fuseblk") and server:
        for program, package in ((server, server), (f"mount.{family}", "fuse3")):
            if not place.has(program):
                fix = install_command(place, package)
                return [Problem("error", f"{program} is not installed", fix)]
        family = "fuse"
    if place.knows_filesystem(family) or place.has(f"mount.{family}"):
        return []
    text = f"neither this kernel nor a program mount.{family} can mount {type_}"
    if helper := _HELPERS.get(family):
        return [Problem("error", text, install_command(place, helper))]
    return [Problem("error", text, load_command(place, family))]


@functools.cache
def _why_not() -> str | None:
    """Asked once."""
    return why_not()
