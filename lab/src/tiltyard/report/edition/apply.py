"""A document as an editor wants it: title, own text, choice and order, notes, look."""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, TypeVar

from tiltyard.analysis.model import Findings
from tiltyard.report.document import (
    Block,
    Callout,
    Column,
    Document,
    Entry,
    Figure,
    Fold,
    Paragraph,
    Section,
    Sentences,
    Table,
    texts_of,
)
from tiltyard.report.edition import markdown
from tiltyard.report.edition.check import Checker, Doubt, numbers_in
from tiltyard.report.edition.file import FRONT, Edition, Note, OwnText
from tiltyard.report.edition.look import look_of
from tiltyard.report.edition.tables import added
from tiltyard.study.locate import KeyPath
from tiltyard.study.problems import Flaw, Problem, dotted, not_a
from tiltyard.units import format_number

KEPT: Final = ("limits",)
"""Sections that stay: no report is without its limitations."""
_PLAIN: Final = re.compile(r"\d[\d,]*(?:\.\d+)?")

Held = TypeVar("Held", Section, Document)


@dataclass
class Edited:
    """A document that was changed, and what of the editor's text it does not bear out."""

    document: Document
    remarks: list[Problem] = field(default_factory=list)


def edited(
    document: Document,
    findings: Findings,
    edition: Edition,
    others: Callable[[], Iterable[Document]],
) -> Edited:
    """A document with what an editor adds and leaves out.

    Args:
        document: as its style has composed it.
        findings: what it was composed of.
        edition: the editor's file.
        others: the same in all styles: a section that only they have is no mistake.

    Raises:
        StudyFileError: if the file names what there is not, or has what no format prints.
    """
    return _Editor(document, findings, edition, others).done()


