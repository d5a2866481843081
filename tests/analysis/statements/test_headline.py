"""The headline says what the verdicts say; above it stands what must be known beforehand."""

import re
from dataclasses import replace

import pytest

from support.collections import collection, metric
from support.printed_studies import SORTS
from support.printed_verdicts import terminal
from support.shapes import Shape, card
from support.synthetic import factorial_study, synthetic_study
from tiltyard.analysis.collected import analyse_collection
from tiltyard.analysis.findings import analyse
from tiltyard.analysis.model import Findings, Notice
from tiltyard.analysis.statements.claims import over_lines
from tiltyard.analysis.statements.deltas import crossing
from tiltyard.analysis.statements.headline import headline, over_all
from tiltyard.analysis.statements.numbers import confidence_said_once
from tiltyard.analysis.statements.warnings import warnings
from tiltyard.analysis.systems import asked_factor
from tiltyard.charts.overview import FOREST
from tiltyard.collected.model import Reading
from tiltyard.report.document import Figure
from tiltyard.report.sections.entries import values_apart
from tiltyard.report.styles import STYLES
from tiltyard.study.model import Scaled, ScaledValue

FACTORS = {"filesystem": ("ext4", "xfs"), "kernel": ("3.12", "3.13")}
FOUR = {
    name: Shape((card("rate", "operations", "1/s"),), {"rate": 9_000.0})
    for name in ("one", "two", "three", "four")
}
MANY = {"workloads": tuple(FOUR), "shapes": FOUR}


def above(findings: Findings) -> str:
    return " ".join(notice.text for notice in warnings(findings))


def test_a_difference_has_estimate_interval_and_blocks() -> None:
    found = analyse(*synthetic_study(("ext4", "xfs"), effects={"xfs": 1.15}, noise=0.03))
    assert re.fullmatch(
        r"xfs does [\d.]+ % more postmark transactions per second than ext4 "
        r"\(95 % CI [\d.]+ to [\d.]+ %, \d+ blocks\) on this host\.",
        found.answer,
    )


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_where_nothing_is_decided_no_difference_is_shown(seed: int) -> None:
    found = analyse(*synthetic_study(("ext4", "xfs"), noise=0.2, blocks=20, seed=seed))
    assert found.answer.startswith("No difference shown in postmark transactions between ")
    counted = analyse(
        *synthetic_study(("ext4", "xfs", "btrfs"), noise=0.2, blocks=20, seed=seed, **MANY)
    )
    assert "is better than" not in counted.answer
    assert counted.answer.count("no difference shown") == 2


def test_a_range_goes_over_decided_comparisons_only() -> None:
    """One workload is far faster, the others are noise: the ends of the range are the decided."""
    found = analyse(
        *synthetic_study(
            ("ext4", "xfs"), blocks=20, noise=0.05, effects={"xfs": 1.0}, seed=4, **MANY
        )
    )
    decided = [w for w in found.workloads if w.index.comparisons[0].verdict == "faster"]
    assert not decided
    lifted = found.workloads[0]
    (pair,) = lifted.index.comparisons
    pair = pair.model_copy(update={"verdict": "faster", "ratio": 1.3, "low": 1.2, "high": 1.4})
    index = lifted.index.model_copy(update={"comparisons": (pair,)})
    workloads = (lifted.model_copy(update={"index": index}), *found.workloads[1:])
    text = headline(found.model_copy(update={"workloads": workloads, "overall": ()}))
    assert text == (
        "xfs is better than ext4 in 1 of 4 tests: +30.0 % (one; +20.0 … +40.0 %) (by verdict)."
    )


def test_single_values_give_no_verdict_and_count_beyond_the_margin() -> None:
    found = analyse_collection(SORTS["curves"](1))
    assert found.answer.startswith("No verdict, because values were not repeated. By value alone")
    assert "Values were not repeated" in above(found)


def test_the_factor_that_is_asked_about_pairs_the_systems() -> None:
    plan, run = factorial_study(FACTORS, {("3.13",): 1.1}, blocks=14)
    first = analyse(plan, run)
    asked = analyse(plan.model_copy(update={"asks": "kernel"}), run)
    assert crossing(first).factor == "filesystem"
    assert crossing(asked).factor == "kernel"
    assert asked.answer.startswith("kernel 3.13 is ")
    assert ", averaged over filesystem (" in asked.answer
    assert plan.model_copy(update={"asks": None}).hash == plan.hash


