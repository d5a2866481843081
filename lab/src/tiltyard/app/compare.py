"""A comparison that was typed, as a study in a folder."""

from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import Final

from tiltyard.app.freeze import place_study, scale_suffix
from tiltyard.executors.engine import Engine
from tiltyard.folder import StudyFolder, sha256
from tiltyard.run.trust import Bringing
from tiltyard.study.compare import compare_study
from tiltyard.study.load import read_study
from tiltyard.systems import KINDS
from tiltyard.systems.filesystems import FILESYSTEMS
from tiltyard.systems.pair.settings import PairSettings
from tiltyard.workloads.catalogue import catalogue_of

_SETTINGS: Final = PairSettings.model_fields.keys()


def typed_study(
    systems: Sequence[str],
    workloads: Sequence[str],
    folder: Path | None = None,
    scale: Fraction | None = None,
    *,
    blocks: int | None = None,
    budget: str | None = None,
    seed: int | None = None,
    disturbed: str | None = None,
) -> StudyFolder:
    """Write the study of a typed comparison; what it brings is trusted as typed.

    Args:
        systems: file systems, directories or settings with a value each.
        workloads: names of workloads; empty: the usual one for such systems.
        folder: of the study; by default named after the question.
        scale: by how much it will be made smaller.
        blocks: see :func:`tiltyard.study.compare.compare_study`, as for the rest.
        budget: wall time as it is typed.
        seed: of the random order.
        disturbed: what becomes of a disturbed block.

    Raises:
        UsageError: if there is no such system or workload, or another study in the folder.
    """
    if not workloads:
        network = any(system.partition("=")[0] in _SETTINGS for system in systems)
        workloads = ("tcp_stream" if network else "postmark",)
    catalogue = catalogue_of(Engine.find(), StudyFolder(folder or Path("study")))
    text = compare_study(
        systems,
        workloads,
        catalogue,
        [filesystem.name for filesystem in FILESYSTEMS],
        _SETTINGS,
        blocks=blocks,
        budget=budget,
        seed=seed,
        disturbed=disturbed,
    )
    words = [*map(_word, workloads), *(Path(system).name or "root" for system in systems)]
    target = StudyFolder(folder or Path("-".join(words) + scale_suffix(scale)))
    # A study that cannot be carried out must not stand in the way of the corrected command.
    study = read_study(text, target.study, catalogue, KINDS)
    place_study(target, text.encode())
    # A plan that was in the folder before is not trusted by this.
    hash_ = sha256(text.encode())
    Bringing.among(hash_, study.systems, study.workloads, catalogue, target).trust()
    return target


def _word(workload: str) -> str:
    """A workload in the name of a folder: ``fio-mail`` of ``fio:jobs/mail.fio``."""
    name, _, value = workload.partition(":")
    return "-".join(filter(None, (name, Path(value).stem)))
