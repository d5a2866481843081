"""What the gate writes for CI servers and pull requests, and hyperfine's own forms."""

import csv
import json
from collections.abc import Iterator
from io import StringIO
from xml.etree import ElementTree

import pytest

from support.synthetic import synthetic_study
from tiltyard.analysis.findings import analyse
from tiltyard.analysis.gate import Gate, gate
from tiltyard.analysis.model import Findings
from tiltyard.exporters.hyperfine import FILES, Contestant
from tiltyard.exporters.junit import junit
from tiltyard.exporters.pull_request import pull_request
from tiltyard.wire import Execution

SYSTEMS = ("base", "head")


def suite(effect: float, noise: float = 0.01, **rules: object) -> Gate:
    study = synthetic_study(
        SYSTEMS, ("postmark", "iozone"), effects={"head": effect}, noise=noise, blocks=20, **rules  # type: ignore[arg-type]
    )  # fmt: skip
    return gate(analyse(*study), 0.03)


def with_one_changed(judged: Gate, **changes: object) -> Gate:
    """The same, with other words in its first headline."""
    first, *others = judged.headlines
    return judged.model_copy(update={"headlines": (first.model_copy(update=changes), *others)})


def test_one_line_where_nothing_moved() -> None:
    (line,) = pull_request(suite(1.0)).decode().splitlines()
    count = len(suite(1.0).headlines)
    assert line.startswith(
        f"**Performance: no regression beyond 3 % in {count} headlines** (widest interval ±"
    )
    assert line.endswith("20 blocks)")


@pytest.mark.parametrize("effect", [0.7, 1.3])
def test_eight_lines_at_most(effect: float) -> None:
    lines = pull_request(suite(effect)).decode().splitlines()
    assert 5 <= len(lines) <= 8
    rows = [line for line in lines if line.startswith("|")]
    assert {line.replace("\\|", "").count("|") for line in rows} == {6}


def test_worst_first_and_markup_is_escaped() -> None:
    judged = with_one_changed(suite(1.3), outcome="regression", name="a|b `c` <d>")
    row = pull_request(judged).decode().splitlines()[4]
    assert row.startswith("| a\\|b \\`c\\` &lt;d&gt; | ")
    assert row.endswith("| regression |")


def cases(text: bytes) -> Iterator[ElementTree.Element]:
    return ElementTree.fromstring(text.decode()).iter("testcase")


def test_junit_has_a_case_for_each_headline() -> None:
    judged = suite(0.7)
    root = ElementTree.fromstring(junit(judged).decode())
    (found,) = root
    count = str(len(judged.headlines))
    assert (found.get("tests"), found.get("failures"), found.get("errors")) == (count, count, "0")
    first = next(cases(junit(judged)))
    assert (first.get("classname"), first.get("name")) == (
        "head against base", judged.headlines[0].name
    )  # fmt: skip
    assert "ratio 0.7" in (first.findtext("system-out") or "")


def test_junit_of_a_pass_has_no_failures_and_hostile_names_are_xml() -> None:
    judged = with_one_changed(suite(1.0), name='<a & "b">\x07')
    assert junit(judged).count(b"<failure") == junit(judged).count(b"<error") == 0
    assert next(cases(junit(judged))).get("name") == '<a & "b">'


def test_what_could_not_be_judged_is_an_error() -> None:
    undecided = with_one_changed(suite(1.0), outcome="undecided")
    assert len([one for one in cases(junit(undecided)) if one.find("error") is not None]) == 1
    failed = suite(1.0).model_copy(
        update={"result": "invalid", "trials_failed": 2, "failed_by_system": {"head": 2}}
    )
    (error,) = [own for one in cases(junit(failed)) if (own := one.find("error")) is not None]
    message = error.get("message") or ""
    assert message.startswith("a workload never worked; 2 of ")
    assert message.endswith("trials have failed (2 of head)")


def test_what_failed_stands_in_every_form_of_a_pass() -> None:
    judged = suite(1.0).model_copy(update={"trials_failed": 1, "failed_by_system": {"head": 1}})
    for form in (pull_request, junit):
        assert b"1 of 80 trials has failed (1 of head)" in form(judged)


@pytest.fixture
def contestants() -> list[Contestant]:
    def execution(number: int, elapsed_s: float) -> Execution:
        return Execution(
            step="measure", number=number, elapsed_s=elapsed_s, user_s=0.01, system_s=0.002,
            peak_memory_bytes=4096, minor_faults=1, major_faults=0, voluntary_switches=1,
            involuntary_switches=0, exit=0, stdout="", stderr="",
        )  # fmt: skip

    times = {"base": (0.010, 0.012, 0.014), "head": (0.02, 0.021, 0.022)}
    return [
        Contestant(name, {"n": name[0]}, [execution(n, t) for n, t in enumerate(values, 1)])
        for name, values in times.items()
    ]


@pytest.fixture
def findings() -> Findings:
    return analyse(*synthetic_study(SYSTEMS))


def test_hyperfines_json(contestants: list[Contestant], findings: Findings) -> None:
    """Keys as hyperfine 1.15 writes them, and those that its scripts read."""
    first, _ = json.loads(FILES["json"](contestants, findings, None))["results"]
    assert first["command"] == "base"
    assert first["times"] == [0.010, 0.012, 0.014]
    assert (first["mean"], first["median"]) == (pytest.approx(0.012), 0.012)
    assert (first["min"], first["max"], first["stddev"]) == (0.010, 0.014, pytest.approx(0.002))
    assert (first["user"], first["system"]) == (pytest.approx(0.01), pytest.approx(0.002))
    assert first["exit_codes"] == [0, 0, 0]
    assert first["memory_usage_byte"] == [4096] * 3
    assert first["parameters"] == {"n": "b"}


def test_hyperfines_csv_and_markdown(contestants: list[Contestant], findings: Findings) -> None:
    rows = list(csv.DictReader(StringIO(FILES["csv"](contestants, findings, None).decode())))
    assert list(rows[0]) == [
        "command", "mean", "stddev", "median", "user", "system", "min", "max", "parameter_n"
    ]  # fmt: skip
    assert float(rows[1]["mean"]) == pytest.approx(0.021)
    lines = FILES["markdown"](contestants, findings, None).decode().splitlines()
    assert lines[0] == "| Command | Mean [ms] | Min [ms] | Max [ms] | Relative |"
    assert lines[2].startswith("| base | 12.0 ± 2.0 | 10.0 | 14.0 | 1.00 |")
