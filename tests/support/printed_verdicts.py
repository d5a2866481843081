"""What was printed of verdicts and intervals, read back from each format and held against findings.

Every form of a report becomes one text, in which alternative texts of pictures stand too. In it are
looked for: intervals beside the sign or the word of a verdict, intervals alone, sentences with a
confidence interval, percentages without one, and what pictures are said to show
(:mod:`support.printed_pictures`). All must be those of the findings. Most tables have the verdict
of a row after its interval; a ranking has it before, and is known by the head of its columns.
"""

import csv
import json
import re
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from html import unescape
from io import BytesIO, StringIO
from pathlib import Path
from typing import Any

import openpyxl
from rich.console import Console

from support.papers import alternatives_of, squeezed, texts_of
from support.printed import page_with_alternatives, slides
from support.printed_pictures import contradictions_of_pictures
from tiltyard.analysis.line import MARKS, interval_text, line_of
from tiltyard.analysis.model import Comparison, Findings, WorkloadFindings
from tiltyard.analysis.pairs import turned
from tiltyard.analysis.relative import relative_tests
from tiltyard.analysis.statements.headline import headline
from tiltyard.analysis.statements.numbers import coverage
from tiltyard.analysis.statements.registry import claims
from tiltyard.report.document import Document
from tiltyard.report.formats import FORMATS
from tiltyard.report.sections.axis_table import percentile_tables
from tiltyard.report.sections.entries import Printing
from tiltyard.report.terminal import verdicts
from tiltyard.stats.planning import LIKELY
from tiltyard.units import format_number

NUMBER = r"[−+]?\d[\d,]*(?:\.\d+)?"
INTERVAL = rf"(?:> )?{NUMBER}†? … (?:< )?{NUMBER}†?"
WORDS = "faster|slower|equivalent|undecided|invalid"
SIGN = "".join(MARKS.values())
MARKED = re.compile(rf"([{re.escape(SIGN)}]) ([^A-Za-z{re.escape(SIGN)}…|]{{0,40}}?)({INTERVAL})")
WORDED = re.compile(rf"({INTERVAL})((?:(?!…|¶|gains|the same|\. ).){{0,40}}?)\b({WORDS})\b")
HEAD = re.compile(r"\b(System )?Verdict\b")
"""Of the verdicts in a table: right after the systems in a ranking, in others behind intervals."""
CELLS = rf"(?:[^\s…|]*\d[^\s…|]*(?: \w+/s)? ){{1,3}}(?:values: {NUMBER} )?"
"""What a ranking has between verdict and interval: a value, maybe also in bytes, and a ratio."""
RANKED = re.compile(rf"\b({WORDS})(?:, under load)? {CELLS}?({INTERVAL})")
SHARE = r"(?<![\d.,])[\d,]*\d(?:\.\d+)? %"
DIFFERENCE = re.compile(rf"{SHARE} (?:more|less|fewer|faster|slower|higher|lower|better|worse)\b")
VERDICTS = {mark: verdict for verdict, mark in MARKS.items()}


@dataclass(frozen=True)
class Printed:
    """What a text tells: intervals beside verdicts, all intervals, unknown sentences."""

    beside: list[tuple[str, str]]
    ranked: list[tuple[str, str]]
    """Those beside verdicts that are lines of a ranking."""
    intervals: list[str]
    unknown: list[str]
    """Beginnings of sentences with an interval, or with a difference in percent, that are none of
    the findings."""
    shares: list[str]
    """Percentages outside sentences of the findings."""


def read(text: str, findings: Findings) -> Printed:
    """A text of a report."""
    text = " ".join(text.split())
    ranked, others = without_rankings(text)
    beside = [(found[3], VERDICTS[found[1]]) for found in MARKED.finditer(text)]
    beside += ranked
    beside += [(found[1], found[3]) for found in WORDED.finditer(others)]
    rest = without_sentences(text, findings)
    told = re.finditer(r"% CI [>−+\d][^a-z]*?(?:to|…)", rest)
    differences = DIFFERENCE.finditer(rest)
    unknown = [rest[max(0, at.start() - 60) : at.end() + 30] for at in (*told, *differences)]
    return Printed(beside, ranked, re.findall(INTERVAL, text), unknown, re.findall(SHARE, rest))


def without_sentences(text: str, findings: Findings) -> str:
    """A text with ¶ in place of each sentence of the findings, wherever its lines are broken."""
    for sentence in sorted(sentences(findings), key=len, reverse=True):
        begin = sentence[:1]
        if begin in text:
            text = re.sub(r" ?".join(map(re.escape, squeezed(sentence))), "¶", text)
    return text


