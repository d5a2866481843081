"""Names that people read: stated once, at the workload or its profile; machines keep theirs."""

import json
from pathlib import Path

import pytest

from support.across import pooled_studies
from support.network_studies import network_study
from support.synthetic import synthetic_study
from tiltyard.analysis.findings import analyse
from tiltyard.analysis.quantity import metric_of
from tiltyard.analysis.reader_weights import choices
from tiltyard.analysis.run_times import run_times
from tiltyard.analysis.statements.deltas import rows
from tiltyard.app.report import findings_of
from tiltyard.charts import forest
from tiltyard.executors.engine import Engine
from tiltyard.plan.model import Plan
from tiltyard.report.document import Document, Facts, Figure, Section, Table
from tiltyard.report.formats import FORMATS
from tiltyard.report.styles import STYLES
from tiltyard.run.record import RunRecord
from tiltyard.wire import Card
from tiltyard.workloads.catalogue import with_profiles
from tiltyard.workloads.load import read_ready

PUBLISHED = Path(__file__).resolve().parents[2] / "published"
NAME, TITLE = "tcp_stream", "TCP throughput"


def titled(plan: Plan, **titles: str) -> Plan:
    workloads = tuple(
        one.model_copy(update={"title": titles.get(one.spec.name, "")}) for one in plan.workloads
    )
    return plan.model_copy(update={"workloads": workloads})


def heads(document: Document) -> list[str]:
    def of(section: Section) -> list[str]:
        return [section.title, *(title for part in section.sections for title in of(part))]

    found = [title for section in document.sections for title in of(section)]
    return found + [b.title for b in document.blocks() if isinstance(b, Facts | Figure | Table)]


def test_deltas_of_several_metrics_have_the_title() -> None:
    plan, run = synthetic_study(("ext4", "xfs"), ("iozone",), blocks=7)
    told = [one.head for one in rows(analyse(titled(plan, iozone=TITLE), run))]
    assert f"{TITLE}, all metrics" in told
    assert not [head for head in told if "iozone" in head]


def test_run_times_have_the_title() -> None:
    plan, run = synthetic_study(("ext4", "xfs"), ("iozone",), blocks=7)
    (cell,) = run_times(analyse(titled(plan, iozone=TITLE), run))
    assert (cell.metric, cell.label) == ("iozone", TITLE)


def test_every_native_workload_has_words_of_its_own() -> None:
    for card in Engine.find().describe().workloads:
        if card.name != "program":
            assert card.title, card.name
            assert "_" not in card.title or card.name == "fs_mark", card.title


def test_titles_are_unique_and_those_of_profiles_are_read() -> None:
    cards: list[Card] = with_profiles(Engine.find().describe(), read_ready()).whole().workloads
    shown = [card.title or card.name for card in cards]
    assert len({title.casefold() for title in shown}) == len(shown)
    by_name = {card.name: card for card in cards}
    assert by_name["kernel-build"].title == "Kernel build"
    assert by_name["zstd"].title == ""


@pytest.mark.parametrize(
    ("study", "name", "label"),
    [
        (network_study(effects={"optimized": 1.1}), NAME, f"{TITLE} received"),
        (synthetic_study(workloads=("postmark", "iozone")), "postmark", f"{TITLE} transactions"),
    ],
    ids=["of a grid", "of one cell"],
)
def test_headings_figures_and_sentences_have_the_title_and_machines_the_name(
    study: tuple[Plan, RunRecord], name: str, label: str
) -> None:
    plan, run = study
    names = [one.spec.name for one in plan.workloads]
    findings = analyse(titled(plan, **dict.fromkeys(names, "X") | {name: TITLE}), run)
    assert label in findings.workloads[names.index(name)].index.label
    for style in STYLES:
        document = style.compose(findings)
        assert any(TITLE in head for head in heads(document)), style.name
        assert not [head for head in heads(document) if name in head], style.name
        assert not [figure.alt for figure in document.figures() if name in figure.alt], style.name
    assert label in [test.name for test in choices(findings).tests]
    told = " ".join(sentence for one in findings.workloads for sentence in (
        one.answer, *(pair.sentence for pair in one.index.comparisons)))  # fmt: skip
    told += " ".join(one.head for one in rows(findings))
    assert name not in told
    json_format = next(one for one in FORMATS if one.name == "json")
    data = json.loads(json_format.render(STYLES[0].compose(findings), findings)["report.json"])
    assert [one["name"] for one in data["workloads"]] == names


def test_a_picture_of_several_studies_has_the_title() -> None:
    findings = pooled_studies()
    own = findings.workloads[0].model_copy(update={"title": TITLE})
    assert forest.alt(findings, own).startswith(f"{TITLE} over 6 studies. ")


def test_two_of_a_kind_keep_the_names_that_the_study_gives_them() -> None:
    """A title is frozen only where the study gives no name."""
    plan, run = synthetic_study()
    findings = analyse(plan, run)
    assert [one.display for one in findings.workloads] == ["postmark"]
    assert analyse(titled(plan, postmark="PostMark"), run).answer == findings.answer.replace(
        "postmark", "PostMark"
    )


def test_a_printed_study_has_them() -> None:
    findings = findings_of(PUBLISHED / "netperf-rhel6")
    assert [one.display for one in findings.workloads][:2] == ["TCP throughput", "UDP throughput"]
    assert findings.workloads[0].name == "tcp_stream"


@pytest.mark.parametrize(
    ("display", "label", "told"),
    [
        ("TCP throughput", "TCP streaming throughput", "TCP streaming throughput"),
        ("TCP throughput", "throughput received", "TCP throughput received"),
        (
            "TCP request/response",
            "TCP round-trip latency",
            "TCP request/response round-trip latency",
        ),
        ("run time", "run time", "run time"),
        ("write throughput", "random write", "random write throughput"),
        ("Compile Bench", "Compile", "Compile Bench, Compile"),
        ("PostMark", "total time", "PostMark, total time"),
    ],
)
def test_where_names_of_workload_and_metric_meet_each_word_is_said_once(
    display: str, label: str, told: str
) -> None:
    assert metric_of("name", display, label, ", ") == told


def test_no_test_of_a_printed_study_repeats_its_words() -> None:
    for name in ("netperf-rhel6", "iozone-rhel6", "iozone-magazine"):
        findings = findings_of(PUBLISHED / name)
        tests = [test.name for test in choices(findings).tests]
        tests += [row.head for row in rows(findings)]
        assert tests
        for test in tests:
            words = test.replace(",", "").split()
            assert len(words) == len(set(words)), test
