"""Findings made by hand, so that pictures and pages can be tested without an analysis.

The numbers are a fixed function of names and blocks; nothing here claims to be statistics.
"""

import hashlib
import math
from collections.abc import Sequence
from functools import partial
from statistics import geometric_mean, mean, median, stdev
from typing import Literal

from support.judged import effects
from tiltyard.analysis.axes import label_of, spoken_axes
from tiltyard.analysis.model import (
    Cell,
    Comparison,
    Drift,
    Findings,
    Index,
    Latencies,
    Loss,
    Notice,
    Standing,
    Summary,
    SystemFindings,
    TrialLine,
    Verdict,
    WorkloadFindings,
)
from tiltyard.analysis.pairs import beside_ratios
from tiltyard.analysis.tables import averages
from tiltyard.plan.model import Design, Look
from tiltyard.run.differences import Difference

EQUIVALENT_WITHIN = 0.02
IOZONE = (
    "write", "rewrite", "read", "reread", "random read", "random write", "backward read",
    "record rewrite", "stride read", "fwrite", "frewrite", "fread", "freread",
)  # fmt: skip
_POINTS: tuple[dict[str, int | str], ...] = tuple(
    {"file": file << 20, "record": record << 10} for file in (64, 256) for record in (4, 64, 1024)
)
GRID = {label_of(point, spoken_axes(_POINTS)): point for point in _POINTS}
VERDICTS: tuple[Verdict, ...] = ("faster", "slower", "equivalent", "undecided", "invalid")
EFFECT = {"ext4": 1.0, "xfs": 1.09, "btrfs": 0.82}
Direction = Literal["higher", "lower"]


def noise(*words: object, spread: float) -> float:
    """A factor around 1 that depends on nothing but the words."""
    digest = hashlib.sha256(repr(words).encode()).digest()
    uniform = int.from_bytes(digest[:6], "big") / 2**48
    return math.exp(spread * (2 * uniform - 1))


def verdict_of(low: float, high: float, direction: Direction) -> Verdict:
    if low >= 1 / (1 + EQUIVALENT_WITHIN) and high <= 1 + EQUIVALENT_WITHIN:
        return "equivalent"
    if low <= 1 <= high:
        return "undecided"
    return "faster" if (low > 1) == (direction == "higher") else "slower"


def comparison(
    system: str, against: str, ratios: Sequence[float], direction: Direction = "higher"
) -> Comparison:
    """System against another one, from the ratios of the blocks; no interval below 6 blocks."""
    ordered = sorted(ratios)
    ratio = geometric_mean(ratios)
    if len(ordered) < 6:
        return Comparison(
            system=system, against=against, blocks=0, ratio=None, low=None, high=None, p=None,
            p_adjusted=None, verdict="undecided", at_least=None, geometric_mean_ratio=ratio,
            ahead=None, sentence=f"Undecided: {system} has too few blocks.",
            differences=tuple(ratios),
        )  # fmt: skip
    low, high = ordered[1], ordered[-2]
    verdict = verdict_of(low, high, direction)
    return Comparison(
        system=system, against=against, blocks=len(ordered), ratio=ratio, low=low, high=high,
        p=0.004, p_adjusted=0.011, verdict=verdict,
        at_least=(low if ratio > 1 else high) if verdict in ("faster", "slower") else None,
        geometric_mean_ratio=ratio,
        ahead=sum((r > 1) == (direction == "higher") for r in ratios) / len(ratios),
        sentence=f"{system} against {against}: {verdict}, {low:.3f} to {high:.3f}.",
        differences=tuple(ratios),
    )  # fmt: skip


def summary(system: str, values: Sequence[float]) -> Summary:
    enough = len(values) >= 6
    return Summary(
        system=system, blocks=tuple(range(1, len(values) + 1)), values=tuple(values),
        median=median(values), median_low=sorted(values)[0] if enough else None,
        median_high=sorted(values)[-1] if enough else None, mean=mean(values),
        sd=stdev(values), cv=stdev(values) / mean(values), percentiles={},
    )  # fmt: skip


def pairs(
    values: dict[str, list[float]], direction: Direction = "higher"
) -> tuple[Comparison, ...]:
    names = list(values)
    return tuple(
        comparison(
            later,
            earlier,
            [a / b for a, b in zip(values[later], values[earlier], strict=True)],
            direction,
        )
        for place, later in enumerate(names)
        for earlier in names[:place]
    )


