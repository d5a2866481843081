"""An editor's text against what the report says: numbers it does not have, directions it denies.

A number is known if a number of a table, of a generated sentence or of a comparison rounds to it
(:class:`tiltyard.collected.stated.Stated`, as printed claims are audited). A percentage in a
sentence on two systems must be one of theirs. A direction is held against the verdicts where one
sentence names two systems and one direction; else nothing can be told of it.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from tiltyard.analysis.model import Comparison, Findings, WorkloadFindings
from tiltyard.analysis.pairs import between
from tiltyard.collected.stated import Stated
from tiltyard.report.document import Document, texts_of

_NUMBER: Final = re.compile(
    r"(?<![\w.,])(?P<number>\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?)(?!\.?\d)"
    r"(?!(?:st|nd|rd|th)\b)(?:[\s\u00a0\u202f]?(?P<unit>%|×|[^\W\d_][\w/]*|/\w+))?"
)
_PLACES: Final = re.compile(
    r"\bhttps?://\S+|\b\d{4}-\d\d-\d\d\b|\b\d+(?:\.\d+){2,}\b"
    r"|\b(?:figures?|tables?|sections?|appendix|pages?|chapters?)\s+\d+(?:\.\d+)*"
    r"|^\s*\d+[.)]\s",
    re.IGNORECASE | re.MULTILINE,
)
"""Digits that state no amount: addresses, days, versions, places in the report, list items."""
_UNIT: Final = re.compile(r"%|×|\S*/\w+|[kKMGTmµn]?i?(?:B|s|bit|J|W|Hz)|min|h")
_SENTENCE: Final = re.compile(r"[^.!?\n]+(?:[.!?](?!\s|$)[^.!?\n]*)*")
_FASTER: Final = r"faster|quicker|better|ahead of|beats|outperforms"
_SLOWER: Final = r"slower|worse|behind|loses to"
_DIRECTION: Final = re.compile(rf"\b(?:(?P<faster>{_FASTER})|(?P<slower>{_SLOWER}))\b", re.I)
_DENIED: Final = re.compile(
    r"\b(?:not|no|nor|never|neither|whether|if|than expected)\b|n't\b", re.I
)
_OPPOSED: Final = ("faster", "slower", "equivalent")
_PERCENT: Final = 100
_CLAIMS: Final = "audit-"
"""Begins the ids of tables of what a source claims, which may be wrong."""


@dataclass(frozen=True)
class Doubt:
    """Something in a text that the report does not bear out."""

    at: int
    """Place of the letter at which it begins."""
    text: str


@dataclass(frozen=True)
class _Known:
    value: float
    shown: str
    unit: str
    where: str


@dataclass(frozen=True)
class Checker:
    """All that a document and its findings know."""

    document: Document
    """Without what an editor added."""
    findings: Findings

    def doubts(self, text: str, from_elsewhere: Sequence[str] = ()) -> list[Doubt]:
        """What a text says that is not borne out, in its order."""
        found = [*self._numbers(text, from_elsewhere), *self._directions(text)]
        return sorted(found, key=lambda one: one.at)

    def _numbers(self, text: str, from_elsewhere: Sequence[str]) -> Iterator[Doubt]:
        plain = self._without_names(text)
        for found in _NUMBER.finditer(plain):
            number, unit = found["number"], _unit(found)
            if number in from_elsewhere:
                continue
            sentence = _around(text, found.start())
            pairs = self._pairs(sentence) if unit in ("%", "×") else []
            known = [*_of_pairs(pairs, unit)] if pairs else self._comparable(unit)
            stated = Stated(number)
            span = stated.span
            if any(span.low <= abs(one.value) <= span.high for one in known):
                continue
            shown = f"{number} {unit}".strip()
            yield Doubt(found.start(), _unknown(shown, stated, known))

    def _comparable(self, unit: str) -> list[_Known]:
        """What has the same unit; where nothing has, everything but percentages."""
        same = [one for one in self._known if one.unit == unit] if unit else []
        return same or [one for one in self._known if one.unit != "%"]

    def _directions(self, text: str) -> Iterator[Doubt]:
        for found in _SENTENCE.finditer(text):
            sentence = found[0]
            words = [*_DIRECTION.finditer(sentence)]
            if len(words) != 1 or _DENIED.search(sentence):
                continue
            stated = "faster" if words[0]["faster"] else "slower"
            own = self._pairs(sentence)
            if not own or not self._stands_between(sentence, words[0].start()):
                continue
            if any(pair.verdict == stated for pair in own):
                continue
            quoted = " ".join(sentence.split())
            nearest = next((one for one in own if one.verdict in _OPPOSED), own[-1])
            yield Doubt(
                found.start() + len(sentence) - len(sentence.lstrip()),
                f"“{quoted}” is not what the verdict says: {nearest.sentence}",
            )

    def _stands_between(self, sentence: str, at: int) -> bool:
        first, second = self._systems(sentence)
        return first[0] < at < second[0]

    def _pairs(self, sentence: str) -> list[Comparison]:
        """The comparisons of the two systems that a sentence names, in its order; else none."""
        systems = self._systems(sentence)
        if len(systems) != 2:
            return []
        sides = systems[0][1], systems[1][1]
        named = [one for one in self.findings.workloads if _is_named(sentence, one)]
        own: list[Sequence[Comparison]] = [
            one.index.comparisons for one in named or self.findings.workloads
        ]
        if named:
            own += [of.comparisons for one in named for of in one.judged]
        elif self.findings.overall:
            own.append(self.findings.overall)
        return [found for each in own if (found := between(each, *sides)) is not None]

    def _systems(self, sentence: str) -> list[tuple[int, str]]:
        """Where a sentence names which systems first; a longer name hides shorter ones in it."""
        found: dict[str, int] = {}
        rest = sentence
        for name in sorted((one.name for one in self.findings.systems), key=len, reverse=True):
            pattern = _word(name)
            if match := pattern.search(rest):
                found[name] = match.start()
            rest = pattern.sub(lambda m: "\0" * len(m[0]), rest)
        return sorted((at, name) for name, at in found.items())

    def _without_names(self, text: str) -> str:
        """The text with blanks for names and for digits that state no amount."""
        for name in self._names:
            text = _word(name).sub(lambda m: "\0" * len(m[0]), text)
        return _PLACES.sub(lambda m: "\0" * len(m[0]), text)

    @cached_property
    def _names(self) -> list[str]:
        found = {self.findings.baseline}
        for system in self.findings.systems:
            found |= {system.name, *system.levels.values()}
        for workload in self.findings.workloads:
            cells = (*workload.cells, *(workload.latencies.cells if workload.latencies else ()))
            found |= {workload.name, workload.use, workload.display}
            found |= {label for cell in cells for label in (cell.label, cell.at_label)}
        digits = re.compile(r"\d")
        named = (name for name in found if digits.search(name) and not name.isdigit())
        return sorted(named, key=len, reverse=True)

    @cached_property
    def _known(self) -> list[_Known]:
        found = [*self._of_tables(), *self._of_words()]
        pairs = [pair for one in self.findings.workloads for of in one.judged
                 for pair in of.comparisons]  # fmt: skip
        pairs += self.findings.overall
        return found + [one for unit in ("%", "×") for one in _of_pairs(pairs, unit)]

    def _of_tables(self) -> Iterator[_Known]:
        for table in self.document.tables():
            if table.id.startswith(_CLAIMS):
                continue
            for row in table.rows:
                for column, entry in zip(table.columns, row, strict=True):
                    if entry.value is not None:
                        yield _Known(abs(entry.value), entry.text, column.unit, table.title)
                    for text in (entry.text, entry.beneath):
                        yield from _read(text, table.title, column.unit)
            yield from _read(table.caption, table.title)

    def _of_words(self) -> Iterator[_Known]:
        own = (self.findings.question, self.findings.answer)
        for text in (*own, *texts_of(self.document.blocks())):
            yield from _read(text, "a generated sentence")


def numbers_in(text: str) -> set[str]:
    """The numbers of a text, as they are typed."""
    return {found["number"] for found in _NUMBER.finditer(text)}


def _read(text: str, where: str, unit: str = "") -> Iterator[_Known]:
    for found in _NUMBER.finditer(text):
        own = unit or _unit(found)
        yield _Known(float(found["number"].replace(",", "")), found["number"], own, where)


def _unit(found: re.Match[str]) -> str:
    """What stands behind a number, if it is a unit."""
    unit = found["unit"] or ""
    return unit if _UNIT.fullmatch(unit) else ""


def _of_pairs(pairs: Sequence[Comparison], unit: str) -> Iterator[_Known]:
    """Estimates and bounds, either way round, in percent or as factors."""
    for pair in pairs:
        for ratio in (pair.ratio, pair.low, pair.high):
            for own in (ratio, 1 / ratio) if ratio else ():
                value = _PERCENT * abs(own - 1) if unit == "%" else own
                where = f"{pair.system} against {pair.against}"
                yield _Known(value, f"{value:.3g}", unit, where)


def _unknown(number: str, stated: Stated, known: Sequence[_Known]) -> str:
    text = f"{number} stands in no table or finding of this report"
    if known:
        nearest = min(known, key=lambda one: abs(abs(one.value) - stated.value))
        text += f"; the nearest is {nearest.shown} ({nearest.where})"
    return f'{text}. Fix: correct it, or declare it: from_elsewhere = ["{stated.text}"]'


def _around(text: str, at: int) -> str:
    """The sentence in which a letter stands."""
    return next((one[0] for one in _SENTENCE.finditer(text) if one.start() <= at < one.end()), "")


def _is_named(sentence: str, workload: WorkloadFindings) -> bool:
    names = (workload.name, workload.display, workload.index.label)
    return any(_word(name).search(sentence) for name in names)


def _word(name: str) -> re.Pattern[str]:
    return re.compile(rf"(?<![\w.]){re.escape(name)}(?!\w|\.\d)", re.IGNORECASE)
