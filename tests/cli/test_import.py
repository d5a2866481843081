"""``tiltyard import`` as a person meets it: files in, a study folder out, or nothing at all."""

import errno
import os
import subprocess
import sys
from pathlib import Path

import pytest

from support.imports import golden
from tiltyard.analysis.model import Findings
from tiltyard.app import collect
from tiltyard.cli.import_ import import_
from tiltyard.collected.model import Collection
from tiltyard.collected.store import read_collection
from tiltyard.errors import RefusedError, UsageError
from tiltyard.folder import StudyFolder, sha256
from tiltyard.importers.gather import given

TILTYARD = Path(sys.executable).parent / "tiltyard"
REPORT = golden("postmark/verbose.txt").read_text()


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the files lie, and where a person stands."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def postmark(name: str, rate: int) -> Path:
    """A report of PostMark with another rate."""
    path = Path(name)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(REPORT.replace("(3000 per second)", f"({rate} per second)"))
    return path


def rates(system: str) -> tuple[float, ...]:
    """What the study folder has of a system."""
    readings = read_collection(Path("mail")).workloads[0].readings
    return next(r.values for r in readings if (r.system, r.metric) == (system, "transactions"))


def hidden() -> list[Path]:
    return [path for path in Path().iterdir() if path.name.startswith(".")]


def test_a_folder_holds_files_collection_findings_and_report() -> None:
    files = [postmark("ext4.txt", 100), postmark("xfs.txt", 120)]
    import_(Path("mail"), "ext4=ext4.txt", "xfs=xfs.txt", question="Which one for mail?")
    collection = read_collection(Path("mail"))
    findings = Findings.model_validate_json(Path("mail/findings.json").read_bytes())
    assert collection.question == findings.question == "Which one for mail?"
    assert [system.levels for system in collection.systems] == [
        {"system": "ext4"},
        {"system": "xfs"},
    ]
    for source, file in zip(collection.origin.files, files, strict=True):
        kept = Path("mail/sources", source.name).read_bytes()
        assert kept == file.read_bytes()
        assert source.sha256 == sha256(kept)
    assert Path("mail/report/index.html").stat().st_size > 1000
    assert not hidden()


def test_what_is_not_taken_over_is_told_in_the_report() -> None:
    path = postmark("ext4.txt", 100)
    import_(Path("mail"), f"ext4={path}")
    told = "Not taken over of postmark: counts of files and amounts of data."
    assert told in read_collection(Path("mail")).origin.note
    assert told in Path("mail/report/index.html").read_text()


def test_patterns_are_taken_as_people_count() -> None:
    for number in (10, 9, 1):
        postmark(f"ext4-{number}.txt", 100 + number)
    postmark("xfs.txt", 100)
    import_(Path("mail"), "ext4=ext4-*.txt", "xfs=xfs.txt")
    assert rates("ext4") == (101, 109, 110)


def test_files_of_one_name_in_two_places_are_both_kept() -> None:
    postmark("1/ext4.txt", 100)
    postmark("2/ext4.txt", 101)
    import_(Path("mail"), "ext4=?/ext4.txt")
    assert sorted(path.name for path in Path("mail/sources").iterdir()) == [
        "1-ext4.txt",
        "2-ext4.txt",
    ]


def test_blocks_are_compared_as_pairs() -> None:
    for block in range(1, 8):
        postmark(f"run{block}/ext4.txt", 1000 + 100 * block)
        postmark(f"run{block}/xfs.txt", 1200 + 120 * block + block % 3)
    words = ("ext4=run?/ext4.txt", "xfs=run?/xfs.txt")
    import_(Path("mail"), *words, blocks=True, order="given")
    findings = Findings.model_validate_json(Path("mail/findings.json").read_bytes())
    (pair,) = findings.workloads[0].index.comparisons
    assert (pair.verdict, pair.unpaired, pair.blocks) == ("faster", False, 7)
    told = " ".join(notice.text for notice in findings.notices)
    assert "The order in which things were executed was not kept" not in told
    assert "took turns" not in told


def test_the_same_again_changes_nothing_and_others_are_refused() -> None:
    postmark("ext4.txt", 100)
    postmark("xfs.txt", 120)
    import_(Path("mail"), "ext4=ext4.txt", "xfs=xfs.txt")
    before = {path: path.read_bytes() for path in Path("mail").rglob("*") if path.is_file()}
    import_(Path("mail"), "ext4=ext4.txt", "xfs=xfs.txt")
    assert {path: path.read_bytes() for path in before} == before
    Path("mail/sources/xfs.txt").unlink()
    import_(Path("mail"), "ext4=ext4.txt", "xfs=xfs.txt")
    assert {path: path.read_bytes() for path in before} == before
    with pytest.raises(UsageError, match=r"^mail: other results are in this folder"):
        import_(Path("mail"), "ext4=xfs.txt", "xfs=ext4.txt")


