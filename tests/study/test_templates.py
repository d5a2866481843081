"""The templates are studies, and what they say of defaults is true."""

import re
from pathlib import Path

import pytest

from support.catalogue import WITH_PROGRAM
from tiltyard.errors import UsageError
from tiltyard.study.file import (
    ConditionsTable,
    NoiseTable,
    PrecisionTable,
    StudyFile,
    SystemsTable,
    WorkloadTable,
)
from tiltyard.study.load import read_study
from tiltyard.study.model import Study
from tiltyard.study.templates import new_study, template_names
from tiltyard.systems import KINDS, kind

COMMENTED = re.compile(r"^# (?=[a-z_]+ = )", re.MULTILINE)


def study(text: str) -> Study:
    return read_study(text, Path("study.toml"), WITH_PROGRAM, KINDS)


def without_comment_marks(text: str, *, examples: bool) -> list[str]:
    """The text with each commented key made a real one in turn: defaults, or examples."""
    lines = text.splitlines()
    return [
        "\n".join([*lines[:place], COMMENTED.sub("", line), *lines[place + 1 :]])
        for place, line in enumerate(lines)
        if COMMENTED.match(line) and ("# example" in line) == examples
    ]


def test_there_are_five() -> None:
    assert template_names() == [
        "directories",
        "filesystems",
        "mount-options",
        "network",
        "programs",
    ]


@pytest.mark.parametrize("name", template_names())
def test_a_template_is_a_study(name: str) -> None:
    assert len(study(new_study(name)).systems) >= 2


@pytest.mark.parametrize("name", template_names())
def test_defaults_in_comments_are_the_defaults(name: str) -> None:
    text = new_study(name)
    variants = without_comment_marks(text, examples=False)
    assert len(variants) >= 8
    for variant in variants:
        assert study(variant) == study(text)


@pytest.mark.parametrize("name", template_names())
def test_examples_in_comments_are_not_the_defaults_and_load(name: str) -> None:
    text = new_study(name)
    variants = without_comment_marks(text, examples=True)
    assert len(variants) >= 4
    for variant in variants:
        assert study(variant) != study(text)


@pytest.mark.parametrize("name", template_names())
def test_every_key_is_shown(name: str) -> None:
    text = new_study(name)
    of_kind = kind(study(text).systems[0].kind)
    # Known delays are for calibrations, which have a guide of their own.
    hidden = {"inject_ns", "inject_every", "inject_into"}
    hidden |= set() if of_kind.placed else {"placement"}
    hidden |= set() if name == "programs" else {"alternate"}
    tables = (
        StudyFile,
        SystemsTable,
        WorkloadTable,
        PrecisionTable,
        ConditionsTable,
        NoiseTable,
        of_kind.Settings,
    )
    for table in tables:
        for key in table.model_fields.keys() - hidden:
            shown = re.search(rf"^(# )?{key} = |^(# )?\[+{key}\]+$", text, re.MULTILINE)
            assert shown, f"{key} is not shown"


def test_a_template_that_is_not_there() -> None:
    with pytest.raises(UsageError, match=r'"filesystem" is not a template.*"filesystems"'):
        new_study("filesystem")
