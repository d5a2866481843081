"""How far a plan is carried out: what each block still has to run, and which blocks count.

A run departs from the order of the plan in two ways, both in the journal: a look leaves out what
it has decided, and replacement blocks follow: one for each disturbed block that is replaced, and,
after the last planned block, as many as comparisons lack whose trials failed. Everything else
(what is next, when to look, how long it takes, what the verdicts rest on) is derived from that
here, so that a run resumed after a kill, its display and the analysis cannot disagree.
"""

from bisect import bisect_left, insort
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Set
from dataclasses import dataclass, field
from typing import TypeVar

from tiltyard.plan.model import Block, Plan, TrialKey, spares_for
from tiltyard.run.record import RunRecord, out_of_the_usual

Pair = tuple[str, str]
"""System and workload."""
_Counted = TypeVar("_Counted", Pair, tuple[int, str])


@dataclass
class Ahead:
    """What a run has still to do up to some look."""

    blocks: int = 0
    """Blocks up to it, replaced ones included."""
    counting: int = 0
    """Those of them that count, or will."""
    last: int = 0
    """Number of the last of them."""
    trials: int = 0
    """Trials of all of them, ended ones included."""
    pairs: Counter[Pair] = field(default_factory=Counter)
    """Trials left; no pair with none."""
    turns: Counter[tuple[int, str]] = field(default_factory=Counter)
    """The same by (number of a block, system)."""

    def add(self, block: int, pair: Pair, trials: int) -> None:
        """More trials are left, or fewer."""
        _add(self.pairs, pair, trials)
        _add(self.turns, (block, pair[0]), trials)