@dataclass
class _Editor:
    document: Document
    findings: Findings
    edition: Edition
    others: Callable[[], Iterable[Document]]
    remarks: list[Problem] = field(default_factory=list)
    elsewhere: list[str] = field(default_factory=list)
    led: dict[str, int] = field(default_factory=dict)
    """Own blocks at the beginning of a section, or of the front, by its id."""
    behind: dict[str, str] = field(default_factory=dict)
    """The last own section behind a section, or behind the front, by their ids."""

    def done(self) -> Edited:
        file = self.edition.file
        sections = (*added(self.findings, self.edition),)
        own = self.document.sections
        self.document = replace(self.document, sections=(*own[:1], *sections, *own[1:]))
        checker = Checker(self.document, self.findings)
        self._check(checker, ("title",), file.title)
        self._check(checker, ("subtitle",), file.subtitle)
        # Before anything is added, so that no text can bear out another one.
        for place, text in enumerate(file.text):
            self._check(checker, ("text", place, "title"), text.title)
            self._check(checker, ("text", place, "text"), text.text, text.from_elsewhere)
        for place, note in enumerate(file.note):
            self._check(checker, ("note", place, "text"), note.text, note.from_elsewhere)
        left_out = self._choose()
        for place, note in enumerate(file.note):
            self._annotate(("note", place), note)
        for place, text in enumerate(file.text):
            self._place(("text", place), text)
        if digits := file.digits:
            self.document = _changed(self.document, lambda block: _rounded(block, digits))
        self.document = self._headed(left_out)
        return Edited(self.document, self.remarks)

    def _check(
        self, checker: Checker, path: KeyPath, text: str | None, elsewhere: Sequence[str] = ()
    ) -> None:
        self.elsewhere += elsewhere
        for doubt in checker.doubts(text or "", elsewhere):
            line = self.edition.line_of(path, doubt.at)
            self.remarks.append(Problem(line, dotted(path), _with_fix(doubt, path)))
        for number in elsewhere:
            if number not in numbers_in(text or ""):
                text_of = f'"{number}" does not stand in the text. Fix: type it as it stands there'
                raise self.edition.error(Flaw((*path[:-1], "from_elsewhere"), text_of))

    def _choose(self) -> list[str]:
        """Sections and figures in the editor's choice; titles of sections that are left out."""
        chosen, own = self.edition.file.sections, self.document.sections
        first = self._top(("sections", "first"), chosen.first)
        only = self._top(("sections", "only"), chosen.only)
        without = self._top(("sections", "leave_out"), chosen.leave_out)
        for place, section in enumerate(without):
            if section.id in KEPT:
                text = f'"{section.title}" stays in every report. Fix: leave it in'
                raise self.edition.error(Flaw(("sections", "leave_out", place), text))
        if chosen.only:
            kept = (*only, *(one for one in own if one.id in KEPT and one not in only))
        else:
            rest = (one for one in own if one not in first and one not in without)
            kept = (*first, *rest)
        gone = [one.title for one in own if one not in kept]
        figures = self.edition.file.figures
        ids = tuple(figure.id for figure in self.document.figures())
        for key in ("only", "leave_out"):
            for place, id in enumerate(getattr(figures, key)):
                if id not in ids and id not in self._everywhere("figures"):
                    flaw = Flaw(("figures", key, place), not_a(id, "figure of this report", ids))
                    raise self.edition.error(flaw)
        out = {id for id in ids if id in figures.leave_out or (figures.only and
                                                               id not in figures.only)}  # fmt: skip
        self.document = replace(self.document, sections=kept)
        if out:
            self.document = _changed(
                self.document,
                lambda block: () if isinstance(block, Figure) and block.id in out else (block,),
            )
        return [*gone, *(id for id in ids if id in out)]

    def _top(self, path: KeyPath, names: Sequence[str]) -> list[Section]:
        """The sections of these names, each once."""
        found = []
        for place, name in enumerate(names):
            own = _found(self.document.sections, name)
            if own is not None:
                found += [own] if own not in found else []
            elif _found(_all(self.document.sections), name):
                text = f'"{name}" is a part of a section. Fix: name a section of the first level'
                raise self.edition.error(Flaw((*path, place), text))
            else:
                self._require_known((*path, place), name, self.document.sections)
        return found

    def _require_known(self, path: KeyPath, name: str, sections: Sequence[Section]) -> None:
        """A name that this style lacks is at least one of another style."""
        if name.casefold() not in self._everywhere("sections"):
            known = (FRONT, *(one.id for one in sections))
            raise self.edition.error(Flaw(path, not_a(name, "section of this report", known)))

    def _everywhere(self, what: str) -> set[str]:
        if what == "figures":
            return {figure.id for document in self.others() for figure in document.figures()}
        return {
            name.casefold()
            for document in self.others()
            for section in _all(document.sections)
            for name in (section.id, section.title)
        }

    def _place(self, path: KeyPath, text: OwnText) -> None:
        """An own text at its place; where that is of another style, before the appendices."""
        key = "before" if text.before else "after"
        id = f"authors-{path[1]}"
        blocks = self._blocks((*path, "text"), text.text, id)
        section = Section(id, text.title or "", blocks)
        where = text.before or text.after
        if where and where.casefold() == FRONT:
            if text.title:
                self._put_behind(FRONT, section)
            else:
                front = self._joined(FRONT, self.document.front, blocks, before=bool(text.before))
                self.document = replace(self.document, front=front)
            return
        target = _found(_all(self.document.sections), where) if where else None
        if where and target is None:
            self._require_known((*path, key), where, [*_all(self.document.sections)])
        if target is None:
            own = self.document.sections
            at = next((n for n, one in enumerate(own) if one.appendix), len(own))
            titled = section if text.title else replace(section, title="From the authors")
            self._set_sections((*own[:at], titled, *own[at:]))
        elif not text.title:
            self._put_within(target, blocks, before=bool(text.before))
        elif text.before:
            titled = replace(section, appendix=target.appendix)
            self._set_sections(_put(self.document.sections, target, (titled, target)))
        else:
            self._put_behind(target.id, replace(section, appendix=target.appendix))

    def _put_behind(self, place: str, new: Section) -> None:
        """Behind what is there of the file already: texts stand in its order."""
        last = _found(_all(self.document.sections), self.behind.get(place, place))
        own = self.document.sections
        self._set_sections(_put(own, last, (last, new)) if last else (new, *own))
        self.behind[place] = new.id

    def _put_within(self, target: Section, blocks: Sequence[Block], *, before: bool) -> None:
        new = replace(target, blocks=self._joined(target.id, target.blocks, blocks, before=before))
        self._set_sections(_put(self.document.sections, target, (new,)))

    def _joined(
        self, place: str, there: Sequence[Block], blocks: Sequence[Block], *, before: bool
    ) -> tuple[Block, ...]:
        at = self.led.get(place, 0) if before else len(there)
        if before:
            self.led[place] = at + len(blocks)
        return (*there[:at], *blocks, *there[at:])

    def _set_sections(self, sections: Iterable[Section]) -> None:
        self.document = replace(self.document, sections=tuple(sections))

    def _blocks(self, path: KeyPath, text: str, id: str) -> tuple[Block, ...]:
        try:
            return markdown.blocks(text, id)
        except markdown.UnfitMarkdownError as error:
            before = "\n".join(text.split("\n")[: error.line])
            line = self.edition.line_of(path, len(before) + bool(error.line))
            raise self.edition.error_at(line, path, str(error)) from error

    def _annotate(self, path: KeyPath, note: Note) -> None:
        kind, name = note.about
        own = self.findings.workloads
        shown = {
            "system": {one.name: one.name for one in self.findings.systems},
            "workload": {one.name: one.display for one in own},
            "metric": {cell.metric: cell.label for one in own
                       for cell in (*one.cells, *one.details)},
        }[kind]  # fmt: skip
        labels = shown.values() if kind == "metric" else ()
        known = tuple(dict.fromkeys((*shown, *labels)))
        self.edition.require_names((*path, kind), known, f"{kind} of this study")
        blocks = self._blocks((*path, "text"), note.text, "note")
        if not all(isinstance(block, Paragraph | Sentences) for block in blocks):
            text = "tables, code and quotations do not fit into a note. Fix: use [[text]]"
            raise self.edition.error(Flaw((*path, "text"), text))
        label = shown.get(name, name)
        about = label if kind == "workload" else name
        text = f"Note on {about}: {' '.join(texts_of(blocks))}"
        section = _found(_all(self.document.sections), label) if kind == "workload" else None
        if section is not None:
            self._put_within(section, (Paragraph(text, "note"),), before=True)
        elif not self._noted({name, label}, text):
            front = (*self.document.front, Paragraph(text, "note"))
            self.document = replace(self.document, front=front)

    def _noted(self, names: set[str], text: str) -> bool:
        """The note in the caption of the first table that has one of the names."""
        table = next((one for one in self.document.tables() if _has(one, names)), None)
        if table is None:
            return False
        caption = f"{table.caption} {text}".strip()
        self.document = _changed(
            self.document,
            lambda block: (
                (replace(block, caption=caption),)
                if isinstance(block, Table) and block.id == table.id
                else (block,)
            ),
        )
        return True

    def _headed(self, left_out: Sequence[str]) -> Document:
        """Title, authors, look; in the colophon what is not generated, and what is left out."""
        file, document = self.edition.file, self.document
        authors = ", ".join(file.authors)
        facts = [("edited by", f"{self.edition.path.name}, SHA-256 {self.edition.sha256}")]
        if file.text or file.note:
            own = len(file.text) + len(file.note)
            facts.append(("text by the authors", f"{own} of report.toml; all else is generated"))
        if left_out:
            facts.append(("left out by the authors", "; ".join(left_out)))
        if self.elsewhere:
            facts.append(("numbers from elsewhere", ", ".join(dict.fromkeys(self.elsewhere))))
        if self.remarks:
            facts.append(("not borne out", " ".join(one.text.partition(" Fix:")[0] for one in
                                                    self.remarks)))  # fmt: skip
        asked = document.title if file.title else ""
        return replace(
            document,
            title=file.title or document.title,
            subtitle=file.subtitle or asked or document.subtitle,
            authors=file.authors,
            byline=" · ".join(filter(None, (authors, document.byline))),
            look=look_of(self.edition, document),
            colophon=(*document.colophon, *facts),
        )


