"""The twelve rules, held against studies of which the answer is known."""

from support.across import pooled_studies, two_studies
from support.specimen import findings as specimen
from support.synthetic import synthetic_study
from tiltyard.analysis.collected import analyse_collection
from tiltyard.analysis.findings import analyse
from tiltyard.analysis.model import Findings
from tiltyard.analysis.statements.registry import rules
from tiltyard.collected.model import (
    CollectedMetric,
    CollectedSystem,
    CollectedWorkload,
    Collection,
    Origin,
    Reading,
)


def outcomes(findings: Findings) -> dict[int, str]:
    return {rule.number: rule.outcome for rule in rules(findings)}


def printed(values: int, n: int | None = None) -> Findings:
    """Two systems of which a source kept this many values, or only their mean."""
    systems = tuple(CollectedSystem(name=name, levels={"system": name}) for name in "ab")
    readings = tuple(
        Reading(
            metric="throughput",
            system=system.name,
            values=tuple(1e6 * (place + 1) + step for step in range(values)),
            mean=None if values else 1e6 * (place + 1),
            sd=1e4 if n else None,
            n=n,
        )
        for place, system in enumerate(systems)
    )
    metric = CollectedMetric(name="throughput", label="write", unit="B/s", direction="higher")
    workload = CollectedWorkload(name="w", use="w", metrics=(metric,), readings=readings)
    return analyse_collection(
        Collection(
            question="Which?",
            origin=Origin(title="A table"),
            systems=systems,
            baseline="a",
            workloads=(workload,),
        )
    )


def test_there_are_twelve_each_with_a_sentence() -> None:
    found = rules(specimen(workloads=("postmark",)))
    assert [rule.number for rule in found] == list(range(1, 13))
    assert all(rule.sentence.endswith(".") for rule in found)


def test_a_study_of_ours_meets_what_it_does_and_admits_what_it_does_not() -> None:
    findings = analyse(*synthetic_study(blocks=10))
    met = {1, 2, 3, 4, 5, 6, 7, 10, 12}
    assert {n for n, outcome in outcomes(findings).items() if outcome == "met"} == met
    recorded = findings.model_copy(update={"record": {"kernel": {"release": "6.1"}}})
    assert outcomes(recorded)[9] == "met"
    assert outcomes(findings)[11] == "not met"


def test_a_mean_over_cells_is_admitted() -> None:
    findings = analyse(*synthetic_study(workloads=("iozone",), blocks=10))
    fourth = rules(findings)[3]
    assert fourth.outcome == "not met"
    assert "over up to 78 cells" in fourth.sentence


def test_before_the_first_look_no_difference_is_claimed_to_be_sound() -> None:
    found = outcomes(analyse(*synthetic_study(blocks=3)))
    assert (found[5], found[6], found[7]) == ("not met", "does not apply", "not met")


def test_a_look_by_t_takes_noise_as_normal() -> None:
    plan, run = synthetic_study(blocks=10)
    looks = (plan.design.looks[0].model_copy(update={"t": 4.0}), *plan.design.looks[1:])
    design = plan.design.model_copy(update={"looks": looks})
    findings = analyse(plan, run).model_copy(update={"design": design})
    assert outcomes(findings)[6] == "not met"


def test_one_printed_number_a_cell_meets_little() -> None:
    found = outcomes(printed(values=0))
    assert [n for n, outcome in found.items() if outcome == "met"] == [1, 4]
    assert found[6] == "does not apply"


def test_means_with_deviations_have_intervals_that_assume_a_normal() -> None:
    found = outcomes(printed(values=0, n=5))
    assert (found[5], found[6], found[12]) == ("met", "not met", "not met")


def test_values_that_were_kept_can_be_drawn() -> None:
    found = outcomes(printed(values=5))
    assert (found[3], found[12]) == ("met", "met")


def test_studies_against_studies_are_judged_by_what_their_intervals_assume() -> None:
    two, pooled = rules(two_studies()), rules(pooled_studies())
    assert (two[5].outcome, pooled[5].outcome) == ("met", "not met")
    assert two[5].sentence == "Intervals are of exact ranks of sessions' means."
    assert "takes what a study adds as normal (Hartung and Knapp)" in pooled[5].sentence
    assert (two[6].outcome, pooled[6].outcome) == ("not met", "not met")
    assert "the systems did not take turns" in two[6].sentence
    assert "the systems took turns within each study" in pooled[6].sentence
    told = " ".join(notice.text for notice in two_studies().notices)
    assert "The studies did not take turns" in told
    assert "not recorded" not in told
    kept = [found.kept and found.kept.interleaved for found in (two_studies(), pooled_studies())]
    assert kept == [False, True]
