"""Files that a profile's parameters name: read here, so that the plan has them as they were.

The engine writes them into the directory of each trial, on whichever host that is. A file that one
of them includes goes with it; where it has another name there, the line that names it is changed.
"""

import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from tiltyard.executors.engine import JobRefused
from tiltyard.importers.patterns import spans
from tiltyard.workloads.file import ParameterTable, ProfileFile
from tiltyard.workloads.values import Value, weighed

MOST_BYTES: Final = 2**18
"""Of all files of a workload: a job is one line on the way to the engine."""
_VARIABLE: Final = re.compile(r"\$\{([A-Za-z_]\w*)\}")
_GIVEN: Final = {"PATH": "/", "HOME": "/", "USER": "", "LANG": "", "TMPDIR": "/"}
"""The engine gives each program these; those that are paths lead out of the trial's directory."""
_UNSAFE: Final = re.compile(r"^-|[^\w.+-]", re.ASCII)
"""What an option, a placeholder or a weight could be taken for."""


@dataclass(frozen=True)
class Input:
    """A file as it lies in the directory of a trial."""

    parameter: str
    path: Path
    text: str
    """As it was read; see :attr:`Inputs.texts` for what is written."""


@dataclass
class Inputs:
    """All files of a workload."""

    found: dict[Path, Input] = field(default_factory=dict)
    names: dict[Path, str] = field(default_factory=dict)
    texts: dict[str, str] = field(default_factory=dict)
    """Name in the directory of a trial → contents."""

    def of(self, parameter: str) -> list[Path]:
        """The files that a parameter names, and those that they include."""
        return [one.path for one in self.found.values() if one.parameter == parameter]


def read_inputs(profile: ProfileFile, values: Mapping[str, Value]) -> Inputs:
    """The files that the values of parameters name.

    Raises:
        JobRefused: if one is not text, too large, names none that is there, or itself.
        TooSlowError: if an expression of the profile takes too long.
    """
    inputs = Inputs()
    for parameter, table in profile.parameters.items():
        for path, _ in files_of(table, values[parameter]):
            _add(inputs, parameter, table, path, ())
    if sum(len(text.encode()) for text in inputs.texts.values()) > MOST_BYTES:
        largest = max(inputs.found.values(), key=lambda one: len(one.text))
        raise JobRefused(
            largest.parameter,
            f"{largest.path}: its files are larger than {MOST_BYTES // 2**10} KiB together. "
            "Fix: is it the right one?",
        )
    return inputs


def named(table: ParameterTable, value: Value, inputs: Inputs) -> Value:
    """What stands for a parameter in commands: of files, their names in the trial's directory."""
    words = [f"{inputs.names[path]}{weight}" for path, weight in files_of(table, value)]
    if table.type == "file":
        return words[0] if words else ""
    return words if table.type == "files" else value


def files_of(table: ParameterTable, value: Value) -> Iterator[tuple[Path, str]]:
    """The files that a value names, each with its weight."""
    if table.type in ("file", "files"):
        for word in value if isinstance(value, list) else [str(value)]:
            if word:
                name, weight = weighed(word, weight=table.weights)
                yield Path(name), weight


def variables_in(inputs: Inputs, parameter: str) -> dict[str, tuple[Path, int]]:
    """Variables that its files name, and where first; not those that every program has."""
    found: dict[str, tuple[Path, int]] = {}
    for one in _of(inputs, parameter):
        for number, line in enumerate(one.text.splitlines(), start=1):
            for name in () if line.lstrip()[:1] in ("#", ";") else _VARIABLE.findall(line):
                found.setdefault(name, (one.path, number))
    return {name: place for name, place in found.items() if name not in _GIVEN}


def require_allowed(profile: ProfileFile, inputs: Inputs, variables: Mapping[str, str]) -> None:
    """Refuse lines that the profile refuses.

    Args:
        profile: whose parameters say which.
        inputs: the files.
        variables: of the environment, as they will be.

    Raises:
        JobRefused: naming file and line.
    """
    known = {**_GIVEN, **variables}
    for parameter, table in profile.parameters.items():
        for one in _of(inputs, parameter):
            filled = _VARIABLE.sub(lambda match: known.get(match[1], match[0]), one.text)
            for expression, wrong in table.refuse.items():
                for start, end in spans(expression, filled):
                    place, line = _line(filled, start), filled[start:end].strip()
                    raise JobRefused(parameter, f"{one.path}:{place}: {line}: {wrong}")


def _of(inputs: Inputs, parameter: str) -> Iterator[Input]:
    return (one for one in inputs.found.values() if one.parameter == parameter)


def _add(
    inputs: Inputs, parameter: str, table: ParameterTable, path: Path, within: tuple[Path, ...]
) -> str:
    """Add a file with those that it includes; its name in the trial's directory."""
    if path in inputs.names:
        return inputs.names[path]
    text = _read(parameter, path)
    safe = _UNSAFE.sub("_", path.name)
    name, number = safe, 2
    while name in inputs.names.values():
        name, number = f"{number}-{safe}", number + 1
    inputs.names[path] = name
    inputs.found[path] = Input(parameter, path, text)
    written, rest = [], 0
    for start, end in spans(table.include, text) if table.include else ():
        where = f"{path}:{_line(text, start)}: {text[start:end]}"
        other = Path(os.path.normpath(path.parent / text[start:end]))
        if other.resolve() in (*within, path.resolve()):
            raise JobRefused(parameter, f"{where}: includes itself. Fix: leave the line out")
        if not other.is_file():
            raise JobRefused(parameter, f"{where}: there is no such file. Fix: name one")
        written += [
            text[rest:start],
            _add(inputs, parameter, table, other, (*within, path.resolve())),
        ]
        rest = end
    inputs.texts[name] = "".join([*written, text[rest:]])
    return name


def _read(parameter: str, path: Path) -> str:
    """Its text; a large file is not read whole."""
    try:
        with path.open("rb") as file:
            return file.read(MOST_BYTES + 1).decode()
    except OSError as error:
        raise JobRefused(parameter, f"{path}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise JobRefused(parameter, f"{path}: is no text. Fix: name another file") from error


def _line(text: str, start: int) -> int:
    return text.count("\n", 0, start) + 1