def index(
    name: str, label: str, unit: str, cells: list[dict[str, list[float]]], direction: Direction
) -> Index:
    systems = list(cells[0])
    per_block = {
        system: [
            geometric_mean(block) for block in zip(*(cell[system] for cell in cells), strict=True)
        ]
        for system in systems
    }
    against_all = pairs(per_block, direction)
    ratios = {pair.system: pair.ratio for pair in against_all if pair.against == systems[0]}
    medians = {system: median(own) for system, own in per_block.items()}
    values = beside_ratios(medians, ratios, systems[0])
    ranked = sorted(systems, key=lambda s: values[s], reverse=direction == "higher")
    return Index(
        name=name, label=label, unit=unit, shown_in=unit, direction=direction, cells=len(cells),
        comparisons=against_all,
        standings=tuple(
            Standing(
                rank=place, system=system, value=values[system],
                comparison=next(
                    (c for c in against_all if (c.system, c.against) == (system, systems[0])), None
                ),
            )
            for place, system in enumerate(ranked, 1)
        ),
    )  # fmt: skip


def values_of(
    systems: Sequence[str], words: Sequence[object], typical: float, blocks: int
) -> dict[str, list[float]]:
    """Values of each system in each block."""
    return {
        system: [
            typical
            * EFFECT.get(system, 1.0)
            * noise(system, *words, spread=0.14)
            * noise(system, block, spread=0.04)
            * noise(system, block, *words, spread=0.04)
            for block in range(blocks)
        ]
        for system in systems
    }


def iozone(systems: Sequence[str], blocks: int, tests: Sequence[str] = IOZONE) -> WorkloadFindings:
    """Some of the tests over two file sizes and three record sizes."""
    raw = {
        (test, cell): values_of(systems, (test, cell), 1.2e9 * noise(test, spread=0.8), blocks)
        for test in tests
        for cell in GRID
    }
    cells = tuple(
        Cell(
            metric=test.replace(" ", "_"), label=test, unit="B/s", shown_in="B/s",
            direction="higher", at=GRID[cell], at_label=cell,
            summaries=tuple(summary(s, v) for s, v in raw[test, cell].items()),
            comparisons=pairs(raw[test, cell]),
        )
        for test in tests
        for cell in GRID
    )  # fmt: skip
    everything = [c for cell in cells for c in cell.comparisons]
    losses = tuple(
        Loss(label=f"{cell.label}, {cell.at_label}", comparison=c)
        for cell in cells
        for c in cell.comparisons
        if c.verdict == "slower"
    )[:6]
    return WorkloadFindings(
        name="iozone", use="iozone", about="File throughput in thirteen access patterns.",
        lineage="IOzone, W. Norcott and D. Capps.",
        timing="open() returned → close() returned; fsync inside.",
        effective={"file": [67108864, 268435456], "record": [4096, 65536, 1048576]},
        grid=("file", "record"), answer="Over 13 tests, the systems differ.",
        index=index("iozone", "all tests", "B/s", list(raw.values()), "higher"),
        by_metric=tuple(
            index(
                test.replace(" ", "_"), test, "B/s", [raw[test, cell] for cell in GRID], "higher"
            )
            for test in tests
        ),
        cells=cells, latencies=None, details=(), ends={}, losses=losses,
        tally={v: sum(c.verdict == v for c in everything) for v in VERDICTS},
    )  # fmt: skip


def postmark(systems: Sequence[str], blocks: int) -> WorkloadFindings:
    """One headline metric, two details, no grid; a factorial study."""

    def cell(metric: str, label: str, unit: str, typical: float, *, judged: bool) -> Cell:
        values = values_of(systems, (metric,), typical, blocks)
        return Cell(
            metric=metric, label=label, unit=unit, shown_in=unit,
            direction="lower" if unit == "s" else "higher", at={}, at_label="",
            summaries=tuple(summary(s, v) for s, v in values.items()),
            comparisons=pairs(values) if judged else (),
        )  # fmt: skip

    headline = cell("transactions", "transactions", "1/s", 14_000, judged=True)
    return WorkloadFindings(
        name="postmark", use="postmark", about="Small files of a mail or news server.",
        lineage="PostMark, J. Katcher, NetApp TR3022.", timing="Transactions ÷ their time.",
        effective={"files": 10_000, "transactions": 20_000}, grid=(),
        answer="The systems differ in PostMark.",
        index=index(
            "postmark", "transactions", "1/s",
            [{s.system: list(s.values) for s in headline.summaries}], "higher",
        ),
        by_metric=(), cells=(headline,),
        details=(
            cell("read", "data read", "B/s", 6e7, judged=False),
            cell("total", "total time", "s", 3.1, judged=False),
        ),
        latencies=None, ends={}, losses=(), tally=dict.fromkeys(VERDICTS, 0),
        effects=effects(systems, "transactions"),
    )  # fmt: skip


