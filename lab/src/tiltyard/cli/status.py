"""``tiltyard status``: how far a study is."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tiltyard.folder import StudyFolder
    from tiltyard.plan.model import Plan
    from tiltyard.run.history import History
    from tiltyard.run.sessions import Session


def status(study: Path = Path(), /) -> None:
    """Say how far a study is, how long it may still take, what failed, and how to go on.

    ```
    tiltyard status spool
    ```

    Args:
        study: A study folder; by default this one.
    """
    from tiltyard.cli.console import say
    from tiltyard.folder import StudyFolder
    from tiltyard.run.sessions import sessions_of

    folder = StudyFolder.of(study)
    sessions = sessions_of(folder)
    say(f"Question {sessions[0].plan.question}")
    for session in sessions:
        if len(sessions) > 1:
            say(f"Session  {session.number} of {len(sessions)}")
        _say(session, folder)


def _say(session: "Session", folder: "StudyFolder") -> None:
    """How far one session is; of a study of one, the study."""
    from tiltyard.cli.console import say
    from tiltyard.run.lock import running_pid
    from tiltyard.run.read import read_history
    from tiltyard.run.sessions import APART_H

    plan = session.plan
    history = read_history(session.folder, plan)
    if session.number > 1 and not history.starts:
        say(f"State    not begun; it comes after a boot, or {APART_H:g} h after the one before")
        return
    for line in (*_blocks(plan, history), *_failed(history)):
        say(line)
    if history.stopped is not None:
        say(f"State    {history.stopped}")
        return
    for line in _left(plan, history):
        say(line)
    pid = running_pid(session.folder)
    if pid is not None:
        say(f"State    running (process {pid})")
    else:
        say(f"State    not finished; go on with: tiltyard run {folder.root}")


def _blocks(plan: "Plan", history: "History") -> Iterator[str]:
    """Blocks that count, those that are disturbed, and what the looks have left out."""
    from tiltyard.run.record import told_briefly

    course = history.course(plan)
    kept = f"{len(course.ended)} trials kept"
    yield f"Blocks   {len(course.counted)} of at most {len(plan.blocks)} complete, {kept}"
    if spoiled := history.spoiled:
        made, replaced = len(course.counted) + len(course.replaced), len(course.replaced)
        fate = f"{replaced} replaced, {len(spoiled) - replaced} count all the same"
        last = max(spoiled)
        yield f"Noise    {len(spoiled)} of {made} blocks disturbed: {fate}"
        yield f"         the last, block {last}: {told_briefly(spoiled[last])}"
    if course.active_pairs and history.stopped is None:
        everything = len(plan.systems) * len(plan.workloads)
        going_on = len(course.active_pairs[max(course.active_pairs)])
        yield f"Open     {going_on} of {everything} pairs of system and workload go on"


def _failed(history: "History") -> Iterator[str]:
    """Every trial that failed, with its reason."""
    failed = [trial for trial in history.finished.values() if trial.outcome != "done"]
    yield f"Failed   {len(failed)}"
    for trial in failed:
        where = f"block {trial.key.block} {trial.key.system} {trial.key.workload}"
        yield f"         {where}: {trial.reason}"


def _left(plan: "Plan", history: "History") -> Iterator[str]:
    """How long it may still take; a look may end it earlier."""
    from tiltyard.run.estimate import next_look, outlook
    from tiltyard.units import format_duration

    found = outlook(plan, history)
    if found.left_to_look_s is None or found.left_s is None:
        yield "Left     not known before every workload has been run once"
        return
    look, last = next_look(plan, history), plan.design.looks[-1].blocks
    yield f"Left     {format_duration(found.left_to_look_s)} to the look after {look} blocks"
    if last > look:
        yield f"         {format_duration(found.left_s)} to the last one, after {last}, at most"
