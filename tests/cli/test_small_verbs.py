"""explain, devices, recommend, demo, clean: what a person needs in the first ten minutes."""

import json
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from support.devices import MIB, loop_disk, sh
from support.hosts import needs_root, state
from tiltyard.app.clean import leftovers, remove
from tiltyard.app.devices import devices
from tiltyard.app.explain import explain, glossary
from tiltyard.cli.clean import clean
from tiltyard.cli.demo import demo
from tiltyard.errors import ExitCode, InterruptedRunError, UsageError
from tiltyard.folder import StudyFolder
from tiltyard.study.ready import ready_studies
from tiltyard.study.templates import new_study
from tiltyard.systems.block_device import BlockDeviceSettings

__all__ = ["state"]
DOCS = Path(__file__).resolve().parents[2] / "docs"
TILTYARD = Path(sys.executable).parent / "tiltyard"


@pytest.mark.parametrize(
    ("asked", "word", "sort"),
    [
        ("undecided", "undecided", "word"),
        ("Blocks", "block", "word"),
        ("spare", "replacement block", "word"),
        ("7", "7", "exit code"),
        ("equivalent-within", "equivalent_within", "key of [precision]"),
        ("foreign_cpu", "foreign_cpu", "key of [noise]"),
        ("loop-image", "loop-image", "kind of system"),
        ("server_cpus", "server_cpus", "setting of pair, loopback, hosts"),
    ],
)
def test_a_word_is_explained(asked: str, word: str, sort: str) -> None:
    found = explain(asked).meanings
    assert (word, sort) in [(one.word, one.sort) for one in found]


def test_of_a_message_the_words_in_it_are_explained() -> None:
    found = explain("block 3 is disturbed: 12 % stolen; it is kept, and another one counts")
    assert [one.word for one in found.meanings] == ["block", "disturbed block"]


def test_an_unknown_word_names_the_nearest() -> None:
    with pytest.raises(UsageError, match='Did you mean "verdict"'):
        explain("verdicct")


def test_every_page_that_the_glossary_names_is_there() -> None:
    assert [one.see for one in glossary() if one.see and not (DOCS / one.see).is_file()] == []


@needs_root
def test_a_blank_device_has_toml_that_a_study_takes(tmp_path: Path) -> None:
    with loop_disk(tmp_path / "disk.img", 64 * MIB) as node:
        (own,) = (disk for disk in devices().devices if disk.node == node)
        assert own.usable, own.reason
        table = tomllib.loads(own.toml)["systems"]
        settings = BlockDeviceSettings.model_validate({**table, "filesystem": "ext4"})
        assert (settings.confirm.size, str(settings.device)) == (64 * MIB, own.name)
        sh("mkfs.ext4", "-q", node)
        (now,) = (disk for disk in devices().devices if disk.node == node)
        assert (now.usable, now.toml) == (False, "")
        assert "ext4" in now.reason


@pytest.mark.parametrize("study", ready_studies(), ids=lambda study: study.name)
def test_every_ready_study_says_what_it_is_for(study) -> None:
    assert study.purposes
    assert len(study.about) > 60
    assert new_study(study.name) == study.text, "a template has its name"


def test_what_is_recommended_can_be_begun(tmp_path: Path) -> None:
    for purpose in ("database", "mail", "build"):
        asked = [TILTYARD, "recommend", "--for", purpose, "--json"]
        found = json.loads(subprocess.run(asked, capture_output=True, check=True).stdout)
        name = found["studies"][0]["name"]
        made = [TILTYARD, "new", name, "-t", name]
        assert subprocess.run(made, cwd=tmp_path, check=False).returncode == 0
        assert (tmp_path / name / "study.toml").is_file()


def killed(place: Path) -> Path:
    """A study folder as a kill -9 leaves it, with its record of changes lost."""
    study = place / "spool"
    (study / "work").mkdir(parents=True)
    (study / "trials").mkdir()
    (study / "study.toml").write_text("")
    (study / "trials/b001.jsonl.gz").write_text("{}\n")
    (study / "work/tiltyard-0123-image.img").write_bytes(bytes(MIB))
    (study / "work/mine").write_text("not Tiltyard's")
    (study / ".findings.json.0123.partial").write_text("{")
    return study


def test_clean_removes_what_may_go_and_nothing_else(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    study = killed(tmp_path)
    before = {path for path in study.rglob("*") if path.is_file()}
    found = leftovers([tmp_path])
    assert {Path(one.path).name for one in found.leftovers} == {
        "tiltyard-0123-image.img",
        ".findings.json.0123.partial",
    }
    assert found.free_bytes >= MIB
    assert clean(tmp_path) == ExitCode.DONE  # nobody is there to be asked
    assert "nothing was removed" in capsys.readouterr().out
    assert {path for path in study.rglob("*") if path.is_file()} == before
    assert clean(tmp_path, yes=True) == ExitCode.DONE
    left = {path.name for path in study.rglob("*") if path.is_file()}
    assert left == {"study.toml", "b001.jsonl.gz", "mine"}


@needs_root
def test_clean_of_a_folder_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="nothere: no such folder"):
        leftovers([tmp_path, tmp_path / "nothere"])


def test_clean_leaves_what_is_attached(tmp_path: Path) -> None:
    study = killed(tmp_path)
    with loop_disk(study / "work/tiltyard-0123-image.img", MIB):
        found = leftovers([study])
        assert [Path(one.path).name for one in found.leftovers] == [".findings.json.0123.partial"]


def test_reports_go_only_with_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    study = killed(tmp_path)
    (study / "report").mkdir()
    (study / "report/index.html").write_text("<p>")
    assert not any(one.path.endswith("report") for one in leftovers([study]).leftovers)
    monkeypatch.setenv("TILTYARD_KERNELS", str(tmp_path / "none"))
    remove(leftovers([study], everything=True))
    assert not (study / "report").exists()
    assert (study / "trials/b001.jsonl.gz").exists()


def test_demo_is_the_ready_study(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    begun: list[StudyFolder] = []

    def stop(folder: StudyFolder, **_: object) -> None:
        begun.append(folder)
        raise InterruptedRunError("enough")

    monkeypatch.setattr("tiltyard.cli.run.carried_out", stop)
    monkeypatch.setattr("os.geteuid", lambda: 0)
    with pytest.raises(InterruptedRunError):
        demo(folder=tmp_path / "demo")
    (folder,) = begun
    assert folder.root == tmp_path / "demo/file-systems"
    assert tomllib.loads(folder.study.read_text())["factors"]["filesystem"]