def tcp_rr(systems: Sequence[str], blocks: int) -> WorkloadFindings:
    """One headline metric and the latency beside it, over three sizes."""

    def cells(metric: str, unit: str, typical: float, direction: Direction) -> tuple[Cell, ...]:
        found = []
        for size in (1, 64, 1024):
            values = values_of(systems, (metric, size), typical, blocks)
            found.append(
                Cell(
                    metric=metric, label=metric, unit=unit,
                    shown_in="µs" if unit == "s" else unit, direction=direction,
                    at={"request": size, "response": size, "flows": 1},
                    at_label=f"{size} B request and response",
                    summaries=tuple(summary(s, v) for s, v in values.items()),
                    comparisons=pairs(values, direction),
                )
            )  # fmt: skip
        return tuple(found)

    def mean(cells: tuple[Cell, ...]) -> Index:
        raw = [{s.system: list(s.values) for s in cell.summaries} for cell in cells]
        one = cells[0]
        return index(one.metric, one.label, one.unit, raw, one.direction)

    headline = cells("transactions", "1/s", 20_000, "higher")
    latency = cells("latency", "s", 5e-5, "lower")
    return WorkloadFindings(
        name="tcp_rr", use="tcp_rr", about="Requests and responses over TCP.",
        lineage="netperf, R. Jones.", timing="Transactions ÷ their time.",
        effective={"size": [1, 64, 1024]}, grid=("request", "response", "flows"),
        answer="The systems differ in TCP_RR.", index=mean(headline), by_metric=(),
        cells=headline,
        latencies=Latencies(
            cells=latency, index=mean(latency),
            averages=averages([{s.system: s.median for s in c.summaries} for c in latency]),
        ),
        details=(), ends={}, losses=(), tally=dict.fromkeys(VERDICTS, 0),
    )  # fmt: skip


def trial_lines(systems: Sequence[str], workloads: Sequence[str], blocks: int) -> list[TrialLine]:
    """Every trial in an order that changes from block to block."""
    lines: list[TrialLine] = []
    for block in range(1, blocks + 1):
        for system in sorted(systems, key=lambda s: noise(s, block, spread=1)):
            for workload in workloads:
                slot = len(lines) + 1
                lines.append(
                    TrialLine(
                        slot=slot,
                        block=block,
                        system=system,
                        workload=workload,
                        started=f"2026-11-21T10:{slot // 60:02}:{slot % 60:02}Z",
                        elapsed_s=2.5,
                        outcome="done",
                        reason=None,
                        relative=noise(slot, workload, spread=0.04),
                        foreign_share=0.004,
                        access="confirmed: no device reads",
                    )
                )
    return lines


def design() -> Design:
    return Design(
        profile="standard", strict=False,
        looks=(Look(blocks=7, c=1), Look(blocks=10, c=6), Look(blocks=14, c=18)),
        alpha=0.05, equivalent_within=EQUIVALENT_WITHIN, false_discovery_rate=0.05,
    )  # fmt: skip


def findings(
    systems: Sequence[str] = ("ext4", "xfs", "btrfs"),
    blocks: int = 10,
    workloads: Sequence[str] = ("iozone", "postmark"),
    tests: Sequence[str] = IOZONE,
) -> Findings:
    """A whole study."""
    makers = {"iozone": partial(iozone, tests=tests), "postmark": postmark, "tcp_rr": tcp_rr}
    lines = trial_lines(systems, workloads, blocks)
    return Findings(
        format=1, tiltyard="0.1.0", engine="0.1.0", plan_hash="3f" * 32, seed=4711,
        question="Which file system for the mail spool?",
        decide="Choose the file system of the new spool host",
        answer="XFS does 24 to 39 % more than ext4 on this host; btrfs 25 to 34 % less.",
        systems=tuple(
            SystemFindings(
                name=system, levels={"filesystem": system},
                facts={"mount options": f"rw,relatime,{system}", "block size": "4096 B"},
                commands=(f"mkfs.{system} /dev/loop0", "mount /dev/loop0 /mnt"),
            )
            for system in systems
        ),
        baseline=systems[0],
        differences=(
            Difference(
                fact="mount options",
                values={system: f"rw,relatime,{system}" for system in systems},
                why="nobody asked for all of them",
            ),
        ),
        advantages=(),
        design=design(),
        design_sentence="Randomised complete blocks, seed 4711; looks at 7, 10 and 14 blocks.",
        blocks_done=blocks, blocks_planned=14, look=blocks if blocks >= 6 else 0, family=237,
        trials_kept=len(lines), trials_failed=0, resolution_percent=3.4,
        stopped="every comparison is decided",
        conditions_sentence="Pinned to CPU 1; CPU 0 kept awake; floor 31 ns per operation.",
        workloads=tuple(makers[name](systems, blocks) for name in workloads),
        trials=tuple(lines),
        drifts=tuple(
            Drift(workload=name, spearman=0.08, p=0.61, change_percent=0.4,
                  sentence=f"{name}: no drift beyond chance.")
            for name in workloads
        ),
        notices=(
            Notice(severity="note", text="One machine, one device.", advice=None),
            Notice(severity="warning", text="This host is a virtual machine.",
                   advice="Repeat on hardware before publishing."),
        ),
        host={"cpu": "AMD EPYC, 2 CPUs", "memory": "24 GiB", "kernel": "Linux 6.18"},
        complete=True, unit="block",
    )  # fmt: skip
