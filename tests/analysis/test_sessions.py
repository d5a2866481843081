"""What is stated of several sessions: verdicts, the spread between them, and what counts."""

from dataclasses import replace

import numpy as np
import pytest

from support.sessions import BLOCKS, synthetic_sessions
from support.synthetic import synthetic_study
from tiltyard.analysis.findings import analyse
from tiltyard.analysis.judging import by_session
from tiltyard.analysis.sessions import analyse_sessions
from tiltyard.plan.model import TrialKey
from tiltyard.stats.replication import spread_between

EIGHT = (0.10, 0.11, 0.09, 0.12, 0.08, 0.10, 0.11, 0.09)


def headline(findings):
    return findings.workloads[0].index.comparisons[0]


def test_one_session_is_what_it_was():
    [one] = synthetic_sessions((0.1,), 1)
    found = analyse_sessions([one])
    assert found == analyse(one.plan, one.run)
    assert found.sessions is None


@pytest.mark.parametrize("blocks", [2, 5])
def test_a_part_of_a_whole_shows_no_difference_by_itself(blocks):
    effects = {"xfs": 3.0}
    found = analyse(
        *synthetic_study(
            ("ext4", "xfs"), blocks=blocks, profile="fixed", fixed_blocks=blocks, effects=effects
        )
    )
    assert (headline(found).verdict, headline(found).blocks) == ("undecided", blocks)


def test_few_sessions_are_judged_by_their_blocks_and_say_so():
    found = analyse_sessions(synthetic_sessions((0.10, 0.12, 0.08), 3))
    assert headline(found).verdict == "faster"
    assert headline(found).blocks == 3 * BLOCKS
    assert "18 blocks of 3 sessions" in headline(found).sentence
    assert "in these 3 sessions" in found.answer
    [over] = found.sessions.comparisons
    assert (over.verdict, over.ratio, over.sessions) == ("undecided", None, 0)
    assert "3 of the 7 sessions that a verdict over sessions needs" in over.sentence
    assert [value.blocks for value in over.values] == [BLOCKS] * 3
    assert [value.ratio for value in over.values] == pytest.approx(np.exp([0.1, 0.12, 0.08]), 0.02)


def test_enough_sessions_are_what_is_counted():
    found = analyse_sessions(synthetic_sessions(EIGHT, 8))
    told, [over] = headline(found), found.sessions.comparisons
    assert (told.verdict, told.blocks, found.look) == ("faster", 8, 8)
    assert "8 sessions" in told.sentence
    assert "blocks" not in told.sentence
    assert "over 8 sessions" in found.answer
    assert (over.ratio, over.low, over.high) == (told.ratio, told.low, told.high)
    assert (over.verdict, over.p_adjusted) == (told.verdict, told.p_adjusted)
    means = np.exp(np.log([value.ratio for value in over.values]))
    assert told.differences == pytest.approx(means)


def test_luck_that_sessions_do_not_share_is_no_verdict():
    """Blocks of such sessions would claim a difference; the sessions do not."""
    effects = (0.10, -0.09, 0.12, -0.02, 0.11, 0.10, -0.10, 0.09)
    groups = synthetic_sessions(effects, 8)
    found = analyse_sessions(groups)
    assert headline(found).verdict == "undecided"
    assert found.sessions.comparisons[0].sd_between == pytest.approx(np.std(effects, ddof=1), 0.1)
    by_block = analyse_sessions(synthetic_sessions(effects[:3], 3))
    assert by_block.sessions.comparisons[0].sd_between_low > 0.03


def test_an_unfinished_session_counts_where_blocks_do_and_not_where_sessions_do():
    few = analyse_sessions(synthetic_sessions((0.1, 0.1), 3, unfinished=True)[:2] * 1 + _third())
    assert few.blocks_done == BLOCKS + 3
    many = analyse_sessions(synthetic_sessions(EIGHT, 8, unfinished=True))
    assert len(headline(many).differences) == 7
    assert headline(many).verdict == "undecided"
    assert not many.complete


def _third():
    """The plan of a third session, which has not begun."""
    third = synthetic_sessions((0.1, 0.1, 0.1), 3)[2]
    empty = third.run.model_copy(
        update={"trials": (), "starts": 0, "boots": (), "began": "", "ended": "", "stopped": None}
    )
    return (type(third)(third.plan, empty),)


