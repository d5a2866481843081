"""From a folder, whatever kind of study it holds, to its report in the forms asked for."""

import contextlib
import getpass
import re
import socket
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeVar

from tiltyard.analysis.model import Findings
from tiltyard.analysis.sessions import analyse_sessions
from tiltyard.app.studies import is_study, kind_of
from tiltyard.errors import EditorsTextWarning, RefusedError, UsageError
from tiltyard.folder import StudyFolder, write_together
from tiltyard.phases import phase
from tiltyard.registry import PluginError
from tiltyard.report.document import Block, Document, Figure, Paragraph, changed
from tiltyard.report.edition.apply import edited
from tiltyard.report.edition.file import NAME, Edition
from tiltyard.report.figures import FOLDER, KINDS, figure_files
from tiltyard.report.formats import FORMATS
from tiltyard.report.formats.format import FIRST_PAGE, FURTHER_PAGE, Format
from tiltyard.report.marks import with_marks_explained
from tiltyard.report.redaction import Redacted, redacted
from tiltyard.report.styles import STYLES
from tiltyard.report.styles.style import Style
from tiltyard.report.title_case import with_capitals
from tiltyard.run.sessions import read_sessions
from tiltyard.study.problems import StudyFileError, one_of
from tiltyard.study_path import study_path

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
    taken_out: tuple[str, ...] = ()
    """What was taken out of them, a line each, for their author; see :func:`redacted_here`."""
    edition: Edition | None = None
    """What an editor adds to the report."""

    def document(self, *, strict: bool = False) -> Document:
        """The report before it has a form; what an editor's text says wrongly is a warning.

        Args:
            strict: it is an error.

        Raises:
            StudyFileError: if the editor's file names what there is not.
        """
        composed = self._composed(self.style)
        if self.edition is None:
            return composed
        made = edited(
            composed,
            self.findings,
            self.edition,
            self._in_all_styles,
        )
        if made.remarks and strict:
            raise StudyFileError(self.edition.path, made.remarks)
        for one in sorted(made.remarks):
            text = f"{self.edition.path}:{one.line}: {one.key}: {one.text}"
            warnings.warn(EditorsTextWarning(text), stacklevel=2)
        return made.document

    def _in_all_styles(self) -> Iterator[Document]:
        """What an editor may name is in any of them; a package's that fails has nothing."""
        for style in STYLES:
            with contextlib.suppress(PluginError):
                yield self._composed(style)

    def _composed(self, style: Style) -> Document:
        return with_capitals(with_marks_explained(style.compose(self.findings)), self.findings)


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
    found = study_path(study)
    return StudyFolder.of(found).root if found.is_file() else found


def redacted_here(findings: Findings) -> Redacted:
    """Findings for others: also without the names of this host and of who reports."""
    host = socket.gethostname()
    try:
        people = [getpass.getuser()]
    except (KeyError, OSError):
        people = []  # a user without a name
    return redacted(findings, (host, host.partition(".")[0]), people)


def concluded(
    study: Path,
    style: str | None,
    output: Path | None,
    *,
    redact: bool = False,
    edition: Path | None = None,
) -> Concluded:
    """Analyse a study; nothing is written.

    Args:
        study: A study of any kind.
        style: A style's name; ``None``: the study's own.
        output: Folder for all that is made; ``None``: in the study's, of a printed study one of
            its name here.
        redact: Whether it is for others; then it goes to a folder ``redacted`` of its own.
        edition: What an editor adds; ``None``: ``report.toml`` of the study, if it has one.

    Raises:
        UsageError: if there is no such study or style, or no report can go to that folder, or the
            editor's file is none.
        RefusedError: if it would go to a study folder in which another user has a hand.
    """
    study = _folder_of(study)
    kind = kind_of(study)
    own = edition_of(study, edition)
    chosen = _style_in(own, kind.style(study), style)
    folder = kind.folder(study) if kind.folder else None
    found = findings_of(study)
    taken_out: tuple[str, ...] = ()
    if redact:
        cleaned = redacted_here(found)
        found = cleaned.findings
        own = own and own.without(cleaned.clean)
        taken_out = tuple(cleaned.lines)
    if output is not None or folder is None:
        target = free_folder(output or Path(study.resolve().name))
        return Concluded(found, chosen, target, target, taken_out, own)
    folder.require_own()
    if redact:
        target = folder.root / "redacted"
        return Concluded(found, chosen, target, target, taken_out, own)
    return Concluded(found, chosen, folder.root, folder.report, taken_out, own)


def edition_of(study: Path, named: Path | None = None) -> Edition | None:
    """What an editor adds to the report of a study: a file, else that of its folder, if any.

    Raises:
        UsageError: if the file is not one of those; it names line, key and what would be right.
    """
    beside = study / NAME
    path = named or (beside if beside.is_file() else None)
    return None if path is None else Edition.read(path)


