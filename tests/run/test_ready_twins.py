"""Ready studies that repeat a printed one, each carried out for one small block."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from support.hosts import needs_root
from support.runs import one_block
from tiltyard.folder import StudyFolder
from tiltyard.host import sysctls
from tiltyard.run.record import Prepared

READY = Path(__file__).resolve().parents[2] / "studies"
BACKLOG = "net.core.netdev_max_backlog"

pytestmark = needs_root


@pytest.fixture
def folder(open_folder: StudyFolder) -> StudyFolder:
    """Where a study is carried out."""
    return open_folder


def smaller(folder: StudyFolder, name: str, changes: dict[str, str]) -> dict[str, Prepared]:
    """How the systems of a ready study came up; changes are of its text."""
    text = (READY / f"{name}.toml").read_text()
    for whole, part in changes.items():
        assert whole in text
        text = text.replace(whole, part)
    folder.study.write_text(text)
    plan, record = one_block(folder)
    turns = {turn.system: turn for turn in record.prepared}
    assert turns.keys() == {system.name for system in plan.systems}
    assert len(record.trials) == len(plan.systems) * len(plan.workloads)
    return turns


def test_postmark_runs_on_ntfs_as_on_the_others(folder: StudyFolder) -> None:
    turns = smaller(
        folder,
        "postmark-systems",
        {
            'image = "4G"': 'image = "320M", at = "memory"',
            "= 10_000": "= 40",
            "= 20_000": "= 40",
        },
    )
    kernel = {name: turn.facts["file system"] for name, turn in turns.items()}
    assert kernel["NTFS"] == "fuseblk"
    assert {kernel[name] for name in turns.keys() - {"NTFS"}} == {"ext4", "xfs", "btrfs"}
    assert "nobarrier" in turns["btrfs"].facts["mount options"]
    assert any("mkntfs" in command.argv[0] for command in turns["NTFS"].commands)


def test_optimized_is_what_the_white_paper_lists(folder: StudyFolder) -> None:
    before = sysctls.read(BACKLOG)
    turns = smaller(
        folder,
        "netperf-latency",
        {
            "[1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024]": "[1, 1024]",
            "seconds = 2\n": "seconds = 0.05\n",
        },
    )
    plain, tuned = turns["out-of-box"].facts, turns["optimized"].facts
    assert plain[f"tuning {BACKLOG}"].startswith("1000")
    assert tuned[f"tuning {BACKLOG}"].startswith("250000 (was ")
    assert sysctls.read(BACKLOG) == before
    assert tuned["tuning wake-up latency"].startswith("0 µs")
    assert "tuning wake-up latency" not in plain
    # A pair of virtual devices has none to move, and says so.
    assert tuned["tuning interrupts"].startswith("skipped: ")
    assert "crond" in tuned["tuning, not on this host"]
    assert tuned["CPUs of the server"] == "1"
    assert plain["CPUs of the server"] != "1"


def test_check_names_what_the_devices_lack(tmp_path: Path) -> None:
    path = tmp_path / "study.toml"
    path.write_text((READY / "netperf-latency.toml").read_text())
    argv = ("-c", "from tiltyard.cli import main; main()", "check", str(tmp_path), "--json")
    done = subprocess.run([sys.executable, *argv], capture_output=True, text=True, check=False)
    problems = json.loads(done.stdout)["problems"]
    texts = [one["text"] for one in problems if one["system"] == "optimized"]
    assert [text for text in texts if text.startswith("tuning interrupts: skipped: ")]
    assert len(texts) == len(set(texts))
    assert {one["severity"] for one in problems} == {"warning"}
