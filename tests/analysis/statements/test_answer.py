import re

import pytest

from support.synthetic import Shape, card, synthetic_study
from tiltyard.analysis.findings import analyse
from tiltyard.analysis.pairs import between
from tiltyard.analysis.statements.numbers import compatible


def answer_of(**study):
    return analyse(*synthetic_study(**study)).answer


def test_rates_are_told_as_more_per_second():
    text = answer_of(effects={"xfs": 1.31, "btrfs": 0.5}, noise=0.03)
    assert text == (
        "xfs does 32 % more postmark transactions per second than ext4 (simultaneous 95 % CI 26 "
        "to 39 %, 10 blocks) and btrfs does 62.0 % fewer than xfs (60.4 to 63.5 %, 10 blocks) on "
        "this host."
    )


def test_the_place_in_a_grid_stands_behind_the_rate():
    created = Shape(
        metrics=(card("created", "files created", "1/s"),),
        typical={"created": 9_000.0},
        grid=("loop",),
        points=({"loop": 1},),
    )
    text = answer_of(
        systems=("ext4", "xfs"),
        workloads=("fs_mark",),
        shapes={"fs_mark": created},
        effects={"xfs": 1.31},
    )
    assert "more fs_mark files created per second, loop 1, than ext4" in text


def test_a_metric_that_begins_with_its_workload_is_named_once():
    shape = Shape((card("random_read", "random reads", "1/s"),), {"random_read": 1e6})
    text = answer_of(
        systems=("ext4", "xfs"),
        workloads=("random",),
        shapes={"random": shape},
        effects={"xfs": 1.31},
    )
    assert "more random reads per second than ext4" in text


def test_a_mean_over_cells_is_told_as_faster():
    text = answer_of(systems=("ext4", "xfs"), workloads=("iozone",), effects={"xfs": 1.31})
    assert re.fullmatch(
        r"xfs is [\d.]+ % faster than ext4 in iozone over all 78 cells "
        r"\(95 % CI [\d.]+ to [\d.]+ %, 7 blocks\) on this host\.",
        text,
    )


def test_two_workloads_get_a_sentence_each():
    text = answer_of(workloads=("postmark", "iozone"), effects={"xfs": 1.31, "btrfs": 0.5})
    assert text.count(".") >= 2
    assert "postmark transactions" in text
    assert "iozone over all 78 cells" in text


def test_the_best_is_not_called_so_while_it_is_not_separated():
    text = answer_of(effects={"xfs": 1.004, "btrfs": 0.5}, noise=0.03, blocks=20)
    assert text.startswith("No difference shown in postmark transactions between ")
    assert "; btrfs does " in text


@pytest.mark.parametrize("effect", [1.004, 0.996])
def test_what_is_open_is_told_from_the_side_of_the_table(effect):
    """Whichever of the two seems better: the baseline is what others are compared against."""
    text = answer_of(systems=("ext4", "xfs"), effects={"xfs": effect}, noise=0.03, blocks=20)
    assert re.search(
        r"between (ext4 and xfs|xfs and ext4) "
        r"\(xfs against ext4: 95 % CI −[\d.]+ to \+[\d.]+ %, 20 blocks\) on this host",
        text,
    )


@pytest.mark.parametrize("effect", [1.31, 0.7])
@pytest.mark.parametrize("systems", [("ext4", "xfs"), ("ext4", "xfs", "btrfs")])
def test_a_difference_is_told_from_the_side_of_the_table(systems, effect):
    """Whichever is better: every sentence, table and picture of a page has the same base."""
    effects = {"xfs": effect, "btrfs": 0.9}
    findings = analyse(*synthetic_study(systems=systems, effects=effects, noise=0.01, blocks=10))
    index = findings.workloads[0].index
    best = index.standings[0].system
    sides = [(one.system, one.against) for one in index.comparisons]
    told = re.findall(r"(?:^|and )(\w+) does .*? than (\w+) \(", findings.answer)
    assert told
    assert set(told) <= set(sides)
    assert all(best in pair for pair in told)


