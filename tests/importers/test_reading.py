"""Bytes, lines and numbers: what is taken, and what is refused."""

from fractions import Fraction

import pytest

from tiltyard.errors import UsageError
from tiltyard.importers.json_file import json_of
from tiltyard.importers.reading import lines_of, number


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("0", 0),
        ("12.50", Fraction(25, 2)),
        (".5", Fraction(1, 2)),
        ("3.", 3),
        ("1e3", 1000),
        ("2.101e+09", 2101000000),
        ("1,234,567", 1234567),
        ("1,234.5", Fraction(2469, 2)),
        ("0.1", Fraction(1, 10)),
    ],
)
def test_a_number_is_exactly_what_is_printed(text: str, value: Fraction) -> None:
    assert number(text) == value


@pytest.mark.parametrize(
    "text",
    ["", "-1", "nan", "inf", "-inf", "1e999", "1e99999", "9" * 65, "1_000", "0x10", "1 2",
     "٣", "--1", "+1", "1.2.3"],
)  # fmt: skip
def test_what_is_no_number_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"finite number|negative|larger than"):
        number(text)


@pytest.mark.parametrize("text", ["1,021", "0,021", "0,5", "12,345", "-1,021"])
def test_a_comma_that_may_be_a_decimal_one_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="a comma in it may be a decimal one"):
        number(text)


def test_thousands_of_a_tool_that_groups_them_are_read() -> None:
    assert number("1,021", grouped=True) == 1021
    with pytest.raises(ValueError, match="decimal"):
        number("0,021", grouped=True)


@pytest.mark.parametrize(
    "data",
    [
        "größer 1\n".encode(),
        b"\xef\xbb\xbf" + "größer 1\n".encode(),
        "größer 1\n".encode("utf-16"),
        "größer 1\n".encode("utf-16-le"),
        "größer 1\n".encode("utf-16-be"),
        "größer 1\r\n".encode("latin-1"),
        "\x1b[1mgrößer 1\x1b[0m\n".encode(),
    ],
)
def test_text_is_read_in_every_encoding_that_tools_write(data: bytes) -> None:
    assert [line.words for line in lines_of(data, "a.txt")] == [["größer", "1"]]


def test_a_last_line_that_ends_in_a_bracket_lacks_its_line_feed_only() -> None:
    for last in ("tps = 712.5 (without initial connection time)", "```", "tps = 1 (x) "):
        data = f"first 1\n{last}".encode()
        assert [line.text for line in lines_of(data, "a.txt")] == ["first 1", last]


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "a.txt: empty; give the file that the tool wrote"),
        (b"a 1\nb 12", "a.txt:2: ends in the middle of a line, so its last number may be cut off"),
        (b"a b c d\x00e f\n", "a.txt: not text: it holds the control character '\\x00'"),
        (b"x" * 70000 + b"\n", "a.txt:1: a line of 70000 characters; no tool prints such a line"),
        (b"\xff\xfea", "a.txt: not text: byte 2 is not utf-16; save it as UTF-8"),
    ],
)
def test_what_is_no_whole_text_is_refused(data: bytes, message: str) -> None:
    with pytest.raises(UsageError) as refused:
        lines_of(data, "a.txt")
    assert str(refused.value).startswith(message)


def test_a_damaged_number_is_named_with_its_line() -> None:
    line = lines_of(b"ok 1\nrate 12x\n", "a.txt")[1]
    with pytest.raises(UsageError, match=r'^a\.txt:2: "12x" should be a rate: that is not a fini'):
        line.value(line.words[1], "a rate")


def test_json_keeps_numbers_as_they_are_written_and_names_keys() -> None:
    top = json_of(b'{"jobs": [{"bw": 0.1, "name": "w", "big": 1e999, "low": -3}]}', "a.json")
    job = top["jobs"].entries()[0]
    assert job["bw"].value() == Fraction(1, 10)
    assert job["low"].value(signed=True) == -3
    for key, why in (("big", "finite|larger"), ("low", "negative"), ("name", "finite number")):
        with pytest.raises(UsageError, match=rf"^a\.json: jobs\[0\]\.{key}: .*({why})"):
            job[key].value()
    with pytest.raises(UsageError, match=r'^a\.json: jobs\[0\]: has no "iops"'):
        job["iops"]
    assert job.get("iops") is None
    with pytest.raises(UsageError, match=r"^a\.json: jobs: should be a table"):
        top["jobs"].table()


@pytest.mark.parametrize("data", [b'{"a": 1', b"", b"[" * 100_000, b'{"a": 1}}'])
def test_what_is_no_json_is_refused_in_one_line(data: bytes) -> None:
    with pytest.raises(UsageError, match=r"^a\.json.*(not JSON|nested more deeply)"):
        json_of(data, "a.json")
