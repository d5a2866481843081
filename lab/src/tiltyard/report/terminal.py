"""The verdicts for a terminal: readable in 80 columns and without colour."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import count, islice, product
from math import log
from pathlib import Path
from string import ascii_uppercase
from typing import Any, Final

from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.containers import Lines
from rich.table import Table
from rich.text import Text

from tiltyard.analysis.calibration_command import calibration_command
from tiltyard.analysis.collected.over import compared_over
from tiltyard.analysis.decision import headlines
from tiltyard.analysis.line import (
    IF_NORMAL,
    MARKS,
    another_study,
    interval_text,
    pooled,
    ratio_text,
    verdict_word,
    without_verdict,
    word_of,
)
from tiltyard.analysis.model import (
    Comparison,
    Findings,
    Index,
    Notice,
    Standing,
    WorkloadFindings,
)
from tiltyard.analysis.pairs import against
from tiltyard.analysis.statements.numbers import WIDENED, widened_note
from tiltyard.analysis.statements.warnings import warnings
from tiltyard.analysis.verdict import Estimated, Verdict
from tiltyard.charts.grid import course
from tiltyard.charts.theme import LIGHT, TERMINAL, hue_of, signs
from tiltyard.report.document import Entry
from tiltyard.report.sections.entries import PLAIN_HEAD, verdict_entry
from tiltyard.report.sections.method import beside_sentences
from tiltyard.report.sections.ranking_table import BASELINE, effect_tables, has_ranks, ranking
from tiltyard.report.stacking import StackingTable
from tiltyard.stats.planning import LIKELY_SHARE
from tiltyard.study.program import PROGRAM
from tiltyard.units import (
    count_of,
    format_number,
    format_value,
    unbroken,
)

_SYSTEMS_ABREAST = 3
_SENTENCES = 3
"""As many effects and observations are printed of each workload; the report has them all."""
_NAME_MAX: Final = 24
"""A longer name, such as a command line, has a letter in tables and stands in the legend."""
_OF_PROGRAMS = ("user", "system", "peak_memory")
"""Of what the engine counts of programs, what is printed here; the report has it all."""
_ON_SYSTEMS: Final = ("Answer", "Effect", "Finding")
"""Lines that name systems as tables do; in others a command may stand, to be copied."""
_STYLES: dict[Verdict, str] = {
    "faster": f"bold {TERMINAL['better']}",
    "slower": TERMINAL["worse"],
    "equivalent": "bold",
    "undecided": "dim",
    "invalid": "red",
}


def verdicts(findings: Findings, *reports: Path) -> RenderableType:
    """What a person reads when a study ends.

    Args:
        findings: what the analysis states.
        reports: where the full report lies, in each of its formats; the last lines.
    """
    parts: list[RenderableType] = []
    if line := _no_verdict(findings):
        parts += [Text(_with_labels(line, findings), style="bold"), Text()]
    over = bool(findings.provenance and findings.provenance.studies)
    parts += studies_compared(findings) if over else _legend(findings)
    for workload in () if over else findings.workloads:
        if workload.index.standings:
            parts += [_ranked(workload, findings), *_counted_beside(workload, findings), Text()]
        if len(_lines_of(workload)) > 1 and len(findings.systems) > 1:
            parts += [_by_line(workload, findings), Text()]
    return Group(*parts, Text(_counts(findings)), Text(), *_closing(findings, reports))


def _no_verdict(findings: Findings) -> str:
    """The first line, where nothing is decided: why; empty where something is."""
    compared = headlines(findings)
    # Of several factors the headline is their effects: one may be decided where no pair is.
    found = [one.verdict for one in compared]
    found += [effect.verdict for own in findings.workloads for effect in own.effects]
    decided = any(verdict not in ("undecided", "invalid") for verdict in found)
    if decided or not findings.planned:
        return ""
    why = compared[0].sentence if len(compared) == 1 else findings.answer
    return why if why.startswith("No verdict") else f"No verdict: {why}"


def _ranked(workload: WorkloadFindings, findings: Findings) -> Group:
    """The workload's index: the columns of its table in the report, the verdict last."""
    index = workload.index
    found = ranking(findings, index, "", index.label)
    first = int(has_ranks(index))
    system, verdict, value, ratio, interval = range(first, first + 5)
    table = StackingTable(padding=(0, 3, 0, 0), header_style="dim")
    table.add_column(overflow="fold")
    table.add_column(found.columns[value].head, justify="right", no_wrap=True)
    table.add_column(Text(_with_labels(found.columns[ratio].head, findings)), justify="right")
    table.add_column(found.columns[interval].head, justify="right", no_wrap=True)
    table.add_column("verdict", no_wrap=True)
    for row in found.rows:
        name = Text("  ").append(_signed(row[system].text, findings))
        numbers = (row[place].text for place in (value, ratio, interval))
        table.add_row(name, *numbers, _word(row[verdict]))
    widened = sum(WIDENED in row[interval].text for row in found.rows)
    together = found.columns[interval].head != PLAIN_HEAD
    notes = (widened_note(widened) if widened else "",
             "simultaneous 95 % confidence intervals" if together else "")  # fmt: skip
    return Group(
        Text(found.charts[0].axis, style="bold"),
        table,
        *(Text(f"  {note}", style="dim") for note in notes if note),
    )


