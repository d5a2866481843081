"""Studies against studies, and pooled: what may be said, and what may not."""

import re
from dataclasses import replace
from math import exp, sqrt

import pytest

from support.across import compared, cut, pooled_studies, study
from tiltyard.analysis.disturbed_model import DisturbedBlocks
from tiltyard.analysis.model import Comparison, Findings
from tiltyard.analysis.pairs import turned
from tiltyard.app.source_study import Study, differing
from tiltyard.errors import UsageError


def pairs_of(findings: Findings) -> list[Comparison]:
    return [pair for own in findings.workloads for pair in own.index.comparisons]


def told_of(findings: Findings) -> str:
    return " ".join(notice.text for notice in findings.notices)


def test_two_sessions_decide_nothing_however_far_they_lie_apart() -> None:
    found = compared(study("may", seed=1), study("june", (0.5,), seed=2))
    assert [workload.name for workload in found.workloads] == [
        "postmark on ext4",
        "postmark on xfs",
    ]
    for pair in pairs_of(found):
        assert (pair.system, pair.against, pair.verdict) == ("june", "may", "undecided")
        assert pair.low is None
        assert pair.over is not None
        assert pair.over.sessions == (1, 1)
        assert pair.over.low is not None
        assert pair.over.high is not None
        assert pair.over.low < exp(0.5) < pair.over.high
        assert pair.over.low > 1.4  # in these blocks alone there is no doubt
        assert pair.over.ratio == pytest.approx((pair.over.low * pair.over.high) ** 0.5)
        assert (pair.blocks, pair.ahead) == (16, None)
        assert turned(pair).over == pair.over.turned
        assert pair.over.turned.ratio == pytest.approx(1 / pair.over.ratio)
    assert found.answer.startswith(
        "No verdict on 2 of 2 comparisons: a verdict beyond these sessions takes 5 of each study, "
        "and there are 1 and 1."
    )


def test_sessions_on_both_sides_decide() -> None:
    luck = (0.01, -0.02, 0.0, 0.015, -0.01)
    slower = [level - 0.2 for level in luck]
    found = compared(study("may", luck, seed=1), study("june", slower, seed=2))
    for pair in pairs_of(found):
        assert pair.verdict == "slower"
        assert pair.low is not None
        assert pair.high is not None
        assert pair.low < exp(-0.2) < pair.high < 1
        assert pair.p_adjusted == pytest.approx(2 * 2 / 252)  # Holm over two, 5 against 5
        assert "5 and 5 sessions" in pair.sentence
    assert "slower" in found.answer


def test_sessions_of_one_boot_count_once_against_another_study() -> None:
    luck = (0.01, -0.02, 0.0, 0.015, -0.01)
    once = replace(study("may", luck, seed=1), units={1: 1, 2: 1, 3: 3, 4: 4, 5: 5})
    found = compared(once, study("june", [level - 0.2 for level in luck], seed=2))
    for pair in pairs_of(found):
        assert pair.over is not None
        assert pair.over.sessions == (5, 4)


def test_sessions_that_follow_each_other_decide_nothing_against_another_study() -> None:
    """Otherwise spread, the same values decide."""
    drift = (0.0, 0.03, 0.06, 0.09, 0.12, 0.15)
    mixed = tuple(drift[place] for place in (2, 5, 0, 4, 1, 3))
    for sessions, followed in ((drift, True), (mixed, False)):
        later = [level - 0.4 for level in sessions]
        found = compared(study("may", sessions, seed=1), study("june", later, seed=2))
        for pair in pairs_of(found):
            assert pair.verdict == ("undecided" if followed else "slower")
            assert (pair.low is None) is followed
            assert ("sessions of a study that follow each other" in pair.sentence) is followed
        assert ("by turns" in found.answer) is followed


def test_a_rare_kind_of_host_that_was_not_met_is_beside_what_is_pooled() -> None:
    [pair] = pairs_of(pooled_studies())
    assert pair.over is not None
    assert pair.over.sentence.endswith(
        "That is for what is typical: a kind of host or day rarer than 39 % may not have been met "
        "in 6 studies."
    )


