"""The reader's own view in a real browser: its numbers are those that the lab makes."""

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

import numpy as np
import pytest

from support.browser import accessible, needs_chromium, opened, without_policy
from support.collections import collection, metric
from support.pages import page_of
from support.shapes import Shape, card
from support.synthetic import synthetic_study
from tiltyard.analysis.collected.findings import analyse_collection
from tiltyard.analysis.dataset import Dataset, Sample
from tiltyard.analysis.estimators import unpaired
from tiltyard.analysis.findings import analyse
from tiltyard.analysis.line import Line, interval_text, ratio_text
from tiltyard.analysis.model import Findings, Pair
from tiltyard.collected.model import Collection, Reading
from tiltyard.plan.model import TrialKey
from tiltyard.stats.sequential import repeated_interval

SCRIPT = (Path(__file__).parent / "view.js").read_text()
TESTS = 14
ONE = ",".join(["1"] + ["0"] * (TESTS - 1))
FRAGMENTS = (
    "#view&base=btrfs",
    "#view&base=xfs&unit=percent&axis=linear",
    f"#view&weights={ONE}",
    f"#view&base=btrfs&unit=percent&weights={','.join((['3', '0.5', '0'] * 5)[:TESTS])}",
    "#view&hide=xfs&base=nobody&unit=parsecs&weights=1,2",
)

ALONE = Shape((card("rate", "transactions", "1/s", "higher"),), {"rate": 3000.0})

pytestmark = needs_chromium


def looked_at(
    findings: Findings, folder: Path, sent: Sequence[str] = FRAGMENTS, script: str = SCRIPT
) -> dict[str, Any]:
    """What a reader sees of some views."""
    fragments = json.dumps(sent)
    acted = f"<script>const FRAGMENTS = {fragments};\n{script}</script></body>"
    page = without_policy(page_of(findings)).replace("</body>", acted)
    found: dict[str, Any] = json.loads(opened(page, folder))
    return found


