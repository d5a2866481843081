"""A runbook does what the record says, on this host, and leaves nothing of it behind."""

import json
import os
import subprocess
from pathlib import Path

import pytest

from support.hosts import host_state, needs_root
from support.runs import one_block
from support.said import said_in
from support.synthetic import synthetic_study
from tiltyard.analysis.findings import analyse
from tiltyard.analysis.model import Findings
from tiltyard.analysis.runbook import script
from tiltyard.executors.engine import Engine
from tiltyard.folder import StudyFolder
from tiltyard.recipe import ENGINE, Recipe
from tiltyard.report.redaction import redacted
from tiltyard.report.styles import STYLES

STUDY = """
question = "Which file system, when writing back begins late?"
[factors]
filesystem = ["ext4", "ntfs-3g"]
[systems]
backing   = { image = "32M", at = "memory" }
scheduler = "mq-deadline"
tuning    = { sysctl = { "vm.dirty_ratio" = 37 } }
[conditions]
isolate = false
[[workload]]
use = "postmark"
files = 20
transactions = 20
[[workload]]
use = "program"
command = ["sh", "-c", "printf %s $HOME > out"]
"""
PAIR = """
question = "What do jumbo frames change?"
[factors]
mtu = [1500, 9000]
[conditions]
isolate = false
[[workload]]
use = "tcp_rr"
seconds = 0.05
"""
COMMANDS = """
question = "Which of two commands, in one directory?"
[factors.command]
a = ["sh", "-c", "grep -s -v a left && exit 1; echo a > left"]
b = ["sh", "-c", "grep -s -v b left && exit 1; echo b > left"]
[conditions]
isolate = false
[[workload]]
use = "program"
command = ["{command}"]
"""
DIRTY = Path("/proc/sys/vm/dirty_ratio")

pytestmark = needs_root


@pytest.fixture
def study(open_folder: StudyFolder) -> StudyFolder:
    """Where a study is carried out."""
    return open_folder


def findings_of(folder: StudyFolder, text: str) -> Findings:
    folder.study.write_text(text)
    return analyse(*one_block(folder))


