"""A dry run tells the commands of a real one, and does nothing."""

import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from support.devices import MIB, digest, loop_disk, sh
from support.hosts import needs_root
from support.runs import directory_system, image_system
from tiltyard.folder import StudyFolder
from tiltyard.host import commands
from tiltyard.host.script import Script, UntoldError
from tiltyard.run.dry_run import Told, dry_run
from tiltyard.run.rehearsal import rehearse
from tiltyard.study.model import SystemSpec

STUDY = """
question = "Which?"
[factors]
filesystem = ["ext4", "ext2"]
[systems]
backing = { image = "16M" }
"""
LOOKS = re.compile(r"^(lsblk|wipefs|dumpe2fs) | (-V|--version)$")


def disk_system(node: str, image: Path, **settings: object) -> SystemSpec:
    """A system of kind ``block-device``."""
    confirm = {"size": image.stat().st_size, "backing_file": str(image)}
    typed = {"filesystem": "ext4", "device": node, "confirm": confirm, **settings}
    return SystemSpec.model_validate(
        {"name": "disk", "levels": {}, "kind": "block-device", "settings": typed}
    )


def told_commands(parts: list[Told]) -> list[str]:
    """The commands, without what is told in words."""
    return [line for part in parts for line in part.lines if not line.startswith("#")]


def executed_commands(
    folder: StudyFolder, system: SystemSpec, monkeypatch: pytest.MonkeyPatch
) -> list[str]:
    """What a real turn executes, with the words of a dry run for what differs from run to run."""
    executed: list[str] = []
    really = commands.run

    def logged(argv: tuple[str, ...], **options: Any) -> commands.Output:
        executed.append(shlex.join(argv))
        return really(argv, **options)

    with monkeypatch.context() as patched:
        patched.setattr(commands, "run", logged)
        rehearsal = rehearse(folder, [system], refresh=True)
    assert [p for p in rehearsal.problems[system.name] if p.severity == "error"] == []
    lines = [line for line in executed if not LOOKS.search(line)]
    lines = [re.sub(r"tiltyard-[0-9a-f]{8}-", "tiltyard-TOKEN-", line) for line in lines]
    return [re.sub(r"-U [-0-9a-f]{36}", "-U UUID", line) for line in lines]


