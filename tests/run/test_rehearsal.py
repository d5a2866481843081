from pathlib import Path

import pytest

from support.hosts import needs_root
from support.runs import directory_system, image_system
from tiltyard.errors import RefusedError
from tiltyard.folder import StudyFolder
from tiltyard.run.differences import differences
from tiltyard.run.lock import hold_lock
from tiltyard.run.rehearsal import rehearse


def test_each_system_is_brought_up_and_down(tmp_path: Path) -> None:
    systems = [directory_system(name, tmp_path / name) for name in "ab"]
    found = rehearse(StudyFolder(tmp_path), systems)
    assert found.problems == {"a": [], "b": []}
    assert set(found.facts) == {"a", "b"}
    assert "file system" not in {one.fact for one in differences(found.facts, systems, {})}
    assert not list((tmp_path / "a").iterdir())


@needs_root
def test_the_sketch_of_differences(tmp_path: Path) -> None:
    systems = [image_system("ext2", "16M"), image_system("ext4", "16M")]
    found = differences(rehearse(StudyFolder(tmp_path), systems).facts, systems, {})
    (kind,) = (one for one in found if one.fact == "file system")
    assert kind.values == {"ext2": "ext2", "ext4": "ext4"}
    assert kind.follows_from == ("filesystem",)
    assert "device" not in {one.fact for one in found}


def test_without_bringing_up_nothing_is_touched(tmp_path: Path) -> None:
    missing = directory_system("a", tmp_path / "a")
    (tmp_path / "a").rmdir()
    found = rehearse(StudyFolder(tmp_path), [missing], bring_up=False)
    assert [problem.severity for problem in found.problems["a"]] == ["error"]
    assert found.facts == {}


def test_a_study_that_runs_is_not_rehearsed(tmp_path: Path) -> None:
    folder = StudyFolder(tmp_path)
    with hold_lock(folder), pytest.raises(RefusedError):
        rehearse(folder, [])


@needs_root
def test_what_fails_only_when_it_is_tried_is_a_problem(tmp_path: Path) -> None:
    bogus = image_system("ext4", "16M", mkfs=["-O", "nonesuch"])
    found = rehearse(StudyFolder(tmp_path), [bogus])
    errors = [problem.text for problem in found.problems["ext4"] if problem.severity == "error"]
    assert len(errors) == 1
    assert errors[0].startswith("does not come up: mkfs.ext4 ")
