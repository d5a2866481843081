"""What makes a disk dangerous, one by one and for real: refused in its own words, nothing written.

Each state is brought about on a loop device by the tool that brings it about on a disk. Only the
superblock of md and the labels of ZFS are written by hand: their tools need drivers.
"""

import contextlib
import fcntl
import os
import re
import shutil
import socket
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, nullcontext
from functools import partial
from pathlib import Path

import pytest

from support.devices import (
    GPT_TABLE,
    MIB,
    SIZE_BYTES,
    Disk,
    digest,
    held,
    loop_disk,
    loop_over,
    md_member,
    mounted,
    partitions,
    process,
    refused,
    sh,
    write,
    written_by,
    zfs_member,
)
from support.hosts import needs_root
from tiltyard.errors import RefusedError, TiltyardError
from tiltyard.host.devices.held import Wanted
from tiltyard.host.host import here

pytestmark = needs_root


def made_by(*argv: str, stdin: str = "") -> Callable[[Disk], AbstractContextManager[object]]:
    """A tool has been at work on it."""

    def state(disk: Disk) -> AbstractContextManager[object]:
        if shutil.which(argv[0]) is None:
            pytest.skip(f"{argv[0]} is not installed: make setup-dev")
        sh(*argv, disk.node, stdin=stdin)
        return nullcontext()

    return state


@contextlib.contextmanager
def is_mounted(disk: Disk) -> Iterator[None]:
    sh("mkfs.ext2", "-q", disk.node)
    with mounted(disk.node, disk.tmp_path / "somewhere", "-o", "ro"):
        yield


@contextlib.contextmanager
def is_mounted_elsewhere(disk: Disk) -> Iterator[None]:
    sh("mkfs.ext2", "-q", disk.node)
    target = disk.tmp_path / "elsewhere"
    target.mkdir()
    script = 'mount -o ro "$1" "$2" && echo ready && read line'
    with process("unshare", "--mount", "sh", "-c", script, "sh", disk.node, str(target)):
        assert str(target) not in Path("/proc/self/mountinfo").read_text()
        yield


@contextlib.contextmanager
def has_mounted_partition(disk: Disk) -> Iterator[None]:
    sh("sfdisk", "--quiet", "--no-reread", disk.node, stdin=GPT_TABLE)
    with partitions(disk.node):
        sh("mkfs.ext2", "-q", f"{disk.node}p1")
        with mounted(f"{disk.node}p1", disk.tmp_path / "partition", "-o", "ro"):
            yield


@contextlib.contextmanager
def is_swap(disk: Disk) -> Iterator[None]:
    sh("mkswap", disk.node)
    sh("swapon", disk.node)
    try:
        yield
    finally:
        sh("swapoff", disk.node)


@contextlib.contextmanager
def is_behind_a_loop(disk: Disk) -> Iterator[None]:
    with loop_over(disk.node):
        yield


@contextlib.contextmanager
def is_behind_a_sibling(disk: Disk, *, link: bool = False) -> Iterator[str]:
    """Another loop device over a part of the same file, under its own name or another one."""
    image = disk.image
    if link:
        image = disk.tmp_path / "link.img"
        image.hardlink_to(disk.image)
    part = ("--offset", str(4 * MIB), "--sizelimit", str(32 * MIB))
    with loop_over(str(image), *part) as sibling:
        yield sibling


@contextlib.contextmanager
def has_a_mounted_sibling(disk: Disk, *, link: bool = False) -> Iterator[None]:
    with is_behind_a_sibling(disk, link=link) as sibling:
        sh("mkfs.ext2", "-q", sibling)
        with mounted(sibling, disk.tmp_path / "sibling", "-o", "ro"):
            yield


@contextlib.contextmanager
def has_a_sibling_that_is_swap(disk: Disk) -> Iterator[None]:
    with is_behind_a_sibling(disk) as sibling:
        sh("mkswap", sibling)
        sh("swapon", sibling)
        try:
            yield
        finally:
            sh("swapoff", sibling)


@contextlib.contextmanager
def has_its_image_open(disk: Disk) -> Iterator[None]:
    with process("sh", "-c", 'exec 3<"$1"; echo ready; read line', "sh", str(disk.image)):
        yield