@pytest.fixture(scope="module")
def seen(findings: Findings, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    return looked_at(findings, tmp_path_factory.mktemp("view"))


@pytest.fixture(scope="module")
def fast() -> Findings:
    """At its first look, which is a t-test, with trials that failed."""
    failed = [TrialKey(block=2, system="btrfs", workload="postmark")]
    plan, record = synthetic_study(
        workloads=("iozone", "postmark"), blocks=9, effects={"xfs": 1.3}, profile="fast",
        failed=failed,
    )  # fmt: skip
    return analyse(plan, record)


@dataclass(frozen=True)
class Estimate:
    """One line of a view."""

    ratio: float
    low: float | None
    high: float | None


def logs_of(findings: Findings) -> list[dict[tuple[str, int], float]]:
    """Of each test the mean logarithm by system and block, made from the values of the cells."""
    found = []
    for workload in findings.workloads:
        for _, grouped in groupby(workload.cells, key=lambda cell: cell.metric):
            logs: dict[tuple[str, int], list[float]] = {}
            for cell in grouped:
                sign = 1 if cell.direction == "higher" else -1
                for one in cell.summaries:
                    for block, value in zip(one.blocks, one.values, strict=True):
                        logs.setdefault((one.system, block), []).append(sign * np.log(value))
            found.append({key: float(np.mean(own)) for key, own in logs.items()})
    return found


def default_weights(findings: Findings) -> list[float]:
    """The tests that measure what the most of them do."""
    cells = [
        next(grouped)
        for workload in findings.workloads
        for _, grouped in groupby(workload.cells, key=lambda cell: cell.metric)
    ]
    kinds = [(cell.unit, cell.direction) for cell in cells]
    return [float(kind == max(kinds, key=kinds.count)) for kind in kinds]


def expected(findings: Findings, fragment: str) -> list[list[str]]:
    """The rows of a view, by the functions of the lab."""
    given = {name: values[0] for name, values in parse_qs(fragment).items()}
    systems = [system.name for system in findings.systems]
    base = given.get("base", "")
    base = base if base in systems else findings.baseline
    tests = logs_of(findings)
    weights = [float(one) for one in given.get("weights", "1").split(",")]
    weights = weights if len(weights) == len(tests) else default_weights(findings)
    rows = []
    for system in systems:
        if system in (base, given.get("hide")):
            continue
        chosen = [(test, weight) for test, weight in zip(tests, weights, strict=True) if weight]
        both = set.intersection(
            *({b for s, b in test if s == one} for test, _ in chosen for one in (system, base))
        )
        own = np.array([weight for _, weight in chosen])
        differences = np.array(
            [
                own @ [test[system, block] - test[base, block] for test, _ in chosen] / own.sum()
                for block in sorted(both)
            ]
        )
        rows.append([system, *words(findings, differences, given.get("unit", "ratio"))])
    return rows


def words(findings: Findings, differences: "np.ndarray[Any, Any]", unit: str) -> Sequence[str]:
    spending = findings.design.spending
    level = 0.05 / (len(findings.systems) * (len(findings.systems) - 1) // 2)
    # A family leaves out a look that has no interval of its level.
    looks = [own for at, own in enumerate(spending.looks) if spending.has_interval(at, level)]
    rested = max(blocks for blocks, _ in looks if blocks <= len(differences))
    found = repeated_interval(
        differences[:rested], spending.profile, spending.looks, spending.strict, level
    )
    assert found is not None
    bounds = [float(np.exp(one)) for one in (found.estimate, found.low, found.high)]
    estimate = Estimate(*bounds)
    if unit != "percent":
        return ratio_text(estimate), interval_text(estimate), str(found.blocks)
    return *in_percent(*bounds), str(found.blocks)


def in_percent(ratio: float, low: float | None, high: float | None) -> tuple[str, str]:
    """An estimate and its interval as the tables of the report have them, each with its unit."""
    line = Line(Pair(system="b", against="a", within=""), ratio, low, high, "undecided", "higher")
    ends = (f"{end}\xa0%" for end in line.interval.split(" … "))
    return f"{line.text}\xa0%", " … ".join(ends)


def test_every_number_is_the_one_that_the_lab_makes(
    seen: dict[str, Any], findings: Findings
) -> None:
    assert len(logs_of(findings)) == TESTS
    assert seen["first"]["rows"] == expected(findings, "")
    for fragment in FRAGMENTS:
        assert seen["sent"][fragment]["rows"] == expected(findings, fragment), fragment
    assert len({json.dumps(one["rows"]) for one in seen["sent"].values()}) == len(FRAGMENTS)


def test_at_a_look_by_t_and_with_failed_trials_too(fast: Findings, tmp_path: Path) -> None:
    assert fast.design.spending.constants(0, 0.05 / 3)[1] > 0
    seen = looked_at(fast, tmp_path)
    assert seen["first"]["rows"] == expected(fast, "")
    for fragment in FRAGMENTS:
        assert seen["sent"][fragment]["rows"] == expected(fast, fragment), fragment
    assert {row[3] for row in seen["first"]["rows"]} == {"5"}


def test_the_view_of_all_tests_is_the_one_that_was_judged(
    seen: dict[str, Any], findings: Findings
) -> None:
    """Where every pair has been decided at the latest look, or at none."""
    judged = {one.system: one for one in findings.overall if one.against == findings.baseline}
    for system, ratio, _, blocks in seen["first"]["rows"]:
        assert judged[system].blocks == int(blocks)
        assert float(ratio) == pytest.approx(judged[system].ratio, rel=1e-3)


def test_it_says_that_it_is_no_verdict_and_what_it_is_of(seen: dict[str, Any]) -> None:
    for fragment in FRAGMENTS:
        assert seen["sent"][fragment]["said"].startswith("Your view, no verdict: ")
    assert (
        "postmark" in seen["sent"][FRAGMENTS[2]]["said"]
        or "iozone" in (seen["sent"][FRAGMENTS[2]]["said"])
    )
    assert "weighted geometric mean of 10 of 14 tests" in seen["sent"][FRAGMENTS[3]]["said"]
    assert "linear scale" in seen["sent"][FRAGMENTS[1]]["axis"]
    assert "log scale" in seen["first"]["axis"]


def test_a_view_can_be_sent(seen: dict[str, Any]) -> None:
    assert seen["closed"]
    assert seen["opened"]
    assert seen["address"].startswith("#view&base=xfs&unit=percent&axis=linear&weights=1%2C0%2C2.5")
    assert seen["again"] == seen["used"] != seen["first"]
    assert seen["reset"] == ["#view", seen["first"]]


def test_controls_can_be_reached_and_have_names(seen: dict[str, Any]) -> None:
    assert seen["reached"]
    assert all(seen["names"])
    assert seen["invalid"] == "true"
    assert seen["hidden"] == ["btrfs"]
    assert seen["none"]["rows"] == []
    assert "No test has a weight" in seen["none"]["said"]


def test_a_point_leads_to_its_trials(seen: dict[str, Any], findings: Findings) -> None:
    focused, ((row, file),) = seen["order"]
    assert focused == "picked"
    place = int(row.split()[0])
    (trial,) = (one for one in findings.trials if one.slot == place)
    key = TrialKey(block=trial.block, system=trial.system, workload=trial.workload)
    assert file == f"trials/{key.file_name}"
    told, rows = seen["block"]
    block = int(re.findall(r"in block: (\d+)", told)[0])
    system = re.findall(r"system: (\w+)", told)[0]
    own = {
        f"trials/{TrialKey(block=block, system=system, workload=one).file_name}"
        for one in ("iozone", "postmark")
    }
    assert {file for _, file in rows} == own


def test_a_point_of_every_picture_leads_to_what_it_is_made_of(
    seen: dict[str, Any], findings: Findings
) -> None:
    for figure, title, files in seen["points"]:
        told = {name: text for name, _, text in (p.rpartition(": ") for p in title.split("; "))}
        workload = figure.removeprefix("figure-").partition("-")[0]
        assert files, figure
        slot = next((text for name, text in told.items() if name.startswith("place in")), "")
        assert set(files) == {
            trial.file
            for trial in findings.trials
            if (trial.system, trial.workload) == (told["system"], workload)
            and told.get("in block", str(trial.block)) == str(trial.block)
            and slot in ("", str(trial.slot))
        }, figure
    kinds = {figure.rpartition("-")[2] for figure, *_ in seen["points"]}
    assert {"ranking", "overview", "differences", "values", "order"} <= kinds


def test_a_screen_reader_is_told_all_of_it(page: str, tmp_path: Path) -> None:
    open_at_once = re.sub(r'className: "view" \}', 'className: "view", open: true }', page)
    tree = accessible(without_policy(open_at_once), tmp_path)
    assert ("combobox", "Baseline") in tree
    assert ("combobox", "Relative values") in tree
    assert ("combobox", "Throughput") in tree
    assert ("combobox", "Axis") in tree
    assert ("group", "Systems") in tree
    assert ("checkbox", "xfs") in tree
    assert ("spinbutton", "postmark transactions") in tree
    assert ("form", "Your view") in tree
    assert ("table", "Your view") in tree
    assert any(role == "status" for role, _ in tree)
    assert any(role == "image" and name.startswith("xfs: ") for role, name in tree)
    unnamed = {"combobox", "checkbox", "spinbutton", "button", "image", "table", "searchbox"}
    assert [role for role, name in tree if role in unnamed and not name] == []


def test_a_view_of_one_test_can_be_sent(tmp_path: Path) -> None:
    one = analyse(*synthetic_study(workloads=("postmark",), shapes={"postmark": ALONE}))
    begun, _, rest = SCRIPT.partition("  seen.opened")
    script = f"{begun}}}\nlook().then(() => (document.body.textContent = JSON.stringify(seen)));"
    assert rest
    sent = ("#view&base=btrfs", "#view&weights=1e999")
    for fragment, own in looked_at(one, tmp_path, sent, script)["sent"].items():
        assert own["rows"] == expected(one, fragment.partition("&weights")[0]), fragment


def test_where_it_cannot_be_recomputed_the_page_says_why(
    findings: Findings, tmp_path: Path
) -> None:
    page = page_of(findings.model_copy(update={"unit": "session"}))
    shown = opened(without_policy(page), tmp_path)
    assert "No mean is recomputed here: the verdicts rest on sessions" in shown
    assert 'name="rate"' in shown
    assert 'name="weight"' not in shown


RNG = np.random.default_rng(31)
ELSEWHERE = {"A": 1.0, "B": 1.1, "C": 0.8}
SOURCE = (
    *(
        Reading(metric="throughput", system=name, at={"record": record},
                values=tuple(5e8 * factor * RNG.lognormal(0, 0.02, 3 + place)))
        for place, (name, factor) in enumerate(ELSEWHERE.items())
        for record in (4096, 65536)
    ),
    *(
        Reading(metric="latency", system=name, at={"record": 4096}, mean=2e-3 / factor,
                se=2e-5 * factor, n=5)
        for name, factor in ELSEWHERE.items()
    ),
    *(
        Reading(metric="transactions", system=name, at={"record": 4096}, mean=900 * factor**2)
        for name, factor in ELSEWHERE.items() if name != "C"
    ),
)  # fmt: skip
SENT_ELSEWHERE = {
    "#view&weights=1,1,0": (1, 1, 0),
    "#view&base=C&weights=1,0,0": (1, 0, 0),
    "#view&base=B&unit=percent&weights=0.5,3,0": (0.5, 3, 0),
    "#view&weights=0,0,1": (0, 0, 1),
    "#view&weights=1,1,2": (1, 1, 2),
}
ONLY_LOOK = (
    SCRIPT.partition('  await sent("#view");')[0]
    + "}\nlook().then(() => (document.body.textContent = JSON.stringify(seen)));"
)


def weighted(places: Sequence[Sample | None], weights: Sequence[float]) -> Sample | None:
    """The mean over tests whose errors are fully dependent."""
    used = [(one, weight) for one, weight in zip(places, weights, strict=True) if weight]
    found = [one for one, _ in used if one is not None]
    if len(found) < len(used):
        return None
    shares = np.array([weight for _, weight in used]) / sum(weights)
    errors = [one.error for one in found if one.error is not None]
    return Sample(
        mean=float(shares @ [one.mean for one in found]),
        error=float(shares @ errors) if len(errors) == len(found) else None,
        n=min(one.n for one in found),
        rounding=float(shares @ [one.rounding for one in found]),
    )


def expected_elsewhere(fragment: str, weights: Sequence[float]) -> Iterator[list[str]]:
    """The rows of a view of the source, by the functions of the lab from what was collected."""
    given = {name: values[0] for name, values in parse_qs(fragment).items()}
    base, unit = given.get("base", "A"), given.get("unit", "ratio")
    data = Dataset.of_collection(collected(SOURCE))
    tests = [list(own) for _, own in groupby(data.cells, key=lambda point: point.metric.name)]
    faster = [1 if own[0].metric.direction == "higher" else -1 for own in tests]
    found = {
        name: weighted(
            [
                place and replace(place, mean=sign * place.mean)
                for own, sign in zip(tests, faster, strict=True)
                for place in [data.samples([one.cell for one in own]).get(name)]
            ],
            weights,
        )
        for name in ELSEWHERE
    }
    for name in ELSEWHERE:
        if name == base:
            continue
        own, other = found[name], found[base]
        if own is None or other is None:
            yield [name, "–", "not measured in all of these tests", "0"]
            continue
        (evidence,) = unpaired([(own, other)])
        ends = evidence.interval(0.05 / 3) if evidence.p is not None else None
        low, high = map(float, np.exp(ends)) if ends else (None, None)
        estimate = Estimate(float(np.exp(evidence.estimate)), low, high)
        interval = f"no interval: {evidence.lacks(0.95)}".replace(
            "repetitions of both were not kept", "the source has no repetitions of both"
        )
        ratio, told = ratio_text(estimate), interval_text(estimate)
        if unit == "percent":
            ratio, told = in_percent(estimate.ratio, low, high)
        yield [name, ratio, interval if low is None else told, str(evidence.n)]


def collected(readings: Sequence[Reading]) -> Collection:
    metrics = (metric(), metric("latency", "s"), metric("transactions", "1/s"))
    return collection(readings, metrics)


@pytest.fixture(scope="module")
def elsewhere(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    found = analyse_collection(collected(SOURCE))
    folder = tmp_path_factory.mktemp("elsewhere")
    return looked_at(found, folder, list(SENT_ELSEWHERE), ONLY_LOOK)


@pytest.mark.parametrize("fragment", SENT_ELSEWHERE)
def test_results_from_elsewhere_are_recomputed_as_the_lab_does(
    elsewhere: dict[str, Any], fragment: str
) -> None:
    wanted = list(expected_elsewhere(fragment, SENT_ELSEWHERE[fragment]))
    assert elsewhere["sent"][fragment]["rows"] == wanted


def test_without_repetitions_the_view_has_a_ratio_and_says_why_no_interval(
    elsewhere: dict[str, Any],
) -> None:
    b, c = elsewhere["sent"]["#view&weights=0,0,1"]["rows"]
    assert b == ["B", "1.21", "no interval: the source has no repetitions of both", "1"]
    assert c[1] == "–"
