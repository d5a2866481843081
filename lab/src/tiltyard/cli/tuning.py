"""``tiltyard tuning``: profiles, their difference to this host, and one held for a command."""

from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter

from tiltyard.cli.completers import tuning_profiles


def tuning(
    action: Literal["list", "show", "hold"] = "list",
    profile: Annotated[str | None, Parameter(completer=tuning_profiles)] = None,
    /,
    *command: Annotated[str, Parameter(allow_leading_hyphen=True)],
    device: tuple[str, ...] = (),
    interface: tuple[str, ...] = (),
    strict: bool = False,
) -> int:
    """List the tuning profiles, show what one would change here, or hold it for a command.

    Studies set profiles by themselves: tuning = "enterprise-storage" in [systems] or [factors].

    ```
    tiltyard tuning
    tiltyard tuning show enterprise-storage --device /dev/sdb     # changes nothing
    tiltyard tuning show mine.toml
    tiltyard tuning hold throughput-performance -- fio job.fio    # put back when it ends
    ```

    Args:
        action: List the ready profiles, show one, or hold one for as long as a command runs.
        profile: Name of a ready profile, or path of a file.
        command: What is executed while the profile is held.
        device: Block devices that it is for.
        interface: Network devices that it is for.
        strict: Fail where the profile cannot be set whole.
    """
    from tiltyard.cli.console import remark, show
    from tiltyard.cli.tuning_table import outcome_table, profile_table
    from tiltyard.errors import ExitCode, UsageError
    from tiltyard.tuning.hold import held
    from tiltyard.tuning.load import load_profiles
    from tiltyard.tuning.setting import Scene, look

    if action == "list":
        show(profile_table())
        return ExitCode.DONE
    if profile is None:
        raise UsageError(f"tiltyard tuning {action}: name a profile; tiltyard tuning lists them")
    loaded = load_profiles([profile], Path())
    scene = Scene(devices=device, interfaces=interface)
    if action == "show":
        outcomes = [look(setting) for setting in loaded.settings_of(scene)]
        show(outcome_table(loaded, outcomes))
        lacking = any(outcome.status == "skipped" for outcome in outcomes)
        return ExitCode.HOST_LACKS if strict and lacking else ExitCode.DONE
    if not command:
        raise UsageError("tiltyard tuning hold: which command? tiltyard tuning hold PROFILE -- …")
    return held(loaded, scene, command, remark, strict=strict)
