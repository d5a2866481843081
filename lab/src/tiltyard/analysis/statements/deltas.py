"""Differences in percent over the lines of a summary, for claims and the tables beside them."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Final

from tiltyard.analysis.model import (
    Average,
    Cell,
    Comparison,
    Findings,
    Index,
    Pair,
    WorkloadFindings,
)
from tiltyard.analysis.pairs import turned
from tiltyard.analysis.quantity import Direction, metric_of
from tiltyard.analysis.statements.numbers import WIDENED, open_ends, percent_digits, printed_digits
from tiltyard.analysis.verdict import Verdict
from tiltyard.collected.model import PrintedAs
from tiltyard.units import format_ratio


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


@dataclass(frozen=True)
class Delta:
    """How much better a system is than another: more of what is good, or less of a time."""

    pair: Pair
    percent: float
    low: float | None
    """The interval, in percent, its lower end first; ``None`` where nothing was repeated."""
    high: float | None
    decimals: int
    verdict: Verdict
    direction: Direction
    is_time: bool = False
    extended: bool = False
    """Whether the interval was widened to end at zero."""

    @property
    def is_ratio(self) -> bool:
        """Whether a percentage cannot say all of it, so it is a ratio: no time is 131 % lower."""
        known = (end for end in (self.percent, self.low) if end is not None)
        return any(beyond_percent(end, self.direction, self.decimals) for end in known)

    @property
    def amount(self) -> str:
        """Unsigned, as a sentence has it: ``33.4``; ``2.31`` of a ratio."""
        return self._number(self.percent).lstrip("+−")

    @property
    def size(self) -> str:
        """The same with its unit: ``33.4 %``, ``2.31×``."""
        return f"{self.amount}{'×' if self.is_ratio else ' %'}"

    @property
    def text(self) -> str:
        """Signed, as a table has it under ``%``: ``+33.4``, ``−5.0``; ``2.31× as much``."""
        return as_much(self.amount) if self.is_ratio else self._number(self.percent)

    @property
    def told(self) -> str:
        """The same with its unit: ``+33.4 %``."""
        return self.text if self.is_ratio else f"{self.text} %"

    @property
    def interval(self) -> str:
        """``+24.0 … +39.1``, ``2.10 … 2.50×``, ``0.0† … +2.1``; empty without repetitions."""
        return self._interval(WIDENED if self.extended else "")

    def _interval(self, widened: str) -> str:
        if self.low is None or self.high is None:
            return ""
        sign = -1 if self.is_ratio else 1
        first, last = self._ends
        marks = open_ends(1 + sign * first / 100, 1 + sign * last / 100, self.verdict)
        below, above = (
            f"{mark}{self._number(end)}{widened if end == 0 else ''}"
            for mark, end in zip(marks, self._ends, strict=True)
        )
        return f"{below} … {above}{'×' if self.is_ratio else ''}"

    @property
    def as_speed(self) -> str:
        """``1.40× as fast``: of a time what pictures draw of it; empty of all else."""
        if not self.is_time:
            return ""
        ends = [100 / (100 - end) for end in self._ends]
        half = abs(ends[1] - ends[0]) / 2 if ends else None
        return f"{format_ratio(100 / (100 - self.percent), half)}× as fast"

    @property
    def in_full(self) -> str:
        """``+28 % (+20 … +35 %, faster, 1.40× as fast)``: what is known of it, in a headline."""
        known = (self.told_interval, self.verdict, self.as_speed)
        return f"{self.told} ({', '.join(filter(None, known))})"

    @property
    def told_interval(self) -> str:
        """For sentences, with its unit: ``+24.0 … +39.1 %``; empty where nothing was repeated."""
        interval = self._interval("")
        return f"{interval} %" if interval and not self.is_ratio else interval

    @property
    def ends(self) -> tuple[str, ...]:
        """Both ends of the interval as it has them, unsigned; none where nothing was repeated."""
        return tuple(self._number(end).lstrip("+−") for end in self._ends)

    @property
    def _ends(self) -> tuple[float, ...]:
        known = tuple(end for end in (self.low, self.high) if end is not None)
        return known[::-1] if self.is_ratio else known

    def _number(self, percent: float) -> str:
        if not self.is_ratio:
            return signed(percent, self.decimals)
        half = None if self.low is None or self.high is None else (self.high - self.low) / 200
        return format_ratio(1 - percent / 100, half)

    @property
    def is_nothing(self) -> bool:
        """Whether it is zero as printed."""
        return round(self.percent, self.decimals) == 0


def delta(
    comparisons: Iterable[Comparison],
    pair: Pair,
    direction: Direction,
    decimals: int,
    *,
    is_time: bool = False,
) -> Delta | None:
    """The comparison of a pair, in percent; ``None`` where it was not compared.

    Args:
        comparisons: of one line.
        pair: who, against whom.
        direction: of the line.
        decimals: where there is no interval to round by.
        is_time: whether less of it is a speed.
    """
    found = between(comparisons, pair)
    if found is None or found.ratio is None:
        return None
    low, high = found.low, found.high
    ends: list[float | None] = [None, None]
    if low is not None and high is not None:
        ends = [*sorted(percent(end, direction) for end in (low, high))]
        decimals = percent_digits((high - low) / 2)
        # What excludes zero is printed so that it does.
        nearest = min(abs(low - 1), abs(high - 1)) if low > 1 or high < 1 else 1.0
        decimals += sum(round(100 * nearest, decimals + more) == 0 for more in range(_FINER))
    size = percent(found.ratio, direction)
    return Delta(
        pair,
        size,
        ends[0],
        ends[1],
        decimals,
        found.verdict,
        direction,
        is_time,
        found.extended,
    )


def delta_in(findings: Findings, of: Cell | Index, pair: Pair) -> Delta | None:
    """A pair in a cell or an index; of single values no more digits than both support."""
    values = (
        {own.system: own.mean for own in of.summaries}
        if isinstance(of, Cell)
        else {own.system: own.value for own in of.standings}
    )
    value, against = values.get(pair.system), values.get(pair.against)
    decimals = supported_decimals(findings, of.printed, value, against)
    is_time = of.unit == "s" and of.direction == "lower"
    return delta(of.comparisons, pair, of.direction, decimals, is_time=is_time)


def delta_of_averages(findings: Findings, of: Cell, own: Average, other: Average) -> Delta:
    """Two arithmetic means of such cells, with the digits that both support; it is not judged."""
    decimals = supported_decimals(findings, of.printed, own.value, other.value)
    pair = Pair(system=own.system, against=other.system, within="")
    size = percent(own.ratios[other.system], of.direction)
    return Delta(pair, size, None, None, decimals, "undecided", of.direction)


def supported_decimals(
    findings: Findings, printed: PrintedAs | None, value: float | None, against: float | None
) -> int:
    """Decimals of the percentage between two values that their source prints so."""
    most = unprinted_decimals(findings)
    if printed is None or not value or not against:
        return most
    return printed_digits(value, against, 0.5 * 10.0**-printed.decimals * printed.factor, most)


_ALL: Final = 100

_FINER: Final = 2
"""As many decimals more show that an interval excludes zero."""


def percent(ratio: float, direction: Direction) -> float:
    """How much better a ratio is than 1, in percent: more, or less of a time."""
    return 100 * (ratio - 1 if direction == "higher" else 1 - ratio)


def beyond_percent(percent: float, direction: Direction, decimals: int) -> bool:
    """Whether less of it than nothing would be left if it were lower by so much."""
    return direction == "lower" and round(percent, decimals) <= -_ALL


def as_much(ratio: str) -> str:
    """``2.31× as much``: what stands where a percentage cannot say it."""
    return f"{ratio}× as much"


def unprinted_decimals(findings: Findings) -> int:
    """Decimals of a percentage that has no interval, at most: those of its source."""
    return findings.provenance.delta_decimals if findings.provenance else 1


def unsigned(value: float, decimals: int) -> str:
    """``1,749.8``."""
    return f"{abs(round(value, decimals)):,.{decimals}f}"


def signed(value: float, decimals: int) -> str:
    """``+1,749.8``, ``−0.3``, ``0.0``."""
    rounded = round(value, decimals)
    sign = "+" if rounded > 0 else "−" if rounded < 0 else ""
    return sign + unsigned(value, decimals)


def between(comparisons: Iterable[Comparison], pair: Pair) -> Comparison | None:
    """The comparison of a pair, from its system's side; ``None`` if there is none."""
    for found in comparisons:
        if (found.system, found.against) == (pair.system, pair.against):
            return found
        if (found.against, found.system) == (pair.system, pair.against):
            return turned(found)
    return None


