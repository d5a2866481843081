"""Filled and aged file systems: what was done to them, and that they are put back bit for bit."""

import hashlib
import os
import re
from collections.abc import Callable, Iterator
from itertools import groupby
from pathlib import Path

import pytest
from pydantic import JsonValue

from support.devices import loop_disk, loop_over, signatures
from support.hosts import needs_root
from support.images import gaps
from support.runs import image_system
from support.small_disk import small_disk
from tiltyard.errors import HostLacksError, InterruptedRunError, TiltyardError
from tiltyard.folder import StudyFolder
from tiltyard.host.host import here, hosts
from tiltyard.host.ledger import Ledger, restore
from tiltyard.host.place import HERE, Place
from tiltyard.run.dry_run import dry_run
from tiltyard.systems import kind
from tiltyard.systems.kind import Site, System
from tiltyard.systems.state import keeper
from tiltyard.systems.state.profiles import PROFILES

pytestmark = needs_root

MIB = 2**20
Make = Callable[..., System]


@pytest.fixture
def told() -> list[str]:
    """What a person was told."""
    return []


@pytest.fixture
def make(tmp_path: Path, told: list[str]) -> Iterator[Make]:
    """Makes systems that share a scratch folder and a ledger."""
    with Ledger() as ledger:
        site = Site(root=tmp_path, work=tmp_path, ledger=ledger, note=told.append)

        def system(filesystem: str, image: str = "24M", **settings: object) -> System:
            document = {"filesystem": filesystem, "backing": {"image": image}, **settings}
            return kind("loop-image").system(filesystem, document, site)  # type: ignore[arg-type]

        yield system
    assert not list(tmp_path.iterdir())


