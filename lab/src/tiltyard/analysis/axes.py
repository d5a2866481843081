"""The dimensions of a workload's grid, and what its points are called.

Axes that never change in a study say nothing about a point, and axes that always have the same
level (a request and its response of one size) are one: such *spoken* axes are what labels name and
what pictures are laid out by.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

from tiltyard.units import format_size

Level: TypeAlias = int | str
Point: TypeAlias = dict[str, Level]

COUNTED: Final = {"children": "child", "threads": "thread", "flows": "flow"}
"""Axes whose numbers say how many, with the word for one; the others say which one."""
SIZED: Final = frozenset({"message", "request", "response", "send_buffer", "receive_buffer"})
"""Axes whose numbers are bytes, however odd; of the others only whole multiples of 1 KiB are."""
AUTOMATIC: Final = 0
"""The level of a sized axis that leaves the size to the kernel."""
ENOUGH: Final = 3
"""Levels from which on a dimension is a course, not a handful of cases."""
PLAIN_BYTES: Final = 100_000
CASES: Final = 4
"""More lines of cases than this are not told apart beside each other."""


@dataclass(frozen=True)
class Axis:
    """One dimension as it is spoken of."""

    names: tuple[str, ...]
    """Those of the workload's grid that always have the same level; mostly one."""

    @property
    def name(self) -> str:
        """``message``, ``receive buffer``, ``request and response``."""
        return " and ".join(name.replace("_", " ") for name in self.names)

    def level(self, point: Point) -> Level:
        """Where a point stands on it; what a program prints may have it in some trials only."""
        return point.get(self.names[0], "no")

    def text(self, level: Level) -> str:
        """A level alone: ``64 KiB``, ``65,507 B``, ``auto``, ``8``."""
        if self._is_size(level):
            return "auto" if level == AUTOMATIC else _size_text(int(level))
        return str(level)

    def label(self, level: Level) -> str:
        """A level with its axis: ``64 KiB record``, ``1 thread``, ``loop 3``."""
        if self.names[0] in COUNTED:
            return f"{level} {COUNTED[self.names[0]] if level == 1 else self.name}"
        if isinstance(level, int) and not self._is_size(level):
            return f"{self.name} {level}"
        return f"{self.text(level)} {self.name}"

    def span(self, levels: Iterable[int]) -> str:
        """Numeric levels together: ``messages of 32 B to 65,507 B``, ``1 to 8 threads``."""
        ordered = sorted(set(levels))
        sized = self.is_sized(ordered)
        automatic = sized and ordered[0] == AUTOMATIC
        texts = [self.text(level) for level in ordered[automatic:]]
        joint = "and" if len(ordered) == 2 else "to"
        reach = f" {joint} ".join(dict.fromkeys((texts[0], texts[-1])))
        if automatic:
            reach = f"auto and {reach}"
        if self.names[0] in COUNTED:
            return f"{reach} {self.name}"
        plural = " and ".join(f"{name.replace('_', ' ')}s" for name in self.names)
        return f"{plural} of {reach}" if sized else f"{plural} {reach}"

    def is_sized(self, levels: Iterable[Level]) -> bool:
        """Whether its levels are sizes."""
        return all(self._is_size(level) for level in levels)

    def _is_size(self, level: Level) -> bool:
        if not isinstance(level, int) or self.names[0] in COUNTED:
            return False
        return self.names[0] in SIZED or (level >= 1024 and level % 1024 == 0)


@dataclass(frozen=True)
class Course:
    """A numeric dimension with enough levels to follow values along it, and what else varies."""

    axis: Axis
    levels: tuple[int, ...]
    """Ascending; ``auto`` first."""
    others: tuple[Axis, ...]

    @property
    def heading(self) -> str:
        """What stands over the levels: ``message, bytes``, ``receive buffer``, ``threads``."""
        return f"{self.axis.name}, bytes" if self._in_bytes else self.axis.name

    def text(self, level: int) -> str:
        """A level under its heading: ``65,507``, ``2 MiB``, ``auto``, ``8``."""
        if self._in_bytes and level != AUTOMATIC:
            return f"{level:,}"
        return self.axis.text(level)

    @property
    def _in_bytes(self) -> bool:
        """Small sizes are read as plain numbers, as the field prints them."""
        return self.axis.is_sized(self.levels) and self.levels[-1] < PLAIN_BYTES

    def case(self, point: Point) -> str:
        """What a point stands for beside its level: ``2 flows``; empty if nothing else varies."""
        return label_of(point, self.others)

    def short(self, point: Point) -> str:
        """A point where the axis is named elsewhere: ``65,507 B``, ``1 KiB, 8 flows``."""
        return ", ".join(filter(None, (self.axis.text(self.axis.level(point)), self.case(point))))


def spoken_axes(points: Iterable[Point]) -> tuple[Axis, ...]:
    """The axes that tell points apart, in the order of the grid.

    Where nothing varies (one point), all of them but those left to the kernel.
    """
    columns: dict[str, list[Level]] = {}
    for point in points:
        for name, level in point.items():
            columns.setdefault(name, []).append(level)
    varying = [name for name, levels in columns.items() if len(set(levels)) > 1]
    named = varying or [
        name for name, levels in columns.items() if name not in SIZED or levels[0] != AUTOMATIC
    ]
    # Only sizes are merged: counts that happen to be equal still count different things.
    merged: dict[object, list[str]] = {}
    for name in named:
        merged.setdefault(tuple(columns[name]) if name in SIZED else name, []).append(name)
    return tuple(Axis(tuple(names)) for names in merged.values())


def label_of(point: Point, axes: Iterable[Axis]) -> str:
    """A point in words: ``64 MiB file, 4 KiB record, 2 threads``; empty without axes."""
    return ", ".join(axis.label(axis.level(point)) for axis in axes)


def progress_of(points: Sequence[Point]) -> Course | None:
    """The dimension to follow values along: the numeric one with the most levels.

    ``None`` where there are fewer than three levels, where sizes vary in two ways (that is a map),
    or where too many other things vary.
    """
    if len({tuple(point) for point in points}) != 1:
        return None
    axes = spoken_axes(points)
    levels = {axis: {axis.level(point) for point in points} for axis in axes}
    numeric = [axis for axis in axes if all(isinstance(level, int) for level in levels[axis])]
    longest = max(numeric, key=lambda axis: len(levels[axis]), default=None)
    sized = [axis for axis in numeric if axis.is_sized(levels[axis])]
    if longest is None or len(levels[longest]) < ENOUGH or len(sized) > 1:
        return None
    others = tuple(axis for axis in axes if axis != longest)
    course = Course(longest, tuple(sorted(int(level) for level in levels[longest])), others)
    return course if len({course.case(point) for point in points}) <= CASES else None


def _size_text(size_bytes: int) -> str:
    """``512 B``, ``64 KiB``, and ``65,507 B`` where a prefix would not be exact."""
    return format_size(size_bytes) if size_bytes % 1024 == 0 else f"{size_bytes:,} B"