@contextlib.contextmanager
def is_in_an_image_behind(disk: Disk) -> Iterator[None]:
    """The study folder is on a file system in an image on a file system on the disk."""
    sh("mkfs.ext2", "-q", disk.node)
    outer = disk.tmp_path / "outer"
    with mounted(disk.node, outer), loop_disk(outer / "inner.img", 4 * MIB) as inner:
        sh("mkfs.ext2", "-q", inner)
    outer.rmdir()
    read_only = ("-o", "ro")
    with ExitStack() as layers:
        layers.enter_context(mounted(disk.node, outer, *read_only))
        inner = layers.enter_context(loop_disk(outer / "inner.img", 0, "--read-only"))
        layers.enter_context(mounted(inner, disk.tmp_path / "study", *read_only))
        yield


@contextlib.contextmanager
def is_open(disk: Disk) -> Iterator[None]:
    with process("sh", "-c", 'exec 3<"$1"; echo ready; read line', "sh", disk.node):
        yield


@contextlib.contextmanager
def is_claimed(disk: Disk) -> Iterator[None]:
    """By a descriptor that is on its way, so that no process has it."""
    file = os.open(disk.node, os.O_RDONLY | os.O_EXCL)
    here, there = socket.socketpair()
    with here, there:
        socket.send_fds(here, [b"x"], [file])
        os.close(file)
        yield


@contextlib.contextmanager
def is_locked(disk: Disk) -> Iterator[None]:
    file = os.open(disk.node, os.O_RDONLY)
    try:
        fcntl.flock(file, fcntl.LOCK_SH)
        yield
    finally:
        os.close(file)


def only_the_backup(node: str) -> None:
    """A partition table whose first copy somebody has overwritten."""
    sh("sfdisk", "--quiet", "--no-reread", node, stdin=GPT_TABLE)
    write(node, 0, bytes(MIB))


LUKS = ("cryptsetup", "luksFormat", "--batch-mode", "--pbkdf-force-iterations", "1000")
SFDISK = ("sfdisk", "--quiet", "--no-reread")
STATES: dict[str, tuple[Callable[[Disk], AbstractContextManager[object]], str]] = {
    "mounted": (is_mounted, r"/dev/loop\d+ is mounted on \S+/somewhere \(ext2\)$"),
    "mounted in another namespace": (
        is_mounted_elsewhere,
        r"is mounted on \S+/elsewhere \(ext2\), as process \d+ sees it$",
    ),
    "a partition is mounted": (has_mounted_partition, r"/dev/loop\d+p1 is mounted on \S+ \(ext2\)"),
    "swapped to": (is_swap, r"the host swaps to /dev/loop\d+$"),
    "behind a loop device": (is_behind_a_loop, r"/dev/loop\d+ is a loop device over /dev/loop\d+$"),
    "behind a second loop device over its file": (
        is_behind_a_sibling,
        r"/dev/loop\d+ is a loop device over \S+/disk.img, its bytes 4194304 to 37748735$",
    ),
    "a file system in its file": (
        has_a_mounted_sibling,
        r"/dev/loop\d+ is mounted on \S+/sibling \(ext2\)$",
    ),
    "a file system in its file under another name": (
        partial(has_a_mounted_sibling, link=True),
        r"/dev/loop\d+ is mounted on \S+/sibling \(ext2\)$",
    ),
    "swapped to in its file": (has_a_sibling_that_is_swap, r"the host swaps to /dev/loop\d+$"),
    "its file is open": (
        has_its_image_open,
        r"what is behind it is open in process \d+ \(sh\)$",
    ),
    "the study lies on it": (is_in_an_image_behind, r"\S+/study lies on it$"),
    "open": (is_open, r"is open in process \d+ \(sh\)$"),
    "claimed": (is_claimed, r"does not give it to us alone \(Device or resource busy\)$"),
    "locked": (is_locked, r"another program has locked it$"),
    "ext4": (made_by("mkfs.ext4", "-q"), r"type ext4 [-0-9a-f]{36} at byte 1080\. Tilty"),
    "xfs": (made_by("mkfs.xfs", "-q", "--unsupported"), r"type xfs \S+ at byte 0\. "),
    "btrfs": (made_by("mkfs.btrfs", "-q", "--mixed"), r"type btrfs \S+ at byte 65600\. "),
    "vfat": (made_by("mkfs.vfat", "-I"), r"type vfat .*, and \d more\. "),
    "ntfs": (made_by("mkntfs", "-Q", "-q", "-F"), r"type ntfs "),
    "swap space": (made_by("mkswap"), r"it carries swap space "),
    "LVM": (made_by("pvcreate", "-q"), r"a physical volume of LVM "),
    "LUKS": (
        made_by(*LUKS, "--type", "luks1", "--key-file", "-", stdin="secret"),
        r"an encrypted volume \(LUKS\) ",
    ),
    "bcache": (made_by("make-bcache", "-B"), r"a member of bcache "),
    "md": (written_by(md_member), r"a member of a RAID \(md\) "),
    "ZFS": (written_by(zfs_member), r"a member of a ZFS pool"),
    "GPT": (made_by(*SFDISK, stdin=GPT_TABLE), r"a partition table \(GPT\) .* and 2 more"),
    "the backup of a GPT": (written_by(only_the_backup), r"a partition table \(GPT\) at byte 67"),
    "MBR": (made_by(*SFDISK, stdin="label: dos\n,8M\n"), r"a partition table \(MBR\) at byte 510"),
}