def test_sessions_that_spread_more_than_they_differ_leave_it_open() -> None:
    luck = (0.1, -0.12, 0.05, -0.08, 0.02)
    found = compared(study("may", luck, seed=1), study("june", luck[::-1], seed=2))
    assert {pair.verdict for pair in pairs_of(found)} == {"undecided"}
    assert all(pair.low is not None and pair.low < 1 for pair in pairs_of(found))


def test_three_studies_are_pooled_and_six_decide() -> None:
    effects = (0.10, 0.12, 0.09, 0.14, 0.11, 0.1)
    studies = [study(f"host{n}", (n / 10,), xfs=x, seed=n) for n, x in enumerate(effects, 1)]
    few, all_six = compared(*studies[:3]), compared(*studies)
    (pair,) = pairs_of(few)
    assert pair.verdict == "undecided"
    assert pair.low is None
    assert "takes 6 of them, and these are 3" in pair.sentence
    (pair,) = pairs_of(all_six)
    assert (pair.system, pair.against, pair.verdict) == ("xfs", "ext4", "faster")
    assert pair.ratio == pytest.approx(exp(sum(effects) / 6), abs=0.01)
    over = pair.over
    assert over is not None
    assert [one.study for one in over.values] == [f"host{n}" for n in range(1, 7)]
    assert over.blocks == (8,) * 6
    assert over.apart == ()
    assert (pair.blocks, pair.ahead) == (48, None)
    assert over.ratio == pair.ratio
    # A block differs from the next by sqrt(2) times the noise: what the studies' errors come from.
    errors = [(one.high / one.low) ** 0.5 - 1 for one in over.values]
    assert sorted(errors)[3] == pytest.approx(2.365 * 0.01 * sqrt(2 / 8), rel=0.5)
    assert over.predicted_low is not None
    assert over.predicted_low < (pair.low or 0)


def test_studies_that_disagree_are_named() -> None:
    effects = (0.3, 0.3, 0.3, 0.3, 0.3, -0.2)
    studies = [study(f"host{n}", xfs=x, seed=n) for n, x in enumerate(effects, 1)]
    (pair,) = pairs_of(compared(*studies))
    assert pair.verdict == "undecided"
    assert pair.over is not None
    assert pair.over.apart == ("host6",)
    assert (pair.over.i2 or 0) > 0.9
    assert "On the other side of no difference: host6." in pair.over.sentence
    seen = turned(pair).over
    assert seen is not None
    assert seen.values[5].ratio == pytest.approx(1 / pair.over.values[5].ratio)


def test_one_on_the_other_side_is_told_of_a_difference_and_not_of_equality() -> None:
    found = pooled_studies()
    (pair,) = pairs_of(found)
    assert (pair.verdict, pair.over and pair.over.apart) == ("faster", ("host6",))
    assert found.answer.endswith("In host6 it is the other way round.")
    effects = (0.01, 0.01, 0.01, 0.01, 0.01, -0.01)
    studies = [study(f"h{n}", xfs=x, seed=n, noise=0.003) for n, x in enumerate(effects)]
    same = compared(*studies)
    (pair,) = pairs_of(same)
    assert (pair.verdict, pair.over and pair.over.apart) == ("equivalent", ("h5",))
    assert "other way round" not in same.answer


def test_every_block_of_every_session_counts() -> None:
    """Sessions number their blocks alike, and are no session of each other."""
    studies = [study(f"h{n}", (0.0, 0.7), xfs=0.1, seed=n) for n in range(3)]
    (pair,) = pairs_of(compared(*studies))
    assert pair.over is not None
    assert pair.over.blocks == (16,) * 3
    assert [one.ratio for one in pair.over.values] == pytest.approx([exp(0.1)] * 3, rel=0.01)


