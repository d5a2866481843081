"""How well values repeat: the deviation as a share of the mean."""

from collections.abc import Iterator

from tiltyard.analysis.claims.model import Claim
from tiltyard.analysis.claims.spread import spreads
from tiltyard.analysis.model import Findings
from tiltyard.units import format_number


def claims(findings: Findings) -> Iterator[Claim]:
    """One sentence for each workload and system of which a deviation is known."""
    for own in spreads(findings):
        least, most = share_text(own.least), share_text(own.most)
        if own.cells == 1:
            sentence = f"{own.workload}: the deviation of {own.system} is {most} % of its mean."
            figures: tuple[str, ...] = (most,)
        else:
            sentence = (
                f"{own.workload}: the deviations of {own.system} are {least} to {most} % of the "
                f"mean over {own.cells} cells, the largest in {own.most_at}."
            )
            figures = (least, most, str(own.cells))
        yield Claim(kind="deviation", workload=own.workload, sentence=sentence, figures=figures)


def share_text(share: float) -> str:
    """A share in percent, two digits: ``0.055``, ``11``."""
    return format_number(100 * share, 2)
