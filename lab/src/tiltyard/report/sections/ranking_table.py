"""How verdicts are arranged: the ranking table, its pairs in words, looks, effects."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby
from typing import Final

from tiltyard.analysis.line import alone_note, verdict_word
from tiltyard.analysis.model import Comparison, Effect, Findings, Index, Standing, WorkloadFindings
from tiltyard.charts.effects import grouped
from tiltyard.charts.figures import alone, with_unit
from tiltyard.plan.model import Unit
from tiltyard.report.document import Block, Column, Entry, Fold, Sentences, SheetChart, Table
from tiltyard.report.sections.entries import (
    MISSING,
    Printing,
    interval_entry,
    interval_head,
    levels_note,
    percent_entry,
    printing,
    ratio_entry,
    system_entry,
    values_note,
    verdict_entry,
    without_empty_columns,
)
from tiltyard.study.model import Clock
from tiltyard.units import count_of, format_value

BASELINE: Final = Entry("baseline", quiet=True)
FEW: Final = 6
"""As many pairs are printed without folding any of them away."""


def has_ranks(index: Index) -> bool:
    """Whether the ranks that the verdicts leave possible are given."""
    return any(standing.rank_best is not None for standing in index.standings)


def rank_text(standing: Standing) -> str:
    """The ranks that the data leave possible: ``1``, ``1–2``; empty where they are not given."""
    if standing.rank_best is None or standing.rank_worst is None:
        return ""
    ends = dict.fromkeys((standing.rank_best, standing.rank_worst))
    return "–".join(map(str, ends))


def pairs_to_print(index: Index, baseline: str) -> tuple[list[Comparison], list[Comparison]]:
    """The pairs to tell at once, and those that may wait: the ones without the baseline."""
    if len(index.comparisons) <= FEW:
        return list(index.comparisons), []
    first: list[Comparison] = []
    others: list[Comparison] = []
    for pair in index.comparisons:
        (first if baseline in (pair.system, pair.against) else others).append(pair)
    return first, others


@dataclass(frozen=True)
class Stop:
    """Pairs of systems whose verdict rests on the same look."""

    blocks: int
    comparisons: tuple[Comparison, ...]


def stops(workload: WorkloadFindings) -> list[Stop]:
    """The comparisons of the index look by look; empty where all rest on the same one."""
    ordered = sorted(workload.index.comparisons, key=lambda comparison: comparison.blocks)
    found = [
        Stop(blocks, tuple(own)) for blocks, own in groupby(ordered, lambda found: found.blocks)
    ]
    return found if len(found) > 1 else []


def stop_text(stop: Stop, unit: Unit) -> str:
    """``after 7 blocks: xfs against ext4``."""
    pairs = "; ".join(f"{pair.system} against {pair.against}" for pair in stop.comparisons)
    return f"after {count_of(stop.blocks, unit)}: {pairs}"


def blocks_run(findings: Findings) -> dict[str, dict[str, int]]:
    """Workload → system → blocks in which it was run; empty as long as that is the same for all.

    The last block that was begun may not be complete, so it is no sign of a difference.
    """
    last = findings.trials[-1].block if findings.trials else 0
    met: dict[str, dict[str, set[int]]] = {
        workload.name: {system.name: set() for system in findings.systems}
        for workload in findings.workloads
    }
    for trial in findings.trials:
        met[trial.workload][trial.system].add(trial.block)
    if len({len(blocks - {last}) for own in met.values() for blocks in own.values()}) <= 1:
        return {}
    return {
        workload: {system: len(blocks) for system, blocks in own.items()}
        for workload, own in met.items()
    }


def undecided(findings: Findings) -> list[Comparison]:
    """Every comparison that stays open, those of the indices first."""
    tables = [workload.index for workload in findings.workloads]
    cells = [table for workload in findings.workloads for table in workload.compared[1:]]
    return [
        comparison
        for table in (*tables, *cells)
        for comparison in table.comparisons
        if comparison.verdict == "undecided"
    ]


@dataclass(frozen=True)
class EffectTable:
    """The effects on one quantity, level by level."""

    topic: str
    groups: tuple[tuple[Effect, ...], ...]

    @property
    def levels(self) -> list[float]:
        """Coverage of the intervals."""
        return [effect.level_of_interval for group in self.groups for effect in group]

    @property
    def in_words(self) -> list[Effect]:
        """Those that are stated in words: the simple ones are in the words of the interactions."""
        return [effect for group in self.groups for effect in group if effect.kind != "simple"]

    @property
    def depending(self) -> list[Effect]:
        """The interactions that have been found."""
        found = ("faster", "slower")
        return [e for e in self.in_words if e.kind == "interaction" and e.verdict in found]


def effect_tables(workload: WorkloadFindings) -> Iterator[EffectTable]:
    """The effects on the workload's index, then those on each metric."""
    for topic, own in groupby(workload.effects, key=lambda effect: effect.topic):
        yield EffectTable(topic, tuple(map(tuple, grouped(list(own)))))


