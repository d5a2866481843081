"""Lines of keys, against texts whose lines are known and against what tomllib reads."""

import tomllib
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tiltyard.study.locate import KeyPath, locate
from tiltyard.study.toml import TomlValue, toml_key, toml_value

TEXT = '''\
title = "a # b" # comment [not.a.header]
many = """
[trap]
key = "\\""" """"
literal = \'\'\'
  x = 'y' \'\'\'
list = [
  1, 2,  # two on a line ]
  "]",
  [ 3,
    4 ],
]
point = { x = 1, "y z" = { w = [ "}",
  2 ] } }
a.b . "c d" = 1979-05-27 07:32:00
'quoted' = +1_000.5e3

[table]  # a header
key = true

[ "outer.dot" . inner ]
key = \'\'

[[item]]
use = "one"
[item.sub]
key = 1

[[item]]
use = "two"
[[item.deep]]
n = 1
[[item.deep]]
n = 2'''


@pytest.mark.parametrize(
    ("path", "line"),
    [
        (("title",), 1),
        (("many",), 2),
        (("literal",), 5),
        (("list", 1), 8),
        (("list", 2), 9),
        (("list", 3, 0), 10),
        (("list", 3, 1), 11),
        (("point", "x"), 13),
        (("point", "y z", "w", 1), 14),
        (("a",), 15),
        (("a", "b", "c d"), 15),
        (("quoted",), 16),
        (("table",), 18),
        (("table", "key"), 19),
        (("outer.dot", "inner", "key"), 22),
        (("item",), 24),
        (("item", 0, "use"), 25),
        (("item", 0, "sub", "key"), 27),
        (("item", 1), 29),
        (("item", 1, "deep", 0, "n"), 32),
        (("item", 1, "deep", 1), 33),
        (("item", 1, "deep", 1, "n"), 34),
    ],
    ids=str,
)
def test_a_key_has_its_line(path: KeyPath, line: int) -> None:
    assert locate(TEXT).of(path) == line


@pytest.mark.parametrize(
    ("path", "line"),
    [
        (("missing",), 1),
        (("table", "missing"), 18),
        (("item", 1, "missing", 3), 29),
        (("point", "x", "deeper"), 13),
        ((), 1),
    ],
    ids=str,
)
def test_a_missing_key_has_the_line_of_what_encloses_it(path: KeyPath, line: int) -> None:
    assert locate(TEXT).of(path) == line


def test_lines_may_end_in_both_ways() -> None:
    assert locate(TEXT.replace("\n", "\r\n")).by_path == locate(TEXT).by_path


TRICKY = st.text(st.sampled_from("a.[]{}=,#'\"\\\n\t é"), max_size=6)
SCALARS = st.one_of(st.integers(-9, 9), st.booleans(), TRICKY)
VALUES = st.recursive(SCALARS, lambda inner: st.lists(inner, max_size=3), max_leaves=6)
TABLES = st.dictionaries(TRICKY, VALUES, max_size=4)


@given(st.dictionaries(TRICKY, TABLES, max_size=3), st.lists(TABLES, max_size=3), st.data())
def test_every_key_of_any_document_is_found_in_its_line(
    tables: dict[str, dict[str, TomlValue]],
    items: list[dict[str, TomlValue]],
    data: st.DataObject,
) -> None:
    tables.pop("items", None)
    lines: list[str] = []
    expected: dict[KeyPath, int] = {}

    def write(path: KeyPath, text: str) -> None:
        lines.extend(["# [x]"] * data.draw(st.integers(0, 2)))
        lines.append(text)
        expected[path] = len(lines)

    headed = [((name,), f"[{toml_key(name)}]", table) for name, table in tables.items()]
    listed = [(("items", place), "[[items]]", table) for place, table in enumerate(items)]
    for path, header, table in [*headed, *listed]:
        write(path, header)
        for key, value in table.items():
            write((*path, key), f"{toml_key(key)} = {toml_value(value)}")
    text = "\n".join(lines)
    found = locate(text)
    assert {path: found.by_path[path] for path in expected} == expected
    assert set(found.by_path) == set(_paths(tomllib.loads(text), ()))


def _paths(value: object, path: KeyPath) -> Iterator[KeyPath]:
    """All paths into a document."""
    if path:
        yield path
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _paths(inner, (*path, key))
    elif isinstance(value, list):
        for place, inner in enumerate(value):
            yield from _paths(inner, (*path, place))
