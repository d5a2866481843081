"""Real file systems on real loop devices."""

import io
import os
import shutil
import signal
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from support.far import Far, here_and_there
from support.hosts import assert_as_before, host_state, needs_root
from support.looks import chosen, mounts_at
from support.throttles import limits_of
from tiltyard.errors import TiltyardError
from tiltyard.executors.engine import Engine, Job
from tiltyard.executors.runner import Runners, Trial
from tiltyard.host.devices import loops, throttles
from tiltyard.host.host import Host, here
from tiltyard.host.ledger import Ledger
from tiltyard.host.place import Place
from tiltyard.systems import kind
from tiltyard.systems.kind import Site, System
from tiltyard.wire import EndEvent, read_event

pytestmark = needs_root

Make = Callable[..., System]


@pytest.fixture
def make(tmp_path: Path, far: Far) -> Iterator[Make]:
    """Makes systems that share a scratch folder and a ledger."""
    with Ledger() as ledger:
        site = far.site(Site(root=tmp_path, work=tmp_path, ledger=ledger))

        def system(filesystem: str, image: str = "16M", **settings: object) -> System:
            own = {"filesystem": filesystem, "backing": {"image": image}}
            document = {**own, **settings, **far.settings}
            return far.made(kind("loop-image").system(filesystem, document, site))  # type: ignore[arg-type]

        yield system
    assert not list(tmp_path.iterdir())


@here_and_there
def test_an_image_in_memory_does_not_outlast_a_boot(make: Make) -> None:
    lost = "the image would be in memory, which a boot empties"
    for at in ("memory", "/dev/shm"):
        system = make("ext4", reset="reboot", backing={"image": "16M", "at": at})
        (found,) = (one for one in system.problems() if lost in one.text)
        assert (found.severity, found.remedy) == (
            "error",
            'backing.at = a directory on a disk, or reset = "mkfs"',
        )
        kept = make("ext4", backing={"image": "16M", "at": at}).problems()
        assert not [one for one in kept if lost in one.text]


@here_and_there
@pytest.mark.parametrize(
    ("filesystem", "image"),
    [("ext2", "16M"), ("ext3", "16M"), ("ext4", "16M"), ("xfs", "300M"), ("btrfs", "128M")],
)
def test_up_and_down(make: Make, tmp_path: Path, filesystem: str, image: str) -> None:
    system = make(filesystem, image)
    assert [p for p in system.problems() if p.severity == "error"] == []
    before = host_state(tmp_path)
    up = system.bring_up()
    mount = mounts_at(up.target.parent)[-1]
    assert mount.type == up.facts["file system"] == filesystem
    assert mount.options == up.facts["mount options"]
    assert up.facts["direct I/O to the image"] in ("yes", "no")
    assert any(character.isdigit() for character in up.facts["mkfs"])
    geometry = {"xfs": "meta-data", "btrfs": "node size"}.get(filesystem, "inode size")
    assert any(character.isdigit() for character in up.facts[geometry])
    assert [command.argv[0] for command in up.commands] == [f"mkfs.{filesystem}", "mount"]
    (up.target / "file").write_bytes(os.urandom(100_000))
    system.take_down()
    assert_as_before(before, tmp_path)
    system.take_down()


@pytest.mark.parametrize(("filesystem", "image"), [("ext4", "16M"), ("btrfs", "128M")])
def test_the_engine_finds_the_device(make: Make, filesystem: str, image: str) -> None:
    """By the number of the directory, or, where that is anonymous, by what is mounted there."""
    system = make(filesystem, image)
    up = system.bring_up()
    job = Job(workload="random", parameters={"file": "64k", "operations": 10}, target=up.target)
    with closing(Runners()) as runners:
        trial = Trial(runners.of((str(Engine.find().path),)), job.message(), io.BytesIO())
        *_, end = map(read_event, trial.lines())
    assert isinstance(end, EndEvent)
    assert end.data.usage.device is not None
    assert end.data.usage.device.name == Path(mounts_at(up.target.parent)[-1].source).name
    system.take_down()


def test_all_systems_share_the_blocks_of_one_image(make: Make, tmp_path: Path) -> None:
    files = set()
    for filesystem in ("ext2", "ext4", "ext2"):
        system = make(filesystem)
        system.bring_up()
        (image,) = tmp_path.glob("*.img")
        files.add((image, image.stat().st_ino))
        assert image.stat().st_blocks * 512 >= 16 * 2**20
        system.take_down()
    assert len(files) == 1