def _with_fix(doubt: Doubt, path: KeyPath) -> str:
    """A title cannot declare numbers; a text can."""
    plain = path[-1] in ("title", "subtitle")
    return doubt.text.partition(", or declare it")[0] if plain else doubt.text


def _all(sections: Iterable[Section]) -> Iterator[Section]:
    for section in sections:
        yield section
        yield from _all(section.sections)


def _found(sections: Iterable[Section], name: str) -> Section | None:
    """The section of an id, else the first of a title."""
    known = list(sections)
    own = name.casefold()
    by_id = [one for one in known if one.id.casefold() == own]
    by_title = [one for one in known if one.title.casefold() == own]
    return next(iter((*by_id, *by_title)), None)


def _put(
    sections: Sequence[Section], target: Section, parts: Sequence[Section]
) -> Iterator[Section]:
    """The sections with others in the place of one."""
    for section in sections:
        if section is target:
            yield from parts
        else:
            yield replace(section, sections=tuple(_put(section.sections, target, parts)))


def _has(table: Table, names: set[str]) -> bool:
    heads = {text for column in table.columns for text in (column.head, column.under)}
    return bool(names & heads) or any(entry.text in names for row in table.rows for entry in row)


def _changed(part: Held, change: Callable[[Block], tuple[Block, ...]]) -> Held:
    """A document with other blocks in the places of some."""

    def blocks(found: Sequence[Block]) -> tuple[Block, ...]:
        return tuple(
            replace(new, blocks=blocks(new.blocks)) if isinstance(new, Callout | Fold) else new
            for block in found
            for new in change(block)
        )

    sections = tuple(_changed(section, change) for section in part.sections)
    if isinstance(part, Document):
        return replace(part, front=blocks(part.front), sections=sections)
    return replace(part, blocks=blocks(part.blocks), sections=sections)


def _rounded(block: Block, digits: int) -> tuple[Block, ...]:
    """A table with fewer digits of its measured values; differences and intervals stay."""
    if not isinstance(block, Table):
        return (block,)
    rows = (
        tuple(
            _entry(entry, column, digits) for entry, column in zip(row, block.columns, strict=True)
        )
        for row in block.rows
    )
    return (replace(block, rows=tuple(rows)),)


def _entry(entry: Entry, column: Column, digits: int) -> Entry:
    measured = column.unit and column.unit != "%" and not entry.verdict
    if entry.value is None or not measured or not _PLAIN.fullmatch(entry.text):
        return entry
    fewer = format_number(entry.value, digits)
    significant = entry.text.replace(",", "").replace(".", "").lstrip("0")
    return replace(entry, text=fewer) if len(significant) > digits else entry
