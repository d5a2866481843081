"""Differences in percent over the lines of a summary, for claims and the tables beside them."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from tiltyard.analysis.line import Line, line_in
from tiltyard.analysis.model import Cell, Comparison, Findings, Index, Pair, WorkloadFindings
from tiltyard.analysis.quantity import Direction, metric_of


@dataclass(frozen=True)
class Crossing:
    """The systems as levels of one factor, within combinations of the others."""

    factor: str
    levels: tuple[str, ...]
    """The baseline's first, the others in the order of the study."""
    blocks: tuple[str, ...]
    """Levels of the other factors but the last one, joined; ``("",)`` if there are none."""
    groups: tuple[str, ...]
    """Levels of the last of the other factors; ``("",)`` if there is none."""
    systems: Mapping[tuple[str, str, str], str]
    """(level, block, group) → system; absent where that combination was not compared."""

    @property
    def base(self) -> str:
        """The level that the others are compared with."""
        return self.levels[0]

    def pair(self, level: str, block: str, group: str) -> Pair | None:
        """A level against the base there; ``None`` where one of the two is absent."""
        system = self.systems.get((level, block, group))
        against = self.systems.get((self.base, block, group))
        if system is None or against is None:
            return None
        return Pair(system=system, against=against, within=" ".join(filter(None, (block, group))))

    @property
    def pairs(self) -> list[Pair]:
        """Every level against the base, block by block and group by group."""
        return [pair for level in self.levels[1:] for pair in self.pairs_of(level)]

    def pairs_of(self, level: str) -> list[Pair]:
        """One level against the base, wherever both were compared."""
        found = (self.pair(level, block, group) for block in self.blocks for group in self.groups)
        return [pair for pair in found if pair is not None]


def crossing(findings: Findings) -> Crossing:
    """The first factor of which levels can be compared, all other levels being the same."""
    levels = {system.name: system.levels for system in findings.systems}
    base = levels[findings.baseline]
    factor = next((own.factor for own in findings.advantages if own.pairs), next(iter(base)))
    *outer, inner = [name for name in base if name != factor] or [""]
    places = {
        name: (own[factor], " ".join(own[other] for other in outer), own.get(inner, ""))
        for name, own in levels.items()
    }
    return Crossing(
        factor=factor,
        levels=tuple(dict.fromkeys((base[factor], *(place[0] for place in places.values())))),
        blocks=tuple(dict.fromkeys(place[1] for place in places.values())),
        groups=tuple(dict.fromkeys(place[2] for place in places.values())),
        systems={place: name for name, place in places.items()},
    )


COUNTS = "1/s"
RATE = "rate"


@dataclass(frozen=True)
class Row:
    """One quantity in which all systems are compared: a row of a table."""

    workload: str
    head: str
    """What stands at its row: ``iozone in-cache``, ``iozone, random write``."""
    quantity: str
    """As a sentence says it: ``throughput``, ``transactions per second``; empty for a mean over
    different metrics."""
    of: Cell | Index
    cells: int
    """How many it is the geometric mean of."""
    values: dict[str, float]
    """System → value, in base units, of those that have one."""

    @property
    def direction(self) -> Direction:
        """Whether more or less is better."""
        return self.of.direction

    @property
    def comparisons(self) -> Sequence[Comparison]:
        """Every pair."""
        return self.of.comparisons

    @property
    def has_intervals(self) -> bool:
        """Whether anything in it was repeated."""
        return any(pair.low is not None for pair in self.comparisons)


def rows(findings: Findings) -> list[Row]:
    """The rows of a study, workload by workload."""
    return [row for workload in findings.workloads for row in rows_of(workload)]


def rows_of(workload: WorkloadFindings) -> Iterator[Row]:
    """One for a workload with one metric; else one for each metric and one over all of them."""
    cells = workload.cells
    if not cells:
        return
    if workload.by_metric:
        for index in workload.by_metric:
            head = metric_of(workload.name, workload.display, index.label, ", ")
            yield _row(workload, index, head, _after_its_label(index.label, index.unit))
        yield _row(workload, workload.index, f"{workload.display}, all metrics", "")
    else:
        what = quantity(cells[0].label, cells[0].unit)
        yield _row(workload, workload.index, workload.display, what)
    if workload.latencies:
        own = workload.latencies
        what = quantity(own.cells[0].label, own.index.unit)
        yield _row(workload, own.index, f"{workload.display}, latency", what)


def tests(findings: Findings) -> list[Row]:
    """The rows that a study is counted over: a mean over several metrics would count twice."""
    return [row for row in rows(findings) if row.quantity]


def cell_rows(workload: WorkloadFindings) -> list[Row]:
    """The cells of a workload as rows."""
    several = len({cell.metric for cell in workload.cells}) > 1
    return [
        Row(
            workload=workload.name,
            head=", ".join(filter(None, (cell.label if several else "", cell.at_label))),
            quantity=quantity(cell.label, cell.unit),
            of=cell,
            cells=1,
            values={summary.system: summary.value for summary in cell.summaries},
        )
        for cell in workload.cells
    ]


