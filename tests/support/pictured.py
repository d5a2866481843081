"""Studies of which together every picture can be drawn."""

from collections.abc import Sequence

from support.specimen import findings as specimen
from tiltyard.analysis.model import Findings, Summary, WorkloadFindings

WORKLOADS = ("iozone", "postmark", "tcp_rr")
"""A map, a single value, and a course."""
TESTS = ("write", "random read")


def measured(systems: Sequence[str] = ("ext4", "xfs", "btrfs")) -> Findings:
    """The specimen with percentiles of its latencies, and their intervals."""
    found = specimen(systems, blocks=6, workloads=WORKLOADS, tests=TESTS)
    workloads = tuple(_with_percentiles(workload) for workload in found.workloads)
    return found.model_copy(update={"workloads": workloads})


def _with_percentiles(workload: WorkloadFindings) -> WorkloadFindings:
    if workload.latencies is None:
        return workload
    cells = tuple(
        cell.model_copy(update={"summaries": tuple(map(_tailed, cell.summaries))})
        for cell in workload.latencies.cells
    )
    latencies = workload.latencies.model_copy(update={"cells": cells})
    return workload.model_copy(update={"latencies": latencies})


def _tailed(summary: Summary) -> Summary:
    shares = {"p50": 0.9, "p90": 1.3, "p99": 4.0, "p999": 30.0}
    percentiles = {name: summary.median * share for name, share in shares.items()}
    intervals = {name: (time / 1.05, time * 1.1) for name, time in percentiles.items()}
    return summary.model_copy(
        update={"percentiles": percentiles, "percentile_intervals": intervals}
    )
