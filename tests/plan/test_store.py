"""The plan on disk: written once, read back the same, and only with its study."""

import hashlib
import json
from collections.abc import Callable

import pytest

from tiltyard.errors import RefusedError, UsageError
from tiltyard.folder import StudyFolder
from tiltyard.plan.model import Plan
from tiltyard.plan.store import read_plan, write_plan

Freeze = Callable[[], Plan]


def test_a_plan_is_read_as_it_was_written(folder: StudyFolder, frozen: Freeze) -> None:
    plan = frozen()
    write_plan(folder, plan)
    again = read_plan(folder)
    assert again == plan
    assert again.hash == plan.hash == hashlib.sha256(folder.plan.read_bytes()).hexdigest()


def test_line_ends_are_part_of_the_study(folder: StudyFolder, frozen: Freeze) -> None:
    folder.study.write_bytes(folder.study.read_bytes().replace(b"\n", b"\r\n"))
    write_plan(folder, frozen())
    assert read_plan(folder).question == "Which?"


def test_a_plan_is_never_overwritten(folder: StudyFolder, frozen: Freeze) -> None:
    write_plan(folder, frozen())
    before = folder.plan.read_bytes()
    with pytest.raises(RefusedError, match="has a plan already"):
        write_plan(folder, frozen())
    assert folder.plan.read_bytes() == before


def test_a_changed_study_has_no_plan(folder: StudyFolder, frozen: Freeze) -> None:
    write_plan(folder, frozen())
    text = folder.study.read_text()
    folder.study.write_text(text + "# later thoughts\n")
    with pytest.raises(UsageError, match=r"was changed after the plan was frozen\. Put it back"):
        read_plan(folder)
    folder.study.write_text(text)
    read_plan(folder)


def test_a_study_that_is_gone(folder: StudyFolder, frozen: Freeze) -> None:
    write_plan(folder, frozen())
    folder.study.unlink()
    with pytest.raises(UsageError, match="is gone"):
        read_plan(folder)


def test_no_plan_yet(folder: StudyFolder) -> None:
    with pytest.raises(UsageError, match="no plan yet; tiltyard run"):
        read_plan(folder)


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", "5", "[" * 100_000])
def test_something_that_is_not_a_plan(folder: StudyFolder, text: str) -> None:
    folder.plan.write_text(text)
    with pytest.raises(UsageError, match=r"plan\.json: not a plan"):
        read_plan(folder)


def test_a_plan_of_another_format(folder: StudyFolder, frozen: Freeze) -> None:
    document = json.loads(frozen().document()) | {"format": 99, "shape": "unknown"}
    folder.plan.write_text(json.dumps(document))
    with pytest.raises(UsageError, match="a plan of format 99, written by Tiltyard"):
        read_plan(folder)


def test_a_damaged_plan_names_the_key(folder: StudyFolder, frozen: Freeze) -> None:
    document = json.loads(frozen().document())
    document["blocks"][3]["number"] = "four"
    folder.plan.write_text(json.dumps(document))
    with pytest.raises(UsageError, match=r"plan\.json: blocks\.3\.number: "):
        read_plan(folder)
