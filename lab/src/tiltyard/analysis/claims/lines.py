"""What a summary has a line for: each workload, or each of its metrics, over all of its cells."""

from collections.abc import Iterator
from dataclasses import dataclass

from tiltyard.analysis.model import Cell, Comparison, Findings, Index, WorkloadFindings
from tiltyard.analysis.quantity import Direction

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
    def comparisons(self) -> tuple[Comparison, ...]:
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
            head = f"{workload.name}, {index.label}"
            yield _line(workload, index, head, _after_its_label(index.label, index.unit))
        yield _line(workload, workload.index, f"{workload.name}, all metrics", "")
    else:
        what = quantity(cells[0].label, cells[0].unit)
        yield _line(workload, workload.index, workload.name, what)
    if workload.latencies:
        own = workload.latencies
        what = quantity(own.cells[0].label, own.index.unit)
        yield _line(workload, own.index, f"{workload.name}, latency", what)


def tests(findings: Findings) -> list[Line]:
    """The lines that a study is counted over: a mean over several metrics would count twice."""
    return [line for line in lines(findings) if line.quantity]


def cell_lines(findings: Findings, workload: WorkloadFindings) -> list[Line]:
    """The cells of a workload as lines: of what was run here medians, of other sources means."""
    several = len({cell.metric for cell in workload.cells}) > 1
    return [
        Line(
            workload=workload.name,
            head=", ".join(filter(None, (cell.label if several else "", cell.at_label))),
            quantity=quantity(cell.label, cell.unit),
            of=cell,
            cells=1,
            values={s.system: s.mean if findings.origin else s.median for s in cell.summaries},
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