def _style_in(edition: Edition | None, otherwise: str, asked: str | None = None) -> Style:
    """The style that was asked for, else that which the editor names, else another one.

    Raises:
        StudyFileError: if there is none of the name in the file.
        UsageError: if there is none of the name that was asked for.
    """
    own = edition.file.style if edition else None
    if edition and own:
        edition.require_names(("style",), STYLES.names, "style")
    return style_of(own or otherwise if asked is None else asked)


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


def write_report(
    found: Concluded,
    formats: Sequence[Format] = (),
    figures: Sequence[str] = (),
    *,
    strict: bool = False,
) -> list[Path]:
    """Write findings and a report in some formats; what to open.

    Args:
        found: what is reported, how and where.
        formats: of the report; the first one by default.
        figures: in which forms each figure is a file of its own: ``svg``, ``png``.
        strict: an editor's text that the report does not bear out is an error.
    """
    with phase("composing the report"):
        document = found.document(strict=strict)
    formats = formats or [FORMATS[0]]
    _write(found, document, formats, figures)
    folders = [found.folder / FOLDER] if figures else []
    return [*(found.folder / form.file for form in formats), *folders]


def conclude(folder: StudyFolder, *, pictures: bool = True) -> Findings:
    """Findings and report, in the first format, from what is in the folder.

    Args:
        folder: of the study.
        pictures: whether all are drawn, which is most of the cost; else that of the answer only.
    """
    with phase("analysing what was measured"):
        findings = analyse_sessions(read_sessions(folder))
    found = Concluded(findings, STYLES[0], folder.root, folder.report)
    try:
        own = edition_of(folder.root)
        as_edited = replace(found, style=_style_in(own, STYLES[0].name), edition=own)
        document = as_edited.document()
    except (UsageError, PluginError) as error:
        warnings.warn(EditorsTextWarning(f"{error}. The report is without it"), stacklevel=2)
        document = found.document()
    _write(found, document if pictures else of_the_answer(document), [FORMATS[0]])
    return findings


def of_the_answer(document: Document) -> Document:
    """The same with the pictures of its front only."""
    front = {id(block) for block in document.front}

    def words(block: Block) -> Block:
        if not isinstance(block, Figure) or id(block) in front:
            return block
        return Paragraph(f"{block.title}: drawn by tiltyard report STUDY.", "note")

    return changed(document, words)


def _write(
    found: Concluded, document: Document, formats: Sequence[Format], figures: Sequence[str] = ()
) -> None:
    """Findings and their report, all of it or nothing but a format of a package that fails.

    Raises:
        PluginError: if one does; everything else is written.
    """
    findings, root, report = found.findings, found.root, found.folder
    made: list[Mapping[str, bytes]] = []
    failed: PluginError | None = None
    for form in formats:
        with phase(f"writing the report, {form.name}"):
            try:
                made.append(form.render(document, findings))
            except PluginError as error:
                failed = failed or error
    if figures:
        with phase("drawing the figures"):
            made.append(figure_files(document, figures))
    files = {
        str(report.relative_to(root) / path): data for one in made for path, data in one.items()
    }
    own = StudyFolder(root).findings.name
    write_together(root, {own: findings.model_dump_json(indent=1).encode(), **files})
    if str((report / FIRST_PAGE).relative_to(root)) in files:
        # Pages of a longer report that was here before belong to nothing any more.
        for page in report.glob("index-*.html"):
            if FURTHER_PAGE.fullmatch(page.name) and str(page.relative_to(root)) not in files:
                page.unlink(missing_ok=True)
    if failed is not None:
        raise failed


def style_of(name: str) -> Style:
    """A style by name.

    Raises:
        UsageError: if there is none of that name.
    """
    return STYLES.named(name)


def formats_of(names: Sequence[str]) -> list[Format]:
    """The formats to make, the first one always; ``all`` names every one.

    Raises:
        UsageError: if there is none of a name.
    """
    wanted = [part for name in names for part in name.split(",")]
    if "all" in wanted:
        return list(FORMATS)
    return list(dict.fromkeys([FORMATS[0], *map(FORMATS.named, wanted)]))


def figures_of(names: Sequence[str]) -> list[str]:
    """The forms of figures to make.

    Raises:
        UsageError: if there is none of a name.
    """
    known = {kind: kind for kind in KINDS}
    wanted = [part for name in names for part in name.split(",")]
    return list(dict.fromkeys(named(name, known, "a form of figures") for name in wanted))


def named(name: str, known: dict[str, _Named], what: str) -> _Named:
    """The one of a name among those that there are.

    Raises:
        UsageError: if there is none; the message names them all, and the nearest.
    """
    if name in known:
        return known[name]
    raise UsageError(f'"{name}" is not {what}. {one_of(name, known)}')


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
