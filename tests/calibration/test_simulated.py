"""The simulated error rates, as a calibration quotes them."""

import pytest

from tiltyard.calibration import simulated as room
from tiltyard.calibration.simulated import simulated


def test_our_rules_keep_their_promise_and_those_of_others_do_not() -> None:
    found = simulated(400)
    rules = {rule.name: rule for rule in found.rules}
    assert found.passed
    assert (found.paths, found.scenarios) == (400, 10)
    assert rules["standard"].false_high < 0.055 + found.known_to < 0.08
    assert rules["3 and 3, error bars apart"].false_low > 0.15
    assert all(rule.false_low <= rule.false_high for rule in found.rules)


def test_rules_that_claim_too_much_do_not_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(room, "_JUDGED", "3 and 3, error bars apart")
    assert not simulated(400).passed
