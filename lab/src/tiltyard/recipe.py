"""What one turn of a system did to a host, as lines of a shell script that does it again.

The lines are those of the steps that were executed (:attr:`tiltyard.host.steps.Step.script`) and of
their ways back. They are for ``bash`` with the functions that the runbook defines at its head
(:mod:`tiltyard.analysis.runbook`): ``keep FILE VALUE`` and ``back FILE``, ``start NAME COMMAND…``
and ``stop NAME``. What no command does is told behind a ``#``.
"""

import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from pydantic import BaseModel, Field

from tiltyard.frozen import Frozen

CHECK = "# make sure"
"""How steps are told that only look."""
ENGINE = "$engine"
"""The engine's binary, wherever it is."""
_NAMED = re.compile(r"[A-Za-z]+[0-9]+")
"""Values of outputs that are found again in later lines: ``loop0``."""


class Recipe(Frozen):
    """A turn as lines of a script."""

    once: tuple[str, ...] = ()
    """What lasts as long as the run."""
    up: tuple[str, ...] = ()
    down: tuple[str, ...] = ()
    """The ways back of ``up``, last change first."""
    end: tuple[str, ...] = ()
    """Those of ``once``."""
    needs: dict[str, str] = Field({})
    """Program → the package that holds it."""
    engine: str = ""
    """What starts the engine at its end of the system; empty where a script cannot do the turn."""
    jobs: dict[str, str] = Field({})
    """Workload → the engine's job, as JSON; in the order of the turn."""
    outputs: dict[str, str] = Field({}, exclude=True)
    """What steps have yielded, by name, as long as the lines have the values in them."""

    @property
    def words(self) -> tuple[str, ...]:
        """What no command does of it; a check that is left out changes nothing."""
        lines = (*self.once, *self.up)
        return tuple(one for one in lines if one.startswith("#") and not one.startswith(CHECK))

    def __add__(self, inner: "Recipe") -> "Recipe":
        """What is around a system, and the system: it is taken down first."""
        return Recipe(
            once=(*self.once, *inner.once),
            up=(*self.up, *inner.up),
            down=(*inner.down, *self.down),
            end=(*inner.end, *self.end),
            needs={**self.needs, **inner.needs},
            engine=inner.engine,
            jobs={**self.jobs, **inner.jobs},
            outputs={**self.outputs, **inner.outputs},
        )

    def _replaced(self, change: "Iterable[tuple[str, str]]") -> "Recipe":
        """The same with patterns of regular expressions replaced in every line."""
        rules = [(re.compile(pattern), text) for pattern, text in change]

        def line(text: str) -> str:
            for pattern, by in rules:
                text = pattern.sub(by, text)
            return text

        parts = {name: tuple(map(line, getattr(self, name))) for name in _PARTS}
        jobs = {name: line(text) for name, text in self.jobs.items()}
        return Recipe(**parts, needs=self.needs, engine=line(self.engine), jobs=jobs)

    def anywhere(self, places: Mapping[str, str]) -> "Recipe":
        """The same for any host, with variables for what has another name there.

        Args:
            places: path of the run → its variable, the longest first. Outputs of steps are known:
                what ``loop3`` was is ``$loopN``.
        """
        rules: list[tuple[str, str]] = []
        for path, name in places.items():
            rules.append((rf"'{re.escape(path)}([^']*)'", rf'"{name}\1"'))
            rules.append((rf"{re.escape(path)}(?![\w.-])", name))
        for name, value in self.outputs.items():
            plain = _variable(name)
            quoted = plain != name
            rules.append((re.escape(name), f"'\"${plain}\"'") if quoted else _word(name, plain))
            if _NAMED.fullmatch(value):
                rules.append(_word(value, plain))
        return self._replaced(rules)


_PARTS = ("once", "up", "down", "end")


def _variable(name: str) -> str:
    return re.sub(r"\W", "", name)


def _word(word: str, variable: str) -> tuple[str, str]:
    """Where it stands as a word, and is neither set nor a variable already."""
    return rf"(?<![\w$]){re.escape(word)}(?![\w=])", f"${variable}"


def output(name: str, command: str) -> str:
    """A line that keeps what a command prints for later lines."""
    return f'{_variable(name)}="$({command})"'


def resolved(value: Any, outputs: dict[str, str]) -> Any:
    """A field's value with outputs in the place of their names, however deep they are."""
    if isinstance(value, str):
        for name, text in outputs.items():
            value = value.replace(name, text)
        return value
    if isinstance(value, Path):
        return Path(resolved(str(value), outputs))
    if isinstance(value, tuple):
        return tuple(resolved(each, outputs) for each in value)
    if isinstance(value, dict):
        return {key: resolved(each, outputs) for key, each in value.items()}
    if isinstance(value, BaseModel):
        fields = {
            name: resolved(getattr(value, name), outputs) for name in type(value).model_fields
        }
        return value.model_copy(update=fields)
    return value
