"""Every file system of the list: made for real, and mounted where this kernel or a server can."""

import os
import signal
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from support.far import Far, here_and_there
from support.hosts import assert_as_before, host_state, needs_root, used_s
from support.looks import find_program, mounts_at
from support.patience import wait_until
from support.snapshots import put_back_by_itself
from tiltyard.errors import TiltyardError
from tiltyard.host.facts import ABSENT
from tiltyard.host.host import Host
from tiltyard.host.ledger import Ledger
from tiltyard.host.packages import install_command
from tiltyard.host.place import HERE, Place
from tiltyard.host.processes import named
from tiltyard.systems import kind
from tiltyard.systems.filesystems import FILESYSTEMS, Filesystem
from tiltyard.systems.kind import Site, System, Up
from tiltyard.systems.state.keeper import DIRECTORY
from tiltyard.wire import HostFound

Make = Callable[..., System]

SIGNATURES = {"ntfs3": "ntfs", "ntfs-3g": "ntfs", "fuse2fs": "ext4", "zfs-fuse": "zfs_member"}
"""What blkid(8) calls what is not called by its own name."""
FORMATTED = [one for one in FILESYSTEMS if one.tool.command != "zpool"]
SERVED = ["ntfs-3g", "fuse2fs", "zfs-fuse"]


def skip_without(*commands: tuple[str, str]) -> None:
    for command, package in commands:
        if find_program(command) is None:
            pytest.skip(f"{command} is not installed: {install_command(HERE, package)}")


@pytest.fixture
def make(tmp_path: Path, far: Far) -> Iterator[Make]:
    """Makes systems that share a scratch folder and a ledger; skips what is not installed."""
    with Ledger() as ledger:
        site = far.site(Site(root=tmp_path, work=tmp_path, ledger=ledger))

        def system(name: str, image: str = "64M", **settings: object) -> System:
            wanted = FILESYSTEMS.named(name)
            tools = (wanted.tool, *wanted.driver.tools)
            skip_without(*((tool.command, tool.package) for tool in tools))
            document = {"filesystem": name, "backing": {"image": image}, **settings, **far.settings}
            return far.made(kind("loop-image").system(name, document, site))  # type: ignore[arg-type]

        yield system
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("wanted", FORMATTED, ids=lambda one: one.name)
def test_an_image_of_the_least_size_is_formatted(wanted: Filesystem, tmp_path: Path) -> None:
    skip_without((wanted.tool.command, wanted.tool.package), ("blkid", "util-linux"))
    image = tmp_path / "image"
    image.touch()
    os.truncate(image, wanted.min_bytes)
    argv = wanted.mkfs((), str(image))
    program = find_program(argv[0])
    assert program
    subprocess.run((program, *argv[1:]), check=True, capture_output=True, stdin=subprocess.DEVNULL)
    blkid = find_program("blkid")
    assert blkid
    ask = (blkid, "--probe", "-o", "value", "--match-tag", "TYPE", str(image))
    found = subprocess.run(ask, check=True, capture_output=True, text=True).stdout.strip()
    assert found == SIGNATURES.get(wanted.name, wanted.name)


@pytest.mark.parametrize("wanted", FORMATTED, ids=lambda one: one.name)
def test_nothing_is_overwritten_without_force(wanted: Filesystem) -> None:
    gentle = wanted.mkfs((), "D", force=False)
    assert not set(wanted.force) & set(gentle)
    assert len(wanted.mkfs((), "D")) == len(gentle) + len(wanted.force)


def skip_where_others_serve(system: System) -> None:
    errors = [found for found in system.problems() if found.severity == "error"]
    if any("FUSE" in found.text or "runs already" in found.text for found in errors):
        pytest.skip(errors[0].text)
    assert not errors


