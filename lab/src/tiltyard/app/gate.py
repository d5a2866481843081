"""The gate over a study folder: carry the study out until every headline has an answer."""

from typing import TYPE_CHECKING

from tiltyard.errors import RefusedError, UsageError
from tiltyard.folder import StudyFolder
from tiltyard.plan.model import Plan
from tiltyard.plan.store import read_plan
from tiltyard.run.binaries import binaries, changed_file
from tiltyard.run.observer import Decide, Decision
from tiltyard.run.progress import progress_of
from tiltyard.run.record import Prepared, RunRecord
from tiltyard.run.sessions import hashes_before, sessions_of

if TYPE_CHECKING:
    from tiltyard.analysis.gate import By


def require_as_measured(folder: StudyFolder) -> None:
    """Refuse to judge other programs, scripts or inputs than those that were measured.

    Raises:
        RefusedError: it names the first.
    """
    plan, measured = read_plan(folder), hashes_before(folder, len(sessions_of(folder)) + 1)
    for system in plan.systems:
        facts = binaries(plan, system.name, (folder.study_root / plan.paths_from).resolve())
        now = Prepared(system=system.name, block=0, commands=(), facts=facts)
        if changed := changed_file(measured, now.hashes):
            raise RefusedError(f"{folder.root}/ is not judged: {changed}")


def require_time(by: "By", *, known: bool) -> None:
    """Refuse to go by a time that is not known of any program.

    Raises:
        UsageError: if none is.
    """
    if by == "cpu-time" and not known:
        raise UsageError("--by cpu-time: no CPU time of a program is known. Fix: leave it out")


def until_gated(plan: Plan, within: float, by: "By") -> Decide:
    """What a run asks at each look: may further blocks change what the gate says?

    Args:
        plan: what is carried out.
        within: the margin, as a fraction.
        by: the time of programs that decides.
    """

    def decide(record: RunRecord) -> Decision:
        from tiltyard.analysis.disturbed import too_many_disturbed
        from tiltyard.analysis.findings import analyse
        from tiltyard.analysis.gate import gate_decision

        withheld = too_many_disturbed(record, progress_of(plan, record))
        return gate_decision(analyse(plan, record), within, by, withheld=withheld is not None)

    return decide
