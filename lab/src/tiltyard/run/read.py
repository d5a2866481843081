"""Read a run back from its study folder, verifying every byte that the analysis will rest on."""

from collections.abc import Iterator

from tiltyard.collector import collector_paused
from tiltyard.errors import UsageError
from tiltyard.folder import StudyFolder, sha256
from tiltyard.plan.model import Plan
from tiltyard.plan.path_length import path_length_samples
from tiltyard.run.history import History
from tiltyard.run.journal import TrialFinished, read_journal
from tiltyard.run.record import RunRecord, TrialRecord
from tiltyard.run.stream import EMPTY, read_stream


@collector_paused()
def read_run(folder: StudyFolder, plan: Plan) -> RunRecord:
    """Everything that the journal and the trials tell; also of a run that goes on right now.

    Raises:
        UsageError: if the journal belongs to another plan or lacks lines, or a trial's file is
            missing or is not what was written; the message names the file.
    """
    history = History(read_journal(folder.journal))
    starts = history.starts
    if any(start.plan_hash != plan.hash for start in starts):
        raise UsageError(f"{folder.journal}: belongs to another plan than {folder.plan}")
    _insist_on_checked_blocks(folder, plan, history)
    return RunRecord(
        host=starts[0].host if starts else {},
        record=starts[0].record if starts else {},
        other_hosts=history.other_hosts,
        host_changes=history.host_changes,
        starts=len(starts),
        resumed_blocks=history.resumed_blocks,
        spoiled=history.spoiled,
        narrowed=history.narrowed,
        calibration=starts[-1].calibration if starts else None,
        isolation=history.isolation,
        prepared=tuple(event.prepared for event in history.prepared),
        trials=tuple(_in_the_plans_units(folder, plan, history)),
        stopped=history.stopped,
    )


def _insist_on_checked_blocks(folder: StudyFolder, plan: Plan, history: History) -> None:
    """A block is held against the gates when all of its trials have ended."""
    course, checked = history.course(plan), history.checked
    for block in plan.sequence:
        if block.number in checked and not course.is_complete(block):
            raise UsageError(
                f"{folder.journal}: lines are missing: block {block.number} was complete, and not "
                "all of its trials are here. Put it back from a copy"
            )


def _in_the_plans_units(folder: StudyFolder, plan: Plan, history: History) -> Iterator[TrialRecord]:
    """The finished trials; where the clock counts instructions, with path lengths."""
    for event in history.finished.values():
        trial = read_trial(folder, event)
        yield trial if plan.clock == "time" else counted_in_instructions(trial, plan)


def counted_in_instructions(trial: TrialRecord, plan: Plan) -> TrialRecord:
    """A trial whose clock counted instructions, without anything that would be taken for a time."""
    cards = plan.workload(trial.key.workload).metrics
    return trial.model_copy(
        update={
            "samples": path_length_samples(trial.samples, cards),
            "intervals": (),
            "connections": (),
        }
    )


def read_trial(folder: StudyFolder, finished: TrialFinished) -> TrialRecord:
    """One finished trial with its stream.

    Raises:
        UsageError: if its file is missing or was changed.
    """
    if not finished.file:
        return EMPTY.record(finished)
    path = folder.root / finished.file
    try:
        data = path.read_bytes()
    except OSError as error:
        raise UsageError(f"{path}: the journal tells of this trial: {error.strerror}") from None
    if sha256(data) != finished.sha256:
        raise UsageError(
            f"{path}: was changed after the trial: its SHA-256 is not the journal's. Put it back"
        )
    return read_stream(data).record(finished)
