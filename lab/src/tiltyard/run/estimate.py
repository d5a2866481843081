"""How long will it still take? Medians of what was seen, so one slow trial does not mislead."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import median

from tiltyard.plan.model import Block, Plan, TrialKey
from tiltyard.run.course import Course
from tiltyard.run.history import History
from tiltyard.run.observer import Outlook


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
        by_pair: dict[tuple[str, str], list[float]] = {}
        by_workload: dict[str, list[float]] = {}
        for key, trial in history.finished.items():
            by_pair.setdefault((key.system, key.workload), []).append(trial.elapsed_s)
            by_workload.setdefault(key.workload, []).append(trial.elapsed_s)
        in_trials = sum(sum(times) for times in by_workload.values())
        rest = max(0.0, history.spent_s - in_trials)
        return cls(
            trials={pair: median(times) for pair, times in by_pair.items()},
            workloads={name: median(times) for name, times in by_workload.items()},
            overhead_s=rest / max(1, len(history.prepared)),
        )

    def of_trials(self, keys: Iterable[TrialKey]) -> float | None:
        """Expected time of trials, one bring-up for each system and block; ``None``: unknown."""
        total = 0.0
        turns = set()
        for key in keys:
            typical = self.trials.get((key.system, key.workload), self.workloads.get(key.workload))
            if typical is None:
                return None
            total += typical
            turns.add((key.block, key.system))
        return total + len(turns) * self.overhead_s


def expected_block_s(plan: Plan, block: Block, history: History) -> float | None:
    """How long a block would take."""
    return Pace.of(history).of_trials(history.course(plan).trials_of(block))


def outlook(plan: Plan, history: History) -> Outlook:
    """How far a run is; blocks that were replaced are part of the way."""
    course = history.course(plan)
    pace = Pace.of(history)
    every = [course.trials_of(block) for block in course.up_to(plan.design.looks[-1].blocks)]
    until_look = every[: len(course.up_to(next_look(plan, history)))]
    return Outlook(
        trials_done=len(course.ended),
        trials_to_look=sum(map(len, until_look)),
        trials_total=sum(map(len, every)),
        left_to_look_s=pace.of_trials(_left(course, until_look)),
        left_s=pace.of_trials(_left(course, every)),
    )


def _left(course: Course, blocks: Sequence[Sequence[TrialKey]]) -> list[TrialKey]:
    """What is still to be run of some blocks."""
    return [key for keys in blocks for key in keys if key not in course.ended]


def next_look(plan: Plan, history: History) -> int:
    """Blocks that count at the next look that was not taken yet; the last look if all were."""
    looks = [look.blocks for look in plan.design.looks]
    return next((blocks for blocks in looks if history.look_after(blocks) is None), looks[-1])
