"""A disk that was blank carries a file system for a turn, and is blank again: also after a kill."""

import hashlib
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from pathlib import Path

import pytest
from pydantic import ValidationError

from support.devices import GPT_TABLE, MIB, digest, is_blank, loop_disk, sh, signatures, write
from support.far import Far, here_and_there
from support.hosts import host_state, needs_root
from support.kills import agents_of
from support.looks import chosen, mounts_at
from support.patience import wait_until
from support.runs import Watcher, go_on, plan_of
from support.snapshots import processes_of
from tiltyard.errors import BusyError, HostLacksError, RefusedError, TiltyardError
from tiltyard.executors.engine import Engine
from tiltyard.folder import StudyFolder
from tiltyard.host.changes import MadeByOp
from tiltyard.host.devices import loops
from tiltyard.host.devices.held import UUID, FormatDevice, ReleaseDevice, Wanted
from tiltyard.host.host import here, hosts
from tiltyard.host.ledger import Ledger, recover
from tiltyard.ownership import state_directory
from tiltyard.run.runner import run_study
from tiltyard.study.model import SystemSpec
from tiltyard.systems import kind
from tiltyard.systems.kind import Site, System

Make = Callable[..., System]
SMALL = 16 * MIB


@pytest.fixture
def disk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Path]]:
    """A blank disk that is not ours: node, and the file behind it."""
    image = tmp_path_factory.mktemp("disk") / "disk.img"
    with loop_disk(image, SMALL) as node:
        yield node, image


def settings_of(node: str, image: Path, filesystem: str, **other: object) -> dict[str, object]:
    """Settings that say truly which disk is meant."""
    confirm = {"size": image.stat().st_size, "backing_file": str(image)}
    return {"filesystem": filesystem, "device": node, "confirm": confirm, **other}


@pytest.fixture
def make(tmp_path: Path, disk: tuple[str, Path], far: Far) -> Iterator[Make]:
    """Makes systems on the disk that share a scratch folder and a ledger."""
    with Ledger() as ledger:
        site = far.site(Site(root=tmp_path, work=tmp_path, ledger=ledger))

        def system(filesystem: str, name: str = "", **other: object) -> System:
            settings = settings_of(*disk, filesystem, **other, **far.settings)
            opened_kind = kind("block-device")
            return far.made(opened_kind.system(name or filesystem, settings, site))  # type: ignore[arg-type]

        yield system
    assert not list(tmp_path.iterdir())


def assert_blank(node: str, size_bytes: int = SMALL) -> None:
    """As it was handed over."""
    assert signatures(node) == []
    assert is_blank(node, size_bytes)


@here_and_there
@needs_root
def test_up_and_down(make: Make, disk: tuple[str, Path], tmp_path: Path) -> None:
    node, _ = disk
    for filesystem in ("ext4", "ext2", "ext4"):
        system = make(filesystem)
        assert system.problems() == []
        up = system.bring_up()
        mount = mounts_at(up.target.parent)[-1]
        assert (mount.type, mount.source) == (filesystem, node)
        assert up.devices == (node,)
        assert [command.argv[0] for command in up.commands] == [f"mkfs.{filesystem}", "mount"]
        assert not {"-F", "-f", "-I", "--force"} & set(up.commands[0].argv)
        (up.target / "file").write_bytes(b"x" * 100_000)
        system.refresh()
        assert (up.target / "file").stat().st_size == 100_000
        system.take_down()
        assert not list(tmp_path.iterdir())
        assert_blank(node)


@here_and_there
@needs_root
def test_what_the_device_is_stands_in_the_record(make: Make, disk: tuple[str, Path]) -> None:
    facts = make("ext4").bring_up().facts
    assert facts["device"] == disk[0]
    assert facts["device size"] == f"16 MiB ({SMALL} bytes)"
    assert facts["image behind it"] == str(disk[1])
    assert facts["device serial"] == facts["device model"] == "not available"
    assert facts["device blocks"].startswith("logical 512 B, physical ")
    assert facts["write cache of the device"].startswith(("write back", "write through"))
    assert "as the kernel says; virtual disks lie" in facts["rotational flag"]
    assert facts["discard"].startswith(("in units of ", "no"))


@needs_root
def test_queue_settings_are_set_and_put_back(make: Make, disk: tuple[str, Path]) -> None:
    names = ("scheduler", "read_ahead_kb")
    before = [chosen(loops.queue_setting(disk[0], name)) for name in names]
    system = make("ext2", scheduler="mq-deadline", read_ahead="64k")
    facts = system.bring_up().facts
    assert (facts["I/O scheduler"], facts["read-ahead"]) == ("mq-deadline", "64 KiB")
    system.take_down()
    assert [chosen(loops.queue_setting(disk[0], name)) for name in names] == before