@here_and_there
def test_options_reach_mkfs_and_mount(make: Make) -> None:
    up = make("ext4", mkfs=["-b", "2048"], mount=["noatime", "commit=60"]).bring_up()
    assert up.facts["block size"] == "2 KiB"
    assert {"noatime", "commit=60"} <= set(up.facts["mount options"].split(","))


@here_and_there
@pytest.mark.parametrize("at", [{}, {"at": "memory"}], ids=["on a disk", "in memory"])
def test_queue_settings_are_set_and_put_back(make: Make, at: dict[str, str]) -> None:
    """Whatever mkfs makes the kernel do to them."""
    backing = {"image": "16M", **at}
    system = make("ext2", scheduler="mq-deadline", read_ahead="64k", backing=backing)
    up = system.bring_up()
    device = mounts_at(up.target.parent)[-1].source
    scheduler = loops.queue_setting(device, "scheduler")
    assert (up.facts["I/O scheduler"], up.facts["read-ahead"]) == ("mq-deadline", "64 KiB")
    system.take_down()
    assert chosen(scheduler) != "mq-deadline"


@here_and_there
@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (
            {"mkfs": ["-O", "nonesuch"]},
            r"(^|: )mkfs.ext4 .*-O nonesuch .*[Ii]nvalid filesystem option",
        ),
        ({"mount": ["nonesuch"]}, r"(^|: )mount -t ext4 -o nonesuch .*wrong fs type, bad option"),
        ({"scheduler": "nonesuch"}, r'scheduler: "nonesuch" is not taken.*; it says "\[none\]'),
    ],
)
def test_a_step_that_fails_leaves_nothing(
    make: Make, tmp_path: Path, settings: dict[str, object], message: str
) -> None:
    before = host_state(tmp_path)
    with pytest.raises(TiltyardError, match=message):
        make("ext4", **settings).bring_up()
    assert_as_before(before, tmp_path)


@here_and_there
def test_remount_keeps_what_is_in_it(make: Make) -> None:
    system = make("ext4", reset="remount")
    up = system.bring_up()
    (up.target / "file").touch()
    system.take_down()
    assert not mounts_at(up.target.parent)
    again = system.bring_up()
    assert (again.target / "file").exists()
    assert [command.argv[0] for command in again.commands] == ["mount"]


def is_cached(path: Path) -> bool:
    """Whether the first page of a file can be read without waiting for the device."""
    with path.open("rb") as file:
        try:
            return os.preadv(file.fileno(), [bytearray(512)], 0, os.RWF_NOWAIT) == 512
        except BlockingIOError:
            return False


@here_and_there
@pytest.mark.parametrize("reset", ["mkfs", "remount", "none"])
def test_refreshing_empties_the_cache_and_keeps_the_file_system(
    make: Make, tmp_path: Path, reset: str
) -> None:
    before = host_state(tmp_path)
    system = make("ext4", reset=reset, mount=["noatime"])
    up = system.bring_up()
    file = up.target / "file"
    file.write_bytes(bytes(4096))
    mounted = mounts_at(up.target.parent)
    os.sync()
    assert is_cached(file)
    system.refresh()
    assert mounts_at(up.target.parent) == mounted
    assert is_cached(file) == (reset == "none")
    assert file.read_bytes() == bytes(4096)
    system.take_down()
    assert reset == "none" or host_state(tmp_path) == before


