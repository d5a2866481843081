"""How far a plan is carried out: what each block still has to run, and which blocks count.

A run departs from the order of the plan in two ways, both told by the journal: a look leaves out
what it has decided, and a spoiled block is followed by one more. Everything else (what is next,
when to look, how long it takes, what the verdicts rest on) is derived from that here, so that a
run that goes on after a kill, its display and the analysis cannot disagree.
"""

from collections.abc import Mapping, Set
from dataclasses import dataclass
from functools import cached_property

from tiltyard.plan.model import Block, Plan, TrialKey
from tiltyard.run.record import RunRecord


@dataclass(frozen=True)
class Course:
    """A plan, and what has become of it."""

    plan: Plan
    ended: Set[TrialKey]
    """Trials that are done or failed."""
    spoiled: Set[int]
    """Numbers of the blocks that a gate has spoiled."""
    narrowed: Mapping[int, Set[tuple[str, str]]]
    """Number of a block → (system, workload) that are run from it on."""

    def trials_of(self, block: Block) -> list[TrialKey]:
        """The trials of a block in order, without those that an earlier look has left out."""
        keys = self.plan.trials_of(block)
        starts = [start for start in self.narrowed if start <= block.number]
        if not starts:
            return list(keys)
        going_on = self.narrowed[max(starts)]
        return [key for key in keys if (key.system, key.workload) in going_on]

    def left_of(self, block: Block) -> list[TrialKey]:
        """The trials of a block that are still to be run, in order."""
        return [key for key in self.trials_of(block) if key not in self.ended]

    def is_begun(self, block: Block) -> bool:
        """Whether a trial of it has ended."""
        return any(key.block == block.number for key in self.ended)

    def is_complete(self, block: Block) -> bool:
        """Whether every trial of it has ended; a block without trials is never begun."""
        keys = self.trials_of(block)
        return bool(keys) and self.ended >= set(keys)

    @cached_property
    def replaced(self) -> frozenset[int]:
        """Numbers of the blocks that another one is made for: they are kept and do not count."""
        gates = self.plan.gates
        return frozenset(self.spoiled if gates and gates.spoiled == "replace" else ())

    @cached_property
    def counted(self) -> tuple[int, ...]:
        """Numbers of the complete blocks that count, in order: what looks go by."""
        return tuple(
            block.number
            for block in self.plan.sequence
            if block.number not in self.replaced and self.is_complete(block)
        )

    def up_to(self, look: int) -> tuple[Block, ...]:
        """The blocks before a look, replaced ones included, if no further one is spoiled."""
        taken: list[Block] = []
        count = 0
        for block in self.plan.sequence:
            if count == look:
                break
            taken.append(block)
            count += block.number not in self.replaced
        return tuple(taken)


def course_of(plan: Plan, run: RunRecord) -> Course:
    """How far a recorded run has come."""
    return Course(
        plan=plan,
        ended={trial.key for trial in run.trials if trial.outcome != "interrupted"},
        spoiled=run.spoiled.keys(),
        narrowed=run.narrowed,
    )


def counted(plan: Plan, run: RunRecord) -> RunRecord:
    """The record without the trials of replaced blocks: what every verdict rests on."""
    replaced = course_of(plan, run).replaced
    if not replaced:
        return run
    kept = tuple(trial for trial in run.trials if trial.key.block not in replaced)
    return run.model_copy(update={"trials": kept})