COUNTS = "1/s"
RATE = "rate"


@dataclass(frozen=True)
class Line:
    """One quantity in which all systems are compared."""

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


def lines(findings: Findings) -> list[Line]:
    """The lines of a study, workload by workload."""
    return [line for workload in findings.workloads for line in lines_of(workload)]


def lines_of(workload: WorkloadFindings) -> Iterator[Line]:
    """One for a workload with one metric; else one for each metric and one over all of them."""
    cells = workload.cells
    if not cells:
        return
    if workload.by_metric:
        for index in workload.by_metric:
            head = metric_of(workload.name, workload.display, index.label, ", ")
            yield _line(workload, index, head, _after_its_label(index.label, index.unit))
        yield _line(workload, workload.index, f"{workload.display}, all metrics", "")
    else:
        what = quantity(cells[0].label, cells[0].unit)
        yield _line(workload, workload.index, workload.display, what)
    if workload.latencies:
        own = workload.latencies
        what = quantity(own.cells[0].label, own.index.unit)
        yield _line(workload, own.index, f"{workload.display}, latency", what)


def tests(findings: Findings) -> list[Line]:
    """The lines that a study is counted over: a mean over several metrics would count twice."""
    return [line for line in lines(findings) if line.quantity]


def cell_lines(workload: WorkloadFindings) -> list[Line]:
    """The cells of a workload as lines."""
    several = len({cell.metric for cell in workload.cells}) > 1
    return [
        Line(
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


def _line(workload: WorkloadFindings, index: Index, head: str, what: str) -> Line:
    return Line(
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
    least: Delta | None
    """Of those that are better or worse the smallest advantage, or the largest disadvantage;
    ``None`` where there is none."""
    most: Delta | None
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


def counts(findings: Findings, lines: Sequence[Line], pairs: Iterable[Pair]) -> list[Count]:
    """Each pair over some lines; without those that are in none of them."""
    found = (count_together(findings, lines, [pair], pair, named=False) for pair in pairs)
    return [one for one in found if one is not None]


def count_together(
    findings: Findings,
    lines: Sequence[Line],
    pairs: Sequence[Pair],
    pair: Pair,
    *,
    named: bool = True,
) -> Count | None:
    """Several pairs as one: a level against another one, wherever both were compared.

    Better is what a verdict says; of values that were not repeated, a difference beyond the margin.

    Args:
        findings: margin, and decimals where there is no interval to round by.
        lines: to count over.
        pairs: each of which counts in each line.
        pair: what they are called together: the two levels.
        named: whether a place names the levels that a pair shares.
    """
    margin = 100 * findings.design.equivalent_within
    deltas = [
        (", ".join(filter(None, (line.head, one.within if named else ""))), found)
        for line in lines
        for one in pairs
        if (found := delta_in(findings, line.of, one)) is not None
    ]
    if not deltas:
        return None
    apart = [(at, found) for at, found in deltas if _side(found, margin)]
    least_at, least = min(apart, key=lambda one: one[1].percent, default=("", None))
    most_at, most = max(apart, key=lambda one: one[1].percent, default=("", None))
    sides = [_side(found, margin) for _, found in deltas]
    return Count(
        pair=pair,
        better=sides.count(1),
        worse=sides.count(-1),
        equivalent=sum(
            found.verdict == "equivalent" if found.interval else abs(found.percent) <= margin
            for _, found in deltas
        ),
        of=len(deltas),
        repeated=any(found.interval for _, found in deltas),
        least=least,
        most=most,
        least_at=least_at,
        most_at=most_at,
    )


def _side(found: Delta, margin: float) -> int:
    """1 for better, −1 for worse, 0 for neither."""
    if found.interval:
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