def execute(text: str, at: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    path = at / "runbook.sh"
    path.write_text(text)
    known = {**os.environ, "ENGINE": str(Engine.find().path), **environment}
    argv = ("bash", str(path), str(at / "results"))
    return subprocess.run(argv, cwd=at, env=known, capture_output=True, text=True, check=False)


def hellos(folder: Path) -> dict[str, int]:
    """Hash of what was asked for → trials that reached their end."""
    found: dict[str, int] = {}
    for file in folder.glob("*.jsonl*"):
        events = [json.loads(line) for line in said_in(file).splitlines()]
        assert events[-1]["type"] == "end", file.name
        asked = events[0]["data"]["hash"]
        found[asked] = found.get(asked, 0) + 1
    return found


def test_it_does_the_block_again_and_takes_all_of_it_back(
    study: StudyFolder, tmp_path: Path
) -> None:
    findings = findings_of(study, STUDY)
    text = script(findings)
    before, dirty = host_state(tmp_path), DIRTY.read_text()
    done = execute(text, tmp_path)
    assert done.returncode == 0, done.stderr
    assert hellos(tmp_path / "results") == hellos(study.trials)
    assert (host_state(tmp_path), DIRTY.read_text()) == (before, dirty)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["results", "runbook.sh"]
    assert {"keep /proc/sys/vm/dirty_ratio 37", "back /proc/sys/vm/dirty_ratio"} <= {
        line.strip() for line in text.splitlines()
    }
    broken = execute(text, tmp_path, ENGINE="/bin/false")
    assert broken.returncode == 1
    assert (host_state(tmp_path), DIRTY.read_text()) == (before, dirty)
    assert not (tmp_path / "runbook-work").exists()
    assert_told(findings)
    assert_redacted(findings, tmp_path)


def assert_told(findings: Findings) -> None:
    """Every style has it as an appendix."""
    for style in STYLES:
        sections = {one.id: one for one in style.compose(findings).sections}
        assert sections["runbook"].appendix, style.name


def assert_redacted(findings: Findings, tmp_path: Path) -> None:
    """What was taken out is asked for, not guessed; all else is as it was."""
    systems = tuple(
        one.model_copy(
            update={"recipe": Recipe(up=("ls /srv/secrets",)) + (one.recipe or Recipe())}
        )
        for one in findings.systems
    )
    shown = redacted(findings.model_copy(update={"systems": systems})).findings
    text = script(shown)
    assert "/srv/secrets" not in text
    done = execute(text, tmp_path)
    assert done.returncode != 0
    assert "of the report was taken out" in done.stderr
    assert script(redacted(findings).findings).count(":?") == 0


def test_systems_that_share_a_directory_find_it_empty(study: StudyFolder, tmp_path: Path) -> None:
    """Commands without a system: each turn makes the directory that the one before it removed."""
    text = script(findings_of(study, COMMANDS))
    done = execute(text, tmp_path)
    assert done.returncode == 0, done.stderr
    assert hellos(tmp_path / "results") == hellos(study.trials)
    ends = [path.read_text().splitlines()[-1] for path in (tmp_path / "results").iterdir()]
    assert len(ends) == 2
    assert all(json.loads(end)["data"]["outcome"] == "done" for end in ends), ends
    assert sorted(path.name for path in tmp_path.iterdir()) == ["results", "runbook.sh"]


def test_what_no_script_can_do_is_only_told(tmp_path: Path) -> None:
    findings = analyse(*synthetic_study(("ext4", "aged"), blocks=2))
    jobs = {"postmark": json.dumps({"target": {"directory": "$work/dir"}})}
    up, down = ("mkdir $work/mnt", "# make sure that it is"), ("rm -r $work/mnt",)
    whole = Recipe(up=up, down=down, engine=ENGINE, jobs=jobs)
    aged = Recipe(up=("mkdir $work/old", "# put back what was kept"), jobs=jobs)
    assert (whole.words, aged.words) == ((), ("# put back what was kept",))
    recipes = {"ext4": whole, "aged": aged}
    systems = tuple(
        one.model_copy(update={"recipe": recipes[one.name]}) for one in findings.systems
    )
    text = script(findings.model_copy(update={"systems": systems}))
    lines = [line.strip() for line in text.splitlines()]
    assert {"mkdir $work/mnt", "# mkdir $work/old", "turn 1 1", "# turn 2 1"} <= set(lines)
    assert any(line.endswith("which no script stands in for: aged") for line in lines)
    done = execute(text, tmp_path, ENGINE="/bin/echo", BLOCKS="2")
    assert done.returncode == 0, done.stderr
    made = sorted(path.name for path in (tmp_path / "results").iterdir())
    assert made == ["b1-ext4-postmark.jsonl", "b2-ext4-postmark.jsonl"]


def test_a_command_of_two_lines_is_a_comment_of_one_or_of_two(tmp_path: Path) -> None:
    """What is only told is never executed, whatever was typed."""
    findings = analyse(*synthetic_study(("ext4", "aged"), blocks=1))
    line = f"echo 'a\ntouch {tmp_path}/executed\n'"
    systems = tuple(one.model_copy(update={"commands": (line,)}) for one in findings.systems)
    text = script(findings.model_copy(update={"systems": systems}))
    assert {own[:1] for own in text.splitlines()} == {"#"}
    assert execute(text, tmp_path).returncode == 0
    told = Recipe(up=(line,), jobs={"postmark": "{}"})
    whole = told.model_copy(update={"up": ("true",), "engine": ENGINE})
    systems = tuple(
        one.model_copy(update={"recipe": recipe})
        for one, recipe in zip(findings.systems, (whole, told), strict=True)
    )
    text = script(findings.model_copy(update={"systems": systems}))
    assert f"  # touch {tmp_path}/executed" in text.splitlines()
    assert execute(text, tmp_path, ENGINE="/bin/echo").returncode == 0
    assert not (tmp_path / "executed").exists()


def test_two_ends_come_up_and_go(study: StudyFolder, tmp_path: Path) -> None:
    text = script(findings_of(study, PAIR))
    before = sorted(Path("/run/netns").iterdir())
    done = execute(text, tmp_path)
    assert done.returncode == 0, done.stderr
    assert hellos(tmp_path / "results") == hellos(study.trials)
    assert sorted(Path("/run/netns").iterdir()) == before