def quantity(label: str, unit: str) -> str:
    """What there is more or less of: ``random write throughput``, ``transactions per second``."""
    if unit == "B/s" and "throughput" not in label:
        return f"{label} throughput"
    if unit == COUNTS:
        return f"{label} per second"
    if unit == "s" and not any(word in label for word in ("latency", "time")):
        return f"{label} time"
    return label


def _after_its_label(label: str, unit: str) -> str:
    """The same where the label stands before it, and may be no phrase: ``1000 Files, 1MB Size``."""
    if unit == "B/s":
        return "throughput"
    return RATE if unit == COUNTS and "," in label else quantity(label, unit)


def _row(workload: WorkloadFindings, index: Index, head: str, what: str) -> Row:
    return Row(
        workload=workload.name,
        head=head,
        quantity=what,
        of=index,
        cells=index.cells,
        values={standing.system: standing.value for standing in index.standings},
    )


@dataclass(frozen=True)
class Count:
    """A pair of systems over several lines or cells."""

    pair: Pair
    better: int
    worse: int
    equivalent: int
    """By verdict; of single values those within the margin."""
    of: int
    """Lines or cells in which both have a value."""
    repeated: bool
    """Whether better and worse are verdicts."""
    least: Line | None
    """Of those that are better or worse the smallest advantage, or the largest disadvantage;
    ``None`` where there is none."""
    most: Line | None
    least_at: str
    most_at: str

    @property
    def open(self) -> int:
        """In which neither is better."""
        return self.of - self.better - self.worse

    @property
    def decided(self) -> int:
        """In which one of the two is better."""
        return self.better + self.worse


def counts(findings: Findings, rows: Sequence[Row], pairs: Iterable[Pair]) -> list[Count]:
    """Each pair over some lines; without those that are in none of them."""
    tables = [(row.head, row.of) for row in rows]
    found = (count_together(findings, tables, [pair], pair, named=False) for pair in pairs)
    return [one for one in found if one is not None]


def count_together(
    findings: Findings,
    tables: Sequence[tuple[str, Cell | Index]],
    pairs: Sequence[Pair],
    pair: Pair,
    *,
    named: bool = True,
) -> Count | None:
    """Several pairs as one: a level against another one, wherever both were compared.

    Better is what a verdict says; of values that were not repeated, a difference beyond the margin.

    Args:
        findings: margin, and decimals where there is no interval to round by.
        tables: to count over, each under its name.
        pairs: each of which counts in each of them.
        pair: what they are called together: the two levels.
        named: whether a place names the levels that a pair shares.
    """
    margin = 100 * findings.design.equivalent_within
    deltas = [
        (", ".join(filter(None, (head, one.within if named else ""))), found)
        for head, of in tables
        for one in pairs
        if (found := line_in(findings, of, one)) is not None
    ]
    if not deltas:
        return None
    # What is counted by verdict has none where nothing was repeated.
    repeated = any(found.is_repeated for _, found in deltas)
    sides = [_side(found, None if repeated else margin) for _, found in deltas]
    apart = [one for one, side in zip(deltas, sides, strict=True) if side]
    least_at, least = min(apart, key=lambda one: one[1].percent, default=("", None))
    most_at, most = max(apart, key=lambda one: one[1].percent, default=("", None))
    return Count(
        pair=pair,
        better=sides.count(1),
        worse=sides.count(-1),
        equivalent=sum(
            found.verdict == "equivalent" if repeated else abs(found.percent) <= margin
            for _, found in deltas
        ),
        of=len(deltas),
        repeated=repeated,
        least=least,
        most=most,
        least_at=least_at,
        most_at=most_at,
    )


def _side(found: Line, margin: float | None) -> int:
    """1 for better, −1 for worse, 0 for neither; by verdict, or by a margin."""
    if margin is None:
        return (found.verdict == "faster") - (found.verdict == "slower")
    return (found.percent > margin) - (found.percent < -margin)


@dataclass(frozen=True)
class Spread:
    """One system's deviations over the cells of a workload."""

    workload: str
    display: str
    """The workload as people read it."""
    system: str
    cells: int
    """That have a deviation."""
    least: float
    """Coefficient of variation: standard deviation / mean, a share."""
    middle: float
    most: float
    most_at: str


def spreads(findings: Findings) -> list[Spread]:
    """Workload by workload and system by system; without those that have no deviation."""
    return [own for workload in findings.workloads for own in _of(findings, workload)]


def _of(findings: Findings, workload: WorkloadFindings) -> Iterator[Spread]:
    for system in findings.systems:
        own = [
            (summary.sd / summary.mean, ", ".join(filter(None, (cell.label, cell.at_label))))
            for cell in workload.cells
            for summary in cell.summaries
            if summary.system == system.name and summary.sd is not None and summary.mean
        ]
        if own:
            shares = [share for share, _ in own]
            most, place = max(own)
            yield Spread(
                workload.name,
                workload.display,
                system.name,
                len(own),
                min(shares),
                median(shares),
                most,
                place,
            )