def test_studies_without_enough_blocks_are_left_out_and_said() -> None:
    few = [cut(study(f"h{n}", xfs=0.1, seed=n), "xfs", 2) for n in range(3)]
    found = compared(*few)
    (pair,) = pairs_of(found)
    assert (pair.verdict, pair.blocks, pair.over) == ("undecided", 0, None)
    assert pair.ratio == pytest.approx(exp(0.1), rel=0.02)
    assert not re.search(r"\bnan\b", found.model_dump_json(), re.IGNORECASE)
    assert "takes 6 of them, and these are 0" in found.answer
    assert (
        "postmark: of h0, h1 and h2 fewer than 3 blocks have values of ext4 and xfs, so that "
        "comparison is without them." in told_of(found)
    )
    whole = [study(f"w{n}", xfs=0.1, seed=n) for n in range(2)]
    found = compared(*whole, few[2], cut(study("bare", seed=9), "xfs", 0))
    (pair,) = pairs_of(found)
    assert pair.over is not None
    assert [one.study for one in pair.over.values] == ["w0", "w1"]
    assert "of h2 fewer than 3 blocks" in told_of(found)
    assert (
        "postmark on xfs: bare has no block with all of its values, so it is left out."
        in told_of(found)
    )


def test_a_workload_without_values_on_one_side_is_left_out_and_said() -> None:
    found = compared(study("may", seed=1), cut(study("june", seed=2), "xfs", 0))
    assert [own.name for own in found.workloads] == ["postmark on ext4"]
    assert (
        "postmark on xfs: june has no block with all of its values, so it is left out."
        in told_of(found)
    )


def test_a_metric_that_a_later_session_lacks_is_none_of_that_session() -> None:
    june = study("june", (0.0, 0.1), seed=2, workloads=("iozone",))
    metric = june.first.workloads[0].cells[0].metric
    lacking = {
        **june.sessions,
        2: june.sessions[2].model_copy(
            update={
                "workloads": tuple(
                    own.model_copy(
                        update={"cells": tuple(c for c in own.cells if c.metric != metric)}
                    )
                    for own in june.sessions[2].workloads
                )
            }
        ),
    }
    may = study("may", seed=1, workloads=("iozone",))
    found = compared(may, Study("june", lacking))
    for cell in (cell for own in found.workloads for cell in own.cells):
        for pair in cell.comparisons:
            assert pair.over is not None
            assert pair.over.sessions == ((1 if cell.metric == metric else 2), 1)


def test_a_study_whose_own_comparison_is_invalid_is_named() -> None:
    studies = [study(f"h{n}", xfs=0.1, seed=n) for n in range(3)]
    (workload,) = studies[1].first.workloads
    (pair,) = workload.index.comparisons
    index = workload.index.model_copy(
        update={"comparisons": (pair.model_copy(update={"verdict": "invalid"}),)}
    )
    workloads = (workload.model_copy(update={"index": index}),)
    findings = studies[1].first.model_copy(update={"workloads": workloads})
    assert "invalid" not in told_of(compared(*studies))
    assert (
        "postmark: the comparison of xfs with ext4 is invalid by itself in h1; the blocks that are "
        "left there are pooled."
        in told_of(compared(studies[0], Study("h1", {1: findings}), studies[2]))
    )


def test_titles_are_those_of_the_study() -> None:
    studies = [study(name, seed=n) for n, name in enumerate(("may", "june"))]
    for one in studies:
        (own,) = one.first.workloads
        workloads = (own.model_copy(update={"title": "Mail"}),)
        one.sessions[1] = one.first.model_copy(update={"workloads": workloads})  # type: ignore[index]
    assert [own.display for own in compared(*studies).workloads] == ["Mail on ext4", "Mail on xfs"]


def test_every_metric_of_a_workload_is_compared_and_the_family_is_larger() -> None:
    studies = [study(f"h{n}", xfs=0.2, seed=n, workloads=("postmark", "iozone")) for n in range(6)]
    found = compared(*studies)
    by_name = {workload.name: workload for workload in found.workloads}
    assert len(by_name["iozone"].cells) > 1
    assert all(pair.over for cell in by_name["iozone"].cells for pair in cell.comparisons)
    (own,) = by_name["postmark"].index.comparisons
    assert own.level == pytest.approx(0.975)
    # One in 32 is the surest that six studies allow: not sure enough for two comparisons at once.
    assert own.verdict == "undecided"
    assert "takes 7 of them" in own.sentence