def test_an_interval_names_what_it_is_against() -> None:
    """What is told of a pair is what its table has."""
    study = synthetic_study(effects={"xfs": 1.004, "btrfs": 1.003}, noise=0.03, blocks=20)
    findings = analyse(*study)
    text, (first, *_) = findings.answer, findings.workloads[0].index.standings
    told = re.findall(r"(\w+) against (\w+): [^;)]*?(−[\d.]+ to \+[\d.]+ %)", text)
    assert len(told) == 2
    assert all(first.system in (system, against) for system, against, _ in told)
    for system, against, ends in told:
        pair = between(findings.workloads[0].index.comparisons, system, against)
        assert pair is not None
        assert pair.low is not None
        assert pair.high is not None
        assert compatible(pair.low, pair.high) == ends


def test_equivalent_systems_share_the_place():
    text = answer_of(effects={"btrfs": 0.5}, noise=0.004, blocks=20)
    assert " are equivalent within ±2 % in postmark transactions (xfs against ext4: " in text
    assert re.search(r"; btrfs does .* \([\d.]+ to [\d.]+ %, \d+ blocks\) on this host.$", text)


def test_there_is_no_answer_before_simultaneous_intervals_exist():
    text = answer_of(effects={"xfs": 1.31, "btrfs": 0.7}, blocks=7)
    assert text.startswith("No verdict yet on postmark transactions on this host: 7 of the 10 ")


def test_before_the_first_look_there_is_no_answer():
    expected = "No verdict yet on postmark transactions on this host: 3 of the 10 blocks that the "
    assert answer_of(blocks=3).startswith(expected)


def test_without_trials_there_is_no_answer():
    expected = "No verdict yet on postmark: no trial of it is done."
    assert answer_of(blocks=0) == expected


def test_a_system_that_always_fails_is_named():
    _, run = synthetic_study()
    failed = [trial.key for trial in run.trials if trial.key.system == "btrfs"]
    text = answer_of(effects={"xfs": 1.31}, failed=failed)
    assert text.endswith(
        "no verdict in postmark transactions on xfs against btrfs, too many blocks failed "
        "on this host."
    )


@pytest.mark.parametrize(
    ("hosts", "where"),
    [
        (("bench@srv1", "bench@srv1", "bench@srv1"), "bench@srv1"),
        (("", "bench@srv1", "bench@srv1"), "this host and bench@srv1"),
        (("a@srv1", "b@srv2", "c@srv3"), "several hosts"),
        (("", "", ""), "this host"),
    ],
)
def test_the_hosts_of_the_systems_are_named(hosts, where):
    plan, run = synthetic_study(effects={"xfs": 1.31}, foreign_share=0.3)
    far = [
        system.model_copy(update={"settings": {**system.settings, "host": host}})
        for system, host in zip(plan.systems, hosts, strict=True)
    ]
    findings = analyse(plan.model_copy(update={"systems": tuple(far)}), run)
    assert findings.answer.endswith(f" on {where}.")
    advice = " ".join(notice.advice or "" for notice in findings.notices)
    assert f"Stop other work on {where}" in advice


@pytest.mark.parametrize("effect", [1.31, 0.7, 0.3])
def test_times_are_told_as_time(effect):
    shapes = {"unpack": Shape((card("time", "total time", "s", "lower"),), {"time": 3.0})}
    text = answer_of(
        systems=("ext4", "xfs"), workloads=("unpack",), effects={"xfs": effect}, shapes=shapes
    )
    assert text.startswith("xfs takes ")
    words = {1.31: "less time than", 0.7: "more time than", 0.3: "times the time of"}
    assert f"{words[effect]} ext4 in unpack total time (95 % CI " in text
    assert text.endswith(" blocks) on this host.")


@pytest.mark.parametrize("seed", range(25))
def test_the_answer_never_contradicts_the_table(seed):
    """Every system is told as beaten exactly when the index says so."""
    findings = analyse(
        *synthetic_study(
            effects={"xfs": 1.04, "btrfs": 0.97},
            noise=0.03,
            blocks=(7, 10, 20)[seed % 3],
            seed=seed,
        )
    )
    index = findings.workloads[0].index
    best = index.standings[0].system
    claims, subject = [], ""
    clause = r"(?:(\w+) does )?[\d.]+ % (more|fewer) [^(]*?than (\w+) \("
    for name, way, against in re.findall(clause, findings.answer):
        subject = name or subject
        claims.append((subject, way, against))
    for found in index.comparisons:
        if best not in (found.system, found.against):
            continue
        beaten = found.verdict == ("faster" if found.system == best else "slower")
        way = "more" if found.verdict == "faster" else "fewer"
        told = (found.system, way, found.against) in claims
        assert told == beaten
