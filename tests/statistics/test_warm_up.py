"""Bias after MSER-5 and rates of the steady-state flags: the table of the method, made anew.

Series of 120 slices of a second: AR(1) noise, correlation 0.5, deviation 5 %, 400 series each.
"""

import numpy as np
import pytest

from tiltyard.stats.steady import HALVES_LEVEL, RANGE, SLOPE, mser5, steady_state

SERIES, SLICES = 400, 120
T = np.arange(SLICES)
TRENDS = {
    "none": np.ones(SLICES),
    "short": 1 - 0.4 * np.exp(-T / 5),
    "long": 1 - 0.4 * np.exp(-T / 20),
    "fresh": np.where(T < 30, 2.0, 1.0),
    "never": 1 - 0.003 * T,
}


def series_of(trend: str) -> np.ndarray:
    rng = np.random.default_rng(20_261_121)
    noise = np.empty((SERIES, SLICES))
    noise[:, 0] = rng.normal(0, 0.05, SERIES)
    for slot in range(1, SLICES):
        fresh = rng.normal(0, 0.05 * np.sqrt(1 - 0.5**2), SERIES)
        noise[:, slot] = 0.5 * noise[:, slot - 1] + fresh
    return TRENDS[trend] * (1 + noise)


@pytest.mark.parametrize(
    ("trend", "bias_percent", "deviation_percent", "untreated_percent"),
    [
        ("none", 0.0, 0.9, 0.1),
        ("short", -0.1, 1.0, -1.9),
        ("long", -0.9, 1.3, -6.8),
        ("fresh", -0.2, 1.0, 25.0),
    ],
)
def test_bias_after_mser_5(trend, bias_percent, deviation_percent, untreated_percent):
    series = series_of(trend)
    means = np.array([100 * (one[mser5(one) :].mean() - 1) for one in series])
    assert means.mean() == pytest.approx(bias_percent, abs=0.3)
    assert means.std() == pytest.approx(deviation_percent, abs=0.2)
    assert 100 * (series.mean() - 1) == pytest.approx(untreated_percent, abs=0.3)


@pytest.mark.parametrize(
    ("trend", "by_parts", "by_halves"),
    [
        ("none", 0.01, 0.02),
        ("short", 0.0, 0.03),
        ("long", 0.01, 0.03),
        ("fresh", 0.0, 0.02),
        ("never", 1.0, 0.86),
    ],
)
def test_rates_of_the_flags(trend, by_parts, by_halves):
    found = [steady_state(one, 1.0) for one in series_of(trend)]
    parts = np.mean([one.spread > RANGE or one.excursion > SLOPE for one in found])
    halves = np.mean([one.p < HALVES_LEVEL for one in found])
    assert parts == pytest.approx(by_parts, abs=0.02)
    assert halves == pytest.approx(by_halves, abs=0.03)