_DIFFERENCE = {"faster": "gains more", "slower": "gains less", "equivalent": "the same"}


def effect_word(effect: Effect, clock: Clock) -> str:
    """The verdict on an effect; of an interaction what it means for the level it is about."""
    if effect.kind == "interaction":
        return _DIFFERENCE.get(effect.verdict, effect.verdict)
    return verdict_word(effect.verdict, clock)


def ranked_table(
    findings: Findings, index: Index, id: str, title: str, rate: float | None = None
) -> tuple[Block, ...]:
    """The ranked table of an index with the notes on how to read it.

    Args:
        findings: what the analysis states.
        index: of a workload, or of one of its metrics.
        id: of the table.
        title: of the table.
        rate: as :func:`levels_note` takes it; intervals of workloads are simultaneous.
    """
    if not index.standings:
        return ()
    table = ranking(findings, index, id, title)
    return (without_empty_columns(table), *levels_note(_covered(index), rate))


def _covered(index: Index) -> list[float]:
    """Coverage of the intervals that a verdict could rest on."""
    compared = [s.comparison for s in index.standings if s.comparison]
    return [pair.level for pair in compared if pair.low is not None or not pair.over]


def ranking(findings: Findings, index: Index, id: str, title: str) -> Table:
    """The ranked table itself, best by estimate first, the baseline among them."""
    printed = printing(index, (s.value for s in index.standings), widest=True)
    ranked = has_ranks(index)
    columns = (
        *((Column("rank", spare=True),) if ranked else ()),
        Column("System", figures=False),
        Column("Verdict", figures=False),
        Column(value_head(findings, index), alone(printed.unit)),
        Column(f"relative to {findings.baseline}"),
        Column(interval_head(_covered(index))),
        Column(f"{findings.design.unit}s won", "%", spare=True),
    )
    return Table(
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
                "bar", int(ranked), (2 + ranked,), title, with_unit(index.label, printed.unit)
            ),
        ),
    )


def pairs(findings: Findings, index: Index) -> tuple[Block, ...]:
    """Every pair in words; where that is a long list, first those with the baseline."""
    first, others = pairs_to_print(index, findings.baseline)
    blocks: list[Block] = []
    if first:
        blocks.append(Sentences(tuple(pair.sentence for pair in first)))
    if others:
        rest = Sentences(tuple(pair.sentence for pair in others))
        blocks.append(Fold(f"The other pairs ({len(others)})", (rest,)))
    return tuple(blocks)


def caption(findings: Findings, index: Index) -> str:
    """What the values of a ranked table are."""
    ratio = "Ratio: of the means."
    if findings.planned:
        ratio = f"Ratio: of the typical {findings.design.unit} (Hodges–Lehmann)."
    mean = f"Geometric means over {count_of(index.cells, 'cell')}." if index.cells > 1 else ""
    ranks = "Rank: range consistent with the verdicts." if has_ranks(index) else ""
    beside = alone_note(s.comparison for s in index.standings if s.comparison)
    return " ".join(filter(None, (values_note(findings), mean, ratio, beside, ranks)))


def value_head(findings: Findings, index: Index) -> str:
    """What the values are; of what, the title says."""
    if not findings.planned:
        return "geometric mean" if index.cells > 1 else "value"
    has_ratio = any(own.comparison and own.comparison.ratio for own in index.standings)
    own = "geometric mean" if index.cells > 1 else "median"
    return "baseline × ratio" if has_ratio else own


def _line(
    findings: Findings, index: Index, standing: Standing, printed: Printing, *, ranked: bool
) -> Iterator[Entry]:
    if ranked:
        # A number only where the verdicts leave one rank: no file names a winner that they do not.
        one = standing.rank_best == standing.rank_worst and standing.rank_best
        yield Entry(rank_text(standing), float(one) if one else None, quiet=True)
    yield system_entry(standing.system)
    comparison, value = standing.comparison, _value(index, standing, printed)
    if standing.system == findings.baseline:
        yield BASELINE
        yield from (value, Entry("1", 1.0, strong=True), Entry(""), Entry(""))
    elif comparison is None:
        yield Entry("not compared", quiet=True)
        yield from (value, MISSING, MISSING, MISSING)
    else:
        yield verdict_entry(comparison, findings)
        yield from (value, ratio_entry(comparison), interval_entry(comparison))
        yield percent_entry(comparison.ahead)


def _value(index: Index, standing: Standing, printed: Printing) -> Entry:
    """A throughput in bits has its bytes beneath it."""
    in_bits = "bit" in printed.unit and index.printed is None
    return Entry(
        printed.number(standing.value),
        standing.value / printed.factor,
        beneath=format_value(standing.value, index.unit) if in_bits else "",
    )
