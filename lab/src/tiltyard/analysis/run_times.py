"""How long each workload took on each system: the table of run times that articles begin with.

Described, not compared: most of a run time is work that the workload's own metrics leave out.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Final

import numpy as np

from tiltyard.analysis.model import Cell, Findings, Summary, TrialLine, WorkloadFindings
from tiltyard.stats.summary import summarise

ALL: Final = "all workloads"
_Times = Mapping[int, float]
"""Block → time in s."""


def run_times(findings: Findings) -> tuple[Cell, ...]:
    """A cell a workload, and one of all where there are several; none of results from elsewhere.

    A value is the wall time, in s, of all trials of a workload in one block that counts for the
    verdicts; a block in which one of them failed is left out.
    """
    if findings.clock != "time" or not findings.trials:
        return ()
    systems = [system.name for system in findings.systems]
    found = {
        workload.name: {name: _of(findings, workload, name) for name in systems}
        for workload in findings.workloads
    }
    if len(found) > 1:
        found[ALL] = {name: _sum([own[name] for own in found.values()]) for name in systems}
    titles = {workload.name: workload.display for workload in findings.workloads}
    cells = (_cell(name, titles.get(name, name), of) for name, of in found.items())
    return tuple(cell for cell in cells if cell.summaries)


def _of(findings: Findings, workload: WorkloadFindings, system: str) -> _Times:
    """Of one workload on one system."""
    counted = {
        block
        for cell in (*workload.cells, *workload.details)
        for summary in cell.summaries
        if summary.system == system
        for block in summary.blocks
    }
    turns: dict[int, list[TrialLine]] = defaultdict(list)
    for trial in findings.by_workload.get(workload.name, ()):
        if trial.system == system and trial.block in counted:
            turns[trial.block].append(trial)
    return {
        block: sum(trial.elapsed_s for trial in trials)
        for block, trials in turns.items()
        if all(trial.outcome == "done" for trial in trials)
    }


def _sum(parts: list[_Times]) -> _Times:
    """Of all workloads, in the blocks that have all of them."""
    blocks = set.intersection(*(set(part) for part in parts))
    return {block: sum(part[block] for part in parts) for block in sorted(blocks)}


def _cell(name: str, label: str, of: Mapping[str, _Times]) -> Cell:
    return Cell(
        metric=name,
        label=label,
        unit="s",
        shown_in="s",
        direction="lower",
        at={},
        at_label="",
        summaries=tuple(_summaries(of)),
        comparisons=(),
    )


def _summaries(of: Mapping[str, _Times]) -> Iterator[Summary]:
    for system, times in of.items():
        if times:
            found = summarise(np.array(list(times.values())))
            yield Summary(
                system=system,
                blocks=tuple(times),
                values=tuple(times.values()),
                median=found.median,
                median_low=found.median_low,
                median_high=found.median_high,
                mean=found.mean,
                sd=found.sd,
                cv=found.cv,
                percentiles={},
            )
