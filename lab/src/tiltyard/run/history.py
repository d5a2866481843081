"""What a journal amounts to: which trials are finished, how often it was started, how it ended.

A history is told each entry once, as it is read or appended, and keeps what is asked of it. So no
question about a run costs more the longer the run has lasted.
"""

import itertools
import os
import re
from collections import defaultdict
from collections.abc import Iterable
from heapq import heappush, heappushpop
from pathlib import Path
from typing import Final, NamedTuple, Self

from tiltyard.errors import UsageError
from tiltyard.folder import PARTIAL, StudyFolder, sha256
from tiltyard.frozen import lean
from tiltyard.host.record import changes
from tiltyard.plan.model import Block, Plan, TrialKey
from tiltyard.run.journal import (
    Amended,
    BlockChecked,
    BootAsked,
    Entry,
    Event,
    ExecutionsSet,
    Isolated,
    LevelTaken,
    Looked,
    OtherHost,
    ReferenceRun,
    Started,
    Stopped,
    SystemPrepared,
    TrialFinished,
    TrialStarted,
    follow_journal,
)
from tiltyard.run.progress import PlanProgress
from tiltyard.run.record import (
    AS_PLANNED,
    IsolationNote,
    Prepared,
    Reason,
    out_of_the_usual,
)
from tiltyard.run.same_output import outcome_of
from tiltyard.run.stream import file_of, read_stream


class Times:
    """Durations in seconds; each costs the logarithm of their number."""

    def __init__(self) -> None:
        """None yet."""
        self._upper: list[float] = []
        self._lower: list[float] = []
        """Those at most the median, negated: both are heaps, and this one is never shorter."""

    def add(self, seconds: float) -> None:
        """One more."""
        if len(self._lower) > len(self._upper):
            heappush(self._upper, -heappushpop(self._lower, -seconds))
        else:
            heappush(self._lower, -heappushpop(self._upper, seconds))

    @property
    def median_s(self) -> float:
        """Of at least one; of an even number the mean of the middle two."""
        if len(self._lower) > len(self._upper):
            return -self._lower[0]
        return (self._upper[0] - self._lower[0]) / 2


class Begun(NamedTuple):
    """A trial that was started and has not ended."""

    at: str
    """UTC, ISO 8601."""
    slot: int
    stretch: int
    """The stretch of the run that it belongs to, counted from 0."""


_NUMBER: Final = re.compile(r"[0-9]+")


class Failing(NamedTuple):
    """A workload that has never worked on a system, and has failed in the same way lately."""

    reason: str
    """Of the first of these trials."""
    blocks: frozenset[int]
    """Numbers of the blocks of these trials."""

    def like(self, reason: str) -> bool:
        """Whether a reason is the same but for its numbers: blocks, processes, times."""
        return _NUMBER.sub("", reason) == _NUMBER.sub("", self.reason)