@pytest.mark.parametrize(
    ("question", "factor"),
    [
        ("Which file system for the mail spool, and does noatime matter?", "filesystem"),
        ("Does kernel matter?", "kernel"),
        ("Is 3.13 slower than 3.12?", "kernel"),
        ("Is ext4 or xfs better, on 3.13?", "filesystem"),
        ("What is best?", "filesystem"),
    ],
)
def test_a_question_names_its_factor(question: str, factor: str) -> None:
    systems = {
        f"{fs} {kernel}": {"filesystem": fs, "kernel": kernel}
        for fs in FACTORS["filesystem"]
        for kernel in FACTORS["kernel"]
    }
    assert asked_factor(question, systems) == factor


def test_three_workloads_of_two_systems_are_one_line_each() -> None:
    """An editor has room for two lines: who against whom, the level and the blocks stand once."""
    shapes = {name: FOUR[name] for name in ("one", "two", "three")}
    found = analyse(
        *synthetic_study(
            ("ext4", "xfs"), blocks=14, effects={"xfs": 1.2}, noise=0.03, seed=2,
            workloads=tuple(shapes), shapes=shapes,
        )
    )  # fmt: skip
    each = r"\+[\d.]+ % \(\+[\d.]+ … \+[\d.]+ %, faster\)"
    assert re.fullmatch(
        r"xfs against ext4 on this host \(simultaneous 95 % CI, (\d+ to )?\d+ blocks\): "
        rf"one {each}, two {each}, three {each}\.",
        found.answer,
    )
    for workload in found.workloads:
        (pair,) = workload.index.comparisons
        assert f"{100 * (pair.ratio or 0) - 100:.1f} % (" in found.answer
    even = analyse(
        *synthetic_study(
            ("ext4", "xfs"), blocks=20, noise=0.2, seed=1, workloads=tuple(shapes), shapes=shapes
        )
    )
    assert "faster" not in even.answer
    assert ": no difference shown (simultaneous 95 % CI, " in even.answer


def test_the_level_of_intervals_that_have_the_same_is_said_once() -> None:
    text = "a (95 % CI 1 to 2 %), b (95 % CI 3 to 4 %)."
    assert confidence_said_once(text) == "a (95 % CI 1 to 2 %), b (3 to 4 %)."
    apart = "a (95 % CI 1 to 2 %), b (simultaneous 95 % CI 3 to 4 %)."
    assert confidence_said_once(apart) == apart


def test_the_mean_over_tests_has_the_interval_of_its_blocks() -> None:
    found = analyse(
        *synthetic_study(("ext4", "xfs"), blocks=14, effects={"xfs": 1.2}, noise=0.03, **MANY)
    )
    (pair,) = found.overall
    assert pair.verdict == "faster"
    assert pair.low is not None
    assert pair.high is not None
    assert pair.low < 1.2 < pair.high
    widths = [
        (own.high or 0.0) - (own.low or 0.0)
        for own in (w.index.comparisons[0] for w in found.workloads)
    ]
    assert pair.high - pair.low < min(widths)
    assert found.answer.startswith("xfs against ext4, mean of 4 tests (95 % CI, 7 blocks): +")
    assert " better." in found.answer
    assert analyse(*synthetic_study()).overall == ()


