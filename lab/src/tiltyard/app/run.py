"""Carrying a plan out: until its comparisons are decided, or the whole of it."""

from tiltyard.executors.engine import Engine
from tiltyard.folder import StudyFolder
from tiltyard.host.place import HERE, Place
from tiltyard.plan.model import Plan
from tiltyard.run.observer import Decide, Decision, Observer
from tiltyard.run.record import AS_PLANNED, Amendment, RunRecord
from tiltyard.run.runner import run_study
from tiltyard.run.sessions import Session


def run_until_decided(
    session: Session,
    engine: Engine,
    observer: Observer,
    *,
    decide: Decide | None = None,
    stop_on_failure: bool = False,
    allow_reboot: bool = False,
    wait_s: float | None = None,
    amendment: Amendment = AS_PLANNED,
    place: Place = HERE,
) -> str:
    """Carry one session out, or go on with it; each look judges what is there.

    Args:
        session: what is carried out.
        engine: measures.
        observer: sees what goes on.
        decide: says at each look whether to go on; by default while a comparison is open.
        stop_on_failure: end at the first failed trial.
        allow_reboot: boot hosts where the study asks for it.
        wait_s: how long to wait for what others hold.
        amendment: what a person changes of the plan now.
        place: the host of a placement that carries it out.

    Returns:
        Why it ended.
    """
    return run_study(
        session.folder,
        session.plan,
        engine,
        decide or until_decided(session.plan),
        observer,
        stop_on_failure=stop_on_failure,
        allow_reboot=allow_reboot,
        wait_s=wait_s,
        amendment=amendment,
        place=place,
    )


def until_decided(plan: Plan) -> Decide:
    """What a run asks at each look: is a comparison open? The analysis is loaded at the first."""

    def decide(record: RunRecord) -> Decision:
        from tiltyard.analysis.decision import decision
        from tiltyard.analysis.findings import analyse

        return decision(analyse(plan, record))

    return decide


def run_whole(
    folder: StudyFolder, plan: Plan, engine: Engine, observer: Observer, reason: str
) -> None:
    """Carry out every block of a plan, or go on with it; nothing is judged.

    Args:
        folder: of the plan.
        plan: whose only look is its last block.
        engine: measures.
        observer: sees what goes on.
        reason: why it ends, in words.
    """
    run_study(folder, plan, engine, when_whole(reason), observer)


def when_whole(reason: str) -> Decide:
    """What is said at the only look of what is not judged by itself."""
    from tiltyard.analysis.decision import Decision as Whole

    enough = Whole(done=True, open=(), reason=reason, going_on=frozenset())
    return lambda _: enough