class History:
    """A journal, read."""

    def __init__(self, entries: Iterable[Entry] = ()) -> None:
        """With the entries so far; :meth:`add` goes on."""
        self.starts: list[Started] = []
        """Each start of the run."""
        self.other_hosts: dict[str, dict[str, dict[str, str]]] = {}
        """Name of another host → its system record, as it was taken first."""
        self.latest_of_others: dict[str, dict[str, dict[str, str]]] = {}
        """The same as it was taken last."""
        self.met: set[str] = set()
        """Other hosts whose records this start has taken."""
        self.changes_of_others: list[str] = []
        """What has changed of them, a sentence each."""
        self.isolation: IsolationNote | None = None
        """What became of isolation at the last start, unless the study forbids it."""
        self.prepared: list[Prepared] = []
        """Each time a system was brought up."""
        self.first_hashes: dict[str, str] = {}
        """What :attr:`Prepared.hashes` said first of each file that systems use."""
        self.begun: dict[TrialKey, Begun] = {}
        """Trials that have not ended; of each the last time that it was started."""
        self.finished: dict[TrialKey, TrialFinished] = {}
        """Finished trials in the order in which they were run."""
        self.times: defaultdict[tuple[str, str], Times] = defaultdict(Times)
        """(system, workload) → durations of its finished trials."""
        self.times_of_workload: defaultdict[str, Times] = defaultdict(Times)
        """The same over all systems."""
        self.longest_done_s: dict[str, float] = {}
        """Workload → the longest of its trials that are done."""
        self.failing: dict[tuple[str, str], Failing] = {}
        """(system, workload) of which no trial is done."""
        self.in_trials_s = 0.0
        """Sum of these durations, and what was executed to find how often programs are."""
        self.reference_runs: list[ReferenceRun] = []
        """Every reference run, in order."""
        self.usual: dict[str, float] = {}
        """What others did before the first block: gate → share."""
        self.executions: dict[str, int] = {}
        """Workload → executions of its program in each trial, where the study leaves that open."""
        self.amended = AS_PLANNED
        """What of the plan was changed since it was frozen."""
        self.checked: dict[int, tuple[Reason, ...]] = {}
        """Number of each block compared with the noise limits → why it is disturbed, if it is."""
        self.active_pairs: dict[int, frozenset[tuple[str, str]]] = {}
        """Number of the block after a look → (system, workload) that are run from it on."""
        self.stopped: str | None = None
        """Why the run has ended for good."""
        self.began = ""
        """When the first entry was written: UTC, ISO 8601."""
        self.last_at = ""
        """When the last entry was written: UTC, ISO 8601."""
        self.seal = ""
        """Of the journal when it was read (:mod:`tiltyard.run.chain`)."""
        self._looks: dict[int, Looked] = {}
        self._boots: dict[tuple[int, str], BootAsked] = {}
        self.last_boot: BootAsked | None = None
        self._spent_before_s = 0.0
        self._last_s = 0.0
        self._stretch = 0
        self._booted = False
        self._stretches: defaultdict[int, set[int]] = defaultdict(set)
        self._last_block = 0
        self._course: PlanProgress | None = None
        self._has_worked: set[tuple[str, str]] = set()
        for entry in entries:
            self.add(entry)

    @classmethod
    def read(cls, path: Path) -> Self:
        """Of the journal in a file, with its seal; empty if there is none.

        Raises:
            UsageError: if a line cannot be read, or does not follow from those before it.
        """
        history = cls()
        history.seal = follow_journal(path, history.add)
        return history

    def add(self, entry: Entry) -> None:
        """What a further line says."""
        event = entry.event
        self.began = self.began or entry.at
        if isinstance(event, Started):
            self._spent_before_s += self._last_s
            self._stretch += not self._booted
            self.starts.append(event)
            self.met.clear()
        self._last_s, self.last_at, self._booted = entry.t_s, entry.at, False
        if isinstance(event, TrialStarted):
            self.begun[event.key] = Begun(entry.at, event.slot, self._stretch)
        elif isinstance(event, TrialFinished):
            self._add_finished(event)
        elif isinstance(event, SystemPrepared):
            self.prepared.append(lean(event.prepared))
            self.first_hashes = event.prepared.hashes | self.first_hashes
        elif isinstance(event, ReferenceRun):
            self.reference_runs.append(event)
        else:
            self._add_rare(event)

    def _add_finished(self, event: TrialFinished) -> None:
        key = event.key
        begun = self.begun.pop(key, None)
        stretch = begun.stretch if begun else self._stretch
        self._stretches[key.block].add(stretch)
        self._last_block = key.block
        self.finished[key] = lean(event)
        self.times[key.system, key.workload].add(event.elapsed_s)
        self.times_of_workload[key.workload].add(event.elapsed_s)
        if event.outcome == "done":
            before_s = self.longest_done_s.get(key.workload, 0.0)
            self.longest_done_s[key.workload] = max(before_s, event.elapsed_s)
            self._has_worked.add((key.system, key.workload))
            self.failing.pop((key.system, key.workload), None)
        elif (key.system, key.workload) not in self._has_worked:
            self._add_failing((key.system, key.workload), event)
        self.in_trials_s += event.elapsed_s
        if self._course is not None:
            self._course.end(key)

    def _add_failing(self, pair: tuple[str, str], event: TrialFinished) -> None:
        reason, before = event.reason or "", self.failing.get(pair)
        if before is None or not before.like(reason):
            before = Failing(reason, frozenset())
        self.failing[pair] = before._replace(blocks=before.blocks | {event.key.block})

    def _add_rare(self, event: Event) -> None:
        """What happens once a block at most."""
        if isinstance(event, BlockChecked):
            self.checked[event.block] = event.reasons
            if self._course is not None and out_of_the_usual({event.block: event.reasons}):
                self._course.disturb(event.block)
        elif isinstance(event, Looked):
            self._looks.setdefault(event.blocks, event)
            if event.going_on is not None:
                self.active_pairs[self._last_block + 1] = frozenset(event.going_on)
                self._course = None
        elif isinstance(event, Isolated):
            self.isolation = event.note
        elif isinstance(event, OtherHost):
            self._add_other_host(event)
        elif isinstance(event, BootAsked):
            self._boots.setdefault((event.block, event.system), event)
            self.last_boot = event
            self._booted = True
        elif isinstance(event, LevelTaken):
            self.usual = event.shares
        elif isinstance(event, ExecutionsSet):
            self.executions |= event.executions
            self.in_trials_s += event.elapsed_s
        elif isinstance(event, Amended):
            self.amended = event.amendment.after(self.amended)
            self.stopped, self._course = None, None
        elif isinstance(event, Stopped) and self.stopped is None:
            self.stopped = event.reason

    def _add_other_host(self, event: OtherHost) -> None:
        before = self.latest_of_others.get(event.name, event.record)
        self.changes_of_others += [
            f"{event.name} in start {len(self.starts)}: {change}"
            for change in changes(before, event.record)
        ]
        self.other_hosts.setdefault(event.name, event.record)
        self.latest_of_others[event.name] = event.record
        self.met.add(event.name)

    @property
    def host_changes(self) -> tuple[str, ...]:
        """What has changed of this host from one start to the next, a sentence each."""
        return tuple(
            f"Start {after.number}: {change}"
            for before, after in itertools.pairwise(self.starts)
            for change in changes(before.record, after.record)
        )

    @property
    def boots(self) -> tuple[str, ...]:
        """The boots of the host that it was carried out in, each once; none if not known."""
        return tuple(dict.fromkeys(start.boot for start in self.starts if start.boot))

    @property
    def spent_s(self) -> float:
        """Time that all starts took together, as far as the journal saw it."""
        return self._spent_before_s + self._last_s

    @property
    def resumed_blocks(self) -> tuple[int, ...]:
        """Blocks whose finished trials were not made in one go; a boot asked for is part of one."""
        return tuple(block for block, own in sorted(self._stretches.items()) if len(own) > 1)

    @property
    def disturbed(self) -> dict[int, tuple[Reason, ...]]:
        """Number of each disturbed block, with the reasons."""
        return {block: reasons for block, reasons in self.checked.items() if reasons}

    def course(self, plan: Plan) -> PlanProgress:
        """How far the plan is carried out; it goes on with this history until a look narrows it."""
        if self._course is None or self._course.plan is not plan:
            self._course = PlanProgress(
                plan,
                self.finished,
                out_of_the_usual(self.disturbed),
                self.active_pairs,
                keeps=self.amended.keep,
            )
        return self._course

    def boot_asked(self, block: int, system: str) -> BootAsked | None:
        """That the host was to be booted for a turn."""
        return self._boots.get((block, system))

    def look_after(self, blocks: int) -> Looked | None:
        """The look that was taken after so many blocks."""
        return self._looks.get(blocks)


