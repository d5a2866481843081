"""User and mount namespaces: a user's own table of mounts, in which he is root.

Source: user_namespaces(7), mount_namespaces(7), unshare(1), nsenter(1).
"""

from tiltyard.errors import TiltyardError
from tiltyard.host.place import HERE

_UNSHARE = ("unshare", "--user", "--map-root-user", "--mount", "--propagation", "private")


def why_not() -> str | None:
    """Why this user cannot have namespaces of his own, in the kernel's words; ``None`` if he can.

    Tried in namespaces that are gone again.
    """
    try:
        HERE.run((*_UNSHARE, "true"))
    except TiltyardError as error:
        return str(error)
    return None


def namespace_command() -> tuple[str, ...]:
    """Command that makes the namespaces, says so, and holds them until it is ended."""
    return (*_UNSHARE, "sh", "-c", "echo ready; exec sleep infinity")


def nsenter(pid: int | str) -> tuple[str, ...]:
    """Command that starts another one in the namespaces of a process."""
    return ("nsenter", "--preserve-credentials", "--user", "--mount", f"--target={pid}")
