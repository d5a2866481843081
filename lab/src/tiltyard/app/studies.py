"""The kinds of studies that can be analysed: run here, collected, or known to another package."""

import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Final

from tiltyard.analysis.collected import analyse_collection
from tiltyard.analysis.model import Findings
from tiltyard.analysis.sessions import analyse_sessions
from tiltyard.collected.store import is_collected, read_collection
from tiltyard.folder import StudyFolder
from tiltyard.registry import Plugin, PluginError, PluginWarning, Registry
from tiltyard.report.styles import STYLES
from tiltyard.run.sessions import read_sessions


@dataclass(frozen=True)
class StudyKind:
    """How one kind of study is recognised and analysed."""

    is_in: Callable[[Path], bool]
    """Whether a folder holds one."""
    findings: Callable[[Path], Findings]
    """Analyses it; raises :class:`tiltyard.errors.UsageError` where it cannot be read."""
    style: Callable[[Path], str] = lambda _: next(iter(STYLES.names))
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


def _sound(made: StudyKind, _plugin: Plugin) -> StudyKind:
    """A package's: a folder that it fails at holds no study of it."""

    def is_in(folder: Path) -> bool:
        try:
            return bool(made.is_in(folder))
        except PluginError as error:
            warnings.warn(PluginWarning(str(error)), stacklevel=2)
            return False

    return replace(made, is_in=is_in)


def _findings(made: object) -> Findings:
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
