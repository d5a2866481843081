"""What is wrong with a study file: found anywhere, told in one line that names the place."""

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from tiltyard.errors import UsageError
from tiltyard.study.locate import KeyPath, Lines
from tiltyard.study.toml import toml_key
from tiltyard.study_path import perhaps

_VALUE_LENGTH_MAX = 60
_WORD: Final = re.compile(r"\w+")
PHORONIX: Final = "pts:"
"""How names of workloads begin that are tests of the Phoronix Test Suite."""
FLAWS_MAX = 100
"""When so many are found, no more are looked for."""


@dataclass(frozen=True)
class Flaw:
    """Something wrong at a key; the line is not known yet."""

    path: KeyPath
    text: str


@dataclass(frozen=True, order=True)
class Problem:
    """Something wrong in a line of a study file."""

    line: int
    key: str
    """Dotted, without places in lists: ``workload.use``."""
    text: str
    """What is wrong, and what would be right."""
    path: KeyPath = field(default=(), compare=False)
    """The key with places in lists, where one is to blame."""


class StudyFileError(UsageError):
    """A study file says something that Tiltyard does not understand.

    Attributes:
        problems: All that was found, by line. The message is the first of them.
        source: The file.
        text: The message without file and line.
    """

    def __init__(self, source: Path, problems: Iterable[Problem]) -> None:
        self.problems = tuple(sorted(set(problems)))
        first = self.problems[0]
        key = f"{first.key}: " if first.key else ""
        others = len(self.problems) - 1
        more = f" (and {others} more)" if others else ""
        self.source, self.text = source, f"{key}{first.text}{more}"
        super().__init__(f"{source}:{first.line}: {self.text}")


def located(source: Path, lines: Lines, flaws: Iterable[Flaw]) -> StudyFileError:
    """The error that tells of flaws, each with its line."""
    return StudyFileError(
        source,
        (Problem(lines.of(flaw.path), dotted(flaw.path), flaw.text, flaw.path) for flaw in flaws),
    )


def dotted(path: KeyPath) -> str:
    """A key as a person says it: ``("workload", 1, "use")`` is ``workload.use``."""
    return ".".join(toml_key(step) for step in path if isinstance(step, str))


def shown(value: object) -> str:
    """A value as one types it, shortened if it is long."""
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= _VALUE_LENGTH_MAX else f"{text[: _VALUE_LENGTH_MAX - 1]}…"


def one_of(typed: object, right: Iterable[str]) -> str:
    """What would be right, and the nearest of it: ``One of: none, mkfs. Did you mean "mkfs"?``."""
    names = list(right)
    return f"One of: {', '.join(names)}.{perhaps(typed, names)}"


def parameter_of(typed: str, properties: Mapping[str, Any]) -> str:
    """As :func:`one_of`, with those in place of the nearest whose help begins with what was typed.

    The size of a file may be called ``file``.

    Args:
        typed: what is no parameter.
        properties: those that there are, as JSON Schema.
    """
    word = typed.casefold().rstrip("s")
    about = {name: str(table.get("description", "")) for name, table in properties.items()}
    first = {name: next(iter(_WORD.findall(help_)), "") for name, help_ in about.items()}
    helped = [f'"{name}"' for name in about if first[name].casefold().rstrip("s") == word]
    if not helped:
        return one_of(typed, properties)
    return f"One of: {', '.join(properties)}. Did you mean {' or '.join(helped)}?"


def no_workload(typed: str, known: Iterable[str]) -> str:
    """What to say of a workload that there is not; tests of the Phoronix suite, it installs."""
    names = list(known)
    if not typed.startswith(PHORONIX):
        return not_a(typed, "workload", names)
    installed = [name for name in names if name.startswith(PHORONIX)]
    near = perhaps(typed, installed)
    test = typed.removeprefix(PHORONIX).replace(".", "/", 1)
    test = test if "/" in test else f"pts/{test}"
    return (
        f"the Phoronix Test Suite has not installed {test} here.{near} "
        f"Fix: phoronix-test-suite install {test}"
    )


def not_a(typed: object, what: str, right: Iterable[str]) -> str:
    """``"mkfss" is not a reset. One of: none, remount, mkfs. Did you mean "mkfs"?``."""
    article = "an" if what[:1] in "aeiou" else "a"
    return f"{shown(typed)} is not {article} {what}. {one_of(typed, right)}"
