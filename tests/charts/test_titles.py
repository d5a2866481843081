"""Titles that are findings: from verdicts only, and descriptions of single values."""

import re
from collections.abc import Sequence

import pytest

from support.in_print import MBIT_S, ORIGIN
from tiltyard.analysis.collected import analyse_collection
from tiltyard.analysis.model import Findings, Index
from tiltyard.analysis.pairs import against
from tiltyard.analysis.verdict import Verdict
from tiltyard.charts import curves
from tiltyard.charts.titles import along_factor, ranked, tallied, titled
from tiltyard.collected.model import (
    CollectedMetric,
    CollectedSystem,
    CollectedWorkload,
    Collection,
    Reading,
)


def judged(index: Index, verdicts: dict[str, Verdict]) -> Index:
    """The same with other verdicts against the baseline, which is ext4."""
    pairs = tuple(
        pair.model_copy(update={"verdict": verdicts[pair.system]})
        if pair.against == "ext4"
        else pair
        for pair in index.comparisons
    )
    return index.model_copy(update={"comparisons": pairs})


@pytest.mark.parametrize(
    ("verdicts", "title"),
    [
        (("faster", "slower"), "xfs faster than ext4, btrfs slower"),
        (("slower", "slower"), "xfs and btrfs slower than ext4"),
        (("equivalent", "undecided"), "xfs equivalent to ext4, btrfs undecided"),
        (("undecided", "undecided"), "no difference to ext4 shown"),
        (("undecided", "invalid"), "no difference to ext4 shown"),
    ],
)
def test_a_ranking_claims_what_was_decided(
    findings: Findings, verdicts: tuple[Verdict, Verdict], title: str
) -> None:
    index = findings.workloads[0].index
    told = judged(index, dict(zip(("xfs", "btrfs"), verdicts, strict=True)))
    assert ranked(findings, told) == title


def test_without_an_interval_nothing_is_claimed(findings: Findings) -> None:
    index = findings.workloads[0].index
    bare = tuple(p.model_copy(update={"low": None, "high": None}) for p in index.comparisons)
    assert ranked(findings, index.model_copy(update={"comparisons": bare})) == ""
    assert titled("postmark", "", "Ranking") == "Ranking"


def test_every_count_of_a_title_is_one_of_verdicts(findings: Findings) -> None:
    workload = next(one for one in findings.workloads if one.by_metric)
    sides = along_factor(findings, workload.by_metric)
    text = tallied(sides, "test")
    parts = text.split("; ")
    assert len(parts) == len(sides) == 2
    for side, part in zip(sides, parts, strict=True):
        assert part.startswith(side.pair.system)
        told = {
            word: int(n) for word, n in re.findall(r"(faster|slower)(?: than ext4)? in (\d+)", part)
        }
        found = (
            pair for index in workload.by_metric for pair in against(index.comparisons, "ext4")
        )
        verdicts = [pair.verdict for pair in found if pair.system == side.pair.system]
        assert told == {word: n for word in ("faster", "slower") if (n := verdicts.count(word))}


def printed(lines: dict[str, Sequence[float]]) -> Findings:
    """Throughput in Mbit/s over messages of 64 B, 128 B …, one value a point."""
    readings = tuple(
        Reading(metric="throughput", system=name, at={"message": 64 << place}, mean=value * 1e6 / 8)
        for name, values in lines.items()
        for place, value in enumerate(values)
    )
    metric = CollectedMetric(
        name="throughput", label="throughput", unit="B/s", direction="higher", printed=MBIT_S
    )
    systems = tuple(CollectedSystem(name=name, levels={"os": name}) for name in lines)
    workload = CollectedWorkload(
        name="stream", use="tcp_stream", grid=("message",), metrics=(metric,), readings=readings
    )
    return analyse_collection(
        Collection(
            question="Which?",
            systems=systems,
            baseline=next(iter(lines)),
            workloads=(workload,),
            origin=ORIGIN,
        )
    )


STORIES: dict[str, tuple[dict[str, Sequence[float]], str, tuple[str, ...]]] = {
    "plateau": (
        {"windows": (1000, 2050, 2060, 2040, 2050), "rhel": (1000, 2080, 4000, 8600, 8600)},
        "rhel above windows at 3 of 5 points",
        ("windows flat at 2050 Mbit/s from 128 B on", "rhel from 1,000 Mbit/s (64 B)"),
    ),
    "crossing": (
        {"a": (100, 100, 100, 100), "b": (50, 90, 120, 300)},
        "b above a from 256 B on",
        ("a flat at 100 Mbit/s", "most at 512 B (300 Mbit/s"),
    ),
    "within the margin": (
        {"a": (100, 200, 300, 400), "b": (100.01, 200.02, 300.03, 400.04)},
        "",
        (),
    ),
    "two crossings": (
        {"a": (100, 100, 100, 100), "b": (150, 50, 150, 50)},
        "",
        (),
    ),
}


@pytest.mark.parametrize("name", STORIES)
def test_curves_of_single_values_are_described(name: str) -> None:
    lines, title, parts = STORIES[name]
    found = printed(lines)
    assert curves.finding(found, found.workloads[0]) == title
    told = curves.story(found, found.workloads[0])
    for part in parts:
        assert part.replace(",", "") in told.replace(",", ""), told


def test_a_hundredth_of_a_percent_is_not_better() -> None:
    found = printed({"a": (100, 200, 300), "b": (100.01, 200.02, 330)})
    assert tallied(along_factor(found, found.workloads[0].cells), "cell") == (
        "b better than a in 1 of 3 cells, by single values"
    )
