"""Factors whose levels set several settings at once, and studies of systems of several kinds."""

import tomllib
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from support.catalogue import CATALOGUE
from tiltyard.study.load import read_study
from tiltyard.study.model import Study
from tiltyard.study.problems import Problem, StudyFileError
from tiltyard.study.schema import study_schema
from tiltyard.systems import KINDS

VALIDATOR = Draft202012Validator(study_schema(CATALOGUE, KINDS))

HERE_AND_THERE = """\
question = "q"

[factors.setup]
"ext4 here" = { filesystem = "ext4" }
"old disk"  = { directory = "/mnt/old" }

[factors]
inject_ns = { default = 0, slow = 100 }
"""
TUNED = """\
question = "q"
factors.filesystem = ["ext4", "xfs"]

[factors.tuned]
out-of-box = {}
optimized = { mount = ["noatime"], read_ahead = "4M" }
"""


def study(text: str) -> Study:
    assert VALIDATOR.is_valid(tomllib.loads(text))
    return read_study(text, Path("study.toml"), CATALOGUE, KINDS)


def problem(text: str) -> Problem:
    """The only one, which the schema of editors finds too."""
    assert not VALIDATOR.is_valid(tomllib.loads(text))
    with pytest.raises(StudyFileError) as caught:
        read_study(text, Path("study.toml"), CATALOGUE, KINDS)
    (found,) = caught.value.problems
    return found


def test_a_level_sets_several_settings() -> None:
    found = study(TUNED).systems
    assert [system.name for system in found] == [
        "ext4 out-of-box",
        "ext4 optimized",
        "xfs out-of-box",
        "xfs optimized",
    ]
    assert found[1].levels == {"filesystem": "ext4", "tuned": "optimized"}
    assert (found[1].settings["mount"], found[1].settings["read_ahead"]) == (["noatime"], 2**22)
    assert (found[0].settings["mount"], found[0].settings["read_ahead"]) == ([], None)


def test_systems_of_one_study_may_be_of_several_kinds() -> None:
    found = study(HERE_AND_THERE).systems
    assert [(system.name, system.kind) for system in found] == [
        ("ext4 here", "loop-image"),
        ("ext4 here slow", "loop-image"),
        ("old disk", "directory"),
        ("old disk slow", "directory"),
    ]
    assert found[2].settings["directory"] == "/mnt/old"
    assert "filesystem" not in found[2].settings


@pytest.mark.parametrize(
    ("shared", "levels", "kinds"),
    [
        ('systems.family = "ipv6"', "a = {}\nb = { mtu = 9000 }", ["pair", "pair"]),
        ("", 'a = { mtu = 1500 }\nb = { kind = "loopback" }', ["pair", "loopback"]),
        ("", 'a = { kind = "loopback" }\nb = { server = "user@host" }', ["loopback", "hosts"]),
        ("", 'a = { filesystem = "ext4" }\nb = { filesystem = "xfs" }', ["loop-image"] * 2),
    ],
)
def test_a_kind_is_named_or_told_by_what_all_systems_without_one_set(
    shared: str, levels: str, kinds: list[str]
) -> None:
    found = study(f'question = "q"\n{shared}\n[factors.setup]\n{levels}\n').systems
    assert [system.kind for system in found] == kinds


def test_the_kind_may_be_a_factor_itself() -> None:
    found = study('question = "q"\nfactors.kind = ["pair", "loopback"]\n').systems
    assert [(system.name, system.kind) for system in found] == [
        ("pair", "pair"),
        ("loopback", "loopback"),
    ]


@pytest.mark.parametrize(
    ("typed", "instead", "line", "key", "text", "near"),
    [
        ("filesystem", "filesytem", 4, 'setup."ext4 here".filesytem', "no kind", "filesystem"),
        ("directory", "kind", 5, 'setup."old disk".kind', '"/mnt/old" is not a kind', ""),
        (
            "inject_ns =",
            "injekt_ns =",
            8,
            "injekt_ns",
            "there is no such setting of loop-image",
            "inject_ns",
        ),
    ],
)
def test_a_mistake_is_found_where_it_stands(
    typed: str, instead: str, line: int, key: str, text: str, near: str
) -> None:
    found = problem(HERE_AND_THERE.replace(typed, instead))
    assert (found.line, found.key) == (line, f"factors.{key}")
    assert found.text.startswith(text)
    assert near in found.text.rpartition("Did you mean")[2]


def test_a_mistyped_setting_is_not_taken_for_a_bundle() -> None:
    text = 'question = "q"\n[factors.bakcing]\nsmall = { image = "1G" }\nlarge = { image = "2G" }'
    found = problem(text)
    assert (found.line, found.key) == (2, "factors.bakcing")
    assert found.text.startswith("no kind of system has such a setting")
    assert found.text.endswith('Did you mean "backing"?')
