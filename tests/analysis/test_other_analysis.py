"""Two analyses of one study: which of them decides, and what stands beside it."""

import dataclasses

import numpy as np
import pytest
from msgspec.structs import replace

from support.contrasts import FASTER, design_of, judged, quantity_of
from support.sessions import synthetic_sessions
from support.synthetic import synthetic_study
from tiltyard.analysis.findings import analyse
from tiltyard.analysis.model import Comparison
from tiltyard.analysis.other_analysis import other_analysis
from tiltyard.analysis.sessions import analyse_sessions
from tiltyard.host.telemetry import Telemetry
from tiltyard.plan.model import Plan
from tiltyard.run.record import RunRecord, TrialRecord
from tiltyard.run.samples import Samples
from tiltyard.study.model import Analysis, Covariate

COST = 80
"""Time lost by the time that others take: so many times as much."""
MOST = 0.008
"""That they take of a trial: both systems' shares are then the same within the margin for them."""
BOTH: tuple[Covariate, ...] = ("external_cpu", "steal")


def planned(plan: Plan, verdict: Analysis, adjust_for: tuple[Covariate, ...] = BOTH) -> Plan:
    design = plan.design.model_copy(update={"verdict": verdict, "adjust_for": adjust_for})
    return plan.model_copy(update={"design": design})


def disturbed(trial: TrialRecord, share: float, factor: float) -> TrialRecord:
    """Others had a share of the CPU; the trial was slower by it, and by a factor of its system."""
    telemetry = Telemetry(
        elapsed_s=1e3, cpus=(1,), external_cpus=1, external_s=1e3 * share, external_steal_s=0.0
    )
    slower = (1 - share) ** COST * factor
    samples = tuple(replace(sample, value=sample.value * slower) for sample in trial.samples)
    return trial.model_copy(update={"telemetry": telemetry, "samples": Samples.of(samples)})


def study(factor: float = 1.0) -> tuple[Plan, RunRecord]:
    """Twenty blocks of two systems; others cost up to half of the speed of each trial."""
    rng = np.random.default_rng(4)
    plan, run = synthetic_study(("ext4", "xfs"), ("postmark",), blocks=20, noise=0.01)
    trials = tuple(
        disturbed(trial, rng.uniform(0, MOST), factor if trial.key.system == "xfs" else 1.0)
        for trial in run.trials
    )
    return plan, run.model_copy(update={"trials": trials})


def headline(plan: Plan, run: RunRecord) -> Comparison:
    (workload,) = analyse(plan, run).workloads
    (found,) = workload.index.comparisons
    return found


def test_the_named_analysis_decides_and_the_other_stands_beside_it() -> None:
    plan, run = study(factor=0.92)
    plain, adjusted = (headline(planned(plan, named), run) for named in ("unadjusted", "adjusted"))
    assert plain.verdict == "undecided"
    assert adjusted.verdict == "slower"
    assert plain.beside is not None
    assert adjusted.beside is not None
    assert (plain.beside.analysis, adjusted.beside.analysis) == ("adjusted", "unadjusted")
    for found, beside in ((plain, adjusted.beside), (adjusted, plain.beside)):
        assert (found.ratio, found.low, found.high, found.verdict, found.p) == (
            beside.ratio,
            beside.low,
            beside.high,
            beside.verdict,
            beside.p,
        )
    assert adjusted.ratio == pytest.approx(0.92, abs=0.02)
    assert adjusted.low is not None
    assert adjusted.high is not None
    assert adjusted.low < 0.92 < adjusted.high
    assert plain.beside.explained == adjusted.beside.explained
    assert plain.beside.explained is not None
    assert plain.beside.explained > 0.9
    assert plain.beside.covariates == ("external_cpu",), "steal was none in all blocks"


def test_both_are_told_from_either_side_and_in_words() -> None:
    plan, run = study()
    found = headline(planned(plan, "unadjusted"), run)
    assert found.beside is not None
    assert found.beside.sentence.startswith("xfs against ext4 in postmark")
    assert ", adjusted for what others did: " in found.beside.sentence
    assert found.beside.verdict in found.beside.sentence
    assert "on the CPUs that measure explains 100 % of the variance" in found.beside.sentence
    sentence = analyse(planned(plan, "unadjusted"), run).design_sentence
    assert "Declared as the verdict before the first trial: unadjusted." in sentence