def test_an_added_session_changes_no_verdict_of_the_plan():
    groups = synthetic_sessions((0.10, 0.12, 0.08, -0.30), 3)
    planned, added = analyse_sessions(groups[:3]), analyse_sessions(groups)
    assert added.workloads == planned.workloads
    assert [line.planned for line in added.sessions.lines] == [True, True, True, False]
    assert len(added.sessions.comparisons[0].values) == 4
    assert added.sessions.comparisons[0].sd_between > planned.sessions.comparisons[0].sd_between
    assert added.seal != planned.seal
    assert added.plan_hash == groups[0].plan.hash


def test_sessions_that_are_added_are_judged_at_seven():
    found = analyse_sessions(synthetic_sessions(EIGHT, 1))
    [over] = found.sessions.comparisons
    assert (over.verdict, over.sessions) == ("faster", 7)
    assert headline(found).blocks == BLOCKS
    six = analyse_sessions(synthetic_sessions(EIGHT[:6], 1))
    assert six.sessions.comparisons[0].verdict == "undecided"


def test_sessions_beyond_a_planned_look_count_for_nothing():
    """Not even in the place of one that failed."""
    failed = [TrialKey(block=number, system="xfs", workload="postmark") for number in (1, 2)]
    eight = analyse_sessions(synthetic_sessions(EIGHT, 8, failed=failed))
    more = analyse_sessions(synthetic_sessions((*EIGHT, -1.0, -1.0), 8, failed=failed))
    was, now = eight.sessions.comparisons[0], more.sessions.comparisons[0]
    assert was.sessions == now.sessions == 7
    assert (was.ratio, was.low, was.high) == (now.ratio, now.low, now.high)
    assert was.verdict == now.verdict == "faster"


def test_what_sets_sessions_apart_is_told():
    lines = analyse_sessions(synthetic_sessions((0.1, 0.1), 2)).sessions.lines
    assert [line.apart for line in lines] == ["", "another boot, 23 h later"]


def test_trials_of_all_sessions_are_told_apart():
    found = analyse_sessions(synthetic_sessions((0.1, 0.1, 0.1), 3))
    slots = [trial.slot for trial in found.trials]
    assert len(slots) == len(set(slots)) == 3 * BLOCKS * 2
    assert len({trial.block for trial in found.trials}) == 3 * BLOCKS


def test_the_mean_of_a_session_is_that_of_its_usable_blocks():
    nan = np.nan
    differences = np.array([[1.0, 3.0, nan, 5.0, nan, nan, 2.0, 2.0, 2.0, 2.0, 2.0, nan]])
    failed = np.array([[0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 1]], dtype=np.bool_)
    means, broken = by_session(differences, failed, np.array([1] * 3 + [2] * 3 + [3] * 6))
    # A third of the blocks of the first failed; blocks that were not attempted did not.
    assert broken.tolist() == [[True, False, False]]
    assert np.isnan(means[0, 0])
    assert means[0, 1:].tolist() == [5.0, 2.0]


def test_a_session_that_failed_is_missing_from_the_verdict():
    failed = [TrialKey(block=number, system="xfs", workload="postmark") for number in (1, 2)]
    found = analyse_sessions(synthetic_sessions(EIGHT, 8, failed=failed))
    assert len(headline(found).differences) == 7
    assert headline(found).blocks == 7
    assert headline(found).verdict == "faster"


def test_the_spread_of_groups_of_one_size_is_that_of_the_balanced_design():
    groups = [np.array([1.0, 3.0]), np.array([5.0, 9.0])]
    found = spread_between(groups)
    assert (found.within, found.between) == (5.0, 10.0)
    assert found.low == 0.0
    assert found.high > 1_000


def test_a_spread_needs_two_groups_with_values():
    for groups in ([np.ones(3)], [np.ones(3), np.ones(0)]):
        with pytest.raises(ValueError, match="two at least"):
            spread_between(groups)


def test_sessions_are_told_against_the_baseline_too():
    groups = [
        replace(group, plan=group.plan.model_copy(update={"baseline": "xfs"}))
        for group in synthetic_sessions(EIGHT, 8)
    ]
    found = analyse_sessions(groups)
    told, [over] = headline(found), found.sessions.comparisons
    assert (over.system, over.against, over.verdict) == ("ext4", "xfs", "slower")
    assert (over.ratio, over.low, over.high) == (told.ratio, told.low, told.high)


