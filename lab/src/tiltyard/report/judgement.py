"""How findings about the judging itself are arranged: levels, ranks, stops, effects.

Only arrangement: every figure and every sentence is one of the findings.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import groupby
from typing import Final

from tiltyard.analysis.amounts import coverage
from tiltyard.analysis.model import Comparison, Effect, Findings, Index, Standing, WorkloadFindings
from tiltyard.charts.effects import grouped
from tiltyard.charts.figures import verdict_word
from tiltyard.plan.model import Unit
from tiltyard.study.model import Clock

PLAIN_LEVEL: Final = 0.95
PLAIN_HEAD: Final = "95 % interval"
FEW: Final = 6
"""As many pairs are told without folding any of them away."""


def interval_head(levels: Iterable[float]) -> str:
    """Head of a column of intervals: the level where all have the usual one."""
    return PLAIN_HEAD if {*levels} <= {PLAIN_LEVEL} else "interval"


def levels_above(levels: Iterable[float]) -> str:
    """The levels beyond the usual one: ``98.3 %``, ``97.5 % to 99.1 %``, or nothing."""
    above = sorted(level for level in levels if level > PLAIN_LEVEL)
    return " to ".join(dict.fromkeys(map(coverage, (*above[:1], *above[-1:]))))


def has_ranks(index: Index) -> bool:
    """Whether the ranks that the verdicts leave possible are told."""
    return any(standing.rank_best is not None for standing in index.standings)


def rank_text(standing: Standing) -> str:
    """The ranks that the data leave possible: ``1``, ``1–2``; empty where they are not told."""
    if standing.rank_best is None or standing.rank_worst is None:
        return ""
    ends = dict.fromkeys((standing.rank_best, standing.rank_worst))
    return "–".join(map(str, ends))


def told_first(index: Index, baseline: str) -> tuple[list[Comparison], list[Comparison]]:
    """The pairs to tell at once, and those that may wait: the ones without the baseline."""
    if len(index.comparisons) <= FEW:
        return list(index.comparisons), []
    first = [pair for pair in index.comparisons if baseline in (pair.system, pair.against)]
    return first, [pair for pair in index.comparisons if pair not in first]


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
    return f"after {stop.blocks} {unit}s: {pairs}"


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
    def told(self) -> list[Effect]:
        """Those that are told in words: the simple ones are in the words of the interactions."""
        return [effect for group in self.groups for effect in group if effect.kind != "simple"]

    @property
    def depending(self) -> list[Effect]:
        """The interactions that have been found."""
        found = ("faster", "slower")
        return [e for e in self.told if e.kind == "interaction" and e.verdict in found]


def effect_tables(workload: WorkloadFindings) -> Iterator[EffectTable]:
    """The effects on the workload's index, then those on each metric."""
    for topic, own in groupby(workload.effects, key=lambda effect: effect.topic):
        yield EffectTable(topic, tuple(map(tuple, grouped(list(own)))))


_DIFFERENCE = {"faster": "gains more", "slower": "gains less", "equivalent": "the same"}


def effect_word(effect: Effect, clock: Clock) -> str:
    """The verdict on an effect; of an interaction what it means for the level that is told of."""
    if effect.kind == "interaction":
        return _DIFFERENCE.get(effect.verdict, effect.verdict)
    return verdict_word(effect.verdict, clock)
