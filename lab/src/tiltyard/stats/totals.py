"""Ratios of totals: what a job of fixed work would take, slow blocks counted in full.

The pseudo-median and the geometric mean answer "how does a typical trial compare?". Someone who
waits for all the work to end asks for the ratio of totals, in which one stall counts with its whole
length. Where the two answers differ, the tails differ.
"""

import numpy as np

from tiltyard.stats.types import Estimate, FloatArray


def total_ratio(first: FloatArray, second: FloatArray, alpha: float = 0.05) -> Estimate | None:
    """``Σ first / Σ second`` of paired values, shape (blocks,), with Fieller's interval.

    For trials of fixed work the values are times, and this is the ratio of the whole waiting times.

    Returns:
        ``None`` where the total of ``second`` may be zero as far as the data tell: the interval
        has no bounds then.

    Raises:
        ValueError: if there are fewer than two blocks.

    Source: Fieller, J. R. Stat. Soc. B 16 (1954).
    """
    blocks = len(first)
    if blocks < 2:
        raise ValueError("a ratio of totals needs at least 2 blocks to have an interval")
    from scipy.special import stdtrit

    over, under = float(np.mean(first)), float(np.mean(second))
    (over_var, both), (_, under_var) = np.cov(first, second) / blocks
    squared = float(stdtrit(blocks - 1, 1 - alpha / 2)) ** 2
    # The bounds are the roots of  a r² − 2 b r + c: the ratios r with (over − r under)² ≤ t² var.
    a = under**2 - squared * under_var
    b = over * under - squared * both
    c = over**2 - squared * over_var
    if a <= 0:
        return None
    reach = np.sqrt(max(0.0, b * b - a * c))
    return Estimate(over / under, float((b - reach) / a), float((b + reach) / a))


def total_rate_ratio(work: FloatArray, time_s: FloatArray, alpha: float = 0.05) -> Estimate:
    """Total work per total time of one system over that of another, with a block jackknife.

    Args:
        work: what was done, shape (blocks, 2): the system, the one that it is compared with.
        time_s: how long it took, same shape.
        alpha: error rate of the interval.

    Raises:
        ValueError: if there are fewer than three blocks.

    The interval is Tukey's on the log scale: t with ``blocks − 1`` degrees of freedom over the
    pseudo-values. Source: Miller, "The jackknife: a review", Biometrika 61 (1974).
    """
    blocks = len(work)
    if blocks < 3:
        raise ValueError("a block jackknife needs at least 3 blocks")
    from scipy.special import stdtrit

    def log_ratio(done: FloatArray, took: FloatArray) -> FloatArray:
        rates = np.log(done / took)
        return np.asarray(rates[..., 0] - rates[..., 1])

    whole = float(log_ratio(work.sum(axis=0), time_s.sum(axis=0)))
    without = log_ratio(work.sum(axis=0) - work, time_s.sum(axis=0) - time_s)
    pseudo = blocks * whole - (blocks - 1) * without
    centre = float(np.mean(pseudo))
    error = float(np.std(pseudo, ddof=1)) / np.sqrt(blocks)
    reach = float(stdtrit(blocks - 1, 1 - alpha / 2)) * error
    return Estimate(
        float(np.exp(whole)), float(np.exp(centre - reach)), float(np.exp(centre + reach))
    )