@needs_root
def test_a_file_system_that_stays_is_mounted_again_and_goes_with_the_run(
    tmp_path: Path, disk: tuple[str, Path]
) -> None:
    node, image = disk
    with Ledger() as ledger:
        site = Site(root=tmp_path, work=tmp_path, ledger=ledger)
        settings = settings_of(node, image, "ext4", reset="remount")
        system = kind("block-device").system("a", settings, site)  # type: ignore[arg-type]
        up = system.bring_up()
        (up.target / "file").touch()
        system.take_down()
        assert [each["type"] for each in signatures(node)] == ["ext4"]
        again = system.bring_up()
        assert (again.target / "file").exists()
        assert [command.argv[0] for command in again.commands] == ["mount"]
        system.take_down()
        other = kind("block-device").system("b", settings, site)  # type: ignore[arg-type]
        with pytest.raises(RefusedError, match="it carries a file system or label of type ext4"):
            other.bring_up()
        sh("mkfs.ext4", "-q", "-F", node)
        with pytest.raises(RefusedError, match=r"not mounted: it carries .*, not what we made"):
            system.bring_up()
        sh("wipefs", "--all", node)
        write(node, 0, bytes(MIB))
    assert_blank(node)


@needs_root
def test_a_mkfs_with_a_uuid_of_the_study_is_known_by_that(
    make: Make, disk: tuple[str, Path]
) -> None:
    mine = str(uuid.uuid4())
    system = make("ext4", mkfs=["-U", mine])
    system.bring_up()
    assert [each["uuid"] for each in signatures(disk[0])] == [mine]
    system.take_down()
    assert_blank(disk[0])


@needs_root
def test_a_mkfs_that_takes_no_uuid_is_known_by_what_it_made(
    make: Make, disk: tuple[str, Path]
) -> None:
    system = make("ntfs-3g")
    if errors := [p.text for p in system.problems() if p.severity == "error"]:
        pytest.skip(f"{errors[0]}: make setup-dev")
    system.bring_up()
    assert {each["type"] for each in signatures(disk[0])} >= {"ntfs"}
    system.take_down()
    assert_blank(disk[0])


@here_and_there
@needs_root
def test_a_mkfs_that_fails_leaves_it_blank(make: Make, disk: tuple[str, Path]) -> None:
    with pytest.raises(TiltyardError, match=r"(^|: )mkfs.ext4 .*[Ii]nvalid filesystem option"):
        make("ext4", mkfs=["-O", "nonesuch"]).bring_up()
    assert_blank(disk[0])


@needs_root
def test_a_real_study_of_three_file_systems_on_one_disk(tmp_path: Path) -> None:
    image = tmp_path / "disk.img"
    with loop_disk(image, 320 * MIB) as node:
        folder = StudyFolder(tmp_path / "study")
        folder.root.mkdir()
        systems = tuple(
            SystemSpec.model_validate(
                {
                    "name": name,
                    "levels": {"filesystem": name},
                    "kind": "block-device",
                    "settings": settings_of(node, image, name),
                }
            )
            for name in ("ext4", "xfs", "btrfs")
        )
        watcher = Watcher()
        run_study(folder, plan_of(systems, blocks=2), Engine.find(), go_on, watcher)
        assert [record.outcome for record in watcher.records] == ["done"] * 6
        assert_blank(node, 320 * MIB)


UP_AND_DOWN = """
import json, sys
from pathlib import Path
from tiltyard.host.ledger import Ledger
from tiltyard.systems import kind
from tiltyard.systems.kind import Site
work, settings = Path(sys.argv[1]), json.loads(sys.argv[2])
with Ledger() as ledger:
    system = kind("block-device").system("ext2", settings, Site(work, work, ledger))
    system.bring_up()
    print("up", flush=True)
    sys.stdin.read()
    while True:
        system.take_down()
        (system.bring_up().target / "file").write_bytes(b"x" * 100_000)
"""


