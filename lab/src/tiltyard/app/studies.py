"""The kinds of studies that can be analysed: run here, collected, or known to another package."""

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Final

from tiltyard.collected.store import is_collected, read_collection
from tiltyard.errors import UsageError
from tiltyard.folder import StudyFolder
from tiltyard.registry import Plugin, PluginError, PluginWarning, Registry
from tiltyard.study_path import study_path
from tiltyard.systems.typed import is_word_of_kind

if TYPE_CHECKING:
    from tiltyard.analysis.model import Findings


@dataclass(frozen=True)
class StudyKind:
    """How one kind of study is recognised and analysed."""

    is_in: Callable[[Path], bool]
    """Whether a folder holds one."""
    findings: Callable[[Path], "Findings"]
    """Analyses it; raises :class:`tiltyard.errors.UsageError` where it cannot be read."""
    style: Callable[[Path], str] = lambda _: _first_style()
    """Name of the style in which it is reported by default."""
    folder: Callable[[Path], StudyFolder] | None = StudyFolder
    """Where its findings and its report are written; ``None``: not to its folder, which is left as
    it is, but to one of its name here."""


def _first_style() -> str:
    from tiltyard.report.styles import STYLES

    return next(iter(STYLES.names))


def _of_run(study: Path) -> "Findings":
    from tiltyard.analysis.sessions import analyse_sessions
    from tiltyard.run.sessions import read_sessions

    return analyse_sessions(read_sessions(StudyFolder.of(study)))


def _of_collection(folder: Path) -> "Findings":
    from tiltyard.analysis.collected import analyse_collection

    return analyse_collection(read_collection(folder))


RUN: Final = StudyKind(
    is_in=lambda folder: StudyFolder(folder).study.exists(),
    findings=_of_run,
    folder=StudyFolder.of,
)
COLLECTED: Final = StudyKind(is_in=is_collected, findings=_of_collection)


def _sound(made: StudyKind, _plugin: Plugin) -> StudyKind:
    """A package's: a folder that it fails at holds no study of it."""

    def is_in(folder: Path) -> bool:
        try:
            return bool(made.is_in(folder))
        except PluginError as error:
            warnings.warn(PluginWarning(str(error)), stacklevel=2)
            return False

    return replace(made, is_in=is_in)


def _findings(made: object) -> "Findings":
    from tiltyard.analysis.model import Findings

    if not isinstance(made, Findings):
        raise TypeError(f"it gave {type(made).__name__}, not Findings")
    return made


INSTALLED: Final = Registry[StudyKind](
    "studies", {}, StudyKind, checks={"findings": _findings}, sound=_sound
)
"""Those of packages, by name; ours are printed studies."""


@cache
def kinds() -> tuple[StudyKind, ...]:
    """All of them; a folder holds a study of the first one that recognises it."""
    ours: list[StudyKind] = []
    others: list[StudyKind] = []
    for name, kind in INSTALLED.items():
        (others if INSTALLED.plugin(name) else ours).append(kind)
    return (*ours, COLLECTED, RUN, *others)


def kind_of(study: Path) -> StudyKind:
    """The kind of a study; of one that is not there, a study that is run here."""
    return next((kind for kind in kinds() if kind.is_in(study)), RUN)


def is_study(folder: Path) -> bool:
    """Whether there is a study of any kind in a folder."""
    return any(kind.is_in(folder) for kind in kinds())


def named_studies(words: Sequence[str]) -> list[Path]:
    """The studies that words of a command line name; none where they name systems.

    A word with the name of a file system or another kind of system is that, whatever is here.

    Raises:
        UsageError: if some of them are studies and others are not.
    """
    found = [word for word in words if not is_word_of_kind(word) and _holds_results(Path(word))]
    others = [word for word in words if word not in found]
    if found and others:
        raise UsageError(
            f"{found[0]} is a study, and {others[0]} is none: studies are compared with studies. "
            "Fix: name studies only; as a system name a directory that holds no study"
        )
    return [Path(word) for word in found]


def _holds_results(path: Path) -> bool:
    if path.name == "" or str(path) == "." or not study_path(path).exists():
        return False
    folder = study_path(path)
    if not folder.is_dir() or not is_study(folder):
        return False
    return kind_of(folder) is not RUN or StudyFolder.of(folder).plan.exists()
