"""What the judging found is on the page: levels, ranks, effects, observations, disturbed blocks."""

import pytest

from support.judged import CALIBRATION, judged
from support.pages import page_of, part_of, rows_of
from support.reading import Reading
from support.specimen import findings as specimen
from support.synthetic import factorial_study
from tiltyard.analysis.findings import analyse
from tiltyard.analysis.line import interval_text, ratio_text
from tiltyard.analysis.model import Effect, Findings
from tiltyard.charts.effects import effect_label
from tiltyard.report.document import Fold, Sentences
from tiltyard.report.sections import ranking_table
from tiltyard.report.sections.claim_blocks import observations
from tiltyard.report.sections.entries import levels_above
from tiltyard.report.sections.trials import trial_table

FACTORS = {"filesystem": ("ext4", "xfs", "btrfs"), "kernel": ("3.12", "3.13")}


def spaced(text: str) -> str:
    return " ".join(text.split())


def section_of(page: str, name: str) -> str:
    """The text of one section."""
    return Reading(part_of(page, name)).text


@pytest.fixture(scope="module")
def plain() -> Findings:
    """A factorial study of two workloads, as it is analysed."""
    return analyse(
        *factorial_study(
            FACTORS, {("3.13", "xfs"): 1.1}, blocks=10, workloads=("postmark", "iozone")
        )
    )


@pytest.fixture(scope="module")
def full(plain: Findings) -> Findings:
    return judged(plain)


@pytest.fixture(scope="module")
def page(full: Findings) -> str:
    return page_of(full)


def test_every_sentence_is_there(full: Findings, page: str) -> None:
    text = Reading(page).text
    assert full.disturbed is not None
    told: list[str] = [full.disturbed.sentence, CALIBRATION.sentence]
    for workload in full.workloads:
        told += [effect.sentence for effect in workload.effects if effect.kind != "simple"]
        told += [o.sentence for o in workload.observations]
        told += [o.evidence for o in workload.observations]
        told += [own.sentence for own in (workload.steadiness, workload.replication) if own]
    assert [sentence for sentence in told if spaced(sentence) not in text] == []


def test_every_effect_has_its_line(full: Findings, page: str) -> None:
    rows = rows_of(page)
    for workload in full.workloads:
        for effect in workload.effects:
            line = f"{effect_label(effect)} {ratio_text(effect)} {interval_text(effect)}"
            assert any(row.startswith(line) for row in rows), line


def test_an_interaction_is_not_called_faster(full: Findings) -> None:
    effects = [e for w in full.workloads for e in w.effects if e.verdict == "faster"]
    words = {(e.kind, ranking_table.effect_word(e, "time")) for e in effects}
    assert words == {("main", "faster"), ("simple", "faster"), ("interaction", "gains more")}


def test_ranks_are_those_that_the_data_leave(full: Findings, page: str) -> None:
    rows = rows_of(page)
    for standing in full.workloads[0].index.standings:
        assert any(
            row.startswith(f"{ranking_table.rank_text(standing)} ") and standing.system in row
            for row in rows
        )
    assert ranking_table.rank_text(full.workloads[0].index.standings[0]) == "1–2"
    assert ranking_table.rank_text(full.workloads[0].index.standings[-1]) == "6"


def test_no_file_has_a_rank_that_the_page_has_not(full: Findings) -> None:
    """CSV and XLSX write numbers where there are some: a rank of "1–2" is none."""
    index = full.workloads[0].index
    (table, *_) = ranking_table.ranked_table(full, index, "ranks", "Ranks")
    entries = [row[0] for row in table.rows]
    assert {entry.value is None for entry in entries} == {True, False}
    for entry in entries:
        assert (entry.value is None) == ("–" in entry.text)
        if entry.value is not None:
            assert entry.text == f"{entry.value:g}"


def test_wider_intervals_are_explained_once_and_not_called_95(page: str, full: Findings) -> None:
    first = part_of(page, "verdict")
    assert first.count("The level of each alone is 98.3") == len(full.workloads)
    assert "95 % CI</th>" not in first


def test_the_usual_level_needs_no_words() -> None:
    text = Reading(page_of(specimen(workloads=("postmark",)))).text
    assert "95 % CI" in text
    assert "imultaneous 95 %" not in text
    assert "false coverage rate" not in text


def test_many_pairs_are_folded_but_there(page: str, full: Findings) -> None:
    index = full.workloads[0].index
    first, others = ranking_table.pairs_to_print(index, full.baseline)
    assert len(first) == 5
    assert len(others) == 10
    assert {*first, *others} == {*index.comparisons}
    assert "The other pairs (10)" in page


def test_disturbed_blocks_with_reasons_and_sensitivity(page: str, full: Findings) -> None:
    assert full.disturbed is not None
    text = section_of(page, "disturbed")
    for reasons in full.disturbed.reasons.values():
        assert all(reason in text for reason in reasons)
    for line in full.disturbed.sensitivity:
        assert f"{line.label} {line.without} {line.with_disturbed} changed" in text
    assert "p = 0.31" in text
    marked = [row[-1].text.endswith(", in a disturbed block") for row in trial_table(full).rows]
    assert marked == [trial.block in full.disturbed.blocks for trial in full.trials]
    # A page that is full has fewer rows.
    assert 0 < page.count("in a disturbed block") <= sum(marked)


def test_interference_that_goes_with_a_system_is_a_result(full: Findings) -> None:
    assert full.disturbed is not None
    related = full.disturbed.model_copy(update={"related_p": 0.004})
    text = Reading(page_of(full.model_copy(update={"disturbed": related}))).text
    assert "p = 0.004; interference is related to the system" in text


