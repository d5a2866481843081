"""Ready studies: files that can be run as they are. Their first line says what for."""

import re
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass
from importlib.resources import files
from typing import Final

from tiltyard.errors import UsageError
from tiltyard.study.problems import not_a

_FOLDER: Final = files("tiltyard.study").joinpath("studies")
_SUFFIX: Final = ".toml"
_FOR: Final = re.compile(r"# For: (.+)\n#\n")


@dataclass(frozen=True)
class ReadyStudy:
    """One of them."""

    name: str
    purposes: tuple[str, ...]
    about: str
    """The first paragraph of its head."""
    question: str
    text: str
    """The study file."""


def ready_studies() -> tuple[ReadyStudy, ...]:
    """All of them, by name."""
    found = (entry for entry in _FOLDER.iterdir() if entry.name.endswith(_SUFFIX))
    texts = {entry.name.removesuffix(_SUFFIX): entry.read_text(encoding="utf-8") for entry in found}
    return tuple(_study(name, text) for name, text in sorted(texts.items()))


def ready_study(name: str, also: Iterable[str] = ()) -> ReadyStudy:
    """The one of that name.

    Args:
        name: which.
        also: further names to tell of if there is none.

    Raises:
        UsageError: if there is none.
    """
    found = {study.name: study for study in ready_studies()}
    if name not in found:
        raise UsageError(not_a(name, "template", [*also, *found]))
    return found[name]


def _study(name: str, text: str) -> ReadyStudy:
    """What its head says; one that says nothing is for nothing in particular."""
    head = _FOR.match(text)
    lines = text[head.end() if head else 0 :].splitlines()
    about = []
    for line in lines:
        words = line.removeprefix("#").strip()
        if not line.startswith("#") or not words:
            break
        about.append(words)
    return ReadyStudy(
        name=name,
        purposes=tuple(head[1].split(", ")) if head else (),
        about=" ".join(about),
        question=str(tomllib.loads(text)["question"]),
        text=text,
    )
