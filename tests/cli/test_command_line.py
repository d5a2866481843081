"""The command line as a person meets it: real processes, real exit codes, real directories."""

import json
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.hosts import needs_root
from support.patience import PATIENCE_S
from tiltyard.cli import VERBS

TILTYARD = Path(sys.executable).parent / "tiltyard"
NAMES = [verb.strip("_") for verb in VERBS]

ASKED = ("-w", "postmark", "--seed", "5", "--disturbed", "keep")
"""Whatever else this machine does while the test runs, no block is made again."""


def tiltyard(
    *words: str | Path, cwd: Path, timeout_s: float = PATIENCE_S
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [TILTYARD, *map(str, words)],
        cwd=cwd,
        capture_output=True,
        text=True,
        timeout=timeout_s,
        check=False,
        env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "TILTYARD_STATE": str(cwd / "state")},
    )


@pytest.fixture(scope="module")
def compared() -> Iterator[Path]:
    """A finished comparison of two directories; in memory, because a disk's mood is not tested."""
    with tempfile.TemporaryDirectory(dir="/dev/shm") as name:
        place = Path(name)
        for system in ("a", "b"):
            (place / system).mkdir()
        done = tiltyard("compare", "a", "b", *ASKED, "--blocks", "7", cwd=place)
        assert done.returncode == 0, done.stderr
        assert "Answer" in done.stdout
        assert "7 blocks, 14 trials, all kept" in done.stdout
        yield place


@pytest.mark.parametrize(
    ("words", "fix"),
    [
        (("--style", "full"), "--style is hyperfine's. Fix: --quiet for none; output is plain"),
        (("-M", "9"), "-M is hyperfine's. Fix: --runs N"),
        (("-S", "bash"), "-c \"bash -c 'a | b'\""),
        (("--shell=bash",), "-c \"bash -c 'a | b'\""),
        (("sleep 1",), "is a command, not a system. Fix: -c 'sleep 1'"),
    ],
)
def test_an_option_of_hyperfine_names_its_counterpart(
    words: tuple[str, ...], fix: str, tmp_path: Path
) -> None:
    done = tiltyard("compare", "-c", "ls", "-c", "true", *words, cwd=tmp_path)
    assert done.returncode == 2
    assert fix in done.stderr
    assert len(done.stderr.splitlines()) == 1


@pytest.mark.parametrize("words", [(), ("--help",), ("-h",)])
def test_help_says_what_every_verb_does_in_the_order_of_use(
    words: tuple[str, ...], tmp_path: Path
) -> None:
    done = tiltyard(*words, cwd=tmp_path)
    assert done.returncode == 0
    described = re.findall(r"^│ ([a-z]+) +[A-Z].*│$", done.stdout, re.MULTILINE)
    assert described[: len(VERBS)] == NAMES


