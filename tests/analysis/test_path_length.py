"""Counts of instructions: judged though they do not vary, told as what they are."""

import io
import re
from pathlib import Path

import pytest
from rich.console import Console

from support.counted import counted_study
from support.pages import page_of
from tiltyard.analysis.findings import analyse
from tiltyard.analysis.model import Comparison, Findings
from tiltyard.report.terminal import verdicts

KERNELS = ("6.1", "6.12")


def findings(effect: float = 1.0, **options: object) -> Findings:
    """Two kernels, the second one ``effect`` times as fast, without any noise if none is asked."""
    told = {"noise": 0.0, "shapes": {}, **options}
    if not told["shapes"]:
        del told["shapes"]
    plan, run = counted_study(systems=KERNELS, effects={"6.12": effect}, **told)
    return analyse(plan, run)


def comparison(found: Findings) -> Comparison:
    (workload,) = found.workloads
    (pair,) = workload.index.comparisons
    return pair


@pytest.mark.parametrize("profile", ["standard", "quick", "rigorous"])
def test_identical_differences_are_decided_with_an_interval_of_no_width(profile: str) -> None:
    found = findings(1 / 0.971, blocks=7, profile=profile, equivalent_within=0.01)
    pair = comparison(found)
    if profile == "rigorous":
        assert pair.ratio is None or pair.verdict == "faster"
        return
    assert pair.ratio == pytest.approx(0.971)
    assert pair.low == pytest.approx(pair.high)
    assert pair.verdict == "faster"
    assert "6.12 needs exactly 2.9 % fewer instructions per operation than 6.1" in pair.sentence
    assert "the same in each of 7 blocks" in pair.sentence


@pytest.mark.parametrize("fixed", [6, 12])
def test_identical_counts_are_equivalent(fixed: int) -> None:
    found = findings(profile="fixed", fixed_blocks=fixed, blocks=fixed)
    pair = comparison(found)
    assert pair.verdict == "equivalent"
    assert pair.ratio == pytest.approx(1)


def test_counts_with_ties_are_decided() -> None:
    found = findings(1.05, noise=1e-12, blocks=7)
    assert comparison(found).verdict == "faster"


def test_nothing_is_called_faster_or_a_time() -> None:
    found = findings(1 / 1.3, blocks=7)
    body = page_of(found).partition("</style>")[2]
    page = re.sub(r"<[^>]*>", " ", body)
    screen = io.StringIO()
    Console(file=screen, width=100).print(verdicts(found, Path("report.html")))
    assert "6.1 needs 23.1 % fewer instructions per operation than 6.12 in" in found.answer
    for text in (page, screen.getvalue()):
        assert "instr/op" in text
        assert "faster" not in text.replace("Which is faster", "")
        assert "slower" not in text
        assert "latency" not in text.lower()
        assert "time slices" not in text
        assert " ns for reading the clock" not in text
    assert "22.5 instructions for reading the clock" in found.conditions_sentence


def test_how_well_counts_repeat_is_said() -> None:
    texts = [notice.text for notice in findings(blocks=7).notices]
    assert "The counts of postmark repeat exactly from block to block." in texts
    assert any(text.startswith("A path length is no time") for text in texts)
    assert not any("host" in text for text in texts)


def test_counts_that_do_not_repeat_are_warned_of() -> None:
    found = findings(blocks=7, noise=0.05)
    (warning,) = [n for n in found.notices if "differ by up to" in n.text]
    assert warning.severity == "warning"
    assert "waited for something outside of the guest" in warning.text
