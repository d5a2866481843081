"""What else the data show: each a sentence, and how it was tested."""

from tiltyard.analysis.model import WorkloadFindings
from tiltyard.report.document import Block, Fold, Sentences


def observations(workload: WorkloadFindings) -> tuple[Block, ...]:
    """The sentences, the largest first; folded beneath, the test behind each."""
    found = workload.observations
    if not found:
        return ()
    return (
        Sentences(tuple(one.sentence for one in found)),
        Fold("How each of these was tested", (Sentences(tuple(one.evidence for one in found)),)),
    )
