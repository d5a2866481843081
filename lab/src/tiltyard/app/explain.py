"""What a word, a key or an exit code of Tiltyard means."""

import re
import tomllib
from collections.abc import Iterator
from importlib.resources import files
from typing import Final

from pydantic import BaseModel

from tiltyard.errors import ExitCode, UsageError
from tiltyard.frozen import Frozen
from tiltyard.study.file import StudyFile
from tiltyard.study.problems import not_a
from tiltyard.systems import KINDS

_GLOSSARY: Final = files("tiltyard.app").joinpath("glossary.toml")
_SPACE: Final = re.compile(r"[\s_-]+")
_MARKS: Final = re.compile(r"[.,:;!?\"'()\[\]]")


class Meaning(Frozen):
    """What one word means."""

    word: str
    sort: str
    """What it is: ``word``, ``exit code``, ``key of [noise]``, ``setting of loop-image`` …"""
    says: str
    see: str = ""
    """Page of the documentation, below ``docs/``; empty: none."""
    also: tuple[str, ...] = ()
    """Other names of the same thing."""


class Explained(Frozen):
    """All that a word means."""

    asked: str
    meanings: tuple[Meaning, ...]


def glossary() -> tuple[Meaning, ...]:
    """The words, in the order of their file."""
    tables = tomllib.loads(_GLOSSARY.read_text(encoding="utf-8"))
    return tuple(
        Meaning.model_validate({"word": word, "sort": "word", **table}, strict=False)
        for word, table in tables.items()
    )


def meanings() -> Iterator[Meaning]:
    """Everything that can be explained."""
    yield from glossary()
    for code in ExitCode:
        yield Meaning(
            word=str(code.value),
            sort="exit code",
            says=code.meaning,
            see="reference/exit-codes.md",
        )
    yield from _keys(StudyFile, "key of a study")
    for table, field in StudyFile.model_fields.items():
        if isinstance(field.annotation, type) and issubclass(field.annotation, BaseModel):
            yield from _keys(field.annotation, f"key of [{table}]")
    for kind in KINDS:
        yield Meaning(
            word=kind.name, sort="kind of system", says=kind.about, see="reference/systems.md"
        )
        yield from _keys(kind.Settings, f"setting of {kind.name}")


def _keys(model: type[BaseModel], sort: str) -> Iterator[Meaning]:
    for name, field in model.model_fields.items():
        if field.description:
            yield Meaning(word=name, sort=sort, says=field.description)


def explain(asked: str) -> Explained:
    """What a word means, in each place where it means something.

    Args:
        asked: a word, a key, a number; of a longer text, each word of the glossary in it.

    Raises:
        UsageError: if it is none that is known; the message names the nearest.
    """
    known = list(meanings())
    wanted = _bare(asked)
    found = [one for one in known if wanted in _names(one)]
    if not found and " " in wanted:
        padded = f" {wanted} "
        found = [
            one
            for one in known
            if one.sort == "word" and any(f" {name} " in padded for name in _names(one))
        ]
    if not found:
        words = dict.fromkeys(one.word for one in known if one.sort == "word")
        raise UsageError(not_a(asked, "word of Tiltyard", words))
    return Explained(asked=asked, meanings=tuple(_once(found)))


def _names(meaning: Meaning) -> set[str]:
    """All that it is called by, also several of it."""
    names = {_bare(name) for name in (meaning.word, *meaning.also)}
    return names | {f"{name}s" for name in names}


def _bare(text: str) -> str:
    return _SPACE.sub(" ", _MARKS.sub(" ", text).lower()).strip()


def _once(found: list[Meaning]) -> Iterator[Meaning]:
    """Settings that several kinds share, once."""
    several: dict[str, Meaning] = {}
    for one in found:
        first = several.setdefault(one.says, one)
        if first is not one:
            of = one.sort.rpartition(" ")[2]
            several[one.says] = first.model_copy(update={"sort": f"{first.sort}, {of}"})
    yield from several.values()
