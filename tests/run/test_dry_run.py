"""A dry run prints the commands of a real one, and does nothing."""

import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from pydantic import TypeAdapter

from support.devices import MIB, digest, loop_disk, sh
from support.hosts import needs_root
from support.runs import directory_system, image_system
from tiltyard.folder import StudyFolder
from tiltyard.host.host import Host
from tiltyard.host.steps import AnyStep, Step
from tiltyard.run.dry_run import dry_run
from tiltyard.run.rehearsal import rehearse
from tiltyard.study.model import SystemSpec
from tiltyard.systems import kind
from tiltyard.systems.kind import Site
from tiltyard.systems.planned import PlannedPart
from tiltyard.systems.preview import Preview
from tiltyard.wire import HostDid, HostOutput, HostUndone

ACTS = {
    *("os.chmod", "os.chown", "os.kill", "os.link", "os.mkdir", "os.remove", "os.rename"),
    *("os.rmdir", "os.setxattr", "os.symlink", "os.system", "os.truncate", "os.utime"),
    *("os.posix_spawn", "socket.bind", "socket.connect", "subprocess.Popen"),
}
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


def told_commands(parts: list[PlannedPart]) -> list[str]:
    """The commands, without what is printed in words."""
    return [line for part in parts for line in part.lines if not line.startswith("#")]


def command_of(op: Mapping[str, Any]) -> str:
    """What a person would type for an op; empty: no command does it."""
    options = ("-o", ",".join(op["options"])) if op.get("options") else ()
    argv = {
        "run": lambda: op["argv"],
        "format": lambda: op["argv"],
        "network": lambda: ("ip", "netns", "add", op["name"]),
        "loop": lambda: ("losetup", "--find", "--show", "--direct-io=on", op["file"]),
        "mount": lambda: ("mount", "-t", op["kind"], *options, op["from"], op["at"]),
    }.get(op["op"], lambda: ())()
    before = f"umount {shlex.quote(text_of(op['at']))}; " if op.get("again") else ""
    return before + shlex.join(map(text_of, argv))


def text_of(text: Any) -> str:
    """With the names of what earlier ops yield."""
    if isinstance(text, str):
        return text
    parts = text["cat"]
    return "".join(part if isinstance(part, str) else part["of"] for part in parts)


