"""The steps of a study on this host, system by system, printed and not executed."""

import shlex
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

from tiltyard.errors import TiltyardError
from tiltyard.folder import StudyFolder
from tiltyard.host.changes import Change
from tiltyard.host.changes.change import PREFIX
from tiltyard.host.changes.slurm import HeldNodes
from tiltyard.host.ledger import state_directory
from tiltyard.host.place import HERE
from tiltyard.host.steps import Step, TakeBack, UndoTemporarily
from tiltyard.run.nodes import by_ssh, salloc
from tiltyard.run.scratch_dir import open_systems
from tiltyard.study.model import Placement, SystemSpec
from tiltyard.systems.image_file import LayOutImage
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
    disk_bytes: int = 0
    """Room on disks that it would take until the end of the run."""


class Preview:
    """Prints steps, and remembers what they would have changed; it executes nothing."""

    def __init__(self) -> None:
        """Nothing is printed yet, and no file is made."""
        self.path = state_directory() / "none"
        self.lines: list[str] = []
        self._disk_bytes = 0
        self._changes: dict[str, list[Change]] = {"turn": [], "run": []}

    def name(self, use: str) -> str:
        """A name as a run would choose it."""
        return f"{PREFIX}TOKEN-{use}"

    def holds(self, change: Change) -> bool:
        """Whether it would be outstanding."""
        return change in self.outstanding

    @property
    def outstanding(self) -> tuple[Change, ...]:
        """Changes of the run, then of the turn."""
        return (*self._changes["run"], *self._changes["turn"])

    def changes_of_other_processes(self) -> Iterator[tuple[int, Change]]:
        """The run itself will see them."""
        return iter(())

    def new_disk_bytes(self) -> int:
        """Room that is taken since the last time."""
        taken, self._disk_bytes = self._disk_bytes, 0
        return taken

    def new_lines(self) -> tuple[str, ...]:
        """What was printed since the last time."""
        lines, self.lines = tuple(self.lines), []
        return lines

    def tell(self, steps: Iterable[Step]) -> None:
        """Print steps."""
        for step in steps:
            if isinstance(step, TakeBack):
                self.tell_way_back("turn", everything=step.everything)
            else:
                self.lines.append(step.line)
                if isinstance(step, LayOutImage):
                    self._disk_bytes += step.disk_bytes
            self._changes[step.lasts] += step.changes()

    def tell_down(self, steps: Iterable[Step]) -> None:
        """Print the last steps of a turn: what they undo is not there at the end of the run."""
        for step in steps:
            self.tell((step,))
            if isinstance(step, UndoTemporarily):
                self._changes["run"].remove(step.change)

    def tell_way_back(self, lasts: Literal["turn", "run"], *, everything: bool = True) -> None:
        """Print how changes would be taken back, last one first."""
        changes = self._changes[lasts]
        while changes:
            self.lines.append(changes.pop().way_back)
            if not everything:
                break


def dry_run(
    folder: StudyFolder, specs: Iterable[SystemSpec], placement: Placement | None = None
) -> list[PlannedPart]:
    """One turn of each system, with a refresh as between two trials, and the end of the run.

    Of the hosts of a placement it is the first one; of nodes that Slurm has yet to give only how.

    Every system is asked for its steps the way a run asks it. The ledger of this host is not
    touched. What is only known when a step has been executed (the number of a loop device) is
    shown by the name of that output.

    Raises:
        UsageError: if a system names a file that is not there.
    """
    preview = Preview()
    parts: list[PlannedPart] = []
    place, there = HERE, ""
    if placement and placement.engine == "slurm":
        return _of_slurm(placement)
    if placement:
        place, there = next(iter(by_ssh(placement).values())), placement.directory
    systems = open_systems(folder, specs, preview, lambda: None, place=place, there=there)
    for name, system in systems.items():
        parts += _turn(preview, name, system)
    preview.tell_way_back("run")
    parts.append(PlannedPart("", "at the end of the run", preview.new_lines()))
    return [part for part in parts if part.lines or part.refused]


def _of_slurm(placement: Placement) -> list[PlannedPart]:
    """What is known before there are nodes: how they are held and let go."""
    held = HeldNodes(name=f"{PREFIX}TOKEN-nodes-1")
    line = shlex.join(salloc(placement, held.name, placement.nodes))
    inside = "# on each node: copy the engine, make a directory, remove both"
    return [
        PlannedPart("", "at the beginning of the run", (line, inside)),
        PlannedPart("", "at the end of the run", (held.way_back,)),
    ]


def _turn(preview: Preview, name: str, system: System) -> Iterator[PlannedPart]:
    """Up, refreshed, down; no further than it would come."""
    parts: tuple[tuple[str, Callable[[], object]], ...] = (
        ("bring up", lambda: _tell_up(preview, system)),
        ("refresh", lambda: preview.tell(system.steps_refresh())),
        ("take down", lambda: preview.tell_down(system.steps_down())),
    )
    for part, tell in parts:
        refused = ""
        try:
            tell()
        except (TiltyardError, OSError) as error:
            refused = f"it would not come up: {error}"
        yield PlannedPart(name, part, preview.new_lines(), refused, preview.new_disk_bytes())
        if refused:
            return


def _tell_up(preview: Preview, system: System) -> None:
    preview.tell(system.steps_up())
    preview.lines += [f"# {words}" for words in system.rest]
