"""What a turn would do, printed and not executed: steps, and how they are taken back."""

from collections.abc import Callable, Iterable, Iterator
from typing import Literal

from tiltyard.errors import RefusedError, TiltyardError
from tiltyard.host.changes import PREFIX, MadeByOp
from tiltyard.host.devices.held import HoldDevice, refusal
from tiltyard.host.op import PutZeros
from tiltyard.host.steps import Step, TakeBack, UndoTemporarily
from tiltyard.systems.kind import System
from tiltyard.systems.planned import PlannedPart


class Preview:
    """Prints steps, and remembers what they would have changed; it executes nothing."""

    def __init__(self) -> None:
        """Nothing is printed yet."""
        self.lines: list[str] = []
        self._disk_bytes = 0
        self.on = ""
        """The host whose agent would make them; empty: this one."""
        self._changes: dict[str, list[tuple[MadeByOp, str]]] = {"turn": [], "run": []}
        """Each with its host."""

    def name(self, use: str) -> str:
        """A name as a run would choose it."""
        return f"{PREFIX}TOKEN-{use}"

    def holds(self, change: MadeByOp) -> bool:
        """Whether it would be outstanding."""
        return any(one.is_same(change) for one in self.outstanding)

    @property
    def outstanding(self) -> tuple[MadeByOp, ...]:
        """Changes of the run, then of the turn."""
        return tuple(change for lasts in ("run", "turn") for change, _ in self._changes[lasts])

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
            if refused := self._refusal(step):
                raise refused
            if isinstance(step, TakeBack):
                self.tell_way_back("turn", everything=step.everything)
            elif step.line:
                self.lines.append(step.line)
                if isinstance(step, PutZeros):
                    self._disk_bytes += step.disk_bytes
            self._changes[step.lasts] += ((change, self.on) for change in step.changes())

    def _refusal(self, step: Step) -> RefusedError | None:
        """Why a device of this host would be refused now; what lasts would be on it by then."""
        if isinstance(step, HoldDevice) and not (step.carries or self.on):
            return refusal(step)
        return None

    def tell_down(self, steps: Iterable[Step]) -> None:
        """Print the last steps of a turn: what they undo is not there at the end of the run."""
        for step in steps:
            self.tell((step,))
            if isinstance(step, UndoTemporarily):
                self._changes["run"].remove((step.change, self.on))

    def tell_way_back(self, lasts: Literal["turn", "run"], *, everything: bool = True) -> None:
        """Print how changes would be taken back, last one first."""
        changes = self._changes[lasts]
        while changes:
            change, on = changes.pop()
            there = f", on {on}" if on and lasts == "run" else ""
            self.lines.append(f"{change.back}{there}")
            if not everything:
                break


def planned_turn(preview: Preview, name: str, system: System) -> Iterator[PlannedPart]:
    """Up, refreshed, down; no further than it would come."""
    if (told := system.planned()) is not None:
        yield from told
        return
    preview.on = system.on
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
        where = f"{part} on {system.on}" if system.on else part
        yield PlannedPart(name, where, preview.new_lines(), refused, preview.new_disk_bytes())
        if refused:
            return


def _tell_up(preview: Preview, system: System) -> None:
    preview.tell(system.steps_up())
    preview.lines += [f"# {words}" for words in system.rest]