@here_and_there
@needs_root
@pytest.mark.parametrize("name", SERVED)
def test_what_a_server_mounts(make: Make, tmp_path: Path, far: Far, name: str) -> None:
    system = make(name)
    skip_where_others_serve(system)
    before = host_state(tmp_path)
    up = system.bring_up()
    assert mounts_at(up.target.parent)[-1].type == up.facts["file system"]
    assert up.facts["direct I/O"] != ABSENT
    assert up.servers() or far.settings
    (up.target / "file").write_bytes(bytes(2**20))
    system.refresh()
    assert (up.target / "file").read_bytes() == bytes(2**20)
    assert up.servers() or far.settings
    assert not up.lost()
    servers = named((FILESYSTEMS.named(name).driver.tools[-1].command, name))
    system.take_down()
    assert_as_before(before, tmp_path)
    assert servers
    assert not set(servers) & set(named((name,)))


@here_and_there
@needs_root
@pytest.mark.parametrize("settings", [{"reset": "remount"}, {"state": {"filled": "20%"}}])
def test_a_pool_that_was_made_before_is_imported(make: Make, settings: dict[str, object]) -> None:
    system = make("zfs-fuse", mount=["atime=off"], **settings)
    skip_where_others_serve(system)
    for turn in range(2):
        up = system.bring_up()
        assert up.facts["reset before each turn"] == settings.get("reset", "mkfs")
        assert (up.target.parent / "file").exists() == (turn > 0 and "reset" in settings)
        assert (up.target.parent / DIRECTORY).exists() == ("state" in settings)
        sets = [one.argv for one in up.commands if one.argv[:2] == ("zfs", "set")]
        assert turn == 0 or not sets, "it remembers them, and would be mounted twice at once"
        (up.target.parent / "file").touch()
        system.take_down()


@needs_root
def test_a_property_of_a_pool_that_is_not_as_it_was_set_is_named(
    make: Make, tmp_path: Path
) -> None:
    system = make("zfs-fuse", mount=["recordsize=65536"])
    skip_where_others_serve(system)
    before = host_state(tmp_path)
    with pytest.raises(TiltyardError, match="recordsize=65536: it says recordsize=64K"):
        system.bring_up()
    assert_as_before(before, tmp_path)


@needs_root
def test_the_work_of_a_server_is_counted(make: Make) -> None:
    system = make("ntfs-3g")
    up = system.bring_up()
    before_s = used_s(up.servers())
    # It is counted in ticks, of which a fast host needs few.
    for number in range(100_000):
        (up.target / str(number % 1000)).write_bytes(bytes(4096))
        if number % 100 == 0 and used_s(up.servers()) > before_s:
            break
    assert used_s(up.servers()) > before_s
    system.take_down()


@needs_root
def test_a_server_that_has_died_can_be_taken_down(make: Make, tmp_path: Path) -> None:
    before = host_state(tmp_path)
    system = make("ntfs-3g")
    up = system.bring_up()
    kill(up)
    with pytest.raises(OSError, match="not connected"):
        (up.target / "file").touch()
    system.take_down()
    assert_as_before(before, tmp_path)


def is_keeper(pid: int) -> bool:
    """Whether a process is the engine above a server."""
    words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
    return words[1:2] == [b"keep"]


def kill(up: Up) -> None:
    """End the server of a system with SIGKILL."""
    (server,) = (pid for pid in up.servers() if not is_keeper(pid))
    process = Path(f"/proc/{server}/stat")
    os.kill(server, 9)

    def has_ended() -> bool:
        """Whether it waits to be reaped, or whoever took it over has done so."""
        try:
            return process.read_text().rpartition(") ")[2][0] == "Z"
        except OSError:
            return True

    wait_until(has_ended, "it goes on")


@needs_root
@pytest.mark.parametrize("name", ["fuse2fs", "zfs-fuse"])
def test_after_a_kill_nothing_of_a_server_is_left(
    make: Make, tmp_path: Path, state: Path, name: str
) -> None:
    errors = [one.text for one in make(name).problems() if one.severity == "error"]
    if errors:
        pytest.skip(errors[0])
    reads, writes = os.pipe()
    child = os.fork()
    if child == 0:
        site = Site(root=tmp_path, work=tmp_path, ledger=Ledger())
        document = {"filesystem": name, "backing": {"image": "64M"}}
        kind("loop-image").system(name, document, site).bring_up()  # type: ignore[arg-type]
        os.write(writes, site.ledger.name("").encode())
        signal.pause()
    token = os.read(reads, 100).decode().split("-")[1]
    assert str(tmp_path) in host_state(tmp_path)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    os.close(reads)
    os.close(writes)
    put_back_by_itself(state)
    pids = [int(one.name) for one in Path("/proc").iterdir() if one.name.isdecimal()]
    assert not [pid for pid in pids if token in known_by(pid)]
    assert str(tmp_path) not in host_state(tmp_path)
    assert not list(tmp_path.iterdir())