def test_an_end_at_equality_that_is_not_in_the_interval_says_so() -> None:
    """Two of three pairs are far apart, so that Holm's procedure shows the third one too."""
    rng = np.random.default_rng(4)
    plan, run = synthetic_study(blocks=20, noise=0.03)
    speeds = {"ext4": 1.0, "xfs": 0.95, "btrfs": 0.5}
    trials = tuple(
        disturbed(one, rng.uniform(0, MOST / 3), speeds[one.key.system]) for one in run.trials
    )
    run = run.model_copy(update={"trials": trials})
    (workload,) = analyse(planned(plan, "unadjusted"), run).workloads
    (found,) = (one.beside for one in workload.index.comparisons if one.system == "xfs")
    assert found is not None
    assert (found.verdict, found.high) == ("slower", 1.0)
    assert "slower (simultaneous 95 % CI −9.7 to < 0.0 %, " in found.sentence


def test_another_look_without_any_covariate_is_explained() -> None:
    """Others disturb the third system alone, and all three pairs are one family."""
    rng = np.random.default_rng(0)
    plan, run = synthetic_study(blocks=20, noise=0.03)
    speeds, others = {"ext4": 1.0, "xfs": 0.95, "btrfs": 0.8}, {"btrfs": MOST}
    trials = tuple(
        disturbed(one, rng.uniform(0, others.get(one.key.system, 0)), speeds[one.key.system])
        for one in run.trials
    )
    run = run.model_copy(update={"trials": trials})
    (workload,) = analyse(planned(plan, "unadjusted"), run).workloads
    (found,) = (one for one in workload.index.comparisons if one.system == "xfs")
    assert found.beside is not None
    assert (found.blocks, found.beside.blocks, found.beside.covariates) == (10, 20, ())
    explained = "; it rests on another look only because all comparisons are corrected together."
    assert found.beside.sentence.endswith(explained)
    rest = [one.beside.sentence for one in workload.index.comparisons if one.beside]
    assert sum(explained in sentence for sentence in rest) == 1


@pytest.mark.parametrize("named", ["unadjusted", "adjusted"])
def test_a_system_that_makes_others_work_has_no_adjusted_verdict_and_is_named(
    named: Analysis,
) -> None:
    """xfs wakes others for 4 % of the time and is slower by 2.5 %; adjusted it would be faster."""
    rng = np.random.default_rng(4)
    plan, run = synthetic_study(("ext4", "xfs"), ("postmark",), blocks=20, noise=0.005)
    trials = tuple(
        disturbed(trial, share + 0.04, 0.975 / 0.96**COST)
        if trial.key.system == "xfs"
        else disturbed(trial, share, 1.0)
        for trial, share in zip(run.trials, rng.uniform(0, MOST, len(run.trials)), strict=True)
    )
    found = headline(planned(plan, named), run.model_copy(update={"trials": trials}))
    assert found.beside is not None
    plain, adjusted = (found, found.beside) if named == "unadjusted" else (found.beside, found)
    assert plain.verdict in ("undecided", "slower")
    assert adjusted.verdict == "undecided"
    assert (
        "xfs makes others work, which adjusting would hide: CPU time left by other processes, "
        "against ext4 95 % CI −4" in adjusted.sentence
    )


def test_the_one_that_makes_others_work_is_named_on_either_side() -> None:
    plan, run = study()
    trials = tuple(
        disturbed(trial, 0.0 if trial.key.system == "xfs" else 0.03, 1.0) for trial in run.trials
    )
    found = headline(planned(plan, "adjusted"), run.model_copy(update={"trials": trials}))
    assert "ext4 makes others work" in found.sentence
    assert "against xfs 95 % CI −3" in found.sentence
    assert found.more_needed is None


def test_where_others_vary_too_much_to_know_there_is_no_adjusted_verdict() -> None:
    """What they took of one side by chance looks as if it had made them."""
    rng = np.random.default_rng(4)
    plan, run = synthetic_study(("ext4", "xfs"), ("postmark",), blocks=20, noise=0.01)
    trials = tuple(disturbed(trial, rng.uniform(0, 0.3), 1.0) for trial in run.trials)
    found = headline(planned(plan, "adjusted"), run.model_copy(update={"trials": trials}))
    assert found.verdict == "undecided"
    assert (
        "no adjusted verdict: CPU time left by other processes is not shown to be the same of both "
        "within ±0.5 % (95 % CI −" in found.sentence
    )


def test_where_nothing_is_known_of_others_there_is_one_analysis() -> None:
    plan, run = study()
    unknown = tuple(trial.model_copy(update={"telemetry": None}) for trial in run.trials)
    silent = run.model_copy(update={"trials": unknown})
    assert headline(planned(plan, "unadjusted"), silent).beside is None
    assert headline(planned(plan, "adjusted"), silent).beside is None
    assert headline(planned(plan, "unadjusted", ()), run).beside is None