def _counted_beside(workload: WorkloadFindings, findings: Findings) -> Iterator[Text]:
    """What is counted beside path lengths and times of programs, a row each: it is not ranked.

    CPU time is compared with the baseline.
    """
    counted = findings.clock == "instructions"
    if workload.cpu_time is not None:
        yield _compared_beside(workload.cpu_time, findings)
    for cell in workload.details:
        if counted or (workload.use == PROGRAM and cell.metric in _OF_PROGRAMS):
            values = ", ".join(
                f"{_labels(findings)[own.system]} {format_value(own.median, cell.unit)}"
                for own in cell.summaries
            )
            label = ", ".join(filter(None, (cell.label, cell.at_label)))
            yield Text(f"  {label}: {values}", style="dim")


def _compared_beside(index: Index, findings: Findings) -> Text:
    """``CPU time: a 70.1 ms, b 73.5 ms (1.049, 1.031 … 1.066, slower)``."""
    text = Text("  CPU time: ", style="dim")
    for place, standing in enumerate(sorted(index.standings, key=_by_baseline(findings))):
        pair, name = standing.comparison, _labels(findings)[standing.system]
        text.append(f"{', ' if place else ''}{name} {format_value(standing.value, index.unit)}")
        if pair is not None and pair.low is not None:
            text.append(f" ({ratio_text(pair)}, {interval_text(pair)}, ").append(
                _word(verdict_entry(pair, findings))
            )
            text.append(")")
    return text


def _by_baseline(findings: Findings) -> Callable[[Standing], int]:
    """The baseline first, the others in the order of the study."""
    names = [findings.baseline, *(system.name for system in findings.systems)]
    return lambda standing: names.index(standing.system)


def _by_line(workload: WorkloadFindings, findings: Findings) -> Group:
    """Each test or level a line, each compared system a column, as many as fit abreast."""
    compared = [system.name for system in findings.systems if system.name != findings.baseline]
    legend = "  " + "   ".join(
        f"{mark} {verdict_word(verdict, findings.clock)}" for verdict, mark in MARKS.items()
    )
    return Group(
        *(
            _abreast(workload, findings, compared[first : first + _SYSTEMS_ABREAST])
            for first in range(0, len(compared), _SYSTEMS_ABREAST)
        ),
        Text(legend, style="dim"),
    )


def _abreast(workload: WorkloadFindings, findings: Findings, compared: list[str]) -> Table:
    baseline = findings.baseline
    table = StackingTable(padding=(0, 2, 0, 0), header_style="dim")
    head = Text(f"  relative to {_labels(findings)[baseline]}")
    table.add_column(head, width=24, overflow="fold")
    for system in compared:
        table.add_column(_signed(system, findings), justify="right", max_width=16, overflow="fold")
    for label, comparisons in _lines_of(workload):
        found = {pair.system: pair for pair in against(comparisons, baseline)}
        table.add_row(Text(f"  {label}"), *(_sign(found.get(name)) for name in compared))
    return table