def executed_commands(
    folder: StudyFolder, system: SystemSpec, monkeypatch: pytest.MonkeyPatch
) -> list[str]:
    """What a real turn executes, with the words of a dry run for what differs from run to run."""
    executed: list[str] = []
    really, change, undo = Host.run, Host.change, Host.undo

    def logged(host: Host, argv: Sequence[str], **options: Any) -> HostOutput:
        executed.append(shlex.join(argv))
        return really(host, argv, **options)

    def changed(host: Host, ops: Sequence[Mapping[str, Any]], *rest: Any) -> HostDid:
        executed.extend(filter(None, map(command_of, ops)))
        return change(host, ops, *rest)

    def undone(host: Host, *what: Any, **how: Any) -> HostUndone:
        told = undo(host, *what, **how)
        for said, command in (
            ("unmounted ", "umount "),
            ("detached ", "losetup -d "),
            ("removed network namespace ", "ip netns del "),
        ):
            executed.extend(line.replace(said, command) for line in told.done if said in line)
        return told

    with monkeypatch.context() as patched:
        patched.setattr(Host, "run", logged)
        patched.setattr(Host, "change", changed)
        patched.setattr(Host, "undo", undone)
        rehearsal = rehearse(folder, [system], refresh=True)
    assert [p for p in rehearsal.problems[system.name] if p.severity == "error"] == []
    # That a directory is removed is told in words.
    lines = [line for line in executed if not LOOKS.search(line) and "engine remove" not in line]
    lines = [re.sub(r"tiltyard-[0-9a-f]{8}-", "tiltyard-TOKEN-", line) for line in lines]
    return [re.sub(r"-U [-0-9a-f]{36}", "-U '{uuid}'", line) for line in lines]


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
def test_two_ends_are_told_as_they_are_done(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = StudyFolder(tmp_path)
    settings = {"qdisc": "pfifo limit 1000", "sysctl": {"net.core.somaxconn": 4001}}
    system = SystemSpec.model_validate(
        {"name": "pair", "levels": {}, "kind": "pair", "settings": settings}
    )
    before = sh("ip", "netns", "list")
    told = dry_run(folder, [system])
    assert sh("ip", "netns", "list") == before
    lines = told_commands(told)
    assert lines[0] == "ip netns add tiltyard-TOKEN-client"
    assert any("somaxconn=4001" in line for line in lines)
    done = executed_commands(folder, system, monkeypatch)
    assert [line for line in done if line in lines] == lines
    words = [line for part in told for line in part.lines if line.startswith("#")]
    assert any(line.startswith("# start, and wait until it listens: ") for line in words)


@needs_root
def test_a_tuning_profile_is_told(tmp_path: Path) -> None:
    swappiness = Path("/proc/sys/vm/swappiness")
    before = swappiness.read_text().strip()
    other = "41" if before != "41" else "42"
    profile = tmp_path / "profile.toml"
    knobs = "[idle]\nlatency_us = 21\n[priority]\nfifo = 7\n[interrupts]\ncpus = [0]\n"
    profile.write_text(f'about = "a test"\n[sysctl]\n"vm.swappiness" = {other}\n{knobs}')
    system = image_system("ext2", "16M", tuning=[str(profile)])
    told = dry_run(StudyFolder(tmp_path), [system])[0]
    assert told.lines[0] == (f"# set vm.swappiness to {other} until the turn ends; it is {before}")
    if Path("/dev/cpu_dma_latency").exists():
        assert told.lines[1].startswith("# start, and wait until it serves: ")
        assert "exec 9>/dev/cpu_dma_latency" in told.lines[1]
    assert "# start the workload by: chrt -f 7" in told.lines
    placed = {path.read_text().strip() for path in Path("/proc/irq").glob("*/smp_affinity_list")}
    for cpus in placed - {"0"}:
        assert f"# set interrupts to 0 until the turn ends; it is {cpus}" in told.lines
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
    assert lines[2].startswith("# make sure that /dev/loopN is still ")
    assert lines[3].startswith("mkfs.ext4 ")
    assert "Dry run   ext2: take down" in told
    assert [path.name for path in tmp_path.iterdir()] == ["study.toml"]


EVERY_KIND: dict[str, dict[str, object]] = {
    "loop-image": {"filesystem": "ext4", "backing": {"image": "16M"}, "state": {"filled": "40%"},
                   "scheduler": "none", "bandwidth": "10M"},
    "directory": {"directory": "."},
    "tmpfs": {},
    "overlay": {},
    "mount": {"type": "tmpfs", "source": "x"},
    "vm": {"kernel": "/bin/true", "backing": {"image": "16M"}},
    "pair": {"sysctl": {"net.core.somaxconn": 4001}},
    "loopback": {},
    "hosts": {"server": "nobody@127.0.0.1", "address": "127.0.0.1"},
}  # fmt: skip
"""Kind → settings with which it can be planned anywhere; ``block-device`` has its own tests."""


def planned(kind_name: str, root: Path) -> tuple[list[Step], Preview]:
    """The steps of a turn."""
    preview = Preview()
    site = Site(root=root, work=root / "work", ledger=preview)
    system = kind(kind_name).system(kind_name, EVERY_KIND[kind_name], site)  # type: ignore[arg-type]
    steps: list[Step] = []
    for phase in (system.steps_up, system.steps_refresh, system.steps_down):
        for step in phase():
            preview.tell((step,))
            steps.append(step)
    return steps, preview


@pytest.mark.parametrize("kind_name", EVERY_KIND)
def test_a_step_is_plain_data(kind_name: str, tmp_path: Path) -> None:
    steps, _ = planned(kind_name, tmp_path)
    assert steps
    for step in steps:
        document = step.model_dump_json()
        assert TypeAdapter(AnyStep).validate_json(document) == step
        assert json.loads(document)["kind"] == step.kind


@pytest.mark.parametrize("kind_name", EVERY_KIND)
def test_planning_starts_no_program_and_writes_nothing(kind_name: str, tmp_path: Path) -> None:
    """In a process of its own: what watches an interpreter cannot be taken away again."""
    program = f"""
import os, sys
from pathlib import Path
from tests.run.test_dry_run import planned
done = []
def watch(event, arguments):
    writes = event == "open" and isinstance(arguments[2], int) and arguments[2] & (
        os.O_WRONLY | os.O_RDWR | os.O_CREAT) and arguments[0] != os.devnull
    if writes or event in {ACTS}:
        done.append((event, arguments[0]))
sys.dont_write_bytecode = True
planned({kind_name!r}, Path({str(tmp_path)!r}))
sys.addaudithook(watch)
planned({kind_name!r}, Path({str(tmp_path)!r}))
assert not done, done
"""
    home = Path(__file__).parents[2]
    environment = {**os.environ, "PYTHONPATH": f"{home}:{home / 'tests'}"}
    subprocess.run([sys.executable, "-c", program], check=True, env=environment)
    assert not list(tmp_path.iterdir())