@needs_root
def test_killed_at_random_moments_it_is_blank_again(
    tmp_path: Path, state: Path, disk: tuple[str, Path]
) -> None:
    node, image = disk
    scheduler = loops.queue_setting(node, "scheduler")
    before = scheduler.read_text()
    settings = json.dumps(settings_of(node, image, "ext2", scheduler="mq-deadline"))
    moments, said = random.Random(4711), list[str]()
    for kill in range(5):
        argv = (sys.executable, "-c", UP_AND_DOWN, str(tmp_path), settings)
        pipe = subprocess.PIPE
        with subprocess.Popen(argv, stdin=pipe, stdout=pipe) as process:
            assert process.stdout is not None
            assert process.stdin is not None
            assert process.stdout.readline() == b"up\n"
            if kill > 0:
                process.stdin.close()
                time.sleep(moments.uniform(0, 0.4))
            if kill % 2 == 0:
                for agent in agents_of(process.pid):
                    os.kill(agent, signal.SIGKILL)
            process.send_signal(signal.SIGKILL)
        processes_of(state)  # waits for its agent, unless that was killed with it
        said += recover()
        assert str(tmp_path) not in host_state(tmp_path)
        assert scheduler.read_text() == before
        assert_blank(node)
        assert not list(tmp_path.iterdir())
        assert not list(state.iterdir())
    assert any("removed our ext2 from " in line for line in said)


@needs_root
def test_what_is_kept_for_a_study_is_known_to_the_next_agent(disk: tuple[str, Path]) -> None:
    node, image = disk
    wanted = Wanted(Path(node), SMALL, {"backing_file": str(image)})
    release = ReleaseDevice(given=wanted.given).op(str)
    argv = ("mkfs.ext2", "-q", "-U", UUID, node)
    made = FormatDevice(given=Path(node), node=node, filesystem="ext2", argv=argv, output=UUID)
    told = made.op(lambda text: {"of": text} if text == UUID else str(text))
    did = here().change([wanted.held().op(str), told, release])
    (change,) = did.changes
    here().leave(("true",), "study", [change.number])
    hosts.close()

    def held(ledger: str, number: int) -> None:
        ours = MadeByOp(op="", back="", back_script="", ledger=ledger, number=number)
        here().change([wanted.held(carries=ours).op(str), release])

    with pytest.raises(BusyError, match="is taken by another run"):
        here().change([wanted.held().op(str)])
    held(did.ledger, change.number)
    for ledger, number in ((did.ledger, change.number + 1), ("1-00000000", change.number)):
        with pytest.raises(RefusedError, match="nothing is known of what we made on it"):
            held(ledger, number)
    (said,) = here().recover(kept=True).done
    assert said.startswith(f"removed our ext2 from {node} ")
    assert_blank(node)


WRITES = 'printf x | dd of="$0" bs=1 conv=notrunc,fsync seek='
KILLS = '; kill -KILL "$1"; sleep 0.2'


@needs_root
@pytest.mark.parametrize(
    ("script", "dies", "said"),
    [
        (f"{WRITES}{5 * MIB}{KILLS}", True, "removed our ext2 from"),
        (f"{WRITES}70000{KILLS}", True, r"left .*: its byte 70000 is not zero$"),
        (f'mkfs.ext2 -q "$0"{KILLS}', True, r"left .* which is not known to be ours; if nobody"),
        ('mkfs.ext2 -q "$0"', False, "removed our ext2 from"),
    ],
)
def test_its_agent_is_killed_during_a_mkfs_that_takes_no_uuid_and_after_it(
    disk: tuple[str, Path], script: str, dies: bool, said: str
) -> None:
    node, image = disk
    wanted = Wanted(Path(node), SMALL, {"backing_file": str(image)})
    agent = here()
    argv = ("sh", "-c", script, node, str(agent.pid))
    make = FormatDevice(given=Path(node), node=node, filesystem="ext2", argv=argv)
    with pytest.raises(HostLacksError, match="has ended") if dies else nullcontext():
        agent.change([wanted.held().op(str), make.op(str)])
    if not dies:
        os.kill(agent.pid, signal.SIGKILL)
        wait_until(lambda: not agent.is_there, "it does not end")
    found = here().recover()
    assert (len(found.done), found.left) == (1, [])
    assert re.match(said, found.done[0]), found.done
    if "removed" in said:
        assert_blank(node)


MINE = "00000000-0000-0000-0000-000000000001"


def taken_back(node: str, **other: object) -> str | None:
    """What a recovery says of a file system that a dead agent has made on it."""
    marks = {"backing_file": str(loops.backing_file(node))}
    device = {"given": node, "size_bytes": SMALL, "marks": marks}
    known = other.pop("known", (MINE,))
    made = {"device": {**device, **other}, "filesystem": "ext4", "known": known}
    line = {"change": 1, "at_ns": 1, "is": {"kind": "formatted", "is": made}}
    text = json.dumps(line)[:-1]
    summed = hashlib.sha256(text.encode()).hexdigest()[:8]
    ledger = state_directory() / "1-00000000.ops"
    ledger.write_text(f'{text},"sum":"{summed}"}}\n')
    ledger.chmod(0o600)
    told = here().recover()
    if told.left:
        raise TiltyardError("; ".join(told.left))
    assert not ledger.exists()
    return "; ".join(told.done) or None


