"""The gate over a study folder: carry the study out until every headline has an answer."""

from tiltyard.analysis.decision import Decision
from tiltyard.analysis.disturbed import too_many_disturbed
from tiltyard.analysis.findings import analyse
from tiltyard.analysis.gate import gate_decision
from tiltyard.plan.model import Plan
from tiltyard.run.course import course_of
from tiltyard.run.observer import Decide
from tiltyard.run.record import RunRecord


def until_gated(plan: Plan, within: float) -> Decide:
    """What a run asks at each look: may further blocks change what the gate says?

    Args:
        plan: what is carried out.
        within: the margin, as a fraction.
    """

    def decide(record: RunRecord) -> Decision:
        withheld = too_many_disturbed(record, course_of(plan, record))
        return gate_decision(analyse(plan, record), within, withheld=withheld is not None)

    return decide
