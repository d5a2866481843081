"""Expressions of a study: what they mean is what Python says, and none takes for ever."""

import json
import re
import time

import pytest
from jsonpath.segments import JSONPathRecursiveDescentSegment

from tiltyard.errors import UsageError
from tiltyard.importers import IMPORTERS, json_path, patterns
from tiltyard.importers.patterns import TooSlowError, captured
from tiltyard.importers.printed import Printed, TooSlowMetricError, require_readable, value_of
from tiltyard.study.program import MetricTable

ENDLESS = "a" * 60 + "!"
NESTED = "".join(f'{{"{"abcdef"[depth % 6]}": ' for depth in range(80)) + "1" + "}" * 80
"""(a|aa)+$ has more than 10^12 ways to fail at it."""


@pytest.fixture(autouse=True)
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(patterns, "LIMIT_S", 0.2)
    monkeypatch.setattr(json_path, "LIMIT_S", 0.2)
    monkeypatch.setattr(patterns, "_spent", set())


@pytest.mark.parametrize(
    ("expression", "text"),
    [
        (r"tps = ([0-9.]+)", "tps = 1.5\nx\ntps = 2"),
        (r"^(\d+) matches$", "1 matches\n22 matches \n333 matches"),
        (r"a(b)?", "a ab"),
        (r"(?<=x)\d+(?= ms)", "x12 ms y13 ms x14 s"),
        (r'"read":\{"iops":([0-9]+)', '{"read":{"iops":7}}'),
        (r"(?:ab){e}|(?:ab){i<=1}", "ab ac (ab){e} ab{e} ab{i<=1}"),
        (r"x{e<=1}{2}", "xx x{e<=1}}"),
        (r"\{(\d)\}{,2}a{2,}", "{1}aa {2}}}aaa"),
        (r"\\{d}", "\\{d} \\d"),
        (r"[{e}]+(\N{DIGIT ONE})", "{e}1"),
        (r"(?:[^ \n=]++[ ]*){2}(\d+)(?=[ ]|=|$)", "a b 3 c\nd e 4"),
        (r"(?i)ZEIT\b", "zeit Zeiten ZEIT"),
        (r"", "ab"),
        (r"(a*)", "baac"),
    ],
)
def test_an_expression_means_what_python_says(expression: str, text: str) -> None:
    found = re.finditer(expression, text, re.MULTILINE)
    wanted = [match[1] if match.re.groups else match[0] for match in found]
    assert captured(expression, text) == [each for each in wanted if each is not None]


@pytest.mark.parametrize("expression", ["(", r"\p{L}", "(?V1)a", "a**", "(?<=a*)b", "\\R"])
def test_what_python_does_not_know_is_refused(expression: str) -> None:
    table = MetricTable(regex=expression, unit="s", better="lower")
    with pytest.raises(UsageError, match=r"metrics\.t\.regex: "):
        require_readable("t", table)


@pytest.mark.parametrize(
    ("table", "text"),
    [
        ({"regex": "(a|aa)+$"}, ENDLESS),
        ({"json": "$[?search(@.a, '(a|aa)+$')].b"}, f'[{{"a": "{ENDLESS}", "b": 1}}]'),
        ({"json": "$[?match(@.a, '(a|aa)+')].b"}, f'[{{"a": "{ENDLESS}", "b": 1}}]'),
        ({"json": "$[?@.a =~ /(a|aa)+/].b"}, f'[{{"a": "{ENDLESS}", "b": 1}}]'),
        ({"json": "$..[?$..[?$..[?@ == 5]]]"}, f"[{', '.join(map(str, [[1]] * 400))}]"),
        ({"json": "$..a..b..c..d..e..f"}, NESTED),
        ({"json": "$..*..*..*..*..nowhere"}, NESTED),
        ({"json": f"${'[*,*]' * 40}.nowhere"}, "[" * 40 + "1" + "]" * 40),
        ({"json": f"$[?@{'[*,*]' * 40}.nowhere]"}, "[" * 60 + "1" + "]" * 60),
        ({"json": "$..*..*.nowhere"}, f"[{', '.join(map(str, range(400)))}]\n{NESTED}\n" * 40),
    ],
)
def test_an_expression_that_takes_too_long_is_stopped(
    table: dict[str, str], text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    metric = MetricTable.model_validate({**table, "unit": "s", "better": "lower"})
    began = time.process_time()
    with pytest.raises(TooSlowMetricError, match=r"takes more than 0\.2 s on one output\. Fix: "):
        value_of("t", metric, Printed("stdout of execution 1", text))
    assert time.process_time() - began < 5
    assert patterns._spent, "the same expression is not tried again"
    for module in (patterns, json_path):
        monkeypatch.setattr(module, "LIMIT_S", 60.0)
    again = time.process_time()
    with pytest.raises(TooSlowMetricError):
        value_of("t", metric, Printed("stdout of execution 2", text))
    assert time.process_time() - again < 5


def test_a_descent_is_stopped_however_the_library_descends(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(JSONPathRecursiveDescentSegment, "resolve", lambda *_: iter(()))
    with pytest.raises(TooSlowError):
        json_path.selected("$..*..*..*.other", [json.loads(NESTED)])


def test_a_document_that_is_too_deep_for_an_expression_is_told() -> None:
    metric = MetricTable.model_validate({"json": "$..a", "unit": "s", "better": "lower"})
    with pytest.raises(UsageError, match=r"metrics\.t: JSONPath '\$\.\.a': recursion limit"):
        value_of("t", metric, Printed("out", "[" * 200 + "]" * 200))


def test_usual_expressions_are_far_from_the_limit() -> None:
    text = "".join(f"line {number}: tps = {number}.5 (including)\n" for number in range(20_000))
    assert len(captured(r"tps = ([0-9.]+)", text)) == 20_000
    with pytest.raises(TooSlowError):
        captured("(a|aa)+$", ENDLESS)


def test_a_part_of_an_output_and_what_becomes_of_its_numbers() -> None:
    text = "warm-up\nrate 1\nresults\nrate 4\nrate 16\nend\nrate 99\n"
    usual = {"key": "rate", "unit": "1/s", "better": "higher"}

    def value(**keys: object) -> float:
        return value_of("r", MetricTable.model_validate({**usual, **keys}), Printed("out", text))

    assert value() == 99
    assert value(after="results", before="end") == 16
    assert value(after="results", before="end", take="geometric_mean") == pytest.approx(8)
    assert value(after="results", before="end", take="harmonic_mean") == pytest.approx(6.4)
    assert value(after="results", take="first", inverse=True, scale=2) == 0.5
    with pytest.raises(UsageError, match=r"metrics\.r\.after: 'nowhere' is not there"):
        value(after="nowhere")


def test_each_importer_has_the_name_by_which_it_is_loaded() -> None:
    assert [IMPORTERS.named(one.name) for one in IMPORTERS] == [*IMPORTERS]
    with pytest.raises(UsageError, match='Did you mean "fio"'):
        IMPORTERS.named("fioo")