def test_other_work_is_left_out_and_said() -> None:
    other = study("june", seed=2, workloads=("postmark", "iozone"))
    found = compared(study("may", seed=1, workloads=("postmark", "iozone")), other)
    assert len(found.workloads) == 4
    changed = {
        number: one.model_copy(
            update={
                "workloads": tuple(
                    own.model_copy(update={"effective": {**own.effective, "files": 7}})
                    if own.name == "postmark"
                    else own
                    for own in one.workloads
                )
            }
        )
        for number, one in other.sessions.items()
    }
    found = compared(study("may", seed=1, workloads=("postmark", "iozone")), Study("june", changed))
    assert [own.name for own in found.workloads] == ["iozone on ext4", "iozone on xfs"]
    told = told_of(found)
    assert "postmark: is not the same work in all studies (files " in told
    assert "→ 7), so it is left out." in told


def test_nothing_in_common_is_an_error_that_says_why() -> None:
    with pytest.raises(UsageError, match=r"btrfs.*not in every study.*Fix: name studies of the"):
        compared(study("may"), study("june", systems=("btrfs", "jfs")))
    with pytest.raises(UsageError, match=r"xfs and jfs: not in every study"):
        compared(study("may"), study("june", systems=("ext4", "jfs")), pool=True)


def test_the_smallest_margin_counts_and_a_system_of_one_study_is_left_out() -> None:
    found = compared(
        study("may", within=0.05), study("june", systems=("ext4", "xfs", "jfs"), within=0.01)
    )
    assert found.design.equivalent_within == 0.01
    told = told_of(found)
    assert "jfs: not in every study" in told
    assert "different equivalence margins" in told


def test_two_are_pooled_on_demand() -> None:
    found = compared(study("may", xfs=0.1, seed=1), study("june", xfs=0.1, seed=2), pool=True)
    (pair,) = pairs_of(found)
    assert pair.over is not None
    assert pair.over.predicted_low is None
    assert found.provenance is not None
    assert found.provenance.pooled


def test_studies_that_agree_within_the_margin_are_equivalent() -> None:
    studies = [study(f"h{n}", xfs=0.001 * n, seed=n, noise=0.002) for n in range(6)]
    (pair,) = pairs_of(compared(*studies))
    assert pair.verdict == "equivalent"


def disturbed(one: Study, *numbers: int) -> Study:
    """The same study, of whose each session these blocks were replaced after 8 others."""
    disturbed = DisturbedBlocks(
        blocks=numbers, share=len(numbers) / (8 + len(numbers)), reasons={}, by_system={},
        related_p=None, sensitivity=(), sentence="",
    )  # fmt: skip
    found = {
        number: own.model_copy(update={"disturbed": disturbed})
        for number, own in one.sessions.items()
    }
    return Study(one.name, found)


def test_disturbed_blocks_are_told_as_a_share_of_all_that_were_run() -> None:
    may, june = study("may", seed=1), study("june", (0.0, 0.1), seed=2)
    longer = Study("may", {1: may.first.model_copy(update={"blocks_done": 20})})
    assert [*differing(longer, june)] == []
    many = (*range(9, 13),)
    assert [*differing(may, disturbed(june, *many))] == ["disturbed blocks: none → 33 %"]
    half = {**june.sessions, 1: disturbed(june, *many).first}
    assert [*differing(may, Study("june", half))] == ["disturbed blocks: none → 20 %"]


def test_what_else_differs_is_told_and_serial_numbers_are_not() -> None:
    may, june = study("may", seed=1), study("june", seed=2)
    records = (
        {"kernel": {"release": "6.1"}, "disks": {"vda: serial number": "S1", "vda: size": "1 TB"}},
        {"kernel": {"release": "6.12"}, "disks": {"vda: serial number": "S2", "vda: size": "1 TB"}},
    )
    for one, record in zip((may, june), records, strict=True):
        one.sessions[1] = one.first.model_copy(update={"record": record})  # type: ignore[index]
    found = compared(may, june)
    told = told_of(found)
    assert "june also differs from may in " in told
    assert "kernel: release 6.1 → 6.12" in told
    assert "disks: vda: serial number" in told
    assert "S2" not in found.model_dump_json()
    assert found.provenance is not None
    assert [one.differs for one in found.provenance.studies] == [
        (),
        ("disks: vda: serial number", "kernel: release 6.1 → 6.12"),
    ]
