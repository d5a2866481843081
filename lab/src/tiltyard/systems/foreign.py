"""A system of a kind that an installed package adds: it plans, and what is ours executes."""

import warnings
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from pathlib import Path

from tiltyard.host.changes import PREFIX
from tiltyard.host.steps import Step
from tiltyard.registry import Plugin, PluginError, PluginWarning, contained, guarded
from tiltyard.systems.kind import Problem, System, Up


class Contained(System):
    """The steps of a package, executed and taken back by us; only steps of ours are."""

    def __init__(self, system: System, plugin: Plugin) -> None:
        """Nothing is touched yet."""
        with contained(plugin, "is no system"):
            self.place, self.steps, self.far = system.place, system.steps, system.far
            self.server_end, self.rest, self.on = system.server_end, system.rest, system.on
        self._system, self._plugin = system, plugin

    def problems(self) -> list[Problem]:
        """The system's own."""
        try:
            with contained(self._plugin):
                return [*self._system.problems()]
        except PluginError as error:
            return [Problem("error", str(error))]

    def far_interfaces(self) -> tuple[str, ...]:
        """The system's own."""
        with contained(self._plugin):
            return (*self._system.far_interfaces(),)

    def steps_up(self) -> Iterator[Step]:
        """The system's own."""
        return self._steps(self._system.steps_up)

    def steps_refresh(self) -> Iterator[Step]:
        """The system's own."""
        return self._steps(self._system.steps_refresh)

    def steps_down(self) -> Iterator[Step]:
        """The system's own."""
        return self._steps(self._system.steps_down)

    def take_down(self) -> None:
        """Whatever becomes of the system's own steps, all is taken back."""
        try:
            super().take_down()
        except PluginError as error:
            warnings.warn(PluginWarning(str(error)), stacklevel=2)
        self.steps.undo()

    def look(self) -> Up:
        """The system's own."""
        with contained(self._plugin):
            up = self._system.look()
            if not isinstance(up, Up):
                raise TypeError(f"it looked and gave {type(up).__name__}, not Up")
            return replace(
                up,
                lost=guarded(up.lost, self._plugin),
                servers=guarded(up.servers, self._plugin),
            )

    def _steps(self, made: Callable[[], Iterable[Step]]) -> Iterator[Step]:
        """One after the other, as each may look at what those before have brought about."""
        with contained(self._plugin):
            steps = iter(made())
        while True:
            with contained(self._plugin):
                step = next(steps, None)
                if step is not None:
                    _require_sound(step)
            if step is None:
                return
            yield step


def _require_sound(step: object) -> None:
    """A step is one of ours, and what it makes has a name by which it may be removed."""
    if not isinstance(step, Step) or not type(step).__module__.startswith("tiltyard."):
        raise TypeError(f"{type(step).__name__} is no step of tiltyard.plugin")
    made = getattr(step, "path", None) or getattr(step, "target", None)
    inside = getattr(step, "inside", False)
    if isinstance(made, Path) and not inside and not made.name.startswith(PREFIX):
        raise ValueError(f"{made} would not be removed; call it site.ledger.name(…)")