def known_by(pid: int) -> str:
    """What a keeper, or what it keeps, is known by; empty if it is gone."""
    try:
        entry = Path(f"/proc/{pid}")
        return f"{(entry / 'cmdline').read_bytes()!r} {(entry / 'environ').read_bytes()!r}"
    except OSError:
        return ""


@needs_root
def test_a_server_that_does_not_mount_says_why(make: Make, tmp_path: Path) -> None:
    before = host_state(tmp_path)
    with pytest.raises(TiltyardError, match=r"^ntfs-3g .*: 'uid' option needs a decimal value"):
        make("ntfs-3g", mount=["uid=x"]).bring_up()
    assert_as_before(before, tmp_path)


@needs_root
def test_options_are_read_back(make: Make) -> None:
    options = ["noatime", "barrier=0", "data=journal", "nobh"]
    up = make("ext4", "16M", mount=options).bring_up()
    assert up.facts["mount options asked"] == ", ".join(options)
    assert up.facts["mount options in doubt"].startswith("nobh (")
    assert ";" not in up.facts["mount options in doubt"]
    assert up.facts["direct I/O"].startswith("none: ")


@needs_root
@pytest.mark.parametrize(
    ("name", "image", "options"),
    [
        ("ext4", "16M", ["data=writeback", "nobarrier", "nodelalloc"]),
        ("btrfs", "128M", ["compress-force=zstd:3", "noatime", "commit=10"]),
        ("btrfs", "128M", ["nodatacow"]),
        ("xfs", "300M", ["noatime", "logbsize=256k", "logbufs=8"]),
    ],
)
def test_the_usual_options_are_confirmed(
    make: Make, name: str, image: str, options: list[str]
) -> None:
    facts = make(name, image, mount=options).bring_up().facts
    assert "mount options in doubt" not in facts
    assert facts["direct I/O"].startswith(("aligned to", "accepted"))


@needs_root
def test_an_image_in_memory(make: Make) -> None:
    system = make("ext4", backing={"image": "32M", "at": "memory"})
    assert any("no disk is measured" in found.text for found in system.problems())
    up = system.bring_up()
    assert up.facts["image lies on"].startswith("tmpfs")
    system.take_down()
    again = system.bring_up()
    assert again.facts["direct I/O to the image"] == up.facts["direct I/O to the image"]
    system.take_down()


def test_a_kernel_without_the_driver_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    known = tmp_path / "filesystems"
    known.write_text("nodev\ttmpfs\n\text4\n")
    read, modules = Host.read, tmp_path / "modules.dep"

    def of_ours(host: Host, **asked: Any) -> HostFound:
        """Of another kernel."""
        asked["outputs"] = [(*look[:-1], str(modules)) for look in asked["outputs"]]
        found = read(host, **{**asked, "files": [str(known)]})
        return found.model_copy(update={"files": {"/proc/filesystems": found.files[str(known)]}})

    monkeypatch.setattr(Host, "read", of_ours)
    assert HERE.knows_filesystem("ext4")
    assert not HERE.knows_filesystem("f2fs")
    modules.write_text("kernel/fs/f2fs/f2fs.ko.xz: kernel/lib/crc32.ko.xz\na/b_c.ko:\n")
    assert HERE.knows_filesystem("f2fs")
    assert HERE.knows_filesystem("b-c")
    assert not HERE.knows_filesystem("2fs")
    monkeypatch.undo()
    monkeypatch.setattr(Place, "knows_filesystem", lambda *_: False)
    (problem,) = FILESYSTEMS.named("f2fs").driver.problems("f2fs", HERE)
    assert problem.text == "this kernel has no driver for f2fs"
    assert 'kind = "vm"' in (problem.remedy or "")
