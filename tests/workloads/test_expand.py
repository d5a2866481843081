"""A profile with parameters is the program table that a person would type."""

from pathlib import Path
from typing import Any

import pytest
from pydantic import JsonValue

from tiltyard.executors.engine import JobRefused
from tiltyard.workloads.expand import expand
from tiltyard.workloads.file import ProfileFile

HEAD: dict[str, Any] = {"about": "a", "description": "b", "lineage": "c"}
HERE = Path("/somewhere")


def parameter(sort: str, **keys: Any) -> dict[str, Any]:
    return {"type": sort, "help": "What it is.", **keys}


def expanded(
    program: dict[str, Any], parameters: dict[str, dict[str, Any]], **typed: JsonValue
) -> dict[str, JsonValue]:
    profile = ProfileFile.model_validate({**HEAD, "program": program, "parameters": parameters})
    return expand(profile, typed, beside=HERE, roots=(HERE / "study",))


def words(word: str, sort: dict[str, Any], *typed: JsonValue) -> JsonValue:
    given = {"p": typed[0]} if typed else {}
    return expanded({"command": ["x", word]}, {"p": sort}, **given)["command"]


def test_it_is_what_a_person_would_type() -> None:
    program = {
        "command": ["serve", "--load={load}", "{mode}", "{dir}/data", "--n", "{n}", "{flag}"],
        "prepare": [["sync"], ["warm", "{n}"]],
        "executions": "{n}",
        "env": {"N": "{n}"},
        "servers": [{"command": ["server", "{extra}"], "ready": {"path": "{dir}/sock"}}],
        "read": "fio",
    }
    parameters = {
        "load": parameter("size", default="1M", unit="KiB"),
        "mode": parameter("choice", default="a", choices={"a": ["-m", "a"], "b": []}),
        "n": parameter("int", default=3),
        "flag": parameter("bool", default=False, words=["--flag"]),
        "extra": parameter("words", default=[]),
    }
    assert expanded(program, parameters) == {
        "command": ["serve", "--load=1024", "-m", "a", "{dir}/data", "--n", "3"],
        "prepare": [["sync"], ["warm", "3"]],
        "executions": 3,
        "env": {"N": "3"},
        "servers": [{"command": ["server"], "ready": {"path": "{dir}/sock"}}],
        "read": "fio",
    }
    found = expanded(program, parameters, mode="b", flag=True, extra=["-v", "{path}"], n=1)
    assert found["command"] == ["serve", "--load=1024", "{dir}/data", "--n", "1", "--flag"]
    assert found["servers"] == [
        {"command": ["server", "-v", "{path}"], "ready": {"path": "{dir}/sock"}}
    ]


@pytest.mark.parametrize(
    ("sort", "typed", "word"),
    [
        (parameter("size"), "64k", "65536"),
        (parameter("size", unit="MiB"), "1500k", "2"),
        (parameter("size"), 1000, "1000"),
        (parameter("duration"), "2 min", "120"),
        (parameter("duration"), 0.5, "0.5"),
        (parameter("duration", unit="s"), 0.5, "1"),
        (parameter("duration", unit="ms"), 0.5, "500"),
        (parameter("float"), 3, "3"),
        (parameter("float"), 0.25, "0.25"),
        (parameter("int"), 0, "0"),
        (parameter("text"), "a b", "a b"),
        (parameter("choice", choices=["a"]), "a", "a"),
        (parameter("choice", choices={"a": "-A"}), "a", "-A"),
        (parameter("bool"), True, "true"),
        (parameter("path"), "/etc/hosts", "/etc/hosts"),
        (parameter("path"), "mine", "/somewhere/study/mine"),
        (parameter("path", default="of/it"), None, "/somewhere/of/it"),
    ],
    ids=str,
)
def test_a_value_is_written_as_a_program_takes_it(
    sort: dict[str, Any], typed: JsonValue, word: str
) -> None:
    found = words("{p}", sort, *(() if typed is None else (typed,)))
    assert found == ["x", word]
    found = words("-p{p}", sort, *(() if typed is None else (typed,)))
    assert found == ["x", f"-p{word}"]


@pytest.mark.parametrize(
    ("sort", "typed"),
    [(parameter("text"), ""), (parameter("bool"), False), (parameter("words"), [])],
    ids=str,
)
def test_a_word_without_a_value_is_left_out(sort: dict[str, Any], typed: JsonValue) -> None:
    assert words("{p}", sort, typed) == ["x"]
    assert words("--p={p}", sort, typed) == ["x"]
    table = {"command": ["x"], "prepare": ["{p}"], "user": "{p}", "env": {"P": "{p}"}}
    assert expanded(table, {"p": sort}, p=typed) == {"command": ["x"], "env": {}}


@pytest.mark.parametrize("word", ["{dir}/a", "${p}", "{{p}}", "{ p }", "{1,2}", "awk {print}"])
def test_other_braces_stay(word: str) -> None:
    assert words(word, parameter("int", default=1)) == ["x", word]


def test_the_newest_of_several_is_found(tmp_path: Path) -> None:
    for version in ("9", "15", "9.6"):
        (tmp_path / version / "bin").mkdir(parents=True)
    sort = parameter("path", find=f"{tmp_path}/*/bin")
    assert words("{p}/initdb", sort) == ["x", f"{tmp_path}/15/bin/initdb"]


@pytest.mark.parametrize(
    ("sort", "typed", "says"),
    [
        (parameter("int"), "3", '"3" is not a whole number'),
        (parameter("int"), 3.5, "3.5 is not a whole number"),
        (parameter("int"), True, "true is not a whole number"),
        (parameter("int", min=2), 1, "1 is too small: at least 2"),
        (parameter("size", max="1M"), "2M", '"2M" is too large: at most 1M'),
        (parameter("size"), "2X", '"2X" is not a size'),
        (parameter("duration"), "2 weeks", "is not a duration"),
        (parameter("choice", choices=["read", "write"]), "wirte", 'Did you mean "write"?'),
        (parameter("bool"), "yes", '"yes" is not true or false'),
        (parameter("text"), 3, "3 is not text"),
        (parameter("words"), "-v", 'Write it like ["a", "b"]'),
        (parameter("text"), None, "is missing. What it is."),
    ],
    ids=str,
)
def test_a_wrong_value_is_told_with_what_would_be_right(
    sort: dict[str, Any], typed: JsonValue, says: str
) -> None:
    with pytest.raises(JobRefused) as raised:
        words("{p}", sort, *(() if typed is None else (typed,)))
    assert raised.value.parameter == "p"
    assert says in raised.value.message


def test_an_unknown_parameter_is_told() -> None:
    with pytest.raises(JobRefused, match=r"One of: p\. Did you mean"):
        expanded({"command": ["x"]}, {"p": parameter("int", default=1)}, pp=1)
