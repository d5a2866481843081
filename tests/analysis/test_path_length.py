"""Counts of instructions: judged though they do not vary, told as what they are."""

import io
import re
from pathlib import Path

import pytest
from msgspec.structs import replace
from rich.console import Console

from support.counted import counted_study
from support.pages import page_of
from tiltyard.analysis.findings import analyse
from tiltyard.analysis.model import Comparison, Findings
from tiltyard.plan.path_length import path_length_cards
from tiltyard.report.terminal import verdicts
from tiltyard.run.read import counted_in_instructions
from tiltyard.run.samples import Samples

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
    assert "6.12 needs 30.0 % more instructions per operation than 6.1 in" in found.answer
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


def test_one_amount_of_work_is_warned_of() -> None:
    (warning,) = [n for n in findings(blocks=7).notices if "one amount of work" in n.text]
    assert warning.severity == "warning"


def counted_twice() -> Findings:
    """Random reads of 4 KiB: 5,492 and 5,466 instructions each, and 40,000 more once on 6.1."""
    plan, run = counted_study(systems=KERNELS, noise=0.0, blocks=7)
    (workload,) = plan.workloads
    rate = workload.metrics[0].model_copy(update={"unit": "1/s", "role": "headline"})
    cards = path_length_cards([rate], {"backend": "sync"}, twice=True)
    planned = workload.model_copy(update={"doubled": {"operations": 1000}, "metrics": cards})
    plan = plan.model_copy(update={"workloads": (planned,)})
    trials = []
    for trial in run.trials:
        each, once = (5492, 40_000) if trial.key.system == "6.1" else (5466, 0)
        for repeat, count in ((1, 500), (2, 1000)):
            key = trial.key.model_copy(update={"repeat": repeat})
            told = replace(
                trial.samples[0], metric=rate.name, operations=count, bytes=4096 * count, at={},
                elapsed_s=(each * count + once) / 1e9,
            )  # fmt: skip
            trials.append(trial.model_copy(update={"key": key, "samples": Samples.of((told,))}))
    read = tuple(counted_in_instructions(trials, plan))
    return analyse(plan, run.model_copy(update={"trials": read}))


def test_slope_and_intercept_are_two_rows_and_string_moves_are_told() -> None:
    found = counted_twice()
    pair = comparison(found)
    assert pair.ratio == pytest.approx((5466 - 4096) / (5492 - 4096))
    (workload,) = found.workloads
    rows = {cell.metric: [s.median for s in cell.summaries] for cell in workload.details}
    (once,) = [values for name, values in rows.items() if name.endswith("_once")]
    assert once == pytest.approx([40_000, 0], abs=1e-3)
    (warning,) = [n for n in found.notices if "string moves" in n.text]
    assert warning.severity == "note"
    assert "4,096 are string moves" in warning.text
    assert "left out of what is compared" in warning.text
    (whole,) = [v for name, v in rows.items() if name.endswith("_with_string_moves")]
    assert whole == pytest.approx([5492, 5466])
    screen = io.StringIO()
    Console(file=screen, width=100).print(verdicts(found, Path("report.html")))
    text = " ".join(screen.getvalue().split())
    assert "once: 6.1 40,000 instr, 6.12 0 instr" in text
    assert "6.12 ■ 1,370" in text, "what is compared has none of them"
    page = page_of(found)
    assert "string moves included" in page
    assert ", once" in page
