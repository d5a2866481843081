"""All trials in the order in which they ran."""

from tiltyard.analysis.model import Findings, TrialLine
from tiltyard.report.document import Block, Column, Entry, Fold, Table
from tiltyard.report.sections.printing import (
    MISSING,
    count_entry,
    duration_entry,
    percent_entry,
    system_entry,
)


def trials(findings: Findings) -> tuple[Block, ...]:
    """The table of all trials, folded; nothing where nothing was run here."""
    if findings.origin:
        return ()
    count = len(findings.trials)
    return (Fold(f"{count} trials in the order in which they ran", (trial_table(findings),)),)


def trial_table(findings: Findings) -> Table:
    """A row a trial."""
    return Table(
        id="all-trials",
        title="All trials",
        columns=(
            Column("place"),
            Column("block"),
            Column("System", figures=False),
            Column("Workload", figures=False),
            Column("Started, UTC", figures=False),
            Column("took"),
            Column("relative to own median"),
            Column("CPU time of others", "%"),
            Column("Cache state", figures=False),
            Column("Outcome", figures=False),
        ),
        rows=tuple(_row(findings, trial) for trial in findings.trials),
    )


def _row(findings: Findings, trial: TrialLine) -> tuple[Entry, ...]:
    return (
        count_entry(trial.slot),
        count_entry(trial.block),
        system_entry(trial.system),
        Entry(trial.workload),
        Entry(trial.started),
        duration_entry(trial.elapsed_s),
        MISSING if trial.relative is None else Entry(f"{trial.relative:.3f}", trial.relative),
        percent_entry(trial.foreign_share),
        Entry(trial.access) if trial.access else MISSING,
        Entry(_outcome(findings, trial), strong=trial.outcome != "done"),
    )


def _outcome(findings: Findings, trial: TrialLine) -> str:
    told = f"{trial.outcome}: {trial.reason}" if trial.reason else trial.outcome
    if findings.spoiled and trial.block in findings.spoiled.blocks:
        return f"{told}, in a spoiled block"
    return told