@needs_root
def test_what_is_known_to_be_ours_is_removed(disk: tuple[str, Path]) -> None:
    node, _ = disk
    assert taken_back(node) is None
    sh("mkfs.ext4", "-q", "-U", MINE, node)
    said = taken_back(node)
    assert said is not None
    assert said.startswith(f"removed our ext4 from {node} ")
    assert_blank(node)


@needs_root
@pytest.mark.parametrize(
    ("known", "made", "reason"),
    [
        ((), ("mkfs.ext4", "-q", "-U", MINE), "which is not known to be ours"),
        ((MINE,), ("mkfs.ext4", "-q"), "which is not known to be ours"),
        ((MINE,), ("pvcreate", "-q"), "it carries a physical volume of LVM"),
    ],
)
def test_what_is_not_known_to_be_ours_is_left(
    disk: tuple[str, Path], known: tuple[str, ...], made: tuple[str, ...], reason: str
) -> None:
    node, image = disk
    if shutil.which(made[0]) is None:
        pytest.skip(f"{made[0]} is not installed: make setup-dev")
    sh(*made, node)
    before = digest(image, node)
    said = taken_back(node, known=known)
    assert said is not None
    assert said.startswith(f"left {node} ")
    assert reason in said
    assert digest(image, node) == before


@needs_root
def test_somebodys_partition_table_over_our_file_system_is_left(disk: tuple[str, Path]) -> None:
    if shutil.which("sfdisk") is None:
        pytest.skip("sfdisk is not installed: make setup-dev")
    node, image = disk
    sh("mkfs.ext4", "-q", "-U", MINE, node)
    sh("sfdisk", "--quiet", "--no-reread", "--wipe", "never", node, stdin=GPT_TABLE)
    before = digest(image, node)
    assert "it carries a partition table (GPT) at byte 512" in (taken_back(node) or "")
    assert digest(image, node) == before


@needs_root
def test_a_disk_that_was_exchanged_is_left(disk: tuple[str, Path]) -> None:
    node, _ = disk
    said = taken_back(node, size_bytes=2 * SMALL) or ""
    assert said.endswith(f"that carries our ext4: the study says that it has {2 * SMALL} bytes")
    said = taken_back(node, marks={"backing_file": "/srv/other.img"}) or ""
    assert said.endswith('the study says "/srv/other.img"')
    gone = "/dev/disk/by-id/nonesuch"
    assert taken_back(node, given=gone) == f"left {gone}: it is gone; it may still carry our ext4"


@needs_root
def test_a_disk_that_is_in_use_is_told_and_tried_again_later(
    disk: tuple[str, Path], state: Path
) -> None:
    node, _ = disk

    def is_told() -> bool:
        """Whoever looks at all disks for a moment, as losetup(8) of another test, is told first."""
        with pytest.raises(TiltyardError, match="cannot be had alone: ") as told:
            taken_back(node)
        return f"alone: {node} is open in process {os.getpid()} (" in str(told.value)

    file = os.open(node, os.O_RDONLY | os.O_EXCL)
    try:
        wait_until(is_told, "who has it is not told")
    finally:
        os.close(file)
    assert [*state.glob("*.ops")]
    assert taken_back(node) is None


@pytest.mark.parametrize(
    ("settings", "text"),
    [
        ({"device": "/srv/disk.img"}, "is not a device. Name it by /dev/disk/by-id/"),
        ({"device": "/dev/../srv/disk.img"}, "is not a device"),
        ({"device": "/dev/disk/by-uuid/1234"}, "is the name of a file system"),
        ({"device": "/dev/sdb"}, "may be another one after the next boot"),
        ({"device": "/dev/disk/by-id/x", "confirm": {}}, "Field required"),
        ({"device": "/dev/disk/by-id/x", "confirm": {"size": "big"}}, "is not a size"),
    ],
)
def test_a_study_that_does_not_say_which_disk_is_refused(
    settings: dict[str, object], text: str
) -> None:
    typed = {"filesystem": "ext4", "confirm": {"size": "1G"}, **settings}
    with pytest.raises(ValidationError, match=text):
        kind("block-device").Settings.model_validate(typed)


def test_a_stable_name_and_the_size_are_enough() -> None:
    typed = {"filesystem": "ext4", "confirm": {"size": 10**12}, "device": "/dev/disk/by-id/wwn-1"}
    assert kind("block-device").Settings.model_validate(typed).confirm.marks == {}
