"""Studies of programs: values of systems that stand in commands, and what is read of the output."""

import tomllib
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from support.catalogue import WITH_PROGRAM
from tiltyard.study.load import read_study
from tiltyard.study.model import Study
from tiltyard.study.problems import StudyFileError
from tiltyard.study.schema import study_schema
from tiltyard.systems import KINDS

VALIDATOR = Draft202012Validator(study_schema(WITH_PROGRAM, KINDS))
BUILDS = """\
question = "q"
[factors]
build = { old = { path = "/opt/old/rg" }, new = { path = "target/release/rg" } }
[[workload]]
use = "program"
command = ["{path}", "foo", "{dir}/tree"]
metrics = { wall = "time", tps = { regex = 'tps = ([0-9.]+)', unit = "1/s", better = "higher" } }
"""


def study(text: str) -> Study:
    assert VALIDATOR.is_valid(tomllib.loads(text))
    return read_study(text, Path("study.toml"), WITH_PROGRAM, KINDS)


def problem(text: str) -> str:
    with pytest.raises(StudyFileError) as caught:
        read_study(text, Path("study.toml"), WITH_PROGRAM, KINDS)
    (found,) = caught.value.problems
    return f"{found.line}: {found.key}: {found.text}"


def test_two_builds_are_two_systems_on_this_host() -> None:
    old, new = study(BUILDS).systems
    assert (old.name, old.kind, old.variables) == ("old", "host", {"path": "/opt/old/rg"})
    assert (new.name, new.settings["tuning"]) == ("new", [])
    assert new.variables == {"path": "target/release/rg"}


def test_a_factor_may_be_a_value_itself() -> None:
    text = BUILDS.replace('"foo"', '"-{level}"').replace(
        "[[workload]]", "level = [1, 9]\n[[workload]]", 1
    )
    names = {system.name: system.variables["level"] for system in study(text).systems}
    assert names == {"old 1": "1", "old 9": "9", "new 1": "1", "new 9": "9"}


def test_a_list_stands_for_words() -> None:
    text = BUILDS.replace('"target/release/rg"', '["nice", "rg", "-j", 2]')
    assert study(text).systems[1].variables == {"path": ("nice", "rg", "-j", "2")}


def test_builds_on_file_systems() -> None:
    text = BUILDS.replace("[factors]", '[factors]\nfilesystem = ["ext4", "xfs"]')
    found = study(text).systems
    assert [(system.name, system.kind) for system in found] == [
        ("ext4 old", "loop-image"),
        ("ext4 new", "loop-image"),
        ("xfs old", "loop-image"),
        ("xfs new", "loop-image"),
    ]
    assert all("path" in system.variables for system in found)


def test_a_value_may_be_one_of_all_systems() -> None:
    text = BUILDS.replace('"foo"', '"{pattern}"') + '[systems]\npattern = "x+"\n'
    assert {system.variables["pattern"] for system in study(text).systems} == {"x+"}


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        ("new = { path", "new = { pth", "3: factors.build.new.pth: no command has {pth}, and "
         'no kind of system such a setting. Did you mean "path"?'),
        ('"target/release/rg"', "true", "3: factors.build.new.path: true cannot stand in a com"),
        ('"time"', '"tme"', '7: workload.metrics.wall: "tme" is not a metric of the engine.'),
        (', unit = "1/s"', "", "7: workload.metrics.tps.unit: is missing."),
        ("regex", "rgex", "7: workload.metrics.tps"),
        ("metrics =", "metrix =", "7: workload.metrix: there is no such parameter of program."),
    ],
)  # fmt: skip
def test_what_is_wrong_is_said_with_its_line(before: str, after: str, said: str) -> None:
    try:
        found = problem(BUILDS.replace(before, after, 1))
    except ValueError:
        pytest.fail("several problems for one mistake")
    assert found.startswith(said)


def test_without_a_program_no_key_is_a_value() -> None:
    text = BUILDS[: BUILDS.index("[[workload]]")] + '[[workload]]\nuse = "postmark"\n'
    assert not VALIDATOR.is_valid(tomllib.loads(text))
    with pytest.raises(StudyFileError, match="no kind of system has such a setting"):
        read_study(text, Path("study.toml"), WITH_PROGRAM, KINDS)


def test_a_guest_without_programs_is_refused() -> None:
    text = BUILDS + '[systems]\nkernel = "6.12"\nfilesystem = "tmpfs"\n'
    assert problem(text) == (
        "9: systems.kernel: no program can be executed on vm: its guest is a kernel and the "
        "engine, without any program"
    )


def test_a_setting_of_systems_is_no_value() -> None:
    text = BUILDS.replace('"foo"', '"bs={size}"').replace("build =", 'size = ["1M", "2M"]\nbuild =')
    assert problem(text) == (
        "3: factors.size: is a setting of systems; in a command it needs another name: {the_size}"
    )
    assert study(text.replace("size", "rate")).systems[0].variables["rate"] == "1M"
