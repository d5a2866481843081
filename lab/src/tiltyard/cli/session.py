"""What several verbs share: from a study to its plan, from trials to findings and report."""

import contextlib
import tempfile
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

from tiltyard.analysis.findings import analyse
from tiltyard.analysis.model import Findings
from tiltyard.errors import HostLacksError, UsageError
from tiltyard.executors.engine import Engine
from tiltyard.folder import StudyFolder, write_whole
from tiltyard.host.changes.change import PREFIX
from tiltyard.plan.freeze import freeze
from tiltyard.plan.model import Plan
from tiltyard.plan.store import read_plan, write_plan
from tiltyard.report.html import render_html
from tiltyard.run.read import read_run
from tiltyard.study.load import load_study
from tiltyard.systems import KINDS


def open_study(study: Path, folder: Path | None) -> StudyFolder:
    """The folder in which a study is, or shall be, carried out.

    Args:
        study: A study folder, its ``study.toml``, or any other study file: such a file is copied
            to a folder of its own.
        folder: Where to carry the study out; by default where it is.

    Raises:
        UsageError: if there is no study, or another study is in the folder already.
    """
    if study.is_file() and study.name != "study.toml":
        source, target = study, StudyFolder(folder or study.with_suffix(""))
    else:
        source = StudyFolder.of(study).study
        target = StudyFolder(folder or source.parent)
    place_study(target, source.read_bytes())
    return target


@contextlib.contextmanager
def rehearsal_of(study: Path) -> Iterator[tuple[Path, StudyFolder]]:
    """A study file, and a folder to rehearse it in: its own, or one beside it that goes again.

    Args:
        study: A study folder, its ``study.toml``, or any other study file.

    Raises:
        UsageError: if there is no study.
        HostLacksError: if nothing can be written beside such a file.
    """
    if not study.is_file() or study.name == "study.toml":
        folder = StudyFolder.of(study)
        yield folder.study, folder
        return
    try:
        beside = tempfile.TemporaryDirectory(prefix=f"{PREFIX}check-", dir=study.parent)
    except OSError as error:
        raise HostLacksError(f"{study.parent}: {error.strerror}") from error
    with beside as root:
        # Paths begin where they would when it is run: see open_study.
        yield study, StudyFolder(Path(root), paths_from=study.with_suffix(""))


def place_study(folder: StudyFolder, text: bytes) -> None:
    """Put a study file in its folder, unless the same one is there.

    Raises:
        UsageError: if another study is there.
    """
    if not folder.study.exists():
        write_whole(folder.study, text)
    elif folder.study.read_bytes() != text:
        raise UsageError(
            f"{folder.study}: another study is in this folder. Choose one with --folder, "
            f"or go on with that one: tiltyard run {folder.root}"
        )


def planned(folder: StudyFolder, engine: Engine) -> Plan:
    """The plan of a study; frozen now if it has none."""
    if folder.plan.exists():
        return read_plan(folder)
    catalogue = engine.describe()
    study = load_study(folder.study, catalogue, KINDS)
    plan = freeze(study, folder.study, catalogue, engine.validate, datetime.now(UTC))
    write_plan(folder, plan)
    return plan


def conclude(folder: StudyFolder) -> Findings:
    """Findings and report from what is in the folder; both files are written anew."""
    plan = read_plan(folder)
    findings = analyse(plan, read_run(folder, plan))
    write_whole(folder.findings, findings.model_dump_json(indent=1).encode())
    write_whole(folder.report / "index.html", render_html(findings).encode())
    return findings


def planned_or_fail(folder: StudyFolder) -> Plan:
    """The plan of a study that was begun.

    Raises:
        UsageError: if it was not.
    """
    if not folder.plan.exists():
        raise UsageError(f"{folder.root}: not begun yet; tiltyard run {folder.root}")
    return read_plan(folder)
