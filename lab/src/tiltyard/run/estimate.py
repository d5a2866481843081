"""How long will it still take? Medians of what was seen, so one slow trial does not mislead."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from tiltyard.plan.model import Block, Plan
from tiltyard.run.history import History
from tiltyard.run.observer import Outlook
from tiltyard.run.progress import Pair


@dataclass(frozen=True)
class Pace:
    """Typical durations, in seconds."""

    trials: dict[tuple[str, str], float]
    """(system, workload) → median of its trials."""
    workloads: dict[str, float]
    """The same over all systems, for systems that had no trial yet."""
    overhead_s: float
    """Everything else, for one turn: bring up, settle, take down."""

    @classmethod
    def of(cls, history: History) -> "Pace":
        """Learned from a journal."""
        rest = max(0.0, history.spent_s - history.in_trials_s)
        return cls(
            trials={pair: times.median_s for pair, times in history.times.items()},
            workloads={name: own.median_s for name, own in history.times_of_workload.items()},
            overhead_s=rest / max(1, len(history.prepared)),
        )

    def of_trials(self, pairs: Mapping[Pair, int], turns: int) -> float | None:
        """Expected time of trials; ``None``: unknown.

        Args:
            pairs: (system, workload) → how many trials of it.
            turns: how often a system is brought up for them.
        """
        total = turns * self.overhead_s
        for (system, workload), trials in pairs.items():
            typical = self.trials.get((system, workload), self.workloads.get(workload))
            if typical is None:
                return None
            total += trials * typical
        return total


def expected_block_s(plan: Plan, block: Block, history: History) -> float | None:
    """How long a block would take."""
    keys = history.course(plan).trials_of(block)
    pairs = Counter((key.system, key.workload) for key in keys)
    return Pace.of(history).of_trials(pairs, len({key.system for key in keys}))


def outlook(plan: Plan, history: History) -> Outlook:
    """How far a run is; blocks that were replaced are part of the way."""
    course, pace = history.course(plan), Pace.of(history)
    to_look = course.ahead(next_look(plan, history))
    to_end = course.ahead(plan.design.looks[-1].blocks)
    return Outlook(
        trials_done=len(course.ended),
        trials_to_look=to_look.trials,
        trials_total=to_end.trials,
        left_to_look_s=pace.of_trials(to_look.pairs, len(to_look.turns)),
        left_s=pace.of_trials(to_end.pairs, len(to_end.turns)),
    )


def next_look(plan: Plan, history: History) -> int:
    """Blocks that count at the next look that was not taken yet; the last look if all were."""
    looks = [look.blocks for look in plan.design.looks]
    return next((blocks for blocks in looks if history.look_after(blocks) is None), looks[-1])