def contents(directory: Path) -> dict[str, str]:
    """Path → SHA-256 of every file."""
    return {
        str(path.relative_to(directory)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(directory.rglob("*"))
        if path.is_file()
    }


def free_bytes(system: System) -> int:
    """What an ordinary user may write at the beginning of a turn."""
    target = system.bring_up().target
    assert isinstance(target, Path)
    status = os.statvfs(target)
    system.take_down()
    return status.f_bavail * status.f_frsize


def turn(system: System) -> tuple[dict[str, str], dict[str, str], list[str]]:
    """Facts, the files of the history, and the commands of a turn that leaves its mark."""
    up = system.bring_up()
    assert isinstance(up.target, Path)
    files = contents(up.target.parent / keeper.DIRECTORY)
    (up.target / "work").write_bytes(os.urandom(2 * MIB))
    for path in list((up.target.parent / keeper.DIRECTORY).rglob("*"))[::3]:
        if path.is_file():
            path.write_bytes(b"overwritten")
    system.take_down()
    return up.facts, files, [command.argv[0] for command in up.commands]


@pytest.mark.parametrize("profile", [entry.name for entry in PROFILES])
def test_an_aged_file_system_is_the_same_in_each_turn(make: Make, profile: str) -> None:
    system = make("ext4", state={"aged": profile, "seed": 7})
    facts, files, executed = turn(system)
    assert [name for name, _ in groupby(executed)] == ["mkfs.ext4", "mount"]
    assert facts["state"] == f"aged: {profile}, seed 7"
    full = next(entry.full for entry in PROFILES if entry.name == profile)
    assert float(facts["state: space in use"].split()[0]) == pytest.approx(100 * full, abs=3)
    assert facts["state: files"].startswith(f"{len(files):}")
    assert 0 < float(facts["state: layout score"]) <= 1
    for _ in range(2):
        again, same, executed = turn(system)
        assert (again, same) == (facts, files)
        assert executed == ["mount"]


@pytest.mark.parametrize(("filesystem", "image"), [("xfs", "300M"), ("btrfs", "128M")])
def test_other_file_systems_are_filled(make: Make, filesystem: str, image: str) -> None:
    system = make(filesystem, image, state={"filled": "60%"})
    facts, files, _ = turn(system)
    said = float(facts["state: space in use"].split()[0])
    assert said == pytest.approx(60, abs=2)
    assert turn(system)[:2] == (facts, files)
    found = 1 - free_bytes(system) / free_bytes(make(filesystem, image))
    assert 100 * found == pytest.approx(said, abs=1)


def test_fresh_and_aged_take_turns_on_one_image(make: Make, tmp_path: Path) -> None:
    fresh, aged = make("ext4"), make("ext4", state={"aged": "downloads"})
    facts, files, _ = turn(aged)
    up = fresh.bring_up()
    assert up.facts["state"] == "fresh"
    assert [command.argv[0] for command in up.commands] == ["mkfs.ext4", "mount"]
    fresh.take_down()
    assert turn(aged)[:2] == (facts, files)
    assert len(list(tmp_path.glob("*shared*.img"))) == 1


def test_systems_that_are_made_alike_share_what_is_kept(
    make: Make, tmp_path: Path, told: list[str]
) -> None:
    state = {"aged": "mail-spool", "full": "50%", "turnover": 1}
    one, other = (make("ext2", state=state, read_ahead=size) for size in ("64k", "256k"))
    assert turn(one)[1] == turn(other)[1]
    assert len(list(tmp_path.glob("*state-*.img"))) == 1
    assert len(told) == 2
    assert told[0].startswith("making the state of a file system (aged: mail-spool, seed 1)")
    assert re.fullmatch(r"made: [0-9,]+ files, (49|50|51)\.\d % full", told[1])


def test_with_remount_it_is_put_back_once_and_then_ages_on(make: Make) -> None:
    system = make("ext4", state={"filled": "40%"}, reset="remount")
    _, files, _ = turn(system)
    up = system.bring_up()
    assert isinstance(up.target, Path)
    assert (up.target / "work").exists()
    assert contents(up.target.parent / keeper.DIRECTORY) != files
    system.take_down()


@pytest.mark.parametrize(
    "settings",
    [
        {"filesystem": "btrfs", "mount": ["nodiscard"], "state": {"filled": "30%"}},
        {"filesystem": "ext4"},
    ],
    ids=["btrfs, put back", "ext4, whose mkfs asks for zeros"],
)
def test_the_image_has_no_holes_when_a_turn_begins(
    make: Make, tmp_path: Path, settings: dict[str, JsonValue]
) -> None:
    """On an ext4 of our own, because not every file system can tell."""
    outer = make("ext4", "300M").bring_up()
    assert isinstance(outer.target, Path)
    with Ledger() as ledger:
        site = Site(root=outer.target, work=outer.target, ledger=ledger)
        system = kind("loop-image").system("b", {**settings, "backing": {"image": "128M"}}, site)
        for _ in range(2):
            system.bring_up()
            (image,) = outer.target.glob("*shared*.img")
            assert gaps(image) == []
            system.take_down()
    make("ext4", "300M").take_down()
    HERE.run(("sync", "--file-system", str(outer.target)))


class Disk:
    """A loop device of 5 MiB and a half, its image, and what its agent makes of it."""

    def __init__(self, node: str, image: Path, copy: Path) -> None:
        self.node, self.image, self.copy = node, image, copy

    def keep(self) -> str:
        """The SHA-256 of the device, which is copied."""
        did = here().change([{"op": "keep", "device": self.node, "copy": str(self.copy)}])
        assert did.digest
        return did.digest

    def put_back(self, sha256: str) -> int:
        """Bytes that were written."""
        before = self._written_bytes
        copy, device = str(self.copy), self.node
        here().change([{"op": "put_back", "device": device, "copy": copy, "sha256": sha256}])
        return self._written_bytes - before

    @property
    def _written_bytes(self) -> int:
        """Documentation/block/stat.rst of the kernel."""
        return 512 * int(Path(f"/sys/block/{Path(self.node).name}/stat").read_text().split()[6])


@pytest.fixture
def device(tmp_path: Path) -> Iterator[Disk]:
    image = tmp_path / "tiltyard-device"
    image.write_bytes(bytes(5 * MIB + MIB // 2))
    with loop_over(str(image), "--direct-io=on") as node:
        yield Disk(node, image, tmp_path / "tiltyard-copy")
    hosts.close()
    assert restore().left == ()
    image.unlink()
    assert not list(tmp_path.iterdir())


def test_a_device_is_put_back_to_the_byte(device: Disk) -> None:
    first = os.urandom(3 * MIB)
    with Path(device.node).open("r+b") as file:
        file.seek(MIB)
        file.write(first)
    HERE.run(("sync",))
    before = device.image.read_bytes()
    sha256 = device.keep()
    assert sha256 == hashlib.sha256(before).hexdigest()
    assert device.copy.stat().st_blocks * 512 <= 3 * MIB + 65536, "zeros take no room"
    assert device.put_back(sha256) == 0
    with Path(device.node).open("r+b") as file:
        file.seek(4 * MIB + 4096)
        file.write(b"somebody was here")
        file.seek(-1, os.SEEK_END)
        file.write(b"x")
    HERE.run(("sync",))
    assert device.put_back(sha256) == MIB + MIB // 2
    assert device.image.read_bytes() == before


def test_a_copy_that_is_not_what_was_made_is_noticed(device: Disk) -> None:
    sha256 = device.keep()
    with device.copy.open("r+b") as file:
        file.write(b"x")
    with pytest.raises(TiltyardError, match="its SHA-256 is not that of the state"):
        device.put_back(sha256)
    os.truncate(device.copy, MIB)
    with pytest.raises(TiltyardError, match="has not the size of"):
        device.put_back(sha256)


def test_who_keeps_the_device_is_named(device: Disk) -> None:
    taken = os.open(device.node, os.O_RDWR | os.O_EXCL)
    try:
        with pytest.raises(
            TiltyardError, match=rf"{device.node}: cannot be had alone: .+{os.getpid()}"
        ):
            device.keep()
    finally:
        os.close(taken)


def test_interrupted_while_it_ages_nothing_is_left(tmp_path: Path) -> None:
    def stop() -> None:
        if [*tmp_path.glob(f"*mnt*/{keeper.DIRECTORY}/*/*")]:
            raise InterruptedRunError("stop")

    with Ledger() as ledger:
        site = Site(root=tmp_path, work=tmp_path, ledger=ledger, check=stop)
        state = {"aged": "mail-spool", "turnover": 100}
        document = {"filesystem": "ext4", "backing": {"image": "64M"}, "state": state}
        with pytest.raises(InterruptedRunError):
            kind("loop-image").system("ext4", document, site).bring_up()  # type: ignore[arg-type]
    assert not list(tmp_path.iterdir())


def test_no_room_for_the_copy_is_told_before_and_when_it_happens(
    make: Make, tmp_path: Path
) -> None:
    found = [p.text for p in make("ext4", "900000G", state={"filled": "50%"}).problems()]
    assert any("the copy of its state may need" in text for text in found), found
    with small_disk(tmp_path / "small", 36 * MIB) as small, Ledger() as ledger:
        site = Site(root=tmp_path, work=tmp_path, ledger=ledger)
        document = {
            "filesystem": "ext4",
            "backing": {"image": "24M", "at": str(small)},
            "state": {"filled": "90%"},
        }
        system = kind("loop-image").system("ext4", document, site)  # type: ignore[arg-type]
        with pytest.raises(HostLacksError, match=r"state-.*\.img: No space left on device"):
            system.bring_up()
        assert not [*small.glob("*state*")]
    small.rmdir()


def test_without_root_a_state_is_refused_beforehand(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    system = make("ext4", state={"filled": "50%"})
    monkeypatch.setattr(Place, "is_root", False)
    assert any("only root can keep and put back" in p.text for p in system.problems())


def test_on_a_block_device_it_is_put_back_and_the_device_is_left_blank(tmp_path: Path) -> None:
    image = tmp_path / "disk.img"
    with loop_disk(image, 32 * MIB) as node, Ledger() as ledger:
        site = Site(root=tmp_path / "study", work=tmp_path / "study" / "work", ledger=ledger)
        site.work.mkdir(parents=True)
        settings = {
            "filesystem": "ext4",
            "device": node,
            "confirm": {"size": 32 * MIB, "backing_file": str(image)},
            "state": {"aged": "mail-spool"},
        }
        system = kind("block-device").system("ext4", settings, site)  # type: ignore[arg-type]
        assert [problem.text for problem in system.problems()] == []
        facts, files, _ = turn(system)
        assert signatures(node) == []
        again, same, executed = turn(system)
        assert same == files
        assert again["state: SHA-256"] == facts["state: SHA-256"]
        assert executed == ["mount"]
        assert signatures(node) == []


def test_a_dry_run_tells_of_it_and_does_nothing(tmp_path: Path) -> None:
    folder = StudyFolder(tmp_path)
    told = dry_run(folder, [image_system("ext4", "24M", state={"filled": "50%"})])
    lines = "\n".join(line for part in told for line in part.lines)
    assert all(line for part in told for line in part.lines)
    order = ["mkfs.ext4", "write and delete files in", "copy ", "write what differs from"]
    places = [lines.index(words) for words in order]
    assert places == sorted(places)
    assert not list(tmp_path.iterdir())