def test_a_folder_with_something_in_it_is_left_alone() -> None:
    postmark("mail/ext4.txt", 100)
    with pytest.raises(RefusedError, match=r"^mail: not empty"):
        import_(Path("mail"), "ext4=mail/ext4.txt")
    assert [path.name for path in Path("mail").iterdir()] == ["ext4.txt"]


def test_an_empty_folder_will_do() -> None:
    postmark("ext4.txt", 100)
    Path("mail").mkdir()
    import_(Path("mail"), "ext4=ext4.txt")
    assert rates("ext4") == (100,)


def test_of_a_damaged_file_nothing_is_written() -> None:
    postmark("ext4.txt", 100)
    Path("xfs.txt").write_text(REPORT[:-30])
    with pytest.raises(UsageError, match=r"^xfs\.txt:\d+: ends in the middle of a line"):
        import_(Path("mail"), "ext4=ext4.txt", "xfs=xfs.txt")
    assert sorted(path.name for path in Path().iterdir()) == ["ext4.txt", "xfs.txt"]


@pytest.mark.parametrize(
    "cause", [OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)), KeyboardInterrupt()]
)
def test_on_a_full_disk_or_interrupted_nothing_is_left_behind(
    cause: BaseException, monkeypatch: pytest.MonkeyPatch
) -> None:
    postmark("ext4.txt", 100)
    postmark("xfs.txt", 120)

    def filling(folder: StudyFolder, collection: Collection) -> None:
        assert {path.name for path in folder.root.iterdir()} == {"sources"}
        raise cause

    monkeypatch.setattr(collect, "write_collection", filling)
    with pytest.raises(type(cause)):
        import_(Path("mail"), "ext4=ext4.txt", "xfs=xfs.txt")
    assert sorted(path.name for path in Path().iterdir()) == ["ext4.txt", "xfs.txt"]


def test_a_mapping_reads_csv_and_nothing_else() -> None:
    whole = golden("csv/long.csv").read_text().replace("latency;\n", "latency;0,3\n")
    Path("long.csv").write_text(whole)
    import_(Path("rates"), "long.csv", mapping=golden("csv/long.toml"))
    assert read_collection(Path("rates")).origin.files[0].importer == "csv"
    with pytest.raises(UsageError, match="--mapping is for CSV files, not for those of fio"):
        import_(Path("other"), "a.csv", as_="fio", mapping=golden("csv/long.toml"))


def test_a_file_that_names_its_systems_needs_no_name() -> None:
    import_(Path("disks"), str(golden("phoronix/composite.xml")))
    found = read_collection(Path("disks"))
    assert [system.name for system in found.systems] == ["Linux 3.13: XFS", "Linux 3.13: EXT4"]
    assert found.host["memory"] == "16384MB"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ((), "no files; say which"),
        (("ext4=",), 'no file after "="'),
        (("=a.txt",), 'no name before "="'),
        (("ext4=no-*.txt",), r"no-\*\.txt: no such files"),
    ],
)
def test_words_that_mean_no_file_are_refused(words: tuple[str, ...], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        given(words)


def test_a_file_with_an_equals_sign_in_its_name_is_that_file() -> None:
    path = postmark("mtu=9000.txt", 1)
    assert [(one.path, one.system) for one in given(["mtu=9000.txt"])] == [(path, None)]
    assert [(one.path, one.system) for one in given(["big=mtu=9000.txt"])] == [(path, "big")]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda path: path.mkdir(), "a directory; name the files in it"),
        (lambda path: os.mkfifo(path), "not a plain file"),
        (lambda path: path.symlink_to("/dev/zero"), "not a plain file"),
        (lambda path: None, "No such file or directory"),
        (lambda path: path.touch(), "empty; give the file"),
        (lambda path: os.truncate(os.open(path, os.O_CREAT | os.O_RDWR), 2**29), "512 MiB"),
    ],
)
def test_what_is_no_result_file_is_refused_in_one_line(make: object, message: str) -> None:
    make(Path("a.txt"))  # type: ignore[operator]
    with pytest.raises(UsageError, match=rf"^a\.txt: .*{message}"):
        import_(Path("mail"), "ext4=a.txt")
    assert not Path("mail").exists()


def test_an_error_is_one_line_with_its_code() -> None:
    Path("notes.txt").write_text("Dear diary,\n")
    done = subprocess.run(
        [TILTYARD, "import", "mail", "a=notes.txt"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.startswith("tiltyard: notes.txt: not recognised. Name its kind with --as: ")
    assert len(done.stderr.splitlines()) == 1