@needs_root
def test_an_image_is_told_as_it_is_done(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = StudyFolder(tmp_path)
    system = image_system("ext2", "16M", mount=["noatime"], scheduler="mq-deadline")
    told = dry_run(folder, [system])
    assert [part.part for part in told] == [
        "bring up", "refresh", "take down", "at the end of the run",
    ]  # fmt: skip
    done = [re.sub(r"/dev/loop\d+", "/dev/loopN", line)
            for line in executed_commands(folder, system, monkeypatch)]  # fmt: skip
    assert told_commands(told) == done
    assert any(line.startswith("mkfs.ext2 ") for line in done)
    words = [line for part in told for line in part.lines if line.startswith("#")]
    assert "# set scheduler of /dev/loopN to mq-deadline" in words
    assert any(line.startswith("# write 16 MiB of zeros to ") for line in words)


@needs_root
def test_a_disk_is_told_as_it_is_done(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = StudyFolder(tmp_path / "study")
    folder.root.mkdir()
    image = tmp_path / "disk.img"
    with loop_disk(image, 16 * MIB) as node:
        system, before = disk_system(node, image), digest(image, node)
        told = told_commands(dry_run(folder, [system]))
        assert digest(image, node) == before
        assert told == executed_commands(folder, system, monkeypatch)
        sh("mkfs.ext2", "-q", node)
        before = digest(image, node)
        (refused,) = dry_run(folder, [system])
        assert refused.lines == ()
        assert "would not come up: " in refused.refused
        assert "it carries a file system or label of type ext2" in refused.refused
        assert digest(image, node) == before


@needs_root
@pytest.mark.parametrize("kind", ["tmpfs", "overlay"])
def test_what_is_mounted_is_told_as_it_is_done(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, kind: str
) -> None:
    folder = StudyFolder(tmp_path)
    system = SystemSpec(name=kind, levels={}, kind=kind, settings={"mount": ["noatime"]})
    told = told_commands(dry_run(folder, [system]))
    assert told == executed_commands(folder, system, monkeypatch)
    assert told[0].startswith(f"mount -t {kind} ")


def test_nothing_is_touched(tmp_path: Path, state: Path) -> None:
    system = directory_system("a", tmp_path / "a")
    (told, taken_down) = dry_run(StudyFolder(tmp_path / "study"), [system])
    assert told.lines == (f"# make directory {tmp_path}/a/tiltyard-TOKEN-trials",)
    assert taken_down.lines == (f"# remove {tmp_path}/a/tiltyard-TOKEN-trials and what is in it",)
    assert list(tmp_path.rglob("*")) == [tmp_path / "a"]
    assert not list(state.iterdir())


@needs_root
def test_what_depends_on_earlier_steps_is_said_to(tmp_path: Path) -> None:
    system = SystemSpec(name="pair", levels={}, kind="pair", settings={})
    before = sh("ip", "netns", "list")
    (told,) = dry_run(StudyFolder(tmp_path), [system])
    assert told.lines[0] == "ip netns add tiltyard-TOKEN-near"
    assert told.untold.startswith("what follows depends on what these steps bring about")
    assert sh("ip", "netns", "list") == before


@needs_root
def test_a_tuning_profile_is_told(tmp_path: Path) -> None:
    swappiness = Path("/proc/sys/vm/swappiness")
    before = swappiness.read_text().strip()
    other = "41" if before != "41" else "42"
    profile = tmp_path / "profile.toml"
    profile.write_text(f'about = "a test"\n[sysctl]\n"vm.swappiness" = {other}\n')
    system = image_system("ext2", "16M", tuning=[str(profile)])
    told = dry_run(StudyFolder(tmp_path), [system])[0]
    assert told.lines[0] == (f"# set vm.swappiness to {other} until the turn ends; it is {before}")
    assert told.lines[-1] == "# set what the profile has for the devices"
    assert swappiness.read_text().strip() == before


@needs_root
def test_on_the_command_line(tmp_path: Path) -> None:
    (tmp_path / "study.toml").write_text(STUDY)
    argv = ("-c", "from tiltyard.cli import main; main()", "check", str(tmp_path), "--dry-run")
    done = subprocess.run([sys.executable, *argv], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    _, _, told = done.stdout.partition("Dry run   ext4: bring up\n")
    lines = [line.strip() for line in told.splitlines()]
    assert lines[0].startswith("# write 16 MiB of zeros to ")
    assert lines[1].startswith("losetup --find --show --direct-io=on ")
    assert lines[2].startswith("mkfs.ext4 ")
    assert "Dry run   ext2: take down" in told
    assert [path.name for path in tmp_path.iterdir()] == ["study.toml"]


@pytest.mark.parametrize("act", ["mkdir", "write", "start", "remove", "link"])
def test_the_hook_stops_what_would_be_done_all_the_same(tmp_path: Path, act: str) -> None:
    (tmp_path / "file").write_text("as it was")
    acts = {
        "mkdir": lambda: (tmp_path / "new").mkdir(),
        "write": lambda: (tmp_path / "file").write_text("changed"),
        "start": lambda: subprocess.run(["touch", tmp_path / "new"], check=True),
        "remove": lambda: (tmp_path / "file").unlink(),
        "link": lambda: (tmp_path / "new").symlink_to("file"),
    }
    script = Script()
    with script.nothing_is_done(), pytest.raises(UntoldError):
        acts[act]()
    assert [path.name for path in tmp_path.iterdir()] == ["file"]
    assert (tmp_path / "file").read_text() == "as it was"
    acts[act]()
    (tmp_path / "file").write_text("and afterwards it is out of the way")
