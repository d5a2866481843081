"""What is said of a comparison, and the same by the other analysis."""

from typing import Literal

from tiltyard.study.model import Analysis, Covariate, Frozen

Verdict = Literal["faster", "slower", "equivalent", "undecided", "invalid"]


class Beside(Frozen):
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