@pytest.mark.parametrize("danger", STATES)
def test_a_disk_that_is_somebodys_is_refused(disk: Disk, danger: str) -> None:
    bring_about, reason = STATES[danger]
    with bring_about(disk):
        message = disk.tried(disk.confirmed())
    assert message.startswith(f"{disk.node} (over {disk.image}, 64 MiB, {SIZE_BYTES} bytes): ")
    assert re.search(f": refused, nothing was written: .*{reason}", message), message


@pytest.mark.parametrize(
    ("claim", "reason"),
    [
        ({"size": "65M"}, "the study says that it has 68157440 bytes"),
        ({"backing_file": "/srv/other.img"}, 'the study says "/srv/other.img"'),
        ({"serial": "S5GXNX0T1"}, 'its serial is none, the study says "S5GXNX0T1"'),
        ({"wwn": "eui.1"}, 'its wwn is none, the study says "eui.1"'),
    ],
)
def test_a_disk_that_is_not_the_one_that_was_meant(
    disk: Disk, claim: dict[str, object], reason: str
) -> None:
    assert disk.tried(disk.confirmed(**claim)).endswith(reason)


def test_a_read_only_disk(tmp_path: Path) -> None:
    with loop_disk(tmp_path / "disk.img", SIZE_BYTES, "--read-only") as node:
        disk = Disk(tmp_path / "disk.img", node, tmp_path)
        assert disk.tried(disk.confirmed()).endswith(": it is read-only")


def test_a_disk_that_has_gone(tmp_path: Path) -> None:
    with loop_disk(tmp_path / "disk.img", SIZE_BYTES) as node:
        wanted = (node, SIZE_BYTES, {"backing_file": str(tmp_path / "disk.img")})
        assert refused(*wanted) is None
    reason = str(refused(*wanted))
    assert reason.endswith("it has no size: no medium, or nothing is attached")
    reason = str(refused("/dev/disk/by-id/nonesuch", SIZE_BYTES, {}))
    assert reason == "/dev/disk/by-id/nonesuch: No such file or directory"


def test_another_disk_under_the_same_name_and_number(tmp_path: Path) -> None:
    said = f'its backing_file is "{tmp_path}/other.img", the study says '
    for _ in range(20):
        with loop_disk(tmp_path / "disk.img", SIZE_BYTES) as node:
            wanted = (node, SIZE_BYTES, {"backing_file": str(tmp_path / "disk.img")})
        with loop_disk(tmp_path / "other.img", SIZE_BYTES) as again:
            if again == node:
                assert said in str(refused(*wanted))
                return
    pytest.fail("the kernel gave another number each time")


def test_what_is_no_block_device() -> None:
    assert str(refused("/dev/null", 1, {})) == "/dev/null: is not a block device"


