"""The same plan and the same raw files give the same findings and report, to the byte.

Each process has another seed for the order of sets and dictionaries' hashes, another time zone and
another place for the folder: nothing of that may reach a result.
"""

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

COMMAND = "from tiltyard.cli import main; main()"
RAW = ("study.toml", "plan.json", "journal.jsonl", "trials")
SYNTHETIC = """
import hashlib
from support.pages import page_of
from support.synthetic import synthetic_study
from tiltyard.analysis.findings import analyse
plan, run = synthetic_study(
    ("ext4", "xfs"), ("iozone",), blocks=7, effects={"xfs": 1.06}, drift=0.2, foreign_share=0.2
)
findings = analyse(plan, run)
for text in (findings.model_dump_json(indent=2), page_of(findings)):
    print(hashlib.sha256(text.encode()).hexdigest())
"""
PROCESSES = (("1", "UTC"), ("777", "Asia/Tokyo"))


def python(code: str, *words: str, hash_seed: str, zone: str, cwd: Path) -> str:
    done = subprocess.run(
        [sys.executable, "-c", code, *words],
        cwd=cwd,
        env=os.environ
        | {
            "PYTHONHASHSEED": hash_seed,
            "TZ": zone,
            "PYTHONPATH": os.pathsep.join(sys.path),
            "TILTYARD_STATE": str(cwd / "state"),
        },
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def carried_out() -> Iterator[Path]:
    """A real comparison of two directories, with its raw files."""
    with tempfile.TemporaryDirectory(dir="/dev/shm") as name:
        place = Path(name)
        for system in ("a", "b"):
            (place / system).mkdir()
        words = ("compare", "a", "b", "-w", "postmark", "--blocks", "7", "--seed", "5")
        words += ("--disturbed", "keep")
        python(COMMAND, *words, hash_seed="0", zone="UTC", cwd=place)
        yield place / "postmark-a-b"


def analysed_elsewhere(folder: Path, place: Path, hash_seed: str, zone: str) -> dict[str, str]:
    """Copy the raw files only, analyse them there; file → SHA-256."""
    copy = place / f"copy-{hash_seed}"
    copy.mkdir()
    for name in RAW:
        source = folder / name
        (shutil.copytree if source.is_dir() else shutil.copy)(source, copy / name)
    python(COMMAND, "report", str(copy), hash_seed=hash_seed, zone=zone, cwd=place)
    return {
        name: hashlib.sha256((copy / name).read_bytes()).hexdigest()
        for name in ("findings.json", "report/index.html")
    }


def test_a_real_study_analysed_anywhere_gives_the_same_bytes(carried_out, tmp_path):
    first, second = (
        analysed_elsewhere(carried_out, tmp_path, seed, zone) for seed, zone in PROCESSES
    )
    assert first == second
    assert (
        first["findings.json"]
        == hashlib.sha256((carried_out / "findings.json").read_bytes()).hexdigest()
    ), "what the run itself wrote"


def test_a_study_with_a_large_grid_gives_the_same_bytes_in_every_process(tmp_path):
    found = {python(SYNTHETIC, hash_seed=seed, zone=zone, cwd=tmp_path) for seed, zone in PROCESSES}
    assert len(found) == 1
