"""The file system of the study folder, as the kernel has it mounted, and software RAID."""

from tiltyard.host.record import stack
from tiltyard.host.record.geometry import geometry_command, geometry_told
from tiltyard.host.record.section import ABSENT, Command, Section, Seen

_RAID = "/proc/mdstat"
_ARRAY = ("chunk_size", "layout", "stripe_cache_size", "consistency_policy")
"""Files of an array that only tell; admin-guide/md.rst of the kernel."""


def _tell(seen: Seen) -> dict[str, str]:
    mount = stack.mount_seen(seen, seen.subject.directory)
    if mount is None:
        return {"file system": ABSENT}
    device = stack.device_of(seen, mount)
    command = geometry_command(mount.type, f"/dev/{device}") if device else None
    return {
        "file system": mount.type,
        "mount options": mount.options,
        "source": mount.source,
        "lies on": stack.through(seen, device) if device else "no block device",
        **(geometry_told(mount.type, seen.answer(command)) if command else {}),
        "software RAID": _raid(seen),
    }


def _ask(seen: Seen) -> list[Command]:
    mount = stack.mount_seen(seen, seen.subject.directory)
    device = stack.device_of(seen, mount) if mount else None
    command = geometry_command(mount.type, f"/dev/{device}") if mount and device else None
    return [command] if command else []


def _raid(seen: Seen) -> str:
    lines = [line for line in seen.files.get(_RAID, "").splitlines() if line.startswith("md")]
    return "; ".join(f"{line}{_array(seen, line.split()[0])}" for line in lines) or "none"


def _array(seen: Seen, name: str) -> str:
    """What decides its speed, beside its level and members."""
    told = {what: seen.files.get(f"{stack.CLASS}/{name}/md/{what}", "") for what in _ARRAY}
    words = (f"{what.replace('_', ' ')} {text}" for what, text in told.items() if text)
    return "".join(f", {word}" for word in words)


SECTION = Section(
    name="file system of the study folder",
    tell=_tell,
    files=(*stack.FILES, _RAID, *(f"{stack.CLASS}/md*/md/{what}" for what in _ARRAY)),
    links=stack.LINKS,
    ask=_ask,
)
