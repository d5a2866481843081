"""Table ``[swap]``: whether anything is swapped out while a system is measured."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from pydantic import Field

from tiltyard.errors import TiltyardError
from tiltyard.host import swaps
from tiltyard.host.changes import Change
from tiltyard.host.changes.tuning import SwappedOff
from tiltyard.host.place import Place
from tiltyard.host.steps import ChangeByCommand
from tiltyard.tuning.knob import Knob, KnobTable
from tiltyard.tuning.setting import LackError, Scene, Setting

_OFF: Final = "off"


class SwapTable(KnobTable):
    """Swapon(8)."""

    off: Literal[True] = Field(
        True, description="All swap areas are taken off; they come back with their priorities."
    )


@dataclass(frozen=True)
class Swap(Setting):
    """One swap area; without a path, that there is none."""

    place: Place
    path: str = ""

    @property
    def name(self) -> str:  # type: ignore[override]
        """As a report has it."""
        return f"swap on {self.path}" if self.path else "swap"

    def read(self) -> str:
        """Its priority, or that it is off."""
        areas = swaps.areas(self.place)
        if not self.path:
            return ", ".join(areas) or _OFF
        return f"on, priority {areas[self.path]}" if self.path in areas else _OFF

    def wanted(self, now: str) -> str:
        """That it is off.

        Raises:
            LackError: if it could not be swapped on again (loop(4), ``LO_FLAGS_AUTOCLEAR``).
        """
        goes = self.place.read(f"/sys/block/{Path(self.path).name}/loop/autoclear") or ""
        if now != _OFF and goes.strip() == "1":
            raise LackError("it stays on (it would be detached, and could not come back)")
        return _OFF

    def is_same(self, change: Change) -> bool:
        """Whether it is of this area; where none is on, somebody may have taken it off."""
        return (
            isinstance(change, SwappedOff)
            and change.ssh == self.place.ssh
            and self.path in ("", change.path)
        )

    def step(self, before: str, wanted: str) -> ChangeByCommand:  # noqa: ARG002  the base's names
        """Read back what is swapped out, and take it off."""
        priority = int(before.rpartition(" ")[2])
        return ChangeByCommand(
            argv=self.place.argv(("swapoff", self.path)),
            change=SwappedOff(path=self.path, priority=priority, ssh=self.place.ssh),
        )

    def why_not_set(self, now: str, wanted: str, error: TiltyardError | None) -> str:
        """As swapoff says it: what is swapped out may not fit into memory."""
        return f"it stays on ({super().why_not_set(now, wanted, error)})"


def _settings(table: SwapTable, scene: Scene) -> Iterator[Swap]:
    del table
    areas = swaps.areas(scene.place)
    # The kernel numbers areas without a priority as they come: the last one off is the first again.
    paths = sorted(areas, key=lambda path: areas[path]) or [""]
    return (Swap(scene.place, path) for path in paths)


KNOB = Knob(
    name="swap",
    about="whether anything is swapped out while a system is measured",
    Table=SwapTable,
    of="host",
    settings=_settings,
)
