"""``tiltyard status``: how far a study is."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from tiltyard.cli.completers import Study
from tiltyard.cli.printing import WORDS, Printing
from tiltyard.units import agreeing, count_of

if TYPE_CHECKING:
    from tiltyard.app.status import SessionStatus, Status


def status(study: Study = Path(), /, *, printing: Printing = WORDS) -> None:
    """Say how far a study is, how long it may still take, what failed, and how to go on.

    ```
    tiltyard status spool
    tiltyard status spool --json | jq '.sessions[].state'
    ```

    Args:
        study: A study folder; by default this one.
        printing: Options of what is printed.
    """
    from tiltyard.app.status import status_of
    from tiltyard.cli.console import tell

    printing.begin()
    found = status_of(study)
    if printing.emit(found):
        return
    for line in lines(found):
        tell(line)


def lines(found: "Status") -> Iterator[str]:
    """What is said of a study."""
    from tiltyard.folder import StudyFolder

    yield f"Question {found.question}"
    for session in found.sessions:
        if len(found.sessions) > 1:
            where = f", on {session.node}" if session.node else ""
            yield f"Session  {session.session} of {len(found.sessions)}{where}"
        yield from _lines(session, found.study)
    if all(session.state == "ended" for session in found.sessions):
        page = StudyFolder(Path(found.study)).report / "index.html"
        yield f"Report   {page if page.is_file() else f'tiltyard report {found.study}'}"


def _lines(session: "SessionStatus", study: str) -> Iterator[str]:
    """How far one session is; of a study of one, the study."""
    from tiltyard.run.sessions import APART_H

    if session.state == "not begun" and session.session > 1:
        yield f"State    not begun; it comes after a boot, or {APART_H:g} h after the one before"
        return
    kept = f"{count_of(session.trials, 'trial')} kept"
    yield f"Blocks   {session.blocks} of at most {session.blocks_max} complete, {kept}"
    if disturbed := session.disturbed:
        replaced, last = sum(block.replaced for block in disturbed), disturbed[-1]
        fate = f"{replaced} replaced, {len(disturbed) - replaced} count all the same"
        yield (
            f"Noise    {len(disturbed)} of {count_of(session.blocks + replaced, 'block')} "
            f"disturbed: {fate}"
        )
        yield f"         the last, block {last.block}: {last.reason}"
    if session.open_pairs is not None:
        go = agreeing(session.open_pairs, "goes", "go")
        of = f"{session.open_pairs} of {count_of(session.pairs, 'pair')}"
        yield f"Open     {of} of system and workload {go} on"
    yield f"Failed   {len(session.failed)}"
    for trial in session.failed:
        yield f"         block {trial.block} {trial.system}, {trial.title}: {trial.reason}"
    if session.state == "ended":
        yield f"State    {session.ended}"
        return
    yield from _left(session)
    if session.state == "running":
        yield f"State    running (process {session.pid})"
    else:
        yield f"State    not finished; go on with: tiltyard run {study}"


def _left(session: "SessionStatus") -> Iterator[str]:
    """How long it may still take; a look may end it earlier."""
    from tiltyard.units import format_duration

    left = session.left
    if left is None:
        yield "Left     not known before every workload has been run once"
        return
    yield (
        f"Left     {format_duration(left.to_look_s)} to the look after "
        f"{count_of(left.look, 'block')}"
    )
    if left.last > left.look:
        last = f"{format_duration(left.to_last_s)} to the last one, after {left.last}"
        yield f"         {last}, at most"