def test_a_name_that_is_turned_elsewhere_between_check_and_use(disk: Disk) -> None:
    link = disk.tmp_path / "by-id"
    link.symlink_to(disk.node)
    before = digest(disk.image, disk.node)
    argv = ["mkfs.ext4", "-q", disk.node]
    make = {"op": "format", "device": str(link), "filesystem": "ext4", "argv": argv}
    with loop_disk(disk.tmp_path / "other.img", SIZE_BYTES) as other:
        here().change([held(link, SIZE_BYTES, {"backing_file": str(disk.image)})])
        link.unlink()
        link.symlink_to(other)
        with pytest.raises(RefusedError, match="the name means another device now"):
            here().change([make])
        link.unlink()
        link.symlink_to(disk.node)
        with pytest.raises(TiltyardError, match="is not held, so that it is not formatted"):
            here().change([make])
    assert digest(disk.image, disk.node) == before


def test_what_comes_between_the_check_and_mkfs_is_refused(disk: Disk) -> None:
    make = {"op": "format", "device": disk.node, "filesystem": "ext4", "argv": ["true"]}
    wanted = held(disk.node, SIZE_BYTES, {"backing_file": str(disk.image)})
    for bring_about, reason in (STATES["ext4"], STATES["mounted"], STATES["its file is open"]):
        write(disk.node, 0, bytes(SIZE_BYTES))
        here().change([wanted])
        with bring_about(disk):
            before = digest(disk.image, disk.node)
            with pytest.raises(RefusedError, match=reason):
                here().change([make])
            assert digest(disk.image, disk.node) == before


def test_a_device_that_is_another_one_than_was_seen(disk: Disk) -> None:
    seen = Wanted(Path(disk.node), SIZE_BYTES, {"backing_file": str(disk.image)}).held("/dev/sdx")
    with pytest.raises(RefusedError, match=f"{disk.node}: was /dev/sdx and is {disk.node} now"):
        here().change([seen.op(str)])


def test_a_partition_of_a_disk_in_use_is_a_device_of_its_own(disk: Disk) -> None:
    sh(*SFDISK, disk.node, stdin=f"{GPT_TABLE}start=20480,size=16384\n")
    with partitions(disk.node):
        sh("mkfs.ext2", "-q", f"{disk.node}p1")
        with mounted(f"{disk.node}p1", disk.tmp_path / "used"):
            reason = str(refused(f"{disk.node}p1", 8 * MIB, {}))
            assert "p1 is mounted on " in reason
            assert refused(f"{disk.node}p2", 8 * MIB, {}) is None


@pytest.mark.skipif(
    not Path("/dev/mapper/control").exists() or shutil.which("dmsetup") is None,
    reason="needs the device mapper: dmsetup, and a kernel with CONFIG_BLK_DEV_DM",
)
def test_a_member_of_a_mapped_device(disk: Disk) -> None:
    name = f"tiltyard-test-{os.getpid()}"
    sh("dmsetup", "create", name, "--table", f"0 {SIZE_BYTES // 512} linear {disk.node} 0")
    try:
        assert re.search(rf"is a part of /dev/dm-\d+ \({name}\)$", disk.tried(disk.confirmed()))
    finally:
        sh("dmsetup", "remove", name)


def test_a_part_of_a_file_beside_another_one_is_a_device_of_its_own(tmp_path: Path) -> None:
    image = tmp_path / "both.img"
    with (
        loop_disk(image, 32 * MIB, "--sizelimit", str(16 * MIB)) as node,
        loop_over(str(image), "--offset", str(16 * MIB)) as other,
    ):
        sh("mkfs.ext2", "-q", other)
        with mounted(other, tmp_path / "used"):
            assert refused(node, 16 * MIB, {"backing_file": str(image)}) is None


def test_a_partition_under_a_loop_device_over_its_disk(disk: Disk) -> None:
    sh(*SFDISK, disk.node, stdin=GPT_TABLE)
    with partitions(disk.node):
        with loop_over(disk.node, "--offset", str(4 * MIB)) as upper:
            reason = str(refused(f"{disk.node}p1", 8 * MIB, {}))
        assert f"{upper} is a loop device over {disk.node}, its bytes 4194304 to " in reason


def test_a_mark_of_the_device_must_be_named(disk: Disk) -> None:
    reason = str(refused(disk.node, SIZE_BYTES, {}))
    assert f'confirm = {{ backing_file = "{disk.image}", … }}' in reason
