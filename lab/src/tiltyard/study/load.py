"""Read a study file: text, then grammar, then meaning.

A step begins when the one before it has found nothing wrong, so that a person is told of causes
and not of their consequences.
"""

import datetime
import math
import re
import tomllib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from tiltyard.errors import UsageError
from tiltyard.study.bounds import BYTES_MAX, beyond
from tiltyard.study.file import StudyFile
from tiltyard.study.kinds import Kind
from tiltyard.study.lift import FlawsError, lift
from tiltyard.study.locate import KeyPath, Lines, locate
from tiltyard.study.model import Study
from tiltyard.study.problems import Flaw, Problem, StudyFileError, located
from tiltyard.study.wording import flaws_of
from tiltyard.units import format_size
from tiltyard.wire import Catalogue

_TOML_LINE = re.compile(r" \(at line (\d+), column \d+\)$")
_TOML_END = re.compile(r" \(at end of document\)$")
_PARAMETER_STEP = re.compile(r"\[(\d+)\]|([^.\[\]]+)")


def load_study(path: Path, catalogue: Catalogue, kinds: Sequence[Kind]) -> Study:
    """The study that a file describes.

    Args:
        path: The study file.
        catalogue: Which workloads there are, as the engine describes them.
        kinds: Which kinds of system there are: :data:`tiltyard.systems.KINDS`.

    Raises:
        StudyFileError: if the file is not a study; it names line, key and what would be right.
        UsageError: if the file cannot be read.
    """
    return read_study(read_text(path), path, catalogue, kinds)


def read_study(text: str, source: Path, catalogue: Catalogue, kinds: Sequence[Kind]) -> Study:
    """The study that a text describes; like :func:`load_study`, ``source`` is for messages only."""
    return _study(parsed(text, source), locate(text), source, catalogue, kinds)


def made_study(
    document: dict[str, Any], text: str, source: Path, catalogue: Catalogue, kinds: Sequence[Kind]
) -> Study:
    """The study that a document describes which was made here, of which ``text`` was made."""
    if problems := list(beyond(text)):
        raise StudyFileError(source, problems)
    return _study(document, locate(text), source, catalogue, kinds)


def _study(
    document: dict[str, Any],
    lines: Lines,
    source: Path,
    catalogue: Catalogue,
    kinds: Sequence[Kind],
) -> Study:
    if flaws := list(_unusable(document, ())):
        raise located(source, lines, flaws)
    try:
        return lift(StudyFile.model_validate(document), catalogue, kinds)
    except ValidationError as error:
        raise located(source, lines, flaws_of(error, StudyFile)) from error
    except FlawsError as error:
        raise located(source, lines, error.flaws) from error


def parameter_error(
    source: Path, text: str, workload_index: int, parameter: str | None, message: str
) -> StudyFileError:
    """What the engine has against a parameter, told like any other error of the study file.

    Args:
        source: The study file, for the message.
        text: What is in it.
        workload_index: Place of the ``[[workload]]``, counted from 0.
        parameter: As the engine names it: ``size``, ``locations[0].weight``; ``None`` if it means
            none in particular.
        message: The engine's own words.
    """
    steps = _PARAMETER_STEP.findall(parameter or "")
    inside: KeyPath = tuple(int(place) if place else name for place, name in steps)
    # The engine names the parameter in its message too; here the key says it.
    without_name = message.removeprefix(f'parameter "{parameter}": ')
    flaw = Flaw(("workload", workload_index, *inside), without_name)
    return located(source, locate(text), [flaw])


def read_text(path: Path) -> str:
    """The text of a study file, byte for byte: line ends are kept, so that its hash is the file's.

    Raises:
        UsageError: if there is no such file, it is too large, or it is not text.
    """
    try:
        if path.exists() and not (path.is_file() or path.is_dir()):
            raise UsageError(f"{path}: not a regular file")
        with path.open("rb") as file:
            text = file.read(BYTES_MAX + 1)
        if len(text) > BYTES_MAX:
            raise UsageError(
                f"{path}: larger than {format_size(BYTES_MAX)}: no study is, and reading it takes "
                "minutes. Fix: leave out what is not the study"
            )
        return text.decode()
    except UnicodeDecodeError as error:
        raise UsageError(f"{path}: not a text file in UTF-8") from error
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror}") from error


def parsed(text: str, source: Path) -> dict[str, Any]:
    """The TOML document of a text; ``source`` is for messages only.

    Raises:
        StudyFileError: if it is not TOML, or beyond :mod:`tiltyard.study.bounds`; it names the line
            where one is to blame.
    """
    if problems := list(beyond(text)):
        raise StudyFileError(source, problems)
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        message = str(error)
        match = _TOML_LINE.search(message)
        line = int(match[1]) if match else len(text.splitlines())
        what = _TOML_END.sub(", and the file ends", _TOML_LINE.sub("", message))
        problem = Problem(max(line, 1), "", f"this is not TOML: {what}")
        raise StudyFileError(source, [problem]) from error
    except (ValueError, RecursionError) as error:
        deep = isinstance(error, RecursionError)
        what = "values are nested too deeply" if deep else "a number has too many digits"
        raise StudyFileError(source, [Problem(1, "", what)]) from error


def _unusable(value: object, path: KeyPath) -> Iterator[Flaw]:
    """What TOML can say and a study cannot: dates, infinity, not-a-number."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _unusable(inner, (*path, key))
    elif isinstance(value, list):
        for place, inner in enumerate(value):
            yield from _unusable(inner, (*path, place))
    elif isinstance(value, datetime.date | datetime.time):
        yield Flaw(path, f'a date or time is not a setting. As text it stands in quotes: "{value}"')
    elif isinstance(value, float) and not math.isfinite(value):
        yield Flaw(path, f"{value} is not a number that can be set")