class Slots:
    """The place of each trial in the order of the whole run, counted from 1.

    Spares come after all planned blocks. Trials that a look leaves out keep their place, so that a
    place never changes.
    """

    def __init__(self, plan: Plan) -> None:
        """By the trials of each block; they are numbered when a block's are asked for."""
        trials = plan.trials_in_a_turn
        self._plan = plan
        self._blocks: dict[int, tuple[Block, int]] = {}
        self._own: dict[TrialKey, int] = {}
        """Of the block that was asked for last."""
        before = 0
        for block in plan.sequence:
            self._blocks[block.number] = block, before
            before += sum(trials[name] for turn in block.turns for name in turn.workloads)

    def __getitem__(self, key: TrialKey) -> int:
        """The place of one trial of the plan."""
        if key not in self._own:
            block, before = self._blocks[key.block]
            keys = self._plan.trials_of(block)
            self._own = {own: place for place, own in enumerate(keys, start=before + 1)}
        return self._own[key]


def adopt_trials(folder: StudyFolder, plan: Plan, history: History) -> list[TrialFinished]:
    """Remove partial files, and find whole ones that the journal does not know.

    A trial's file gets its final name a moment before the journal is told; if the run was killed
    in between, the trial is finished all the same. Where the host has gone down, a file may be
    there whose line is lost, or of which a part is: such a trial is run again.

    Returns:
        The events that the journal lacks.

    Raises:
        UsageError: if there is a trial that was never started according to the journal.
    """
    names = _names_in(folder.trials)
    for name in names:
        if name.endswith(PARTIAL):
            (folder.trials / name).unlink()
    known = {event.file for event in history.finished.values()}
    whole = (name for name in names if not name.endswith(PARTIAL))
    trials = folder.trials.name
    there = {f"{trials}/{name}" for name in whole} - known
    keys = (key for block in plan.sequence for key in plan.trials_of(block)) if there else ()
    found = [key for key in keys if key not in history.finished and file_of(key) in there]
    went_down = len(history.boots) > 1
    adopted = (_adopt(folder, plan, key, history, went_down=went_down) for key in found)
    return [event for event in adopted if event is not None]


def _names_in(directory: Path) -> list[str]:
    """Without a path for each: there may be 100,000. None if there is no such directory."""
    try:
        with os.scandir(directory) as entries:
            return [entry.name for entry in entries]
    except FileNotFoundError:
        return []


def _adopt(
    folder: StudyFolder, plan: Plan, key: TrialKey, history: History, *, went_down: bool
) -> TrialFinished | None:
    """What the journal would have said of a trial; ``None``: not all of it was on the disk.

    Args:
        folder: of the study.
        plan: of the run.
        key: of the trial.
        history: the journal so far.
        went_down: the run has seen more than one boot of the host.
    """
    path = folder.root / file_of(key)
    begun = history.begun.get(key)
    data = path.read_bytes()
    stream = read_stream(data, plan.workload(key.workload))
    if went_down and (begun is None or stream.end is None):
        path.unlink()
        return None
    if begun is None:
        raise UsageError(
            f"{path}: {folder.journal.name} knows nothing of this trial; "
            "move the file out of the study folder"
        )
    outcome, reason = outcome_of(folder, plan, history.finished.values(), key, stream)
    return TrialFinished(
        key=key,
        slot=begun.slot,
        started=begun.at,
        elapsed_s=stream.end.elapsed_s if stream.end else 0,
        outcome=outcome,
        reason=reason,
        file=file_of(key),
        sha256=sha256(data),
    )