def test_a_slow_host_is_named_and_no_verdict_rests_on_it():
    found = analyse_sessions(synthetic_sessions((0.1,) * 4, 4, hosts=(0, 0, np.log(0.8), 0)))
    [level], [over] = found.sessions.levels, found.sessions.comparisons
    [slow] = level.apart
    assert (slow.session, slow.turned, over.apart) == (3, False, ())
    assert slow.low < 0.8 < slow.high
    assert level.sd_between == pytest.approx(np.std([0, 0, np.log(0.8), 0], ddof=1), rel=0.1)
    assert "values of 4 hosts differ by 11 % (standard deviation" in level.sentence
    assert "n3 is 20.0 % slower than the others over all systems" in level.sentence
    assert headline(found).verdict == "faster"
    assert headline(found).ratio == pytest.approx(np.exp(0.1), rel=0.01)


def test_a_host_on_which_the_difference_turns_round_is_named():
    effects = (0.1, 0.1, -0.1, 0.1, 0.1, 0.1)
    found = analyse_sessions(synthetic_sessions(effects, 6, hosts=(0.0,) * 6))
    [over] = found.sessions.comparisons
    [odd] = over.apart
    assert (odd.session, odd.turned) == (3, True)
    assert odd.low < np.exp(-0.2) < odd.high
    assert "n3 disagrees: −9.1 % there, +10.2 % on the others, the other way round" in over.sentence
    assert headline(found).verdict == "undecided"
    weaker = analyse_sessions(synthetic_sessions((0.1, 0.1, 0.03, 0.1), 4))
    [odd] = weaker.sessions.comparisons[0].apart
    assert not odd.turned
    assert "session 3 disagrees: +3." in weaker.sessions.comparisons[0].sentence


def test_a_host_that_carried_out_two_sessions_is_told_by_their_numbers():
    groups = synthetic_sessions((0.1, 0.1, -0.1), 3, hosts=(0.0,) * 3)
    lost = [replace(one, run=one.run.model_copy(update={"node": "n1"})) for one in groups]
    [over] = analyse_sessions(lost).sessions.comparisons
    assert "session 3 disagrees" in over.sentence


def test_alike_sessions_are_not_told_apart():
    for hosts in ((), (0.0,) * 3):
        found = analyse_sessions(synthetic_sessions((0.0,) * 3, 3, hosts=hosts))
        assert not found.sessions.levels[0].apart
        assert not found.sessions.comparisons[0].apart
        assert headline(found).verdict == "equivalent"


def one_boot(groups, *numbers, minutes=4):
    """The same, with sessions of these numbers in the boot of the first of them, minutes apart."""
    began = {number: 60 + minutes * place for place, number in enumerate(numbers)}

    def at(minute):
        return f"2026-11-01T{minute // 60:02}:{minute % 60:02}:00+00:00"

    return tuple(
        replace(
            group,
            run=group.run.model_copy(
                update={
                    "boots": (f"boot-{numbers[0]}",),
                    "began": at(began[group.number]),
                    "ended": at(began[group.number] + 3),
                }
            ),
        )
        if group.number in began
        else group
        for group in groups
    )


def on_hosts(groups, *names, lost=0):
    """The same on hosts of these names; the last session was given up on so many before."""
    whys = tuple(f"n{n} was lost after 1 trial" for n in range(lost))
    return tuple(
        replace(
            group,
            run=group.run.model_copy(
                update={"node": name, "lost": whys if group is groups[-1] else ()}
            ),
        )
        for group, name in zip(groups, names, strict=True)
    )


def warned(found):
    return [notice.text for notice in found.notices if notice.above]


def test_six_sessions_of_one_boot_hold_for_this_boot():
    groups = synthetic_sessions(EIGHT[:6], 6)
    apart = analyse_sessions(groups)
    assert (
        "hold for what is typical of sessions like these, of 6 boots or days: other days and boots "
        "of this host. A kind of boot rarer than 39 % may not have been met."
    ) in apart.sessions.sentence
    assert not warned(apart)
    found = analyse_sessions(one_boot(groups, 1, 2, 3, 4, 5, 6))
    [told] = warned(found)
    assert told.startswith("The verdicts hold for this boot only; beyond, 6 would be needed.")
    assert told.removeprefix("The verdicts ") in found.sessions.sentence
    assert "other days" not in found.sessions.sentence
    assert headline(found).verdict == headline(apart).verdict == "faster"


