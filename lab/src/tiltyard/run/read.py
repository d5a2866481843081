"""Read a run back from its study folder, verifying every byte that the analysis will rest on."""

from collections import deque
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

from tiltyard.errors import UsageError
from tiltyard.folder import StudyFolder, sha256, will_be_read
from tiltyard.plan.model import Plan, TrialKey
from tiltyard.plan.path_length import path_length_samples, slope_samples
from tiltyard.run.history import History
from tiltyard.run.journal import TrialFinished
from tiltyard.run.record import RunRecord, TrialRecord
from tiltyard.run.samples import Samples, SampleTable
from tiltyard.run.stream import EMPTY, file_of, in_study, read_stream
from tiltyard.wire import Sample

AHEAD: Final = 64
"""Files that the disk may be busy with while one is read."""


def read_run(folder: StudyFolder, plan: Plan) -> RunRecord:
    """Everything that the journal and the trials tell; also of a run that goes on right now.

    Raises:
        UsageError: if the journal belongs to another plan or lacks lines, or a trial's file is
            missing or is not what was written; the message names the file.
    """
    history = read_history(folder, plan)
    starts = history.starts
    return RunRecord(
        host=starts[0].host if starts else {},
        record=starts[0].record if starts else {},
        other_hosts=history.other_hosts,
        host_changes=(
            *(() if plan.is_remote else history.host_changes),
            *history.changes_of_others,
        ),
        boots=history.boots,
        began=history.began,
        ended=history.last_at,
        starts=len(starts),
        resumed_blocks=history.resumed_blocks,
        disturbed=history.disturbed,
        usual=history.usual,
        amended=history.amended,
        reference_runs=len(history.reference_runs),
        active_pairs=history.active_pairs,
        calibration=starts[-1].calibration if starts else None,
        isolation=history.isolation,
        prepared=tuple(history.prepared),
        trials=tuple(_in_the_plans_units(folder, plan, history)),
        stopped=history.stopped,
        node=starts[-1].node if starts else "",
        lost=tuple(told.read_text() for told in sorted(folder.lost.glob("*/why"))),
        seal=history.seal,
    )


def read_history(folder: StudyFolder, plan: Plan) -> History:
    """What the journal tells; no trial's file is read.

    Raises:
        UsageError: if it was changed, belongs to another plan, or lacks lines.
    """
    history = History.read(folder.journal)
    require_plan(folder, plan, history)
    _require_checked_blocks(folder, plan, history)
    return history


def require_plan(folder: StudyFolder, plan: Plan, history: History) -> None:
    """A journal goes with one plan.

    Raises:
        UsageError: if a start of the run names another one, or a line is about what it has not.
    """
    hashes = {start.plan_hash for start in history.starts}
    if hashes and hashes != {plan.hash}:
        raise UsageError(f"{folder.journal}: belongs to another plan than {folder.plan}")
    planned = {key for block in plan.sequence for key in plan.trials_of(block)}
    files = {key: finished.file for key, finished in history.finished.items()}
    for key in (*history.finished, *history.begun):
        if key not in planned or files.get(key) not in (None, "", file_of(key)):
            words = f"block {key.block} of {key.system}, {key.workload}"
            raise UsageError(
                f"{folder.journal}: there is no trial in the plan as it is told of {words}. Put it "
                "back from a copy"
            )


def _require_checked_blocks(folder: StudyFolder, plan: Plan, history: History) -> None:
    """A block is held against the noise limits when all of its trials have ended."""
    course = history.course(plan)
    for block in plan.sequence:
        if block.number in history.checked and not course.is_complete(block):
            raise UsageError(
                f"{folder.journal}: lines are missing: block {block.number} was complete, and not "
                "all of its trials are here. Put it back from a copy"
            )


def _in_the_plans_units(folder: StudyFolder, plan: Plan, history: History) -> Iterator[TrialRecord]:
    """The finished trials; where the clock counts instructions, with path lengths."""
    table = SampleTable()
    finished = announced(folder, _taken(history.finished))
    trials = (read_trial(folder, plan, event, table) for event in finished)
    return trials if plan.clock == "time" else counted_in_instructions(trials, plan)


def _taken(finished: dict[TrialKey, TrialFinished]) -> Iterator[TrialFinished]:
    """The finished trials, in order, each taken out: a record need not be there twice."""
    for key in list(finished):
        yield finished.pop(key)


def announced(folder: StudyFolder, finished: Iterable[TrialFinished]) -> Iterator[TrialFinished]:
    """The same, each some time after the kernel was told that its file will be read.

    100,000 files that are not in memory take minutes one by one; a disk serves many at once.
    """
    coming: deque[TrialFinished] = deque()
    for event in finished:
        will_be_read(folder.root / event.file)
        coming.append(event)
        if len(coming) > AHEAD:
            yield coming.popleft()
    yield from coming


def counted_in_instructions(trials: Iterable[TrialRecord], plan: Plan) -> Iterator[TrialRecord]:
    """Trials whose clock counted instructions, without anything that would be taken for a time.

    Where two trials make one measurement, the second has its samples, and the first has none.
    """
    usual: dict[TrialKey, TrialRecord] = {}
    for trial in trials:
        workload = plan.workload(trial.key.workload)
        samples: tuple[Sample, ...] = ()
        if workload.doubled is None:
            samples = path_length_samples(trial.samples, workload.metrics)
        elif not workload.completes(trial.key.repeat):
            usual[trial.key] = trial
        elif first := usual.get(trial.key.model_copy(update={"repeat": trial.key.repeat - 1})):
            samples = slope_samples(first.samples, trial.samples, first.end, workload.metrics)
        of_trial = {"samples": Samples.of(samples), "intervals": (), "connections": ()}
        yield trial.model_copy(update=of_trial)


def read_trial(
    folder: StudyFolder, plan: Plan, finished: TrialFinished, table: SampleTable | None = None
) -> TrialRecord:
    """One finished trial with its stream; its samples go to a table, or to one of their own.

    Raises:
        UsageError: if its file is missing or was changed, also where the journal agrees: a value
            is not what its operations and its time make, or the trial did not end well.
    """
    table = table or SampleTable()
    if not finished.file:
        return EMPTY.record(finished, table)
    path = folder.root / finished.file
    data = _unchanged(path, finished.sha256, "the journal")
    stream = read_stream(data, plan.workload(finished.key.workload))
    for client in stream.clients:
        _unchanged(folder.root / client.file, client.sha256, path.name)
    if finished.outcome == "done" and stream.too_slow:
        raise UsageError(in_study(folder, plan, finished.key.workload, stream.too_slow))
    if finished.outcome == "done" and stream.outcome[0] != "done":
        raise UsageError(
            f"{path}: was changed after the trial, and the journal with it: {stream.outcome[1]}. "
            "Fix: put both back from a copy"
        )
    return stream.record(finished, table)


def _unchanged(path: Path, expected: str, by: str) -> bytes:
    """What is in a file whose SHA-256 is known.

    Raises:
        UsageError: if it is missing or was changed.
    """
    try:
        data = path.read_bytes()
    except OSError as error:
        raise UsageError(f"{path}: {by} tells of this trial: {error.strerror}") from None
    if sha256(data) != expected:
        raise UsageError(
            f"{path}: was changed after the trial: its SHA-256 is not {by}'s. Put it back"
        )
    return data