def test_a_refresh_that_fails_half_way_leaves_nothing(
    make: Make,
    tmp_path: Path,
    tmp_path_factory: pytest.TempPathFactory,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    before = host_state(tmp_path)
    programs = tmp_path_factory.mktemp("bin")
    mount = programs / "mount"
    mount.write_text(f'#!/bin/sh\n[ -e {programs}/broken ] || exec {shutil.which("mount")} "$@"\n')
    mount.write_text(mount.read_text() + "echo no luck\nexit 1\n")
    mount.chmod(0o755)
    monkeypatch.setenv("PATH", f"{programs}:{os.environ['PATH']}")
    system = make("ext4")
    up = system.bring_up()
    (programs / "broken").touch()
    with pytest.raises(TiltyardError, match=r"mount .*: no luck"):
        system.refresh()
    assert mounts_at(up.target.parent) == []
    system.take_down()
    assert_as_before(before, tmp_path)


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM], ids=lambda one: one.name)
def test_an_agent_that_ends_is_followed_by_another_one(
    make: Make, tmp_path: Path, number: signal.Signals
) -> None:
    """What it has left changed is known to it."""
    before = host_state(tmp_path)
    system = make("ext4")
    for _ in range(2):
        assert mounts_at(system.bring_up().target.parent)
        agent = here()
        os.kill(agent.pid, number)
        agent.close()
        system.take_down()
        assert_as_before(before, tmp_path)


@pytest.mark.parametrize("far", [True], ids=["by ssh"], indirect=True)
def test_a_turn_there_takes_few_exchanges(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each is as long as the way there; the first turn asks what stays as it is."""
    told: list[bytes] = []
    tell = Host._tell
    monkeypatch.setattr(Host, "_tell", lambda host, line: (told.append(line), tell(host, line)))
    system = make("ext4", scheduler="none", read_ahead="64k")
    counts = []
    for does in (system.bring_up, system.refresh, system.take_down) * 2:
        told.clear()
        does()
        counts.append(len(told))
    assert counts[3:] == [4, 1, 1], told


def test_none_leaves_it_mounted_until_the_run_ends(make: Make) -> None:
    system = make("ext4", reset="none")
    up = system.bring_up()
    (up.target / "file").touch()
    system.take_down()
    assert mounts_at(up.target.parent)
    again = system.bring_up()
    assert (again.target / "file").exists()
    assert again.commands == ()


def test_systems_that_age_have_images_of_their_own(make: Make, tmp_path: Path) -> None:
    for filesystem in ("ext2", "ext4"):
        system = make(filesystem, reset="remount")
        system.bring_up()
        system.take_down()
    assert len(list(tmp_path.glob("*.img"))) == 2


@here_and_there
@pytest.mark.parametrize(
    ("filesystem", "image", "severity", "text"),
    [
        ("xfs", "64M", "error", "xfs needs an image of 300 MiB; it has 64 MiB"),
        ("ext4", "64M", "warning", "other defaults"),
        ("ext4", "900000G", "error", "free, the image needs"),
    ],
)
def test_problems_are_seen_beforehand(
    make: Make, filesystem: str, image: str, severity: str, text: str
) -> None:
    found = make(filesystem, image).problems()
    assert any(p.severity == severity and text in p.text and p.remedy for p in found), found


def test_without_root_the_way_out_is_named(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Place, "is_root", False)
    problem = make("ext4").problems()[0]
    assert problem.text == "only root can make and mount a fresh ext4"
    assert problem.remedy is not None
    assert "compare directories" in problem.remedy


def test_an_image_that_does_not_fit_leaves_nothing(tmp_path: Path, make: Make) -> None:
    up = make("ext2").bring_up()
    with Ledger() as ledger:
        site = Site(root=up.target, work=up.target, ledger=ledger)
        document = {"filesystem": "ext2", "backing": {"image": "64M"}}
        with pytest.raises(TiltyardError, match="No space left on device"):
            kind("loop-image").system("ext2", document, site).bring_up()  # type: ignore[arg-type]
        assert not list(up.target.iterdir())


@pytest.mark.skipif(throttles.missing() is not None, reason="needs blkio of cgroup v1")
def test_a_limit_of_bandwidth_is_set_and_taken_away(make: Make, tmp_path: Path) -> None:
    system = make("ext4", bandwidth="20M")
    up = system.bring_up()
    device = mounts_at(up.target.parent)[-1].source
    assert (limits_of(device), up.facts["limit"]) == ({20 * 2**20}, "20 MiB/s")
    system.refresh()
    assert limits_of(device) == {20 * 2**20}
    system.take_down()
    assert limits_of(device) == {0}


def test_without_the_controller_a_limit_is_refused_beforehand(
    make: Make, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(throttles, "_GROUP", tmp_path / "none")
    problems = [p.text for p in make("ext4", bandwidth="20M").problems() if p.severity == "error"]
    assert len(problems) == 1
    assert "no I/O controller of cgroup v1" in problems[0]
