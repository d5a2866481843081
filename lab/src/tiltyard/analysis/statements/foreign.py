"""Statements of installed packages: limitations, and further findings.

The tests of one package are a family of their own, corrected as ours are: among ours, a test of
theirs would move each p-value. Where one fails, all of its package are left out, with a notice.
"""

import contextlib
import math
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from tiltyard.analysis.model import Notice
from tiltyard.analysis.statements.evidence import Evidence, Result, Scene
from tiltyard.analysis.statements.statement import Statement
from tiltyard.registry import Plugin, PluginError, PluginWarning, Registry, contained


def _sound(made: Statement[Any, Any], _plugin: Plugin) -> Statement[Any, Any]:
    if made.shown not in ("notice", "further finding"):
        raise ValueError(f'it is shown as "{made.shown}"; a package has notices, further findings')
    return replace(made, correction="family" if made.shown == "further finding" else None)


def _told(made: Any) -> list[Notice | Result]:
    found = [*made]
    for one in found:
        if not isinstance(one, Notice | Result):
            raise TypeError(f"it made {type(one).__name__}, not Notice or Result")
        if isinstance(one, Result) and not 0 <= one.p <= 1:
            raise ValueError(f"{one.p} is no p-value")
        if isinstance(one, Result) and one.claim and not math.isfinite(one.claim.size):
            raise ValueError(f"{one.claim.size} is no size of an effect")
    return found


FOREIGN: Final = Registry[Statement[Any, Any]](
    "statements", {}, Statement, checks={"make": _told}, sound=_sound
)
"""By name; ours are in :data:`tiltyard.analysis.statements.registry.STATEMENTS`."""


def _by_package(shown: str) -> dict[Plugin, list[Statement[Any, Any]]]:
    """First entry of a package → its statements of one place."""
    found: dict[str, list[Statement[Any, Any]]] = {}
    first: dict[str, Plugin] = {}
    for name, one in FOREIGN.items():
        plugin = FOREIGN.plugin(name)
        if plugin is not None and one.shown == shown:
            first.setdefault(plugin.package, plugin)
            found.setdefault(plugin.package, []).append(one)
    return {first[package]: own for package, own in found.items()}


def notices(evidence: Evidence) -> Iterator[Notice]:
    """Limitations that packages state; of one that fails, that it does."""
    for own in _by_package("notice").values():
        for statement in own:
            try:
                made = [one for one in statement.make(evidence) if isinstance(one, Notice)]
                yield from (one.model_copy(update={"above": False}) for one in made)
            except PluginError as error:
                yield Notice(severity="warning", text=f"A sentence is left out: {error}.")


@dataclass(frozen=True)
class Family:
    """The tests of further findings of one package."""

    plugin: Plugin
    statements: Sequence[Statement[Any, Any]]
    scenes: Sequence[Scene]

    def tests(self) -> Iterator[tuple[Statement[Any, Any], str, Result]]:
        """Which statement, of which workload, what came of it."""
        for statement in self.statements:
            for scene in self.scenes:
                for one in statement.make(scene):
                    if isinstance(one, Result):
                        yield statement, scene.name, one

    @contextlib.contextmanager
    def contained(self) -> Iterator[None]:
        """Where something of it fails, all of it is left out, with a warning."""
        try:
            with contained(self.plugin):
                yield
        except PluginError as error:
            warnings.warn(PluginWarning(f"further findings are left out: {error}"), stacklevel=3)


def families(scenes: Sequence[Scene]) -> Iterator[Family]:
    """One for each package that tests something."""
    for plugin, own in _by_package("further finding").items():
        yield Family(plugin, own, scenes)


def used() -> dict[str, str]:
    """Packages that state anything → their versions."""
    found = (FOREIGN.plugin(name) for name, _ in FOREIGN.items())
    return {one.package: one.version for one in found if one}