def _lines_of(workload: WorkloadFindings) -> list[tuple[str, Sequence[Comparison]]]:
    """The tests of a suite; the levels of a course where there is one metric."""
    if workload.by_metric:
        return [(index.label, index.comparisons) for index in workload.by_metric]
    along = course(workload)
    if along is None:
        return []
    ordered = sorted(workload.cells, key=lambda cell: along.axis.level(cell.at))
    return [(along.short(cell.at), cell.comparisons) for cell in ordered]


def _counts(findings: Findings) -> str:
    if findings.provenance:
        if findings.provenance.studies:
            return f"From {findings.provenance.title}."
        return f"From {findings.provenance.title}; not measured here."
    kept = f"{count_of(findings.trials_kept, 'trial')}, all kept"
    if findings.trials_failed:
        kept = f"{count_of(findings.trials_kept, 'trial')} kept, {findings.trials_failed} failed"
    verdict = "" if findings.look else " Too few for a verdict."
    what = "Executions alternate" if findings.trials_alternated else "Order random"
    return (
        f"{count_of(findings.blocks_done, 'block')}, {kept}.{verdict} "
        f"{what} in each block, seed {findings.seed}."
    )


def _closing(findings: Findings, reports: Sequence[Path]) -> Iterator[RenderableType]:
    """Answer and warnings with hanging indents; paths in one piece, to be copied or searched."""
    lines = list(_lines(findings))
    table = Table.grid(padding=(0, 3, 0, 0))
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    for head, text in lines:
        table.add_row(
            Text(head, style="bold"),
            _Prose(_with_labels(text, findings) if head in _ON_SYSTEMS else text),
        )
    yield table
    indent = max(len(head) for head, _ in lines) + 3
    ends = [("Seal", findings.seal)] if findings.seal else []
    for head, text in (*ends, *(("Report", str(path)) for path in reports)):
        line = Text(head.ljust(indent), style="bold", no_wrap=True, overflow="ignore")
        yield line.append(text, style="not bold")


_KEPT: Final = "\ue000"
"""Stands for a space at which no line ends while lines are made; nothing that is printed has it."""


class _Prose(Text):
    """Plain text of which no line ends between a number and its unit."""

    def wrap(self, console: Console, width: int, **options: Any) -> Lines:
        """The lines; a no-break space would be a space to the library."""
        kept = unbroken(self.plain).replace("\N{NO-BREAK SPACE}", _KEPT)
        lines = Text(kept).wrap(console, width, **options)
        for line in lines:
            line.plain = line.plain.replace(_KEPT, " ")
        return lines


def _lines(findings: Findings) -> Iterator[tuple[str, str]]:
    told = [(one.severity.capitalize(), one) for one in warnings(findings)]
    yield from ((head, _in_full(notice)) for head, notice in told)
    if findings.answer not in _no_verdict(findings):
        yield "Answer", findings.answer
    for workload in findings.workloads:
        for table in list(effect_tables(workload))[:1]:
            for effect in table.depending[:_SENTENCES]:
                yield "Effect", effect.sentence
        for observation in workload.observations[:_SENTENCES]:
            yield "Finding", observation.sentence
    if findings.sessions:
        yield "Sessions", findings.sessions.sentence
        yield from (("Sessions", own.sentence) for own in findings.sessions.levels if own.apart)
        for found in findings.sessions.comparisons[:_SENTENCES]:
            yield "Sessions", found.sentence
    yield from islice(beside_sentences(findings), _SENTENCES)
    if findings.disturbed:
        yield "Disturbed", findings.disturbed.sentence
    for notice in findings.notices:
        if notice.severity != "note" and notice not in (one for _, one in told):
            yield notice.severity.capitalize(), _in_full(notice)
    if findings.planned:
        yield "Host", _resolution(findings)


