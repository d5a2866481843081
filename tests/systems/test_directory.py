from pathlib import Path

import pytest

from tiltyard.host.ledger import Ledger
from tiltyard.systems import kind
from tiltyard.systems.kind import Problem, Site, System


def system(directory: str, root: Path, ledger: Ledger) -> System:
    site = Site(root=root, work=root / "work", ledger=ledger)
    return kind("directory").system("here", {"directory": directory}, site)


def test_a_turn_has_a_new_directory_that_goes_away_again(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    with Ledger() as ledger:
        here = system("data", tmp_path, ledger)
        assert here.problems() == []
        up = here.bring_up()
        assert up.target.parent == tmp_path / "data"
        assert up.target.name.startswith("tiltyard-")
        (up.target / "file").touch()
        here.take_down()
        assert not list((tmp_path / "data").iterdir())
        here.take_down()


def test_facts_tell_what_is_mounted_there(tmp_path: Path) -> None:
    with Ledger() as ledger:
        facts = system(str(tmp_path), tmp_path, ledger).bring_up().facts
    assert set(facts) >= {"file system", "mount options", "device", "block size", "size", "free"}
    assert all(facts.values())


@pytest.mark.parametrize(
    ("given", "text"),
    [("missing", "missing does not exist"), ("file", "file is not a directory")],
)
def test_what_is_no_directory_is_a_problem(tmp_path: Path, given: str, text: str) -> None:
    (tmp_path / "file").touch()
    with Ledger() as ledger:
        (problem,) = system(given, tmp_path, ledger).problems()
    assert problem.severity == "error"
    assert problem.text.endswith(text)


def test_read_only_is_a_problem(tmp_path: Path) -> None:
    with Ledger() as ledger:
        (problem,) = system("/proc/sys/kernel", tmp_path, ledger).problems() or [None]
        assert isinstance(problem, Problem)
        assert problem.severity == "error"