def without_rankings(text: str) -> tuple[list[tuple[str, str]], str]:
    """Interval and verdict of each line of a ranking, and the text with ¶ in place of them.

    Otherwise the verdict of a line would be held against the interval of the line above it.
    """
    heads = list(HEAD.finditer(text))
    ends = [*(head.start() for head in heads), len(text)]
    ranked: list[tuple[str, str]] = []
    rest = text[: ends[0]]
    for head, end in zip(heads, ends[1:], strict=True):
        part = text[head.start() : end]
        if head[1]:
            ranked += [(found[2], found[1]) for found in RANKED.finditer(part)]
            part = RANKED.sub("¶", part)
        rest += part
    return ranked, rest


def contradictions(text: str, findings: Findings) -> list[str]:
    """Everything in a text that the findings do not say."""
    known, told = known_intervals(findings), read(text, findings)
    wrong = [f"{found} is not of the findings" for found in told.intervals if found not in known]
    wrong += [
        f"{interval} is {verdict}, not {sorted(known[interval])}"
        for interval, verdict in told.beside
        if interval in known and verdict not in known[interval]
    ]
    shares = known_shares(findings)
    wrong += [f"{found} stands in no finding" for found in told.shares if found not in shares]
    rest = without_sentences(" ".join(text.split()), findings)
    return [*wrong, *told.unknown, *contradictions_of_pictures(rest, findings)]


def known_shares(findings: Findings) -> set[str]:
    """Every percentage that may stand by itself: of the findings' texts, levels, shares."""
    pairs = [pair for pair, _ in comparisons(findings)]
    known = set(re.findall(SHARE, findings.model_dump_json()))
    effects = (one for workload in findings.workloads for one in workload.effects)
    known |= {coverage(pair.level) for pair in pairs}
    known |= {coverage(one.level_of_interval) for one in effects}
    known |= {f"{100 * pair.ahead:.0f} %" for pair in pairs if pair.ahead is not None}
    shares = (share for test in relative_tests(findings) for share in test.shares.values())
    known |= {f"{100 * share:.0f} %" for share in shares}
    if findings.resolution_percent is not None:
        known.add(f"{format_number(findings.resolution_percent, 2)} %")
    known |= {"95 %", f"{100 * LIKELY:.0f} %", f"{100 * findings.design.false_discovery_rate:g} %"}
    return known | {"50 %", "90 %", "99 %", "99.9 %", "99.99 %"}  # Heads of percentiles.


def known_intervals(findings: Findings) -> dict[str, set[str]]:
    """Interval as it is printed → the verdicts that rest on it."""
    known: dict[str, set[str]] = defaultdict(set)
    for pair, direction in comparisons(findings):
        for own in (pair, turned(pair)):
            for told in besides(own):
                known.setdefault(told, set())
            if own.beside is not None:
                known[interval_text(own.beside)].add(own.beside.verdict)
            if own.low is None:
                continue
            known[interval_text(own)].add(own.verdict)
            found = line_of(own, direction)
            assert found
            known[found.interval].add(own.verdict)
    for workload in findings.workloads:
        for effect in workload.effects:
            known[interval_text(effect)].add(effect.verdict)
        for told in of_percentiles(workload):
            known.setdefault(told, set())
    return known


def of_percentiles(workload: WorkloadFindings) -> Iterator[str]:
    """Intervals of percentiles of operations, in the units of their tables."""
    latencies = workload.latencies.cells if workload.latencies else ()
    for cells in (workload.cells, latencies, workload.details):
        for table in percentile_tables(cells, workload):
            printed = Printing(table.unit, table.factor, None)
            for own in (summary for row in table.rows for summary in row.cell.summaries):
                ends = [*own.percentile_intervals.values()]
                if own.median_low is not None and own.median_high is not None:
                    ends.append((own.median_low, own.median_high))
                yield from (" … ".join(map(printed.number, pair)) for pair in ends)


def besides(pair: Comparison) -> Iterator[str]:
    """Intervals of a comparison over studies on which no verdict rests, as they are printed."""
    over = pair.over
    if over is None:
        return
    predicted = Interval(None, over.predicted_low, over.predicted_high)
    for one in (*over.values, Interval(over.ratio, over.low, over.high), predicted):
        yield interval_text(one)


@dataclass(frozen=True)
class Interval:
    """An estimate with its interval."""

    ratio: float | None
    low: float | None
    high: float | None


def comparisons(findings: Findings) -> Iterator[tuple[Comparison, Any]]:
    """All of them, with the direction of what they are of."""
    for workload in findings.workloads:
        for of in workload.compared:
            for pair in of.comparisons:
                yield pair, of.direction
        for loss in workload.losses:
            for direction in ("higher", "lower"):
                yield loss.comparison, direction
    for pair in findings.overall:
        yield pair, "higher"