def test_a_mean_has_the_level_of_its_pairs_and_a_count_its_own_number(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    found = analyse(*synthetic_study(blocks=14, effects={"xfs": 1.2}, noise=0.03, **MANY))
    overall = tuple(
        pair if found.baseline in (pair.system, pair.against) else
        pair.model_copy(update={"level": 0.91}) for pair in found.overall
    )  # fmt: skip
    assert overall != found.overall
    assert over_all(found.model_copy(update={"overall": overall})) == over_all(found) != ""
    first, *rest = over_lines(found)
    assert " 4 tests: " in headline(found)
    fewer = [replace(first, of=first.of - 1), *rest]
    monkeypatch.setattr("tiltyard.analysis.statements.headline.over_lines", lambda _: fewer)
    assert " Tests: xfs 4 better of 3; " in headline(found)


def test_of_equal_systems_the_mean_over_tests_is_seldom_decided() -> None:
    claims = sum(
        pair.verdict in ("faster", "slower")
        for seed in range(40)
        for pair in analyse(
            *synthetic_study(("a", "b"), blocks=10, noise=0.05, seed=seed, **MANY)
        ).overall
    )
    assert claims <= 6  # 5 % of 40 are 2; more than 6 has a chance below 1 %


def test_what_must_be_known_stands_above_the_headline() -> None:
    plan, run = synthetic_study(("ext4", "xfs"), blocks=14, drift=0.8, noise=0.02)
    change = ScaledValue(where="postmark", key="files", was="10000", now="100")
    scaled = plan.model_copy(update={"scaled": Scaled(by="1/100", changes=(change,))})
    found = analyse(scaled, run)
    assert "not comparable" in above(found)
    assert "postmark: " in above(found)
    assert "This study is not finished" in above(analyse(*synthetic_study(blocks=5)))
    marked = Notice(severity="warning", text="The host was under load.", above=True)
    loaded = found.model_copy(update={"notices": (*found.notices, marked)})
    assert "The host was under load." in above(loaded)
    assert warnings(analyse(*synthetic_study(("ext4", "xfs"), blocks=20))) == ()


def test_a_ratio_that_the_values_contradict_has_theirs_beside_it() -> None:
    found = analyse(*synthetic_study(("ext4", "xfs"), effects={"xfs": 1.15}))
    index = found.workloads[0].index
    assert values_apart(index, "xfs", "ext4") is None
    standings = tuple(
        own.model_copy(update={"value": 725.0 if own.system == "ext4" else 663.0})
        for own in index.standings
    )
    apart = index.model_copy(update={"standings": standings})
    assert values_apart(apart, "xfs", "ext4") == pytest.approx(663 / 725)


def test_a_time_is_told_by_what_the_picture_beneath_draws() -> None:
    """A dot at 1.40× beside a headline of +28 % is the same pair: both say so."""
    found = analyse_collection(
        collection(
            [
                Reading(metric=name, system=system, mean=value)
                for name, values in (("latency", (100.0, 71.55)), ("throughput", (100.0, 110.0)))
                for system, value in zip(("a", "b"), values, strict=True)
            ],
            [metric("latency", "s"), metric("throughput")],
        )
    )
    assert re.search(r"\+28\.\d+ % \(iozone, latency, 1\.40× as fast\)", found.answer)
    assert "+10.0 % (iozone, throughput)" in found.answer
    drawn = FOREST.draw(found, 900)
    assert drawn is not None
    dots = {row["test"]: (round(row["ratio"], 2), row["text"]) for row in drawn["data"]["values"]}
    assert list(dots.values()) == [(1.4, "+28.5 % (1.40×)"), (1.1, "+10.0 %")]


def of_factors(effects: dict[tuple[str, ...], float], **options: object) -> Findings:
    return analyse(*factorial_study(FACTORS, effects, blocks=14, noise=0.02, **options))


def test_a_factor_that_is_decided_each_way_in_two_metrics_is_told_by_them() -> None:
    """Its mean over both would say that it does little, or nothing."""
    shape = Shape(
        (card("read", "reads", "1/s"), card("write", "writes", "1/s")),
        {"read": 9_000.0, "write": 5_000.0},
    )
    found = of_factors({("xfs",): 1.2}, workloads=("both",), shapes={"both": shape})
    (workload,) = found.workloads
    kept = []
    for effect in workload.effects:
        is_own = (effect.kind, effect.factor) == ("main", "filesystem")
        if is_own and "writes" in effect.topic:
            effect = effect.model_copy(
                update={"verdict": "slower", "ratio": 0.8, "sentence": "Slower at writes."}
            )
        kept.append(effect)
    own = [e for e in kept if (e.kind, e.factor) == ("main", "filesystem")]
    whole, *parts = own
    assert len(parts) == 2
    turned = workload.model_copy(update={"effects": tuple(kept)})
    text = headline(found.model_copy(update={"workloads": (turned,)}))
    assert text.startswith(" ".join(part.sentence for part in parts))
    assert whole.sentence not in text
    # Without the other way the mean is the headline.
    assert headline(found).startswith(whole.sentence)


def test_a_factorial_has_one_verdict_where_a_factor_is_decided_and_no_pair_is() -> None:
    """ "No verdict: xfs is 19 % faster" denies itself; a picture of pairs does so, too."""
    found = of_factors({("xfs",): 1.1})
    (workload,) = found.workloads
    pairs = tuple(
        pair.model_copy(update={"verdict": "undecided"}) for pair in workload.index.comparisons
    )
    index = workload.index.model_copy(update={"comparisons": pairs})
    workload = workload.model_copy(update={"index": index})
    found = found.model_copy(update={"workloads": (workload,)})
    text = terminal(found)
    assert "No verdict" not in text
    assert re.search(r"^Answer +filesystem xfs ", text, re.MULTILINE)
    for style in STYLES:
        front = [one for one in style.compose(found).front if isinstance(one, Figure)]
        assert [one.title for one in front] == ["What each factor does"], style.name
        ids = [one.id for one in style.compose(found).figures()]
        assert len(ids) == len(set(ids)), style.name