def _in_full(notice: Notice) -> str:
    return " ".join(filter(None, (notice.text, notice.advice)))


def _resolution(findings: Findings) -> str:
    """What this host can show, if that was ever found out."""
    if findings.clock == "instructions":
        return "does not matter: instructions were counted"
    note = findings.calibration
    if note is None:
        command = calibration_command(findings.where)
        if not command:
            return f"calibration is of one host, and not of {findings.where}"
        return f"not calibrated; {command} measures its smallest detectable difference"
    return (
        f"finds differences of about {format_number(note.resolution_percent, 2)} % in "
        f"{LIKELY_SHARE} of "
        f"comparisons (calibration {note.id}, {note.date[:10]})"
    )


def _signed(system: str, findings: Findings) -> Text:
    """A system's name with the sign that it has in all pictures."""
    glyph, colour = signs(findings)[system]
    return Text(f"{_labels(findings)[system]} ").append(glyph, style=LIGHT[hue_of(colour)])


def _labels(findings: Findings) -> dict[str, str]:
    """System → what it is called in tables: its name, or a letter where that is long."""
    names = [system.name for system in findings.systems]
    free = (
        letters
        for length in count(1)
        for each in product(ascii_uppercase, repeat=length)
        if (letters := "".join(each)) not in names
    )
    return {name: name if len(name) <= _NAME_MAX else next(free) for name in names}


def _with_labels(text: str, findings: Findings) -> str:
    """A text in which letters stand for long names, as in tables; the longest name first."""
    if findings.provenance and findings.provenance.studies:
        return text
    for name, label in sorted(_labels(findings).items(), key=lambda one: -len(one[0])):
        if label != name:
            text = text.replace(name, label)
    return text


def _legend(findings: Findings) -> Iterator[RenderableType]:
    """The names that letters stand for, once."""
    long = {label: name for name, label in _labels(findings).items() if label != name}
    if not long:
        return
    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(style="bold", no_wrap=True)
    table.add_column(overflow="fold")
    for label, name in long.items():
        table.add_row(label, Text(name))
    yield from (table, Text())


def _word(verdict: Entry) -> Text:
    """A verdict as the table has it; the baseline needs no word here."""
    word = "" if verdict.text == BASELINE.text else verdict.text
    return Text(word, style=_STYLES[verdict.verdict] if verdict.verdict else "")


def _sign(comparison: Comparison | None) -> Text:
    if comparison is None:
        return Text("–")
    sign = f"{ratio_text(comparison)} {MARKS[comparison.verdict]}"
    return Text(sign, style=_STYLES[comparison.verdict])


_LEAST: Final = 24
"""Columns of a plot below which it stands under its figures."""
_MOST: Final = 60
_NAME: Final = 20


def studies_compared(findings: Findings) -> Iterator[RenderableType]:
    """The studies, then every comparison of a workload as a whole, and of its metrics."""
    yield _sources(findings)
    yield Text()
    found = compared_over(findings)
    if findings.unit == "study":
        for workload, pair in found:
            yield Text(_title(workload, pair), style="bold")
            yield _Forest(pair)
            if pair.low is None:
                yield Text(f"  {IF_NORMAL}", style="dim")
            yield Text(pair.over.sentence if pair.over else "", style="dim")
            yield Text()
        return
    yield _side_by_side(findings, found)
    yield Text()


def _sources(findings: Findings) -> Group:
    """One line each, and the question once where it is the same."""
    studies = findings.provenance.studies if findings.provenance else ()
    questions = {one.question for one in studies}
    table = StackingTable("study", "began, UTC", "blocks", header_style="dim", padding=(0, 2, 0, 0))
    if len(questions) > 1:
        table.add_column("question", overflow="fold")
    for one in studies:
        blocks = str(one.blocks or "–")
        blocks += f" of {count_of(one.sessions, 'session')}" if one.sessions > 1 else ""
        began = one.began[:16].replace("T", " ")
        own = (Text(one.question),) if len(questions) > 1 else ()
        table.add_row(Text(one.name), began, blocks, *own)
    same = [Text(f"Question {questions.pop()}")] if len(questions) == 1 else []
    return Group(*same, table)


