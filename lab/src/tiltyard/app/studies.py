"""The kinds of studies that can be analysed: run here, collected, or known to another package."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib.metadata import entry_points
from pathlib import Path
from typing import Final

from tiltyard.analysis.collected import analyse_collection
from tiltyard.analysis.model import Findings
from tiltyard.analysis.sessions import analyse_sessions
from tiltyard.collected.store import is_collected, read_collection
from tiltyard.folder import StudyFolder
from tiltyard.report.styles import STYLES
from tiltyard.run.sessions import read_sessions

GROUP: Final = "tiltyard.studies"
"""Entry points of installed packages; each names a :class:`StudyKind`."""


@dataclass(frozen=True)
class StudyKind:
    """How one kind of study is recognised and analysed."""

    is_in: Callable[[Path], bool]
    """Whether a folder holds one."""
    findings: Callable[[Path], Findings]
    """Analyses it; raises :class:`tiltyard.errors.UsageError` where it cannot be read."""
    style: Callable[[Path], str] = lambda _: STYLES[0].name
    """Name of the style in which it is reported by default."""
    folder: Callable[[Path], StudyFolder] | None = StudyFolder
    """Where its findings and its report are written; ``None``: not to its folder, which is left as
    it is, but to one of its name here."""


RUN: Final = StudyKind(
    is_in=lambda folder: StudyFolder(folder).study.exists(),
    findings=lambda study: analyse_sessions(read_sessions(StudyFolder.of(study))),
    folder=StudyFolder.of,
)
COLLECTED: Final = StudyKind(
    is_in=is_collected,
    findings=lambda folder: analyse_collection(read_collection(folder)),
)


@cache
def kinds() -> tuple[StudyKind, ...]:
    """All of them; a folder holds a study of the first one that recognises it."""
    return (*(point.load() for point in entry_points(group=GROUP)), COLLECTED, RUN)


def kind_of(study: Path) -> StudyKind:
    """The kind of a study; of one that is not there, a study that is run here."""
    return next((kind for kind in kinds() if kind.is_in(study)), RUN)


def is_study(folder: Path) -> bool:
    """Whether there is a study of any kind in a folder."""
    return any(kind.is_in(folder) for kind in kinds())
