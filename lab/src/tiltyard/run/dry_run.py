"""The steps of a study on this host, system by system, printed and not executed."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from tiltyard.errors import TiltyardError
from tiltyard.folder import StudyFolder
from tiltyard.host.steps import Preview
from tiltyard.run.workshop import open_systems
from tiltyard.study.model import SystemSpec
from tiltyard.systems.kind import System


@dataclass(frozen=True)
class PlannedPart:
    """What one part of a turn would execute."""

    system: str
    """Empty: of the end of the run."""
    part: str
    lines: tuple[str, ...]
    """Commands, and what is done without a command in words behind a ``#``."""
    refused: str = ""
    """Why it would not come up; empty if nothing is known against it."""


def dry_run(folder: StudyFolder, specs: Iterable[SystemSpec]) -> list[PlannedPart]:
    """One turn of each system, with a refresh as between two trials, and the end of the run.

    Every system is asked for its steps the way a run asks it. The ledger of this host is not
    touched. What is only known when a step has been executed (the number of a loop device) is
    shown by the name of that output.

    Raises:
        UsageError: if a system names a file that is not there.
    """
    preview = Preview()
    parts: list[PlannedPart] = []
    for name, system in open_systems(folder, specs, preview, lambda: None).items():
        parts += _turn(preview, name, system)
    preview.tell_way_back("run")
    parts.append(PlannedPart("", "at the end of the run", preview.new_lines()))
    return [part for part in parts if part.lines or part.refused]


def _turn(preview: Preview, name: str, system: System) -> Iterator[PlannedPart]:
    """Up, refreshed, down; no further than it would come."""
    parts: tuple[tuple[str, Callable[[], object]], ...] = (
        ("bring up", lambda: _tell_up(preview, system)),
        ("refresh", lambda: preview.tell(system.steps_refresh())),
        ("take down", lambda: preview.tell(system.steps_down())),
    )
    for part, tell in parts:
        refused = ""
        try:
            tell()
        except (TiltyardError, OSError) as error:
            refused = f"it would not come up: {error}"
        yield PlannedPart(name, part, preview.new_lines(), refused)
        if refused:
            return


def _tell_up(preview: Preview, system: System) -> None:
    preview.tell(system.steps_up())
    preview.lines += [f"# {words}" for words in system.rest]
