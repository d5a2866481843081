"""Studies on several hosts: what is there is named, and nothing else is claimed or named."""

import pytest
from scipy.stats import binom

from simulation.nodes import NodeRates, node_rates

STUDIES = 200


def credible(share: float, rate: float = 0.05) -> bool:
    """Whether such a share may come of a true rate of at most ``rate``: once in 10,000 not."""
    return bool(binom.sf(round(share * STUDIES) - 1, STUDIES, rate) > 1e-4)


@pytest.fixture(scope="module")
def found() -> tuple[NodeRates, ...]:
    return node_rates(STUDIES, seed=58)


def test_equal_systems_are_not_told_apart_whatever_hosts_are_like(found):
    for one in found:
        if not one.law.turned:
            assert credible(one.claimed), one
            assert credible(one.disagreeing), one


def test_no_host_is_called_slow_that_is_not(found):
    for one in found:
        if not one.law.slower and not one.law.spread and not one.law.turned:
            assert credible(one.slow), one


def test_the_odd_host_is_named_and_no_other_one(found):
    odd = [one for one in found if one.law.slower or one.law.turned]
    assert len(odd) == 4
    assert all(one.odd > 0.95 for one in odd), odd