class PlanProgress:
    """A plan, and what has become of it.

    Trials that end and blocks that are disturbed are told to it: each costs the same, however long
    the run has lasted.
    """

    def __init__(
        self,
        plan: Plan,
        ended: Iterable[TrialKey],
        disturbed: Iterable[int],
        active_pairs: Mapping[int, Set[Pair]],
        *,
        keeps: bool = False,
    ) -> None:
        """As far as a run has come.

        Args:
            plan: what is carried out.
            ended: trials that are done or failed.
            disturbed: numbers of the blocks that were disturbed more than the host always is.
            active_pairs: number of a block → (system, workload) that are run from it on.
            keeps: whether disturbed blocks count whatever the plan says.
        """
        self.plan = plan
        self.active_pairs = dict(active_pairs)
        self.ended: set[TrialKey] = set()
        """Trials that are done or failed."""
        self.replaced: set[int] = set()
        """Numbers of the blocks that another one is made for: they are kept and do not count."""
        self.counted: list[int] = []
        """Numbers of the complete blocks that count, in order: what looks go by."""
        self._fate = plan.noise_limits.disturbed if plan.noise_limits and not keeps else "keep"
        self._trials = plan.trials_in_a_turn
        self._systems = {system.name for system in plan.systems}
        self._blocks = plan.sequence
        self._numbered = {block.number: block for block in self._blocks}
        self._left: dict[int, int] = {}
        """Number of each block that is begun → how many of its trials are left."""
        self._ahead: dict[int, Ahead] = {}
        for block in sorted(disturbed):
            self.disturb(block)
        for key in ended:
            self.end(key)

    def end(self, key: TrialKey) -> None:
        """A trial is done, or has failed."""
        if key in self.ended:
            return
        self.ended.add(key)
        number = key.block
        if number not in self._numbered:
            return
        if number not in self._left:
            planned = self._planned(self._numbered[number])
            self._left[number] = sum(trials for _, trials in planned)
        if not self._takes_part(key):
            return
        self._left[number] -= 1
        if not self._left[number] and number not in self.replaced:
            insort(self.counted, number)
        for ahead in self._ahead.values():
            if number <= ahead.last:
                ahead.add(number, (key.system, key.workload), -1)

    def disturb(self, number: int) -> None:
        """A block is beyond a noise limit; later blocks are told of later."""
        if number in self.replaced or not self._may_replace(number):
            return
        self.replaced.add(number)
        if self._is_counted(number):
            self.counted.remove(number)
        for look, ahead in self._ahead.items():
            if number <= ahead.last:
                ahead.counting -= 1
                self._reach(ahead, look)

    def _may_replace(self, number: int) -> bool:
        """Whether another block is made for it: by blocks that are done alone, no result.

        Where limits adapt, no more than a fifth of the blocks up to the next look are replaced, so
        that a host which is never quiet reaches its looks.
        """
        if self._fate != "adapt":
            return self._fate == "replace"
        earlier = sum(block.number < number for block in self._blocks) - len(self.replaced)
        looks = [look.blocks for look in self.plan.design.looks]
        ahead = next((look for look in looks if look > earlier), looks[-1])
        return len(self.replaced) < min(spares_for(ahead), len(self.plan.spares))

    def trials_of(self, block: Block) -> list[TrialKey]:
        """The trials of a block in order, without those that an earlier look has left out."""
        keys = self.plan.trials_of(block)
        going_on = self._going_on(block.number)
        if going_on is None:
            return list(keys)
        return [key for key in keys if (key.system, key.workload) in going_on]

    def left_of(self, block: Block) -> list[TrialKey]:
        """The trials of a block that are still to be run, in order."""
        if self._left.get(block.number) == 0:
            return []
        return [key for key in self.trials_of(block) if key not in self.ended]

    def is_begun(self, block: Block) -> bool:
        """Whether a trial of it has ended."""
        return block.number in self._left

    def is_complete(self, block: Block) -> bool:
        """Whether every trial of it has ended; a block without trials is never begun."""
        return self.is_begun(block) and not self._left[block.number]

    def count_at(self, block: Block) -> int | None:
        """How many blocks count up to this one; ``None`` if it does not count itself."""
        number = block.number
        return bisect_left(self.counted, number) + 1 if self._is_counted(number) else None

    @property
    def to_come(self) -> int:
        """Blocks that may still be made: of the plan, or as spares."""
        return len(self.plan.sequence) - len(self.counted) - len(self.replaced)

    def ahead(self, look: int) -> Ahead:
        """What is still to do before a look, if no further block is disturbed.

        Args:
            look: blocks that count by then; replaced ones before it are a part of the way.
        """
        if look not in self._ahead:
            self._ahead[look] = Ahead()
            self._reach(self._ahead[look], look)
        return self._ahead[look]

    def _going_on(self, number: int) -> Set[Pair] | None:
        """Pairs that a block still runs; ``None``: all."""
        starts = [start for start in self.active_pairs if start <= number]
        return self.active_pairs[max(starts)] if starts else None

    def _is_counted(self, number: int) -> bool:
        place = bisect_left(self.counted, number)
        return place < len(self.counted) and self.counted[place] == number

    def _reach(self, ahead: Ahead, look: int) -> None:
        """Lengthen it by the blocks that are missing up to the look."""
        while ahead.counting < look and ahead.blocks < len(self._blocks):
            block = self._blocks[ahead.blocks]
            ahead.blocks += 1
            ahead.counting += block.number not in self.replaced
            ahead.last = block.number
            planned = list(self._planned(block))
            ahead.trials += sum(trials for _, trials in planned)
            if block.number in self._left:
                left = self.left_of(block)
                planned = [((key.system, key.workload), 1) for key in left]
            for pair, trials in planned:
                ahead.add(block.number, pair, trials)

    def _takes_part(self, key: TrialKey) -> bool:
        """Whether a trial is one of those of its block."""
        going_on = self._going_on(key.block)
        return (
            key.system in self._systems
            and key.repeat <= self._trials.get(key.workload, 0)
            and (going_on is None or (key.system, key.workload) in going_on)
        )

    def _planned(self, block: Block) -> Iterator[tuple[Pair, int]]:
        """The pairs of a block, with their trials in it."""
        going_on = self._going_on(block.number)
        for turn in block.turns:
            for workload in turn.workloads:
                pair = (turn.system, workload)
                if going_on is None or pair in going_on:
                    yield pair, self._trials[workload]


def _add(counter: Counter[_Counted], key: _Counted, number: int) -> None:
    counter[key] += number
    if not counter[key]:
        del counter[key]


def progress_of(plan: Plan, run: RunRecord) -> PlanProgress:
    """How far a recorded run has come."""
    return PlanProgress(
        plan=plan,
        ended={trial.key for trial in run.trials if trial.outcome != "interrupted"},
        disturbed=out_of_the_usual(run.disturbed),
        active_pairs=run.active_pairs,
        keeps=run.amended.keep,
    )


def blocks_to_come(run: RunRecord, course: PlanProgress) -> int:
    """Blocks that may still be made; none once the run has ended for good."""
    return 0 if run.stopped is not None else course.to_come


def without_replaced_blocks(run: RunRecord, course: PlanProgress) -> RunRecord:
    """The record without the trials of replaced blocks: what every verdict rests on."""
    if not course.replaced:
        return run
    kept = tuple(trial for trial in run.trials if trial.key.block not in course.replaced)
    return run.model_copy(update={"trials": kept})
