"""What of a profile belongs to those that mount: options, before those of the study."""

from tiltyard.tuning.knobs.mount import MountTable
from tiltyard.tuning.profile import Profile
from tiltyard.tuning.setting import Outcome


def take_mount_options(
    profile: Profile, filesystem: str, own: tuple[str, ...]
) -> tuple[tuple[str, ...], Profile, list[Outcome]]:
    """Options that a profile has for a file system.

    Args:
        profile: what is asked for.
        filesystem: what is mounted.
        own: options of the study, which have the last word.

    Returns:
        All options, the profile without any, and what was taken over.
    """
    table = profile.table(MountTable)
    options = table.options(filesystem) if table else ()
    taken = [Outcome("mount options", "set", ",".join(options))] if options else []
    return (*options, *own), profile.with_table("mount", None), taken
