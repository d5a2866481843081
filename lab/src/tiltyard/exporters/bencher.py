"""Bencher Metric Format: what continuous benchmarking takes up, run after run.

Source: Bencher, "Bencher Metric Format (BMF)", https://bencher.dev/docs/reference/bencher-metric-format/
"""

import json
from collections import defaultdict

from tiltyard.analysis.model import Findings, Summary
from tiltyard.analysis.values import cells_of
from tiltyard.exporters.exporter import Exporter


def render(findings: Findings) -> bytes:
    """Benchmark → measure → value with its interval, in base units.

    A benchmark is one system at one point of one workload. Measures are named with their units, so
    that none is taken for the measures that Bencher has of its own (its latency is in ns).
    """
    found: dict[str, dict[str, dict[str, float]]] = defaultdict(dict)
    for workload in findings.workloads:
        for cell in cells_of(workload):
            for summary in cell.summaries:
                parts = (workload.name, cell.at_label, summary.system)
                benchmark = ", ".join(filter(None, parts))
                found[benchmark][f"{cell.metric} ({cell.unit})"] = _metric(summary)
    return f"{json.dumps(found, ensure_ascii=False, indent=1)}\n".encode()


def _metric(summary: Summary) -> dict[str, float]:
    bounds = {"lower_value": summary.median_low, "upper_value": summary.median_high}
    return {
        "value": summary.median,
        **{name: bound for name, bound in bounds.items() if bound is not None},
    }


EXPORTER = Exporter(
    name="bencher",
    about="Bencher Metric Format (JSON): medians with their intervals, for continuous benchmarking",
    file="bencher.json",
    render=render,
)
