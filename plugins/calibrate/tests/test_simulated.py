"""The simulated error rates, as a calibration quotes them."""

from pathlib import Path

from simulation import PATHS, SEED, Results
from simulation.comparisons import SECTION
from simulation.quote import quote
from tiltyard_calibrate import calibrate
from tiltyard_calibrate.model import Simulated

ROOT = Path(__file__).resolve().parents[3]


def results(paths: int) -> Results:
    return Results(paths, SEED, {SECTION.name: SECTION.run(paths, SEED)})


def test_our_rules_keep_their_promise_and_those_of_others_do_not() -> None:
    quoted = quote(results(400))
    rules = {rule.name: rule for rule in quoted.rules}
    assert quoted.passed
    assert (quoted.paths, quoted.scenarios) == (400, 10)
    assert rules["standard"].false_high < 0.055 + quoted.known_to < 0.08
    assert rules["3 and 3, error bars apart"].false_low > 0.15
    assert all(rule.false_low <= rule.false_high for rule in quoted.rules)


def test_rules_that_claim_too_much_do_not_pass() -> None:
    assert not quote(results(400), "3 and 3, error bars apart").passed


def test_what_is_quoted_is_what_the_document_of_error_rates_states() -> None:
    quoted = Simulated.model_validate_json(calibrate._SIMULATED.read_bytes())
    assert (quoted.paths, quoted.seed, quoted.passed) == (PATHS, SEED, True)
    document = (ROOT / "docs/error-rates.md").read_text().replace("*", "")
    stated = [
        rule for rule in quoted.rules if f"| {rule.name}: false claims, over the ten" in document
    ]
    assert {"standard", "10 and 10, Welch"} <= {rule.name for rule in stated}
    for rule in stated:
        low, high = (f"{100 * share:.1f}" for share in (rule.false_low, rule.false_high))
        line = next(line for line in document.splitlines() if f"| {rule.name}: false" in line)
        assert line.endswith(f"| {low}–{high} % |")