def sentences(findings: Findings) -> set[str]:
    """Everything that a report may say with an interval in it."""
    found = {findings.answer, headline(findings), findings.design_sentence}
    found |= {pair.sentence for pair, _ in comparisons(findings)}
    found |= {pair.over.sentence for pair, _ in comparisons(findings) if pair.over}
    found |= {claim.sentence for claim in claims(findings)}
    found |= {notice.text for notice in findings.notices}
    for workload in findings.workloads:
        found.add(workload.answer)
        found |= {effect.sentence for effect in workload.effects}
        found |= {own.sentence for own in workload.observations}
        found |= {own.evidence for own in workload.observations}
    return {text for text in found if text}


def values_in(workbook: bytes) -> list[tuple[Any, ...]]:
    """The rows of the sheet of all values; the first one has the heads."""
    book = openpyxl.load_workbook(BytesIO(workbook), read_only=True)
    return list(book[VALUES].iter_rows(values_only=True))


VALUES = "Values"


def _html(files: dict[str, bytes]) -> str:
    page = next(data for path, data in files.items() if path.endswith(".html"))
    return page_with_alternatives(page.decode())


def _markdown(files: dict[str, bytes]) -> str:
    text = files["report.md"].decode().replace("<br>", " ").replace("|", " ")
    return unescape(re.sub(r"\*\*|\\(?=\W)", "", text))


def _pdf(files: dict[str, bytes]) -> str:
    papers = [data for path, data in files.items() if path.endswith(".pdf")]
    alternatives = [text for paper in papers for text in alternatives_of(paper)]
    return " ".join((*(page for paper in papers for page in texts_of(paper)), *alternatives))


def _xlsx(files: dict[str, bytes]) -> str:
    book = openpyxl.load_workbook(BytesIO(files["report.xlsx"]))
    rows = (row for sheet in book if sheet.title != VALUES for row in sheet.iter_rows())
    return " | ".join(" ".join(str(c.value) for c in row if c.value is not None) for row in rows)


def _csv(files: dict[str, bytes]) -> str:
    tables = (data.decode() for path, data in files.items() if path.startswith("tables/"))
    rows = (row for text in tables for row in csv.reader(StringIO(text, newline="")))
    return " | ".join(" ".join(row).replace("'", "") for row in rows)


def _latex(files: dict[str, bytes]) -> str:
    text = " | ".join(data.decode() for path, data in files.items() if path.endswith(".tex"))
    text = re.sub(r"(?<!\\)%.*", "", text)
    for command, meant in LATEX.items():
        text = text.replace(command, meant)
    text = re.sub(r"\\[a-zA-Z]+\*?(\[[^]]*\])?|[{}$]", " ", text)
    return text.replace("\\\\", " | ").replace("&", " ").replace("\\", "")


LATEX = {
    r"\dots{}": "…",
    r"\dag{}": "†",
    r"$-$": "−",
    r"$\pm$": "±",
    r"$\times$": "×",
    r"$\approx$": "≈",
    r"\textless{}": "<",
    r"\textgreater{}": ">",
    "---": "—",
    "--": "–",
}
"""Commands, and the letters that they stand for."""


def _json(files: dict[str, bytes]) -> str:
    return " ".join(_texts(json.loads(files["document.json"])))


def _texts(part: Any) -> Iterator[str]:
    """The texts of a document, entries with the sign of their verdict."""
    if isinstance(part, str):
        yield part
    elif isinstance(part, list):
        for one in part:
            yield from _texts(one)
    elif isinstance(part, dict):
        if part.get("is") == "entry":
            yield MARKS[part["verdict"]] if part["verdict"] else ""
            yield f"{part['text']} {part['beneath']}"
            return
        if part.get("is") == "column":
            yield ", ".join(filter(None, (f"{part['under']} {part['head']}".strip(), part["unit"])))
            return
        for name, one in part.items():
            if name not in ("is", "wide", "narrow"):
                yield from _texts(one)


READERS: dict[str, Callable[[dict[str, bytes]], str]] = {
    "html": _html,
    "markdown": _markdown,
    "pdf": _pdf,
    "xlsx": _xlsx,
    "pptx": slides,
    "csv": _csv,
    "latex": _latex,
    "json": _json,
}


def text_in(format: str, document: Document, findings: Findings) -> str:
    """A document in one of its formats, as a text."""
    made = next(one for one in FORMATS if one.name == format).render(document, findings)
    return READERS[format](made)


def terminal(findings: Findings) -> str:
    """What a terminal of many columns shows; without signs, some of which are those of systems."""
    console = Console(file=StringIO(), width=240, color_system=None)
    console.print(verdicts(findings, Path("report/index.html")))
    assert isinstance(console.file, StringIO)
    return re.sub(f"[{re.escape(SIGN)}]", " ", console.file.getvalue())