def test_sessions_of_one_boot_count_as_days_from_eight_hours_on():
    groups = synthetic_sessions(EIGHT[:6], 6)
    found = analyse_sessions(one_boot(groups, 1, 2, minutes=8 * 60 + 3))
    assert "of 6 boots or days" in found.sessions.sentence
    near = analyse_sessions(one_boot(groups, 1, 2, minutes=8 * 60 + 2))
    assert "hold for these 5 boots or days only" in near.sessions.sentence


def test_sessions_that_share_a_boot_count_once():
    """Their means are one; what is shown of each stays."""
    effects = (0.10, 0.30, 0.09, 0.12, 0.08, 0.10, 0.11, 0.09)
    found = analyse_sessions(one_boot(synthetic_sessions(effects, 8), 1, 2))
    [over] = found.sessions.comparisons
    assert (headline(found).blocks, over.sessions, len(over.values)) == (7, 7, 8)
    assert (over.verdict, over.ratio) == (headline(found).verdict, headline(found).ratio)
    assert headline(found).differences[0] == pytest.approx(np.exp(0.2), 0.02)
    assert "session 1 and 1 after it lie in one boot, less than 8 h apart: that counts once." in (
        found.sessions.sentence
    )


def test_sessions_that_are_added_in_one_boot_are_no_sessions_of_other_days():
    groups = synthetic_sessions(EIGHT[:7], 1)
    assert analyse_sessions(groups).sessions.comparisons[0].verdict == "faster"
    found = analyse_sessions(one_boot(groups, *range(1, 8)))
    [over] = found.sessions.comparisons
    assert over.verdict == "undecided"
    assert "1 of the 7 sessions that a verdict over sessions needs" in over.sentence


def test_a_host_that_stood_in_for_a_lost_one_counts_once():
    groups = synthetic_sessions(EIGHT, 8, hosts=(0.0,) * 8)
    found = analyse_sessions(on_hosts(groups, "a", "b", "c", "d", "e", "f", "g", "a"))
    assert headline(found).blocks == 7
    assert (
        "of 7 hosts: other hosts of this kind. A kind of host rarer than 35 % may not have been "
        "met. a carried out 2: that counts once."
    ) in found.sessions.sentence
    few = analyse_sessions(on_hosts(groups, "a", "b", "c", "d", "e", "a", "b", "c"))
    [told] = warned(few)
    assert told.startswith("The verdicts hold for these 5 hosts only")


def test_losses_bound_a_verdict():
    """As if each lost session had been as far either way as any of the others."""
    groups = synthetic_sessions((*EIGHT[:7], 0.3), 8, hosts=(0.0,) * 8)
    names = "abcdefgh"
    [none] = analyse_sessions(on_hosts(groups, *names)).sessions.comparisons
    [over] = analyse_sessions(on_hosts(groups, *names, lost=2)).sessions.comparisons
    assert "lost with the host" not in none.sentence
    assert over.verdict == "faster"
    assert over.sentence.endswith(
        "2 sessions were lost with the host: had they been as far either way as the farthest of "
        "the others, −10 to +24 %."
    )
    assert over.sentence.startswith(none.sentence)


def test_days_that_resemble_each_other_are_named_and_others_are_not():
    trend = tuple(0.05 + 0.02 * day for day in range(10))
    found = analyse_sessions(synthetic_sessions(trend, 10))
    [told] = warned(found)
    assert "sessions that follow each other resemble each other (lag-1 autocorrelation +0." in told
    assert told in found.sessions.comparisons[0].sentence
    mixed = tuple(trend[place] for place in (4, 9, 1, 6, 0, 8, 3, 5, 2, 7))
    assert not warned(analyse_sessions(synthetic_sessions(mixed, 10)))
    on_one_day = synthetic_sessions(trend, 10, hosts=(0.0,) * 10)
    assert not warned(analyse_sessions(on_one_day)), "hosts do not follow each other"
