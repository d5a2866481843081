"""Servers of systems in a study: values of systems in their texts, and what cannot stand there."""

import tomllib
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from support.catalogue import WITH_PROGRAM
from tiltyard.study.load import read_study
from tiltyard.study.problems import StudyFileError
from tiltyard.study.schema import study_schema
from tiltyard.systems import KINDS

VALIDATOR = Draft202012Validator(study_schema(WITH_PROGRAM, KINDS))
COMMITS = """\
question = "q"
[factors]
commit = ["on", "off"]
[systems]
words = ["-a", "{dir}"]
[systems.service]
start = ["db", "-c", "commit={commit}", "{words}", "-p", "{port}"]
files = { "db.conf" = "commit {commit} {{commit}} ${commit} { }" }
[[workload]]
use = "program"
command = ["load", "{service_dir}", "{port}", "{secret}"]
"""


def services(text: str) -> dict[str, Any]:
    assert VALIDATOR.is_valid(tomllib.loads(text))
    found = read_study(text, Path("study.toml"), WITH_PROGRAM, KINDS)
    return {system.name: system.settings["service"] for system in found.systems}


def problem(text: str) -> str:
    with pytest.raises(StudyFileError) as caught:
        read_study(text, Path("study.toml"), WITH_PROGRAM, KINDS)
    return "\n".join(f"{each.line}: {each.key}: {each.text}" for each in caught.value.problems)


def test_a_value_of_a_system_stands_in_the_texts_of_its_server() -> None:
    on, off = services(COMMITS).values()
    assert on["start"] == ["db", "-c", "commit=on", "-a", "{{dir}}", "-p", "{port}"]
    assert off["files"] == {"db.conf": "commit off {{commit}} ${commit} { }"}


def test_a_server_may_be_a_factor_and_lie_on_any_file_system() -> None:
    two = COMMITS.replace("[systems.service]", '[factors.service.one]\nready = { path = "/x" }')
    text = two.replace("[systems]", 'filesystem = ["ext4", "xfs"]\n[systems]')
    more = '[factors.service.two]\nstart = ["other", "{socket}"]\n[[workload]]'
    names = list(services(text.replace("[[workload]]", more)))
    assert len(names) == 8
    assert {"on ext4 one", "off xfs two"} <= set(names)


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        (
            "{commit} ",
            "{comit} ",
            '8: systems.service.files: "{comit}" stands for nothing; there are ',
        ),
        ("words =", 'port = "5432"\nwords =', "5: systems.port: {port} is what the service tells."),
        ("words =", "wrods =", "5: systems.wrods: no command has {wrods}"),
        (
            '"-p", "{port}"]',
            "]",
            "6: systems.service: it cannot be seen when it serves",
        ),
    ],
)
def test_what_cannot_stand_there(before: str, after: str, expected: str) -> None:
    found = problem(COMMITS.replace(before, after, 1))
    assert expected in found
    assert found.count(expected) == 1
