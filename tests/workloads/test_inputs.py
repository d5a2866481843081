"""Files that parameters name: read when the plan is made, written into each trial's directory."""

from pathlib import Path
from typing import Any

import pytest
from pydantic import JsonValue, ValidationError

from tiltyard.executors.engine import JobRefused
from tiltyard.workloads.expand import expand
from tiltyard.workloads.file import ProfileFile
from tiltyard.workloads.inputs import MOST_BYTES

INCLUDE = r"^include (.*)$"
JOB: dict[str, Any] = {"type": "file", "help": "a", "include": INCLUDE}
SCRIPTS: dict[str, Any] = {"type": "files", "help": "a", "weights": True, "default": []}


def profile(**parameters: dict[str, Any]) -> ProfileFile:
    words = [f"--{name}={{{name}}}" for name in parameters]
    about = dict.fromkeys(("about", "description", "lineage"), "a")
    table = {"command": ["x", *words], "inputs": {"own": "{x}"}}
    return ProfileFile.model_validate({**about, "program": table, "parameters": parameters})


def expanded(own: ProfileFile, root: Path, **typed: JsonValue) -> tuple[list[str], dict[str, str]]:
    table = expand(own, typed, beside=root, roots=(root / "study", root))
    command, inputs = table["command"], table["inputs"]
    assert isinstance(command, list)
    assert isinstance(inputs, dict)
    assert inputs.pop("own") == "{x}"
    return [str(word) for word in command[1:]], {key: str(text) for key, text in inputs.items()}


def written(root: Path, **files: str) -> None:
    for name, text in files.items():
        path = root / name.replace("__", "/").replace("_", ".")
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)


def test_a_file_goes_with_what_it_includes_under_names_that_are_no_options(tmp_path: Path) -> None:
    written(tmp_path, a_job="1\ninclude c.job\ninclude sub/c.job\n", c_job="{dir}\n")
    written(tmp_path, sub__c_job="include ../c.job\n2\n")
    assert expanded(profile(job=JOB), tmp_path, job="a.job") == (
        ["--job=a.job"],
        {
            "a.job": "1\ninclude c.job\ninclude 2-c.job\n",
            "c.job": "{dir}\n",
            "2-c.job": "include c.job\n2\n",
        },
    )
    (tmp_path / "-{dir}@2.job").write_text("")
    words, _ = expanded(profile(job=JOB), tmp_path, job="-{dir}@2.job")
    assert words == ["--job=__dir__2.job"]


def test_several_files_are_a_word_each_with_their_weights(tmp_path: Path) -> None:
    written(tmp_path, a_sql="1", b_sql="2")
    own = profile(scripts=SCRIPTS)
    found = expanded(own, tmp_path, scripts=["a.sql@3", "b.sql", "a.sql"])
    assert found == (
        ["--scripts=a.sql@3", "--scripts=b.sql", "--scripts=a.sql"],
        {"a.sql": "1", "b.sql": "2"},
    )
    assert expanded(own, tmp_path) == ([], {})


def test_a_parameter_takes_the_place_of_another(tmp_path: Path) -> None:
    written(tmp_path, a_sql="1")
    mode = {"type": "text", "help": "a", "default": "usual"}
    own = profile(mode=mode, scripts={**SCRIPTS, "instead_of": "mode"})
    assert expanded(own, tmp_path)[0] == ["--mode=usual"]
    assert expanded(own, tmp_path, scripts=["a.sql"])[0] == ["--scripts=a.sql"]
    with pytest.raises(JobRefused, match=r"stands instead of mode\. Fix: give one"):
        expanded(own, tmp_path, scripts=["a.sql"], mode="other")


@pytest.mark.parametrize(
    ("files", "says"),
    [
        ({}, r"a\.job: there is no such file in {root}/study or {root}\. Fix: "),
        ({"a_job__x": ""}, r"a\.job: is no file\. Fix: "),
        ({"a_job": "1\ninclude b.job\n"}, r"{root}/a\.job:2: b\.job: there is no such file\. Fix:"),
        ({"a_job": "include a.job\n"}, r"{root}/a\.job:1: a\.job: includes itself\. Fix: "),
        (
            {"a_job": "include b.job\n", "b_job": "\n\ninclude sub/../a.job\n"},
            r"{root}/b\.job:3: sub/\.\./a\.job: includes itself\. Fix: ",
        ),
        ({"a_job": "\udcff"}, r"{root}/a\.job: is no text\. Fix: "),
        ({"a_job": "1" * (MOST_BYTES + 1)}, r"{root}/a\.job: its files are larger than 256 KiB"),
    ],
    ids=str,
)
def test_what_is_wrong_with_a_file_is_told_with_its_line(
    files: dict[str, str], says: str, tmp_path: Path
) -> None:
    for name, text in files.items():
        path = tmp_path / name.replace("__", "/").replace("_", ".")
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(text.encode(errors="surrogateescape"))
    with pytest.raises(JobRefused, match=says.format(root=tmp_path)) as raised:
        expanded(profile(job=JOB), tmp_path, job="a.job")
    assert raised.value.parameter == "job"


def test_a_line_that_the_profile_refuses_is_told_wherever_it_stands(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    env = {"type": "words", "help": "a", "default": []}
    job = {**JOB, "environment": "env", "refuse": {"^(at=/.*)$": "no. Fix: another"}}
    own = profile(job=job, env=env)
    written(tmp_path, a_job="include b.job\n", b_job="a\n\nat=${WHERE}x\n")
    monkeypatch.setenv("WHERE", "here/")
    assert expanded(own, tmp_path, job="a.job")[1]["b.job"] == "a\n\nat=${WHERE}x\n"
    with pytest.raises(JobRefused, match=r"b\.job:3: at=/x: no\. Fix: another"):
        expanded(own, tmp_path, job="a.job", env=["WHERE=/"])


@pytest.mark.parametrize(
    ("table", "says"),
    [
        ({"type": "path", "include": "a"}, "include belongs to parameters of type file or files"),
        ({"type": "file", "weights": True}, "weights belongs to parameters of type files"),
        ({"type": "file", "refuse": {"(": "a"}}, r"'\(' is no regular expression"),
    ],
    ids=str,
)
def test_a_profile_that_says_it_wrongly_is_refused(table: dict[str, Any], says: str) -> None:
    with pytest.raises(ValidationError, match=says):
        profile(job={"help": "a", **table})
