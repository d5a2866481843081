"""Who is best over all tests, and how often each system is first or last."""

from collections.abc import Iterator
from dataclasses import dataclass

from tiltyard.analysis.claims.lines import tests
from tiltyard.analysis.claims.model import Claim
from tiltyard.analysis.claims.words import single
from tiltyard.analysis.model import Findings
from tiltyard.analysis.relative import mean_shares, relative_tests
from tiltyard.analysis.tallies import Tally, tallies


@dataclass(frozen=True)
class Place:
    """One system over all tests."""

    tally: Tally
    share: float | None
    """Geometric mean of what it reaches of the best; ``None`` where it has not all tests."""

    @property
    def text(self) -> str:
        """The mean in percent, as table and sentence print it: ``95.7``."""
        return "–" if self.share is None else f"{100 * self.share:.1f}"


def places(findings: Findings) -> list[Place]:
    """The systems, best mean first; empty for a study of one test."""
    found = relative_tests(findings)
    if len(found) < 2:
        return []
    means = mean_shares(found)
    own = [Place(tally, means.get(tally.system)) for tally in tallies(findings)]
    return sorted(own, key=lambda one: one.share or 0.0, reverse=True)


def claims(findings: Findings) -> Iterator[Claim]:
    """The best and the worst by geometric mean, then each system that is first anywhere."""
    ranked = [one for one in places(findings) if one.share is not None]
    if len(ranked) < 2:
        return
    best, last, of = ranked[0], ranked[-1], str(ranked[0].tally.tests)
    repeated = any(line.has_intervals for line in tests(findings))
    basis = "by value alone" if repeated else single(findings)
    yield Claim(
        kind="standing",
        workload="",
        sentence=f"On average over {of} tests (geometric mean) {best.tally.system} reaches most of "
        f"the best value of each, {best.text} %, and {last.tally.system} least, {last.text} %, "
        f"{basis}.",
        figures=(of, best.text, last.text),
    )
    for one in sorted(ranked, key=lambda own: -own.tally.first):
        if one.tally.first:
            yield _first(one.tally, basis)


def _first(own: Tally, basis: str) -> Claim:
    last = f" and last in {own.last}" if own.last else ", never last"
    return Claim(
        kind="standing",
        workload="",
        sentence=f"{own.system} is first in {own.first} of {own.tests} tests{last}, {basis}.",
        figures=(str(own.first), str(own.tests), *([str(own.last)] if own.last else [])),
    )
