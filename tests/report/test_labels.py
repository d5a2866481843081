"""What is written in pictures, as they are drawn, is what the findings say: read back from SVG."""

import json
import re
from collections.abc import Iterator
from functools import cache

import pytest

from support.papers import labels_of
from support.printed_studies import SORTS
from support.printed_verdicts import INTERVAL, comparisons, contradictions
from support.synthetic import synthetic_study
from tiltyard.analysis.collected import analyse_collection
from tiltyard.analysis.findings import analyse
from tiltyard.analysis.model import Findings
from tiltyard.charts.chart import Spec
from tiltyard.charts.svg import to_svg
from tiltyard.report.document import Figure
from tiltyard.report.styles import STYLES
from tiltyard.report.styles.style import Style

AXIS = frozenset(f"{10 * step} %" for step in range(21)) | {"25 %", "75 %", "125 %"}
"""Ticks of an axis of shares."""


@cache
def ours() -> Findings:
    """Three systems, several tests; some comparisons are decided."""
    return analyse(
        *synthetic_study(
            workloads=("postmark", "iozone"), blocks=12, effects={"xfs": 1.2}, noise=0.05
        )
    )


@cache
def printed() -> Findings:
    return analyse_collection(SORTS["results"](1))


STUDIES = {"ours": ours, "printed": printed}


def told(spec: Spec, findings: Findings) -> list[str]:
    """What the labels of a picture say and the findings do not."""
    text = " | ".join(labels_of(to_svg(spec, "")))
    return [one for one in contradictions(text, findings) if not is_known(one, findings)]


def is_known(wrong: str, findings: Findings) -> bool:
    """A tick of an axis, or a difference in percent, to the digits that are printed."""
    share = re.fullmatch(r"([\d,.]+) % stands in no finding", wrong)
    if share is None:
        return False
    number = float(share[1].replace(",", ""))
    half = 0.5 * 10.0 ** -len(share[1].partition(".")[2]) * 1.001
    return f"{share[1]} %" in AXIS or any(abs(one - number) <= half for one in gains(findings))


def gains(findings: Findings) -> Iterator[float]:
    for pair, _ in comparisons(findings):
        if pair.ratio:
            yield abs(100 * (pair.ratio - 1))
            yield abs(100 * (1 / pair.ratio - 1))


@pytest.mark.parametrize("style", STYLES, ids=lambda style: style.name)
@pytest.mark.parametrize("name", STUDIES)
def test_labels_say_what_the_findings_say(name: str, style: Style) -> None:
    findings = STUDIES[name]()
    wrong = {one.id: told(one.wide, findings) for one in style.compose(findings).figures()}
    assert {id: found for id, found in wrong.items() if found} == {}


def with_intervals(name: str) -> Figure:
    figures = (one for style in STYLES for one in style.compose(STUDIES[name]()).figures())
    return next(
        one for one in figures if re.search(INTERVAL, json.dumps(one.wide, ensure_ascii=False))
    )


@pytest.mark.parametrize("instead", ["0.1234 … 0.1235", "verdict", "share"])
def test_a_label_that_contradicts_is_found(instead: str) -> None:
    findings = ours()
    text = json.dumps(with_intervals("ours").wide, ensure_ascii=False)
    if instead == "verdict":
        changed = re.sub(rf"(\({INTERVAL}\)), (?:faster|slower)", r"\1, equivalent", text, count=1)
    elif instead == "share":
        changed = re.sub(rf"\({INTERVAL}\)", "(+3,141.5 %)", text, count=1)
    else:
        changed = re.sub(INTERVAL, instead, text, count=1)
    assert changed != text
    assert told(json.loads(text), findings) == []
    assert told(json.loads(changed), findings) != []
