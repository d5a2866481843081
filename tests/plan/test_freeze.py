"""Freezing: everything that is decided is in the plan."""

from collections.abc import Callable

import pytest

from tiltyard.folder import StudyFolder, sha256
from tiltyard.plan.model import FORMAT, Further, Plan, spares_for
from tiltyard.plan.order import draw_blocks
from tiltyard.study.problems import StudyFileError

Freeze = Callable[[], Plan]


def test_a_plan_holds_all_that_later_stages_need(folder: StudyFolder, frozen: Freeze) -> None:
    plan = frozen()
    assert plan.format == FORMAT
    assert plan.created == "2026-11-21T01:30:05+00:00"
    assert plan.study_sha256 == sha256(folder.study.read_bytes())
    assert (plan.seed, plan.baseline, plan.budget_s) == (4711, "ext4", None)
    iozone = plan.workload("iozone")
    assert iozone.effective == {"verify": True, "file": "1M", "record": "4k"}
    assert iozone.spec.parameters == {"file": "1M", "record": "4k"}
    assert iozone.grid == ("file", "record")
    assert len(iozone.metrics) == 13
    assert [look.blocks for look in plan.design.looks] == [9, 15, 20]
    assert 0.04 < plan.design.alpha <= 0.05
    assert plan.blocks == draw_blocks(["ext4", "xfs", "btrfs"], ["postmark", "iozone"], 20, 4711)


@pytest.mark.parametrize(
    ("systems", "precision", "blocks"),
    [
        (2, "", [9, 15, 20]),
        (6, "", [12, 15, 20]),
        (6, 'profile = "rigorous"', [12, 15, 20, 30]),
        (6, 'profile = "quick"', [7, 10]),
        (2, 'profile = "long"', [10, 14, 20, 34, 60, 100]),
        (6, 'profile = "long"\nstrict = true', [8, 12, 20, 34, 60, 100]),
        (6, "strict = true", [7, 10, 14, 20]),
    ],
)
def test_looks_depend_on_the_number_of_headlines(
    folder: StudyFolder, frozen: Freeze, systems: int, precision: str, blocks: list[int]
) -> None:
    """The study has two workloads, so two systems are two headlines, and six are thirty."""
    names = ["ext4", "xfs", "btrfs", "ext2", "ext3", "f2fs"][:systems]
    text = folder.study.read_text().replace('["ext4", "xfs", "btrfs"]', str(names))
    folder.study.write_text(f"{text}\n[precision]\n{precision}\n")
    assert [look.blocks for look in frozen().design.looks] == blocks


def test_a_single_headline_has_the_looks_of_the_profile(
    folder: StudyFolder, frozen: Freeze
) -> None:
    text = folder.study.read_text().replace('["ext4", "xfs", "btrfs"]', '["ext4", "xfs"]')
    folder.study.write_text(text.replace('[[workload]]\nuse = "postmark"\n', ""))
    design = frozen().design
    assert [look.blocks for look in design.looks] == [7, 10, 14, 20]
    assert design.profile == "standard"


def test_a_long_study_without_a_budget_has_blocks_that_are_made_while_they_cost_little(
    folder: StudyFolder, frozen: Freeze
) -> None:
    text = folder.study.read_text()
    asked = {
        'profile = "long"': Further(beyond=20, within_s=120.0),
        'profile = "long"\nbudget = "1 h"': None,
        'budget = "1 h"': None,
        "": None,
    }
    for precision, further in asked.items():
        folder.study.write_text(f"{text}\n[precision]\n{precision}\n")
        assert frozen().further == further


def test_trials_of_a_block_come_turn_by_turn(frozen: Freeze) -> None:
    plan = frozen()
    for block in plan.blocks:
        keys = list(plan.trials_of(block))
        assert len(set(keys)) == 6
        assert len({key.file_name for key in keys}) == 6
        systems = [key.system for key in keys]
        assert systems == [turn.system for turn in block.turns for _ in range(2)]


def test_a_fixed_design_has_one_look(folder: StudyFolder, frozen: Freeze) -> None:
    folder.study.write_text(folder.study.read_text() + "\n[precision]\nblocks = 8\n")
    plan = frozen()
    assert [look.blocks for look in plan.design.looks] == [8]
    assert len(plan.blocks) == 8


def test_spares_follow_the_planned_blocks_of_the_same_seed(frozen: Freeze) -> None:
    plan = frozen()
    drawn = draw_blocks(["ext4", "xfs", "btrfs"], ["postmark", "iozone"], 25, 4711)
    assert plan.sequence == (*plan.blocks, *plan.spares) == drawn
    assert len(plan.spares) == 5
    assert plan.noise_limits is not None
    assert plan.noise_limits.disturbed == "replace"


def test_where_disturbed_blocks_are_kept_spares_make_up_for_failed_trials(
    folder: StudyFolder, frozen: Freeze
) -> None:
    before = frozen()
    folder.study.write_text(folder.study.read_text() + '\n[noise]\ndisturbed = "keep"\n')
    plan = frozen()
    assert (plan.blocks, plan.spares) == (before.blocks, before.spares)
    assert len(plan.spares) == spares_for(len(plan.blocks))
    assert plan.noise_limits == before.noise_limits.model_copy(update={"disturbed": "keep"})  # type: ignore[union-attr]


def test_spares_are_as_many_as_keep_the_share_at_a_fifth() -> None:
    for blocks in range(1, 1001):
        spares = spares_for(blocks)
        assert 5 * spares <= blocks + spares
        assert 5 * (spares + 1) > blocks + spares + 1


def test_trials_in_a_turn_come_from_the_study(folder: StudyFolder, frozen: Freeze) -> None:
    text = folder.study.read_text().replace('use = "iozone"', 'use = "iozone"\ntrials = 3')
    folder.study.write_text(text)
    plan = frozen()
    turn = plan.blocks[0].turns[0]
    keys = list(plan.trials_in(1, turn))
    assert [(key.workload, key.repeat) for key in keys[:2]] == [(w, 1) for w in turn.workloads]
    assert [(key.workload, key.repeat) for key in keys[2:]] == [("iozone", 2), ("iozone", 3)]
    assert len({key.file_name for key in keys}) == 4


def test_a_seed_is_drawn_where_none_is_given(folder: StudyFolder, frozen: Freeze) -> None:
    folder.study.write_text(folder.study.read_text().replace("seed = 4711\n", ""))
    one, other = frozen(), frozen()
    assert one.seed != other.seed
    assert one.blocks == draw_blocks(["ext4", "xfs", "btrfs"], ["postmark", "iozone"], 20, one.seed)


def test_the_same_study_and_seed_make_the_same_plan(frozen: Freeze) -> None:
    assert frozen().hash == frozen().hash


def test_what_a_workload_works_on_is_a_part_of_the_plan(frozen: Freeze) -> None:
    plan = frozen()
    assert {workload.target for workload in plan.workloads} == {"directory"}
    far = tuple(workload.model_copy(update={"target": "far"}) for workload in plan.workloads)
    network = plan.model_copy(update={"workloads": far})
    assert Plan.model_validate_json(network.document()) == network
    assert network.hash != plan.hash


def test_what_the_engine_refuses_is_told_by_line(folder: StudyFolder, frozen: Freeze) -> None:
    folder.study.write_text(folder.study.read_text().replace("4k", "3k"))
    with pytest.raises(StudyFileError) as caught:
        frozen()
    assert str(caught.value) == (
        f'{folder.study}:13: workload.record: "3k" is not a multiple of 4 KiB'
    )
