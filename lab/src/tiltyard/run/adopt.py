"""Clear up the trials of a run that was killed: keep what is whole, throw away what is not."""

from pathlib import Path

from tiltyard.errors import UsageError
from tiltyard.folder import StudyFolder, sha256
from tiltyard.plan.model import Plan, TrialKey
from tiltyard.run.history import History
from tiltyard.run.journal import TrialFinished
from tiltyard.run.stream import file_of, read_stream


def adopt_trials(folder: StudyFolder, plan: Plan, history: History) -> list[TrialFinished]:
    """Remove partial files, and find whole ones that the journal does not know.

    A trial's file gets its final name a moment before the journal is told; if the run was killed
    in between, the trial is finished all the same.

    Returns:
        The events that the journal lacks.

    Raises:
        UsageError: if there is a trial that was never started according to the journal.
    """
    for partial in folder.trials.glob("*.partial"):
        partial.unlink()
    finished = history.finished
    keys = (key for block in plan.sequence for key in plan.trials_of(block))
    orphans = (key for key in keys if key not in finished)
    return [
        _adopt(path, key, history, folder)
        for key in orphans
        if (path := folder.root / file_of(key)).exists()
    ]


def _adopt(path: Path, key: TrialKey, history: History, folder: StudyFolder) -> TrialFinished:
    """What the journal would have said of a trial."""
    started = history.last_start_of(key)
    if started is None:
        raise UsageError(
            f"{path}: {folder.journal.name} knows nothing of this trial; "
            "move the file out of the study folder"
        )
    entry, event = started
    data = path.read_bytes()
    stream = read_stream(data)
    outcome, reason = stream.outcome
    return TrialFinished(
        key=key,
        slot=event.slot,
        started=entry.at,
        elapsed_s=stream.end.elapsed_s if stream.end else 0,
        outcome=outcome,
        reason=reason,
        file=file_of(key),
        sha256=sha256(data),
    )
