"""Which kind of system a study is about: told by the settings that it uses."""

from collections.abc import Iterator, Sequence, Set
from typing import Any, Literal, Protocol

from pydantic import BaseModel

from tiltyard.study.file import StudyFile
from tiltyard.study.problems import Flaw, not_a, one_of, perhaps


class Kind(Protocol):
    """What a study needs to know of an entry of :data:`tiltyard.systems.KINDS`."""

    @property
    def name(self) -> str:
        """As ``systems.kind`` names it."""

    @property
    def target(self) -> Literal["directory", "far"]:
        """What trials on its systems work on."""

    def redraws(self, settings: Any, /) -> str:
        """What each turn of a system with these settings makes anew, in words."""

    @property
    def Settings(self) -> type[BaseModel]:  # noqa: N802  it is a class
        """The model of its settings; fields carry descriptions."""


def kind_of(file: StudyFile, kinds: Sequence[Kind], flaws: list[Flaw]) -> Kind | None:
    """The kind that has all the settings in use, the first of several.

    Returns:
        ``None``, with flaws added, if there is none.
    """
    named = file.systems.kind
    if named is not None:
        kinds = [kind for kind in kinds if kind.name == named] or _no_kind(named, kinds, flaws)
    used = {**file.factors, **file.systems.settings}.keys()
    fitting = [kind for kind in kinds if used <= _settings(kind)]
    if fitting:
        return fitting[0]
    if kinds:
        flaws.extend(_unfitting(file, kinds, used))
    return None


def _no_kind(named: str, kinds: Sequence[Kind], flaws: list[Flaw]) -> Sequence[Kind]:
    """No kinds to choose from, and the flaw that says why."""
    text = not_a(named, "kind", (kind.name for kind in kinds))
    flaws.append(Flaw(("systems", "kind"), text))
    return ()


def _settings(kind: Kind) -> Set[str]:
    """Names of the settings of a kind."""
    return kind.Settings.model_fields.keys()


def _unfitting(file: StudyFile, kinds: Sequence[Kind], used: Set[str]) -> Iterator[Flaw]:
    """A flaw for each key that is in the way of the kinds that come nearest."""
    most = max(len(used & _settings(kind)) for kind in kinds)
    nearest = [kind for kind in kinds if len(used & _settings(kind)) == most]
    known = {key: None for kind in nearest for key in _settings(kind)}
    unknown = used - known.keys()
    for key in unknown or used - _settings(nearest[0]):
        table = "factors" if key in file.factors else "systems"
        if not most:
            every = ", ".join(kind.name for kind in kinds)
            text = f"no kind of system has such a setting ({every}).{perhaps(key, known)}"
            yield Flaw((table, key), text)
        elif unknown:
            names = " or ".join(kind.name for kind in nearest)
            yield Flaw((table, key), f"there is no such setting of {names}. {one_of(key, known)}")
        else:
            text = f"is not a setting of {nearest[0].name}; all systems of a study are of one kind"
            yield Flaw((table, key), text)
