"""What is said of a comparison, and the same by the other analysis."""

from dataclasses import dataclass
from typing import Literal, Protocol, Self

from tiltyard.frozen import Frozen
from tiltyard.study.model import Analysis, Covariate

Verdict = Literal["faster", "slower", "equivalent", "undecided", "invalid"]


class Estimated(Protocol):
    """A ratio with its interval: a comparison, or an effect."""

    @property
    def ratio(self) -> float | None:
        """The estimate."""

    @property
    def low(self) -> float | None:
        """Lower end of the interval; ``None`` before the first look."""

    @property
    def high(self) -> float | None:
        """Upper end."""


@dataclass(frozen=True)
class Estimate:
    """The numbers alone."""

    ratio: float | None
    low: float | None
    high: float | None


def turned_estimate(of: Estimated) -> Estimate:
    """The same from the side of the other system."""
    ratio, high, low = (None if end is None else 1 / end for end in (of.ratio, of.low, of.high))
    return Estimate(ratio, low, high)


class InStudy(Frozen):
    """One comparison in one of several studies."""

    study: str
    blocks: int
    ratio: float
    """Geometric mean over these blocks."""
    low: float
    """95 % interval over these blocks (Student's t)."""
    high: float


class OverStudies(Frozen):
    """What is known of a comparison over studies beside its verdict."""

    values: tuple[InStudy, ...] = ()
    """Of pooled studies each; of two that are compared with each other none."""
    blocks: tuple[int, ...]
    """Of each study; of two that are compared, of each side."""
    sessions: tuple[int, ...] = ()
    """Of two that are compared: sessions of each side."""
    ratio: float | None = None
    """The estimate to which ``low`` and ``high`` belong."""
    low: float | None
    """95 % interval, whatever the number of studies: of pooled ones, if studies like these spread
    normally; of two, of the blocks of these sessions alone. No verdict rests on it."""
    high: float | None
    tau: float | None = None
    """Standard deviation of the log ratio between studies, without what their blocks explain."""
    tau_low: float | None = None
    tau_high: float | None = None
    i2: float | None = None
    """Share of the variance between studies that their blocks do not explain."""
    p_same: float | None = None
    """Of Cochran's Q: that all studies have one true ratio."""
    predicted_low: float | None = None
    """95 % prediction interval of the true ratio in another study; from three studies on."""
    predicted_high: float | None = None
    lacks: str = ""
    """Why there is no verdict however the data lie; empty where there is an interval for one."""
    apart: tuple[str, ...] = ()
    """Studies whose interval lies on the other side of 1 than the estimate over all."""
    sentence: str

    @property
    def turned(self) -> Self:
        """The same from the side of the other system; the sentence stays as it was printed."""
        values = tuple(one.model_copy(update=vars(turned_estimate(one))) for one in self.values)
        another = turned_estimate(Estimate(None, self.predicted_low, self.predicted_high))
        predicted = {"predicted_low": another.low, "predicted_high": another.high}
        own = vars(turned_estimate(self))
        return self.model_copy(update={"values": values, **own, **predicted})


class OtherAnalysis(Frozen):
    """A comparison by the analysis that is not named as that of the study's verdicts."""

    analysis: Analysis
    """Which one it is; the comparison itself is of the other."""
    covariates: tuple[Covariate, ...]
    """Those that the adjusted one of the two takes off."""
    explained: float | None
    """Share of the variance of the differences that goes with them; ``None`` before a look."""
    blocks: int
    ratio: float | None
    low: float | None
    high: float | None
    level: float
    p: float | None
    p_adjusted: float | None
    """After the correction over its own family, which is of the same comparisons."""
    verdict: Verdict
    sentence: str
