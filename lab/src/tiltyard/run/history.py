"""What a journal amounts to: which trials are finished, how often it was started, how it ended."""

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tiltyard.host.record import changes
from tiltyard.plan.model import Plan, TrialKey
from tiltyard.run.course import Course
from tiltyard.run.journal import (
    BlockChecked,
    BootAsked,
    Entry,
    Isolated,
    Looked,
    OtherHost,
    Started,
    Stopped,
    SystemPrepared,
    TrialFinished,
    TrialStarted,
)
from tiltyard.run.record import IsolationNote, Reason


@dataclass(frozen=True)
class History:
    """A journal, read."""

    entries: Sequence[Entry]

    @property
    def starts(self) -> list[Started]:
        """Each start of the run."""
        return [entry.event for entry in self.entries if isinstance(entry.event, Started)]

    @property
    def host_changes(self) -> tuple[str, ...]:
        """What has changed of the host from one start to the next, a sentence each."""
        return tuple(
            f"Start {after.number}: {change}"
            for before, after in itertools.pairwise(self.starts)
            for change in changes(before.record, after.record)
        )

    @property
    def other_hosts(self) -> dict[str, dict[str, dict[str, str]]]:
        """Name of another host → its system record, as it was taken first."""
        found: dict[str, dict[str, dict[str, str]]] = {}
        for entry in self.entries:
            if isinstance(entry.event, OtherHost):
                found.setdefault(entry.event.name, entry.event.record)
        return found

    @property
    def isolation(self) -> IsolationNote | None:
        """What became of isolation at the last start, if it was asked for."""
        events = (entry.event for entry in reversed(self.entries))
        return next((event.note for event in events if isinstance(event, Isolated)), None)

    @property
    def finished(self) -> dict[TrialKey, TrialFinished]:
        """Finished trials in the order in which they were run."""
        events = (entry.event for entry in self.entries)
        return {event.key: event for event in events if isinstance(event, TrialFinished)}

    @property
    def prepared(self) -> list[SystemPrepared]:
        """Each time a system was brought up."""
        return [entry.event for entry in self.entries if isinstance(entry.event, SystemPrepared)]

    @property
    def stopped(self) -> str | None:
        """Why the run has ended for good."""
        events = (entry.event for entry in self.entries)
        return next((event.reason for event in events if isinstance(event, Stopped)), None)

    @property
    def spent_s(self) -> float:
        """Time that all starts took together, as far as the journal saw it."""
        last: dict[int, float] = {}
        for start, entry in self._with_start():
            last[start] = entry.t_s
        return sum(last.values())

    @property
    def resumed_blocks(self) -> tuple[int, ...]:
        """Blocks whose finished trials were not made in one go; a boot asked for is part of one."""
        starts_of: dict[int, set[int]] = {}
        started: dict[TrialKey, int] = {}
        for start, entry in self._with_stretch():
            if isinstance(entry.event, TrialStarted):
                started[entry.event.key] = start
            elif isinstance(entry.event, TrialFinished):
                key = entry.event.key
                starts_of.setdefault(key.block, set()).add(started.get(key, start))
        return tuple(block for block, starts in sorted(starts_of.items()) if len(starts) > 1)

    @property
    def checked(self) -> dict[int, tuple[Reason, ...]]:
        """Number of each block that was held against the gates → what spoils it, if anything."""
        events = (entry.event for entry in self.entries)
        return {e.block: e.reasons for e in events if isinstance(e, BlockChecked)}

    @property
    def spoiled(self) -> dict[int, tuple[Reason, ...]]:
        """Number of each block that a gate has spoiled, with the reasons."""
        return {block: reasons for block, reasons in self.checked.items() if reasons}

    @property
    def narrowed(self) -> dict[int, frozenset[tuple[str, str]]]:
        """Number of the block after a look → (system, workload) that are run from it on."""
        found: dict[int, frozenset[tuple[str, str]]] = {}
        block = 0
        for entry in self.entries:
            if isinstance(entry.event, TrialFinished):
                block = entry.event.key.block
            elif isinstance(entry.event, Looked) and entry.event.going_on is not None:
                found[block + 1] = frozenset(entry.event.going_on)
        return found

    def course(self, plan: Plan) -> Course:
        """How far the plan is carried out."""
        return Course(plan, self.finished.keys(), self.spoiled.keys(), self.narrowed)

    def boot_asked(self, block: int, system: str) -> BootAsked | None:
        """That the host was to be booted for a turn."""
        events = (entry.event for entry in self.entries if isinstance(entry.event, BootAsked))
        return next((e for e in events if (e.block, e.system) == (block, system)), None)

    def last_start_of(self, key: TrialKey) -> tuple[Entry, TrialStarted] | None:
        """When a trial was last started."""
        for entry in reversed(self.entries):
            if isinstance(entry.event, TrialStarted) and entry.event.key == key:
                return entry, entry.event
        return None

    def look_after(self, blocks: int) -> Looked | None:
        """The look that was taken after so many blocks."""
        events = (entry.event for entry in self.entries)
        return next((e for e in events if isinstance(e, Looked) and e.blocks == blocks), None)

    def _with_start(self) -> Iterator[tuple[int, Entry]]:
        """Each entry with the number of the start that it belongs to."""
        start = 0
        for entry in self.entries:
            start += isinstance(entry.event, Started)
            yield start, entry

    def _with_stretch(self) -> Iterator[tuple[int, Entry]]:
        """The same, but a start after a boot that the run asked for goes on with the one before."""
        stretch, booted = 0, False
        for entry in self.entries:
            stretch += isinstance(entry.event, Started) and not booted
            booted = isinstance(entry.event, BootAsked)
            yield stretch, entry


def slots(plan: Plan) -> dict[TrialKey, int]:
    """The place of each trial in the order of the whole run, counted from 1.

    Spares come after all planned blocks. Trials that a look leaves out keep their place, so that a
    place never changes.
    """
    keys = (key for block in plan.sequence for key in plan.trials_of(block))
    return {key: number for number, key in enumerate(keys, start=1)}
