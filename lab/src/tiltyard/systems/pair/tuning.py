"""What of a profile belongs to the two ends of a pair, and not to the host."""

import os
from collections.abc import Set

from tiltyard.host import sysctls
from tiltyard.tuning.knobs.network import NetworkTable
from tiltyard.tuning.knobs.sysctl import SysctlTable, settings
from tiltyard.tuning.profile import Profile
from tiltyard.tuning.scene import Scene
from tiltyard.tuning.setting import Outcome, look


def of_namespaces(
    profile: Profile, spoken: Set[str]
) -> tuple[dict[str, str], Profile, list[Outcome]]:
    """Kernel parameters that each network namespace has for itself.

    Args:
        profile: what is asked for.
        spoken: parameters that the study sets itself.

    Returns:
        Their values, the profile without them, and those that this kernel does not have.
    """
    table = profile.table(SysctlTable)
    if table is None or os.geteuid() != 0:
        return {}, profile, []
    scene = Scene()
    table = table.at(scene.place)
    own = sysctls.of_a_namespace() - spoken
    looked = [look(each) for each in settings(table, scene) if each.name in own]
    values = {outcome.name: outcome.value for outcome in looked if outcome.status != "skipped"}
    skipped = [outcome for outcome in looked if outcome.status == "skipped"]
    return values, profile.with_table("sysctl", table.without(own | spoken)), skipped


def of_devices(profile: Profile) -> tuple[dict[str, bool], Profile]:
    """Features of the two devices, and the profile without them."""
    table = profile.table(NetworkTable)
    if table is None or not table.offloads:
        return {}, profile
    rest = profile.with_table("network", table.without({"offloads"}))
    return {name: value == "on" for name, value in table.offloads.items()}, rest
