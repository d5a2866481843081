"""Bad study files: the first line of each says the line, the key and the words of its error.

A list that every new kind of system or setting makes longer is written "…" there.
"""

import re
from pathlib import Path

import pytest

from support.catalogue import CATALOGUE
from tiltyard.errors import ExitCode, UsageError
from tiltyard.study.load import load_study, parameter_error, read_study
from tiltyard.study.problems import Problem, StudyFileError
from tiltyard.systems import KINDS

BAD = sorted((Path(__file__).parent / "bad").glob("*.toml"))


@pytest.mark.parametrize("path", BAD, ids=lambda path: path.stem)
def test_the_error_names_line_key_and_what_would_be_right(path: Path) -> None:
    expected = f"{path}:{path.read_text().splitlines()[0].removeprefix('# ')}"
    with pytest.raises(StudyFileError) as caught:
        load_study(path, CATALOGUE, KINDS)
    pattern = ".+".join(map(re.escape, expected.split("…")))
    assert re.fullmatch(pattern, str(caught.value)), (str(caught.value), expected)
    assert caught.value.exit_code == ExitCode.USAGE


def test_all_problems_are_kept_in_the_order_of_lines() -> None:
    with pytest.raises(StudyFileError) as caught:
        load_study(Path(__file__).parent / "bad/several-meanings.toml", CATALOGUE, KINDS)
    assert [(problem.line, problem.key) for problem in caught.value.problems] == [
        (3, "baseline"),
        (10, "workload.use"),
        (14, "workload.sizes"),
    ]


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"study\.toml: No such file or directory"):
        load_study(tmp_path / "study.toml", CATALOGUE, KINDS)


def test_a_file_that_is_not_text(tmp_path: Path) -> None:
    path = tmp_path / "study.toml"
    path.write_bytes(b"question = \xff\xfe")
    with pytest.raises(UsageError, match=r"study\.toml: not a text file in UTF-8"):
        load_study(path, CATALOGUE, KINDS)


TEXT = """\
question = "q"

[[workload]]
use = "postmark"

[[workload]]
use = "postmark"
locations = [
  { name = "a" },
  { name = "b", weight = 0 },
]
"""


@pytest.mark.parametrize(
    ("parameter", "line", "key"),
    [
        ("locations[1].weight", 10, "workload.locations.weight"),
        ("locations", 8, "workload.locations"),
        ("files", 6, "workload.files"),
        (None, 6, "workload"),
    ],
)
def test_what_the_engine_refuses_is_told_with_its_line(
    parameter: str | None, line: int, key: str
) -> None:
    message = f'parameter "{parameter}": is too small' if parameter else "is too small"
    error = parameter_error(Path("spool.toml"), TEXT, 1, parameter, message)
    assert error.problems == (Problem(line, key, "is too small"),)
    assert str(error) == f"spool.toml:{line}: {key}: is too small"


@pytest.mark.parametrize(
    ("value", "what"), [("9" * 5000, "too many digits"), ("[" * 5000, "takes minutes")]
)
def test_what_no_reader_of_toml_takes_is_one_line(value: str, what: str) -> None:
    with pytest.raises(StudyFileError, match=rf"^study\.toml:1: .*{what}$"):
        read_study(f"seed = {value}", Path("study.toml"), CATALOGUE, KINDS)
