"""Clear up the trials of a run that was killed: keep what is whole, throw away what is not."""

import os
from pathlib import Path

from tiltyard.errors import UsageError
from tiltyard.folder import PARTIAL, StudyFolder, sha256
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
    names = _names_in(folder.trials)
    for name in names:
        if name.endswith(PARTIAL):
            (folder.trials / name).unlink()
    known = {event.file for event in history.finished.values()}
    whole = (name for name in names if not name.endswith(PARTIAL))
    trials = folder.trials.name
    there = {f"{trials}/{name}" for name in whole} - known
    keys = (key for block in plan.sequence for key in plan.trials_of(block)) if there else ()
    return [
        _adopt(folder.root / file_of(key), key, history, folder)
        for key in keys
        if key not in history.finished and file_of(key) in there
    ]


def _names_in(directory: Path) -> list[str]:
    """Without a path for each: there may be 100,000. None if there is no such directory."""
    try:
        with os.scandir(directory) as entries:
            return [entry.name for entry in entries]
    except FileNotFoundError:
        return []


def _adopt(path: Path, key: TrialKey, history: History, folder: StudyFolder) -> TrialFinished:
    """What the journal would have said of a trial."""
    begun = history.begun.get(key)
    if begun is None:
        raise UsageError(
            f"{path}: {folder.journal.name} knows nothing of this trial; "
            "move the file out of the study folder"
        )
    data = path.read_bytes()
    stream = read_stream(data)
    outcome, reason = stream.outcome
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