def test_blocks_of_which_nothing_is_known_are_taken_as_they_are() -> None:
    plan, run = study()
    half = tuple(
        trial.model_copy(update={"telemetry": None}) if trial.key.block % 2 else trial
        for trial in run.trials
    )
    found = headline(planned(plan, "unadjusted"), run.model_copy(update={"trials": half}))
    assert found.beside is not None
    assert found.beside.explained is not None
    assert 0 < found.beside.explained < 0.9


def seen_by(run: RunRecord, times: float = 1, **seen: object) -> RunRecord:
    """The same trials, of each of which the host tells otherwise; so many times what others had."""
    trials = []
    for trial in run.trials:
        assert trial.telemetry
        taken_s = times * (trial.telemetry.external_s or 0)
        telemetry = trial.telemetry.model_copy(update={"external_s": taken_s} | seen)
        trials.append(trial.model_copy(update={"telemetry": telemetry}))
    return run.model_copy(update={"trials": tuple(trials)})


def test_what_others_took_is_a_share_of_all_cpus_that_were_counted() -> None:
    """A program that is not pinned may use all: others may take more than one CPU has."""
    plan, run = study()
    plan = planned(plan, "unadjusted")
    counted = seen_by(run, times=8, cpus=(), external_cpus=8)
    alone, found = (headline(plan, one).beside for one in (run, counted))
    assert alone
    assert found
    assert alone.covariates == ("external_cpu",)
    assert found.explained == alone.explained


@pytest.mark.parametrize(
    "seen",
    [
        {"external_s": 2200.0},
        {"cpus": (), "external_s": 2200.0, "external_cpus": 2},
        {"external_s": 400.0, "external_cpus": None},
    ],
    ids=["capped", "capped of two", "of nobody knows how many"],
)
def test_what_is_not_known_is_not_the_same_of_both_sides(seen: dict[str, object]) -> None:
    plan, run = study()
    found = headline(planned(plan, "unadjusted"), seen_by(run, 1, **seen))
    assert found.beside
    assert found.beside.covariates == ()
    assert found.beside.explained is None
    assert "; what others took is not known in 20 of 20 blocks." in found.beside.sentence
    assert "the same of both sides" not in found.beside.sentence


def test_the_same_of_both_sides_is_said_where_all_blocks_tell_it() -> None:
    plan, run = study()
    quiet = seen_by(run, external_s=0.0)
    silent = tuple(
        trial.model_copy(update={"telemetry": None}) if trial.key.block == 2 else trial
        for trial in quiet.trials
    )
    known = headline(planned(plan, "unadjusted"), quiet).beside
    lacking = headline(
        planned(plan, "unadjusted"), quiet.model_copy(update={"trials": silent})
    ).beside
    assert known
    assert lacking
    same = "others took the same of both sides in every block, as far as the host tells"
    assert same in known.sentence
    assert same not in lacking.sentence
    assert "what others took is not known in 1 of 20 blocks" in lacking.sentence


def test_the_analysis_is_a_part_of_the_plan() -> None:
    plan, _ = study()
    assert planned(plan, "unadjusted", ()).hash == plan.hash
    assert planned(plan, "adjusted").hash != plan.hash


def test_the_means_of_sessions_are_adjusted_by_the_means_of_what_others_took() -> None:
    """Each session of six blocks is one difference, and one of each covariate."""
    rng = np.random.default_rng(6)
    groups = [
        dataclasses.replace(
            group,
            plan=planned(group.plan, "unadjusted"),
            run=group.run.model_copy(
                update={
                    "trials": tuple(
                        disturbed(trial, rng.uniform(0, MOST), 1.0) for trial in group.run.trials
                    )
                }
            ),
        )
        for group in synthetic_sessions((0.1,) * 8, 8)
    ]
    (found,) = analyse_sessions(groups).workloads[0].index.comparisons
    beside = found.beside
    assert beside is not None
    assert (found.blocks, beside.blocks, beside.covariates) == (8, 8, ("external_cpu",))
    assert None not in (found.low, found.high, beside.low, beside.high, beside.explained)
    assert (beside.explained or 0) > 0.9
    assert (beside.low or 0) < np.exp(0.1) < (beside.high or 0)
    assert (beside.high or 0) - (beside.low or 0) < 0.3 * ((found.high or 0) - (found.low or 0))


def test_an_analysis_that_was_not_computed_is_no_third_verdict() -> None:
    """Its verdict would read "undecided" beside the one that the pair has."""
    (contrast,) = judged(quantity_of(FASTER)).contrasts
    (early,) = judged(quantity_of(FASTER[:6])).contrasts
    assert other_analysis(dataclasses.replace(contrast, beside=early), design_of()) is None
    both = other_analysis(dataclasses.replace(early, beside=early), design_of())
    assert both is not None
    assert both.sentence.endswith("undecided; too few blocks.")