def _side_by_side(
    findings: Findings, found: Sequence[tuple[WorkloadFindings, Comparison]]
) -> StackingTable:
    """A row for each workload on each system, and each metric of several."""
    base, *others = (system.name for system in findings.systems)
    table = StackingTable(
        Text(f"{others[0]} relative to {base}").plain,
        "ratio",
        "of these blocks, 95 % CI",
        "over sessions",
        "verdict",
        header_style="dim",
        padding=(0, 2, 0, 0),
    )
    for workload, pair in found:
        table.add_row(Text(workload.index.label), *_cells(pair))
        for metric in workload.by_metric:
            for own in metric.comparisons:
                table.add_row(Text(f"  {metric.label}"), *_cells(own))
    return table


def _cells(pair: Comparison) -> tuple[str, str, str, str]:
    within = without_verdict(pair)
    return ratio_text(within), interval_text(within), interval_text(pair), word_of(pair, "time")


def _title(workload: WorkloadFindings, pair: Comparison) -> str:
    better = "more" if workload.index.direction == "higher" else "less"
    return f"{pair.system} against {pair.against}: {workload.index.label} ({better} is better)"


@dataclass(frozen=True)
class _Row:
    """One line of a forest plot."""

    name: str
    told: Estimated
    mark: str
    beside: str = ""


@dataclass(frozen=True)
class _Forest:
    """One comparison: each study, all together, and where another study is expected."""

    pair: Comparison

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Figures and plot side by side, or below each other where there is no room."""
        rows = list(_rows(self.pair))
        ends = [end for row in rows for end in (row.told.low, row.told.high, row.told.ratio) if end]
        span = min(1.0, *ends), max(1.0, *ends)
        name = min(_NAME, max(len(row.name) for row in rows))
        texts = [_figures(row) for row in rows]
        text = max(map(len, texts))
        beside = max(len(row.beside) for row in rows)
        room = options.max_width - name - text - beside - 8
        apart = room < _LEAST
        width = min(_MOST, options.max_width - 4 if apart else room)
        for row, figures in zip(rows, texts, strict=True):
            head = f"  {row.name[:_NAME]:{name}}  {figures:{text}}"
            plot = _plot(row, span, width)
            if apart:
                yield Text(f"{head}  {row.beside}".rstrip(), overflow="fold")
                yield Text(f"  {plot}")
            else:
                yield Text(f"{head}  {plot}  {row.beside}".rstrip(), no_wrap=True)


def _rows(pair: Comparison) -> Iterator[_Row]:
    over = pair.over
    if over is None:
        return
    for one in over.values:
        yield _Row(one.study, one, "●", "" if one.study not in over.apart else "other side")
    yield _Row("pooled", pooled(pair), "◆", word_of(pair, "time"))
    if over.predicted_low is not None:
        yield _Row("another study", another_study(over), "")


def _figures(row: _Row) -> str:
    estimate = "" if row.told.ratio is None else ratio_text(row.told)
    return f"{estimate:5} {interval_text(row.told)}"


def _plot(row: _Row, span: tuple[float, float], width: int) -> str:
    """``┊  ├──●──┤``: a logarithmic scale with a line at 1, which intervals may cross (``┼``)."""

    def place(value: float) -> int:
        whole = log(span[1] / span[0]) or 1.0
        return round((width - 1) * log(value / span[0]) / whole)

    drawn = [" "] * width
    one = place(1.0)
    drawn[one] = "┊"
    if row.told.low is not None and row.told.high is not None:
        low, high = place(row.told.low), place(row.told.high)
        drawn[low : high + 1] = ("─" if row.mark else "╌") * (high + 1 - low)
        drawn[one] = "┼" if low <= one <= high else "┊"
        drawn[low], drawn[high] = ("├", "┤") if row.mark else ("╌", "╌")
    if row.told.ratio is not None:
        drawn[place(row.told.ratio)] = row.mark
    return "".join(drawn)
