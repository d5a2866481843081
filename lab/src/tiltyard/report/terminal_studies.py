"""Studies against studies for a terminal: a table of two of them, a forest plot of several."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import log
from typing import Final

from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.text import Text

from tiltyard.analysis.collected.over import compared_over
from tiltyard.analysis.model import Comparison, Findings, WorkloadFindings
from tiltyard.charts.figures import (
    IF_NORMAL,
    Estimated,
    another_study,
    interval_text,
    pooled,
    ratio_text,
    verdict_if_any,
    without_verdict,
)
from tiltyard.report.stacking import StackingTable
from tiltyard.units import count_of

_LEAST: Final = 24
"""Columns of a plot below which it stands under its figures."""
_MOST: Final = 60
_NAME: Final = 20


def studies_compared(findings: Findings) -> Iterator[RenderableType]:
    """The studies, then every comparison of a workload as a whole, and of its metrics."""
    yield _sources(findings)
    yield Text()
    found = compared_over(findings)
    if findings.origin and findings.origin.pooled:
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
    studies = findings.origin.studies if findings.origin else ()
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
    return ratio_text(within), interval_text(within), interval_text(pair), verdict_if_any(pair)


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
    yield _Row("pooled", pooled(pair), "◆", verdict_if_any(pair))
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
