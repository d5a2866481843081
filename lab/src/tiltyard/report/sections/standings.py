"""The ranked lines of an index, best by estimate first, and its pairs in words."""

from collections.abc import Iterator

from tiltyard.analysis.model import Findings, Index, Standing
from tiltyard.charts.figures import alone, with_unit
from tiltyard.report import judgement
from tiltyard.report.document import (
    Block,
    Column,
    Entry,
    Fold,
    Sentences,
    SheetChart,
    Table,
)
from tiltyard.report.sections.comparing import (
    interval_entry,
    levels_note,
    ratio_entry,
    verdict_entry,
    without_empty_columns,
)
from tiltyard.report.sections.printing import (
    MISSING,
    Printing,
    percent_entry,
    printing,
    system_entry,
)
from tiltyard.units import format_value


def standings(
    findings: Findings, index: Index, id: str, title: str, *, together: bool = False
) -> tuple[Block, ...]:
    """The ranked table of an index with the notes on how to read it.

    Args:
        findings: what the analysis states.
        index: of a workload, or of one of its metrics.
        id: of the table.
        title: of the table.
        together: whether its intervals hold together, as those of workloads do.
    """
    if not index.standings:
        return ()
    printed = printing(index, (s.value for s in index.standings), widest=True)
    ranked = judgement.has_ranks(index)
    covered = [s.comparison.level for s in index.standings if s.comparison]
    columns = (
        *((Column("rank"),) if ranked else ()),
        Column("System", figures=False),
        Column(_head(findings, index), alone(printed.unit)),
        Column(f"relative to {findings.baseline}"),
        Column(judgement.interval_head(covered)),
        Column(f"{findings.design.unit}s ahead", "%", spare=True),
        Column("Verdict", figures=False),
    )
    table = Table(
        id=id,
        title=title,
        columns=columns,
        rows=tuple(
            tuple(_line(findings, index, standing, printed, ranked=ranked))
            for standing in index.standings
        ),
        caption=caption(findings, index),
        charts=(
            SheetChart(
                "bar", int(ranked), (1 + ranked,), title, with_unit(index.label, printed.unit)
            ),
        ),
    )
    return (without_empty_columns(table), *levels_note(covered, together=together))


def pairs(findings: Findings, index: Index) -> tuple[Block, ...]:
    """Every pair in words; where that is a long list, first those with the baseline."""
    first, others = judgement.told_first(index, findings.baseline)
    blocks: list[Block] = []
    if first:
        blocks.append(Sentences(tuple(pair.sentence for pair in first)))
    if others:
        told = Sentences(tuple(pair.sentence for pair in others))
        blocks.append(Fold(f"The other pairs ({len(others)})", (told,)))
    return tuple(blocks)


def caption(findings: Findings, index: Index) -> str:
    """What the values of a ranked table are."""
    if findings.origin:
        value = "the values of the source" if index.cells > 1 else "Values of the source"
        ratio = "the ratio is that of the means"
    else:
        value = "the medians over blocks" if index.cells > 1 else "Median over blocks"
        ratio = f"the ratio is that of the typical {findings.design.unit} (Hodges–Lehmann)"
    if index.cells > 1:
        value = f"Geometric mean over {index.cells} cells of {value}"
    ranks = " Rank: what the verdicts leave possible." if judgement.has_ranks(index) else ""
    return f"{value}; {ratio}.{ranks}"


def _head(findings: Findings, index: Index) -> str:
    """What the values are; of what, the title says."""
    if index.cells > 1:
        return "geometric mean"
    return "value" if findings.origin else "median"


def _line(
    findings: Findings, index: Index, standing: Standing, printed: Printing, *, ranked: bool
) -> Iterator[Entry]:
    if ranked:
        yield Entry(judgement.rank_text(standing), float(standing.rank), quiet=True)
    yield system_entry(standing.system)
    yield _value(index, standing, printed)
    comparison = standing.comparison
    if standing.system == findings.baseline:
        yield from (Entry("1", 1.0, strong=True), Entry(""), Entry(""))
        yield Entry("baseline", quiet=True)
    elif comparison is None:
        yield from (MISSING, MISSING, MISSING, Entry("not compared", quiet=True))
    else:
        yield ratio_entry(comparison)
        yield interval_entry(comparison)
        yield percent_entry(comparison.ahead)
        yield verdict_entry(comparison, findings)


def _value(index: Index, standing: Standing, printed: Printing) -> Entry:
    """A throughput in bits has its bytes beneath it."""
    in_bits = "bit" in printed.unit and index.printed is None
    return Entry(
        printed.number(standing.value),
        standing.value / printed.factor,
        beneath=format_value(standing.value, index.unit) if in_bits else "",
    )