def test_a_verb_loads_no_other_one() -> None:
    code = (
        "import sys; from tiltyard.cli import VERBS, app; app['explain'].help; "
        "print(*(one for one in VERBS if f'tiltyard.cli.{one}' in sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "explain\n"


@pytest.mark.parametrize("verb", NAMES)
def test_every_verb_has_help_with_an_example(verb: str, tmp_path: Path) -> None:
    done = tiltyard(verb, "--help", cwd=tmp_path)
    assert done.returncode == 0
    assert f"tiltyard {verb}" in done.stdout.replace(f"Usage: tiltyard {verb}", "")


def test_compare_leaves_a_whole_study_folder(compared: Path) -> None:
    folder = compared / "postmark-a-b"
    names = {path.name for path in folder.iterdir() if not path.name.startswith(".")}
    assert names == {
        "study.toml",
        "plan.json",
        "journal.jsonl",
        "trials",
        "findings.json",
        "report",
    }
    assert len(list((folder / "trials").glob("*.jsonl.gz"))) == 14
    assert list((compared / "a").iterdir()) == list((compared / "b").iterdir()) == []


def test_the_same_command_again_shows_the_same_verdict(compared: Path) -> None:
    again = tiltyard("compare", "a", "b", *ASKED, "--blocks", "7", cwd=compared)
    assert again.returncode == 0, again.stderr
    assert "7 blocks, 14 trials, all kept" in again.stdout
    journal = (compared / "postmark-a-b/journal.jsonl").read_text()
    assert journal.count('"trial_finished"') == 14


def test_another_question_does_not_take_the_folder(compared: Path) -> None:
    typed = ("compare", "a", "b", *ASKED, "--blocks", "9", "--folder", "postmark-a-b")
    done = tiltyard(*typed, cwd=compared)
    assert done.returncode == 2
    assert "another study is in this folder" in done.stderr


def test_a_wrong_option_leaves_nothing_in_the_way_of_the_right_one(tmp_path: Path) -> None:
    for system in ("a", "b"):
        (tmp_path / system).mkdir()
    done = tiltyard("compare", "a", "b", "--blocks", "2", cwd=tmp_path)
    assert done.returncode == 2
    assert "--blocks: 2 is too small: at least 6" in done.stderr
    assert not (tmp_path / "postmark-a-b").exists()


def test_report_makes_the_same_findings_again(compared: Path) -> None:
    folder = compared / "postmark-a-b"
    before = {path: path.read_bytes() for path in (folder / "findings.json",)}
    page = (folder / "report/index.html").read_bytes()
    (folder / "findings.json").unlink()
    (folder / "report/index.html").unlink()
    done = tiltyard("report", folder, "--json", cwd=compared)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["blocks_done"] == 7
    assert {path: path.read_bytes() for path in before} == before
    assert (folder / "report/index.html").read_bytes() == page


def test_status_of_a_finished_study(compared: Path) -> None:
    done = tiltyard("status", "postmark-a-b", cwd=compared)
    assert done.returncode == 0
    assert "7 of at most 7 complete, 14 trials kept" in done.stdout
    assert done.stdout.endswith("\nReport   postmark-a-b/report/index.html\n")


def test_new_then_check(tmp_path: Path) -> None:
    assert tiltyard("new", "spool", "-t", "directories", cwd=tmp_path).returncode == 0
    again = tiltyard("new", "spool", cwd=tmp_path)
    assert again.returncode == 4
    assert "there is a study already" in again.stderr


def test_check_rehearses_directories(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "study.toml").write_text(
        'question = "?"\n[factors]\ndirectory = ["a", "gone"]\n[[workload]]\nuse = "postmark"\n'
    )
    lacking = tiltyard("check", cwd=tmp_path)
    assert lacking.returncode == 3
    assert "Error     gone:" in lacking.stdout
    (tmp_path / "gone").mkdir()
    ready = tiltyard("check", cwd=tmp_path)
    assert ready.returncode == 0, ready.stdout + ready.stderr
    assert "Ready" in ready.stdout


def test_check_takes_any_study_file_and_leaves_nothing_beside_it(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / "disks" / name).mkdir(parents=True)
    (tmp_path / "disks.toml").write_text(
        'question = "?"\n[factors]\ndirectory = ["a", "b"]\n[[workload]]\nuse = "postmark"\n'
    )
    ready = tiltyard("check", "disks.toml", cwd=tmp_path)
    assert ready.returncode == 0, ready.stdout + ready.stderr
    assert "Ready" in ready.stdout
    left = {path.name for path in tmp_path.iterdir()}
    assert left - {"state"} == {"disks", "disks.toml"}


def test_a_bad_parameter_is_found_before_anything_runs(tmp_path: Path) -> None:
    (tmp_path / "study.toml").write_text(
        'question = "?"\n[factors]\ndirectory = ["a", "b"]\n[[workload]]\nuse = "iozone"\n'
        'file = "4k"\nrecord = "1M"\n'
    )
    done = tiltyard("check", cwd=tmp_path)
    assert done.returncode == 2
    assert done.stderr.startswith("tiltyard: study.toml:")
    assert len(done.stderr.splitlines()) == 1


@pytest.mark.parametrize(
    ("words", "code", "says"),
    [
        (("comparr",), 2, 'Did you mean "compare"'),
        (("compare", "ext4", "--flodder", "x"), 2, "--folder"),
        (("compare", "ext4"), 2, "two"),
        (("compare", "ext4", "xsf"), 2, '"xsf" is neither a file system'),
        (("compare", "ext4", "xfs", "-w", "postmrak"), 2, 'Did you mean "postmark"'),
        (("run", "nowhere"), 2, "no study here"),
        (("status",), 2, "no study here"),
        (("schema", "spool"), 2, "spool: more than this command takes"),
        (("workloads", "iozon"), 2, "iozone"),
        (("new", "x", "--template", "filesystem"), 2, 'Did you mean "filesystems"'),
    ],
)
def test_a_wrong_command_line_is_one_clear_line(
    words: tuple[str, ...], code: int, says: str, tmp_path: Path
) -> None:
    done = tiltyard(*words, cwd=tmp_path)
    assert done.returncode == code
    assert says in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1
    assert done.stdout == ""


def test_a_place_that_cannot_be_written_is_one_clear_line(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    done = tiltyard("new", "file/study", cwd=tmp_path)
    assert done.returncode == 3
    assert done.stderr == "tiltyard: file/study: Not a directory\n"


@needs_root
def test_a_full_disk_leaves_no_folder_in_the_way_of_the_same_command(tmp_path: Path) -> None:
    small = tmp_path / "small"
    small.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", small]
    subprocess.run(mount, check=True, timeout=PATIENCE_S)
    try:
        (small / "state").mkdir(mode=0o700)
        (small / "filled").write_bytes(bytes(shutil.disk_usage(small).free))
        done = tiltyard("compare", "-c", "true", "-c", "sleep 0", cwd=small)
        left = {path.name for path in small.iterdir()}
    finally:
        subprocess.run(["umount", small], check=True, timeout=PATIENCE_S)
    assert done.returncode == 3
    assert "No space left on device. Fix: make room there" in done.stderr
    assert left == {"state", "filled"}


@needs_root
def test_a_full_disk_under_the_study_folder(tmp_path: Path) -> None:
    small = tmp_path / "small"
    for directory in (small, tmp_path / "a", tmp_path / "b"):
        directory.mkdir()
    subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", small], check=True, timeout=PATIENCE_S
    )
    try:
        done = tiltyard(
            "compare", "a", "b", "-w", "iozone", "--folder", "small/study", cwd=tmp_path
        )
    finally:
        subprocess.run(["umount", small], check=True, timeout=PATIENCE_S)
    assert done.returncode == 3
    last = done.stderr.strip().splitlines()[-1]
    assert last.startswith("tiltyard: small/study")
    assert "No space left on device. Everything finished is kept" in last
    assert "Traceback" not in done.stderr
    assert list((tmp_path / "a").iterdir()) == list((tmp_path / "b").iterdir()) == []


def test_workloads_as_json(tmp_path: Path) -> None:
    catalogue = json.loads(tiltyard("workloads", "--json", cwd=tmp_path).stdout)
    assert {"iozone", "postmark"} <= {card["name"] for card in catalogue["workloads"]}


def test_doctor_shows_what_is_in_order_when_asked(tmp_path: Path) -> None:
    done, whole = tiltyard("doctor", cwd=tmp_path), tiltyard("doctor", "--all", cwd=tmp_path)
    assert done.returncode == whole.returncode == 0, done.stdout
    ok = re.compile(r"^\S.*? {2,}ok {2,}.*", re.M)
    assert not ok.findall(done.stdout)
    assert any("engine" in line for line in ok.findall(whole.stdout))
    assert "tiltyard doctor --all" in done.stdout


def test_restore_with_nothing_to_do(tmp_path: Path) -> None:
    done = tiltyard("restore", cwd=tmp_path)
    assert (done.returncode, done.stdout.strip()) == (0, "Nothing to restore.")


@needs_root
def test_a_refused_comparison_leaves_no_folder(tmp_path: Path) -> None:
    refused = tiltyard("compare", "ext4", "jfs", "-w", "postmark", cwd=tmp_path)
    assert refused.returncode == 3, refused.stderr
    assert {path.name for path in tmp_path.iterdir()} <= {"state"}
