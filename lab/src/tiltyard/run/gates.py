"""What spoils a block: telemetry beyond the limits of the plan, never a result."""

from collections.abc import Iterator, Sequence

from tiltyard.plan.model import Plan
from tiltyard.run.history import History
from tiltyard.run.record import Reason, TrialRecord
from tiltyard.study.model import GatesSpec

_TICK_S = 0.01
"""The kernel counts CPU time in ticks (USER_HZ, proc(5))."""
_TICKS = 3
"""So many ticks can fall into any trial by chance."""


def check_block(
    history: History,  # noqa: ARG001
    plan: Plan,
    block: int,  # noqa: ARG001
    records: Sequence[TrialRecord],
) -> tuple[Reason, ...]:
    """What spoils a block; empty if nothing does, and for plans without gates."""
    if plan.gates is None:
        return ()
    return tuple(reason for record in records for reason in _reasons(record, plan.gates))


def _reasons(record: TrialRecord, gates: GatesSpec) -> Iterator[Reason]:
    """Gates that one trial does not pass; a trial without telemetry is failed, not spoiled."""
    end = record.end
    if end is None or end.elapsed_s <= 0:
        return
    for gate, spent_s, limit, what in (
        ("foreign_cpu", end.usage.foreign_s, gates.foreign_cpu, "other processes used"),
        ("steal", end.usage.steal_s, gates.steal, "the hypervisor took"),
    ):
        share = (spent_s or 0.0) / end.elapsed_s
        if share > limit and (spent_s or 0.0) > _TICKS * _TICK_S:
            yield Reason(
                gate=gate,
                system=record.key.system,
                workload=record.key.workload,
                value=share,
                limit=limit,
                text=f"{what} {100 * share:.1f} % of a core while {record.key.workload} ran on "
                f"{record.key.system} (limit {100 * limit:g} %)",
            )
