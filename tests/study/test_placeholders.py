from typing import Any

import pytest

from tiltyard.study.placeholders import (
    escaped,
    filled,
    names_in,
    partly_filled,
    put,
    spliced,
    unescaped,
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("{dir}/x{execution}{execution}", "/d/x33"),
        ("{{dir}} {{other}}", "{dir} {other}"),
        ('{"a": {"b": 1}}', '{"a": {"b": 1}}'),
        ("a{2,3} { print $1 } {} {1}", "a{2,3} { print $1 } {} {1}"),
        ("${dir} ${{dir}} $HOME", "${dir} ${{dir}} $HOME"),
        ("{{{dir}}}", "{{{dir}}}"),
        ("é{dir", "é{dir"),
        ("{path}", "/bin/{dir}"),
    ],
)
def test_texts_are_filled_as_the_engine_fills_them(text: str, expected: str) -> None:
    """The examples are those of ``engine/program/src/words.rs``."""
    values = {"dir": "/d", "execution": "3", "path": "/bin/{dir}"}
    assert filled(text, values) == expected


def test_a_name_without_a_value_is_named() -> None:
    with pytest.raises(KeyError, match="other"):
        filled("{dir} {other}", {"dir": "/d"})


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("{a}{b} {{a}}", "1{b} {{a}}"),
        ("{odd}", "{{dir}}"),
        (["{words}", "x{words}", "{a}"], ["one", "{{dir}}", "x{words}", "1"]),
        ({"start": ["{a}"], "n": 7}, {"start": ["1"], "n": 7}),
    ],
)
def test_what_is_known_is_filled_and_the_rest_later(value: Any, expected: Any) -> None:
    values = {"a": "1", "odd": "{dir}", "words": ("one", "{dir}")}
    assert partly_filled(value, values) == expected


def test_names_are_found_in_lists_and_tables() -> None:
    assert [*names_in(["{a}", {"k": "{b} {{c}} ${d}"}, 7])] == ["a", "b"]


def test_words_of_a_list_stand_in_the_place_of_its_name() -> None:
    table = {"command": ["{words}", "x{words}", "{{words}}", "{a}"], "steps": [["{words}"]], "n": 7}
    assert spliced(table, {"words": ("one", "{dir}")}) == {
        "command": ["one", "{dir}", "x{words}", "{{words}}", "{a}"],
        "steps": [["one", "{dir}"]],
        "n": 7,
    }


@pytest.mark.parametrize("text", ["{a}", "{a}}", "awk '{print} {a}{b}' ${c} a{2,3} é{d", "{ a }"])
def test_what_is_escaped_is_filled_in_as_it_is(text: str) -> None:
    assert filled(escaped(text), {}) == unescaped(escaped(text)) == text


def test_what_is_known_is_not_escaped() -> None:
    assert escaped("{n} {print} {x}}", {"n"}) == "{n} {{print}} {{x}}}"


def test_a_placeholder_without_a_value_stays() -> None:
    assert put("{a} {b} {{a}} ${a}", {"a": "1"}.get) == "1 {b} {{a}} ${a}"
