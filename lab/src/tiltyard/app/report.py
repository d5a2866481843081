"""From a folder, whatever kind of study it holds, to its report in the forms asked for."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import TypeVar

from tiltyard.analysis.model import Findings
from tiltyard.analysis.sessions import analyse_sessions
from tiltyard.app.studies import is_study, kind_of
from tiltyard.errors import RefusedError, UsageError
from tiltyard.folder import StudyFolder, write_together
from tiltyard.meant import meant
from tiltyard.phases import phase
from tiltyard.report.formats import FORMATS
from tiltyard.report.formats.format import Format
from tiltyard.report.styles import STYLES
from tiltyard.report.styles.style import Style
from tiltyard.run.sessions import read_sessions

_Named = TypeVar("_Named")


@dataclass(frozen=True)
class Concluded:
    """Findings, and how and where they are to be reported."""

    findings: Findings
    style: Style
    root: Path
    """Folder for the findings."""
    folder: Path
    """Folder for the report: in that one, or the same."""


def findings_of(study: Path) -> Findings:
    """Analyse a study, whatever kind it is; nothing is written.

    Raises:
        UsageError: if there is no such study.
    """
    study = _folder_of(study)
    with phase("analysing what was measured"):
        return kind_of(study).findings(study)


def _folder_of(study: Path) -> Path:
    """The folder that a person means, whatever kind of study is in it."""
    found = meant(study)
    return StudyFolder.of(found).root if found.is_file() else found


def concluded(study: Path, style: str | None, output: Path | None) -> Concluded:
    """Analyse a study; nothing is written.

    Args:
        study: A study of any kind.
        style: A style's name; ``None``: the study's own.
        output: Folder for all that is made; ``None``: in the study's, of a printed study one of
            its name here.

    Raises:
        UsageError: if there is no such study or style, or no report can go to that folder.
        RefusedError: if it would go to a study folder in which another user has a hand.
    """
    study = _folder_of(study)
    kind = kind_of(study)
    chosen = style_of(kind.style(study) if style is None else style)
    folder = kind.folder(study) if kind.folder else None
    if output is not None or folder is None:
        target = free_folder(output or Path(study.resolve().name))
        return Concluded(findings_of(study), chosen, target, target)
    folder.require_own()
    return Concluded(findings_of(study), chosen, folder.root, folder.report)


def require_seal(study: Path, findings: Findings, seal: str) -> None:
    """The journal and the trials are those that a seal was printed for.

    Raises:
        UsageError: if they are not, or if it is no seal.
    """
    wanted = seal.strip().lower()
    if not re.fullmatch("[0-9a-f]{64}", wanted):
        raise UsageError(
            f'--seal: "{seal}" is no seal: 64 hexadecimal digits, as "tiltyard run" and reports '
            'print them after "seal"'
        )
    if not findings.seal:
        raise UsageError(f"{study}: was not run here and has no journal: there is no seal of it")
    if findings.seal != wanted:
        raise UsageError(
            f"{StudyFolder.of(study).journal}: its seal is {findings.seal}, not {wanted}: since "
            "that was printed the study has gone on, or its journal or trials were changed. Fix: "
            "put the folder back from a copy, or leave out --seal"
        )


def write_report(found: Concluded, formats: Sequence[Format] = FORMATS[:1]) -> list[Path]:
    """Write findings and a report in some formats; the files to open."""
    write_findings(found.findings, found.style, formats, found.root, found.folder)
    return [found.folder / form.file for form in formats]


def conclude(folder: StudyFolder) -> Findings:
    """Findings and report, in the first style and format, from what is in the folder."""
    with phase("analysing what was measured"):
        findings = analyse_sessions(read_sessions(folder))
    write_findings(findings, STYLES[0], FORMATS[:1], folder.root, folder.report)
    return findings


def write_findings(
    findings: Findings, style: Style, formats: Sequence[Format], root: Path, report: Path
) -> None:
    """Findings and their report, all of it or nothing.

    Args:
        findings: what is reported.
        style: how.
        formats: in which forms.
        root: folder for the findings themselves.
        report: folder for the report, in that folder or the same.
    """
    with phase("composing the report"):
        document = style.compose(findings)
    files: dict[str, bytes] = {}
    for form in formats:
        with phase(f"writing the report, {form.name}"):
            parts = form.render(document, findings)
        files |= {str(report.relative_to(root) / path): data for path, data in parts.items()}
    own = StudyFolder(root).findings.name
    write_together(root, {own: findings.model_dump_json(indent=1).encode(), **files})


def style_of(name: str) -> Style:
    """A style by name.

    Raises:
        UsageError: if there is none of that name.
    """
    return named(name, {style.name: style for style in STYLES}, "a style")


def formats_of(names: Sequence[str]) -> list[Format]:
    """The formats to make, the first one always; ``all`` names every one.

    Raises:
        UsageError: if there is none of a name.
    """
    known = {form.name: form for form in FORMATS}
    wanted = [part for name in names for part in name.split(",")]
    if "all" in wanted:
        return list(FORMATS)
    return list(dict.fromkeys([FORMATS[0], *(named(name, known, "a format") for name in wanted)]))


def named(name: str, known: dict[str, _Named], what: str) -> _Named:
    """The one of a name among those that there are.

    Raises:
        UsageError: if there is none; the message names them all, and the nearest.
    """
    if name in known:
        return known[name]
    near = get_close_matches(name, known, 1)
    guess = f' Did you mean "{near[0]}"?' if near else ""
    raise UsageError(f'"{name}" is not {what}. One of: {", ".join(known)}.{guess}')


def free_folder(output: Path) -> Path:
    """A folder that a report may be written to.

    Raises:
        UsageError: if it is no folder.
        RefusedError: if a study is there.
    """
    for place in (output, *output.parents):
        if place.exists() and not place.is_dir():
            raise UsageError(f"--output {output}: {place} is a file; name a folder for the report")
    if is_study(output):
        raise RefusedError(f"{output}: a study is there; --output names a folder for the report")
    return output


def free_file(output: Path) -> Path:
    """A file that may be written.

    Raises:
        UsageError: if it is a folder.
        RefusedError: if it is there, and belongs to a study.
    """
    if output.is_dir():
        raise UsageError(f"--output {output}: a directory; name the file in it")
    folder = output.resolve().parent
    above = folder.parent
    if output.exists() and folder.name != "report" and any(map(is_study, (folder, above))):
        raise RefusedError(f"--output {output}: belongs to a study; name another file")
    return output
