"""Table ``[swap]``: whether anything is swapped out while a system is measured."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Literal

from pydantic import Field

from tiltyard.host import swaps
from tiltyard.host.place import Place
from tiltyard.host.settings import SetByCommand
from tiltyard.tuning.knob import Knob, KnobTable
from tiltyard.tuning.setting import LackError, Scene, Setting


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
        return swaps.state(areas, self.path) if self.path else ", ".join(areas) or swaps.OFF

    def wanted(self, now: str) -> str:
        """That it is off.

        Raises:
            LackError: if it could not be swapped on again (loop(4), ``LO_FLAGS_AUTOCLEAR``).
        """
        goes = self.place.read(f"/sys/block/{Path(self.path).name}/loop/autoclear") or ""
        if now != swaps.OFF and goes.strip() == "1":
            raise LackError("it stays on (it would be detached, and could not come back)")
        return swaps.OFF

    row: ClassVar = "swap"

    def step(self, before: str, wanted: str) -> SetByCommand:
        """Read back what is swapped out, and take it off."""
        return SetByCommand(
            what=self.name,
            argv=("swapoff", self.path),
            look=swaps.look(self.path),
            before=before,
            value=wanted,
            back=swaps.command(self.path, int(before.rpartition(" ")[2])),
            ends_with_boot=True,
            skip=True,
            address=self.place.address,
        )

    def why_not_set(self, now: str, wanted: str, said: str) -> str:
        """As swapoff says it: what is swapped out may not fit into memory."""
        return f"it stays on ({super().why_not_set(now, wanted, said)})"


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