def test_nothing_is_said_of_what_was_not_found(plain: Findings) -> None:
    one = specimen(workloads=("iozone",), tests=("write",))
    text = Reading(page_of(one)).text
    for words in ("Further findings", "Disturbed", "Effects of the factors", "was decided"):
        assert words not in text
    assert "Effects of the factors" in Reading(page_of(plain)).text


def test_the_third_number_is_that_of_the_calibration(full: Findings, page: str) -> None:
    text = Reading(page).text
    assert "smallest difference 5.8 %" in text
    assert "The smallest difference is one that 80 % of comparisons find on this host" in text
    assert "calibration c7f3a91e" in text
    assert full.calibration is not None
    assert full.calibration.date in text


def test_a_host_without_calibration_says_so(plain: Findings) -> None:
    text = Reading(page_of(plain)).text
    assert "not calibrated (tiltyard calibrate)" in text
    assert "This host was not calibrated when the study was run" in text


def test_of_another_host_its_calibration_is_asked_for(plain: Findings) -> None:
    text = Reading(page_of(plain.model_copy(update={"where": "bench@srv1"}))).text
    assert "bench@srv1 is not calibrated (tiltyard calibrate --host bench@srv1)" in text
    assert "bench@srv1 was not calibrated when the study was run" in text


def test_of_several_hosts_no_calibration_is_asked_for(plain: Findings) -> None:
    text = Reading(page_of(plain.model_copy(update={"where": "several hosts"}))).text
    assert "a calibration is of one host, not of several hosts" in text
    assert "A calibration is of one host, and this study was measured on several hosts" in text
    assert "(tiltyard calibrate)" not in text


def test_what_the_calibration_of_another_host_says_is_said_of_it(full: Findings) -> None:
    text = Reading(page_of(full.model_copy(update={"where": "bench@srv1"}))).text
    assert "The smallest difference is one that 80 % of comparisons find on bench@srv1" in text


def test_pairs_that_stopped_at_different_looks_are_listed(full: Findings, page: str) -> None:
    text = Reading(page).text
    for workload in full.workloads:
        seven, ten = ranking_table.stops(workload)
        assert (seven.blocks, len(seven.comparisons)) == (7, 1)
        assert (ten.blocks, len(ten.comparisons)) == (10, 14)
        assert ranking_table.stop_text(seven, "block") in text


def test_a_plan_that_shrank_shows_how_far_each_system_was_run(full: Findings) -> None:
    assert ranking_table.blocks_run(full) == {}
    torn = full.model_copy(update={"trials": full.trials[:-3]})
    assert ranking_table.blocks_run(torn) == {}
    kept = tuple(t for t in full.trials if t.system != "btrfs 3.12" or t.block <= 7)
    shrunk = full.model_copy(update={"trials": kept})
    assert ranking_table.blocks_run(shrunk)["postmark"]["btrfs 3.12"] == 7
    assert "postmark 10 10 10 10 7 10" in rows_of(page_of(shrunk))


def test_undecided_comparisons_are_limits() -> None:
    findings = analyse(
        *factorial_study(FACTORS, blocks=10, noise=0.1, workloads=("postmark",), seed=5)
    )
    found = ranking_table.undecided(findings)
    assert len(found) == sum(
        comparison.verdict == "undecided"
        for table in findings.workloads[0].compared
        for comparison in table.comparisons
    )
    limits = section_of(page_of(findings), "limits")
    assert all(spaced(comparison.sentence) in limits for comparison in found)


def test_absolute_figures_stand_beside_ratios(plain: Findings) -> None:
    rows = rows_of(page_of(plain))
    for cell in plain.workloads[0].cells:
        for summary in cell.summaries:
            assert any(f"{summary.system} {len(summary.values)} " in row for row in rows)


@pytest.mark.parametrize(
    ("levels", "text"),
    [((), ""), ((0.95,), ""), ((0.95, 0.983), "98.3 %"), ((0.975, 0.991), "97.5 % to 99.1 %")],
)
def test_levels_above_the_usual_one(levels: tuple[float, ...], text: str) -> None:
    assert levels_above(levels) == text


def test_effects_of_metrics_have_tables_of_their_own(plain: Findings) -> None:
    iozone = plain.workloads[1]
    tables = list(ranking_table.effect_tables(iozone))
    assert tables[0].topic == iozone.index.label
    assert len(tables) == 1 + len(iozone.by_metric)
    shown: list[Effect] = [e for table in tables for group in table.groups for e in group]
    assert sorted(e.sentence for e in shown) == sorted(e.sentence for e in iozone.effects)


def test_the_same_findings_give_the_same_page(full: Findings, page: str) -> None:
    assert page_of(Findings.model_validate_json(full.model_dump_json())) == page


def test_of_findings_of_one_kind_the_largest_three_are_shown(plain: Findings) -> None:
    """Eight sentences that differ in names and numbers only are a list that nobody reads."""
    told = judged(plain)
    (own, *_) = (one for one in told.workloads if one.observations)
    one = own.observations[0]
    many = tuple(one.model_copy(update={"sentence": f"Tail no. {n}."}) for n in range(5))
    other = one.model_copy(update={"kind": "another", "sentence": "Another kind."})
    shown, more, tests = observations(own.model_copy(update={"observations": (*many, other)}))
    assert shown == Sentences(("Tail no. 0.", "Tail no. 1.", "Tail no. 2.", "Another kind."))
    assert more == Fold("2 more of these kinds", (Sentences(("Tail no. 3.", "Tail no. 4.")),))
    assert isinstance(tests, Fold)
    few = own.model_copy(update={"observations": many[:3]})
    assert len(observations(few)) == 2
