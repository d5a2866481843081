"""What a study would execute on this host, system by system, without executing any of it."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from tiltyard.errors import TiltyardError
from tiltyard.folder import StudyFolder
from tiltyard.host.script import Script, UntoldError
from tiltyard.run.workshop import open_systems
from tiltyard.study.model import SystemSpec
from tiltyard.systems.kind import System


@dataclass(frozen=True)
class Told:
    """What one part of a turn would execute."""

    system: str
    """Empty: of the end of the run."""
    part: str
    lines: tuple[str, ...]
    """Commands, and what is done without a command in words behind a ``#``."""
    refused: str = ""
    """Why it would not come up; empty if nothing is known against it."""
    untold: str = ""
    """Why no more can be told; empty if all is."""


def dry_run(folder: StudyFolder, specs: Iterable[SystemSpec]) -> list[Told]:
    """One turn of each system, with a refresh as between two trials, and the end of the run.

    Every system is asked the way a run asks it, on a ledger that only notes. The ledger of this
    host is not touched. What is only known when a step has been taken (the number of a loop
    device) is shown by a word that stands for it.

    Raises:
        UsageError: if a system names a file that is not there.
    """
    script, told = Script(), []
    for name, system in open_systems(folder, specs, script, lambda: None).items():
        told += _turn(script, name, system)
    told.append(_part(script, "", "at the end of the run", script.close))
    return [part for part in told if part.lines or part.refused or part.untold]


def _turn(script: Script, name: str, system: System) -> list[Told]:
    """Up, refreshed, down; no further than it can be told."""
    parts: list[Told] = []
    steps: tuple[tuple[str, Callable[[], object]], ...] = (
        ("bring up", system.bring_up),
        ("refresh", system.refresh),
        ("take down", system.take_down),
    )
    for part, step in steps:
        parts.append(_part(script, name, part, step))
        if parts[-1].refused or parts[-1].untold:
            break
    return parts


def _part(script: Script, name: str, part: str, step: Callable[[], object]) -> Told:
    """The lines of one step."""
    begun = len(script.lines)
    refused = ""
    try:
        with script.nothing_is_done():
            step()
    except UntoldError:
        pass  # the script knows why
    except (TiltyardError, OSError) as error:
        refused = f"it would not come up: {error}"
    untold, script.untold = script.untold, ""
    return Told(name, part, tuple(script.lines[begun:]), refused, untold)
