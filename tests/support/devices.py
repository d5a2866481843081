"""Loop devices that stand for disks, and what makes a disk dangerous to format."""

import contextlib
import hashlib
import json
import os
import struct
import subprocess
import uuid
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path

import pytest

from support.patience import PATIENCE_S, wait_until
from tiltyard.errors import RefusedError
from tiltyard.host.devices.held import Wanted, refusal
from tiltyard.host.ledger import Ledger
from tiltyard.ownership import state_directory
from tiltyard.systems import kind
from tiltyard.systems.kind import Site

MIB = 2**20
GPT_TABLE = "label: gpt\nstart=2048,size=16384\n"


def sh(*argv: str, stdin: str = "") -> str:
    """Run a command that must work; what it printed."""
    done = subprocess.run(argv, input=stdin, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{argv}: {done.stderr}{done.stdout}"
    return done.stdout.strip()


@contextlib.contextmanager
def loop_disk(image: Path, size_bytes: int, *options: str) -> Iterator[str]:
    """A disk, blank where the image is new; its node."""
    if not image.exists():
        with image.open("xb") as file:
            file.truncate(size_bytes)
    with loop_over(str(image), *options) as node:
        yield node


@contextlib.contextmanager
def loop_over(file: str, *options: str) -> Iterator[str]:
    """The node of a loop device over a file, or another device."""
    node = sh("losetup", "--find", "--show", *options, file)
    try:
        yield node
    finally:
        sh("losetup", "--detach", node)
        # Whoever looks at a device when it is let go keeps it for a moment longer.
        behind = Path("/sys/block", Path(node).name, "loop")
        wait_until(lambda: not behind.exists(), f"{node} is not let go", pause_s=0.05)


@contextlib.contextmanager
def partitions(node: str) -> Iterator[None]:
    """The kernel is told of the partitions of a disk that is attached with ``--partscan``.

    Whoever makes a namespace of mounts meanwhile has a copy of ours for a moment.
    """
    sh("partx", "--update", node)
    try:
        yield
    finally:
        delete = ["partx", "--delete", node]
        wait_until(
            lambda: not subprocess.run(delete, capture_output=True, check=False).returncode,
            f"{node} is not let go",
            pause_s=0.05,
        )


def digest(image: Path, node: str) -> str:
    """What is on a disk, after everything written to it has arrived."""
    with Path(node).open("rb") as file:
        os.fsync(file.fileno())
    with image.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def swapped_out() -> str:
    """How many pages the host has ever swapped out, as the kernel's line says it."""
    lines = Path("/proc/vmstat").read_text().splitlines()
    return next((line for line in lines if line.startswith("pswpout ")), "")


@contextlib.contextmanager
def mounted(node: str, target: Path, *options: str) -> Iterator[Path]:
    """A device, mounted."""
    target.mkdir()
    sh("mount", *options, node, str(target))
    try:
        yield target
    finally:
        sh("umount", str(target))


def write(node: str, offset: int, data: bytes) -> None:
    """Bytes at a place."""
    with Path(node).open("r+b") as file:
        file.seek(offset)
        file.write(data)
        os.fsync(file.fileno())


def md_member(node: str) -> None:
    """A superblock of md, version 1.2, as ``mdadm --create`` writes it (md_p.h)."""
    body = struct.pack("<IIII", 0xA92B4EFC, 1, 0, 0)
    body += uuid.uuid4().bytes + b"host:0".ljust(32, b"\0")
    body += struct.pack("<QiiQIIII", 0, 1, 0, 0, 0, 2, 0, 0)
    body += bytes(128 - len(body))
    body += struct.pack("<QQQQII", 2048, 40960, 8, 0, 0, 0) + uuid.uuid4().bytes
    body = body.ljust(256, b"\0") + struct.pack("<HH", 0, 0xFFFE)
    total = sum(struct.unpack(f"<{len(body) // 4}I", body))
    total = (total & 0xFFFFFFFF) + (total >> 32)
    body = body[:216] + struct.pack("<I", total & 0xFFFFFFFF) + body[220:]
    write(node, 4096, body)


def zfs_member(node: str) -> None:
    """The uberblocks of the four labels of a vdev (vdev_impl.h): 256 KiB each, two at each end."""
    size_bytes = int(sh("blockdev", "--getsize64", node))
    uberblock = struct.pack("<QQQQQ", 0x00BAB10C, 5000, 1, 0x1234, 1700000000).ljust(1024, b"\0")
    label_bytes = 256 * 1024
    for start in (0, label_bytes, size_bytes - 2 * label_bytes, size_bytes - label_bytes):
        write(node, start + 128 * 1024, uberblock * 4)


@contextlib.contextmanager
def process(*argv: str) -> Iterator[subprocess.Popen[str]]:
    """A process that says when it is ready, and ends with its input."""
    with subprocess.Popen(
        argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as running:
        assert running.stdout is not None
        assert running.stdin is not None
        assert running.stdout.readline() == "ready\n"
        try:
            yield running
        finally:
            running.stdin.close()
            running.wait(PATIENCE_S)


SIZE_BYTES = 64 * MIB
"""libblkid looks for no ZFS on less."""


class Disk:
    """A loop device that stands for somebody's disk."""

    def __init__(self, image: Path, node: str, tmp_path: Path) -> None:
        self.image, self.node, self.tmp_path = image, node, tmp_path

    def confirmed(self, **other: object) -> dict[str, object]:
        """Settings that say truly what it is, unless told otherwise."""
        confirm = {"size": SIZE_BYTES, "backing_file": str(self.image), **other}
        return {"filesystem": "ext4", "device": self.node, "confirm": confirm}

    def tried(self, settings: dict[str, object]) -> str:
        """The message with which it is refused; not a byte of it has changed."""
        swapped, before = swapped_out(), digest(self.image, self.node)
        with Ledger() as ledger:
            site = Site(root=self.tmp_path, work=self.tmp_path / "study" / "work", ledger=ledger)
            system = kind("block-device").system("ext4", settings, site)  # type: ignore[arg-type]
            with pytest.raises(RefusedError) as refused:
                system.bring_up()
            assert ledger.outstanding == ()
            assert not [*state_directory().glob("*.ops")], "nothing was recorded"
        after = digest(self.image, self.node)
        if swapped_out() != swapped:
            return self.tried(settings)  # It may be what the host swaps to, for another test.
        assert after == before
        if "(losetup)" in str(refused.value):
            return self.tried(settings)  # Another test looks at all loop devices.
        return str(refused.value)


def held(
    given: Path | str, size_bytes: int, marks: dict[str, str], *keep: Path
) -> dict[str, object]:
    """The op that holds a device."""
    return Wanted(Path(given), size_bytes, marks, keep).held().op(str)


def refused(given: Path | str, size_bytes: int, marks: dict[str, str]) -> str | None:
    """Why a device would be refused now."""
    error = refusal(Wanted(Path(given), size_bytes, marks).held())
    return None if error is None else str(error)


def signatures(node: str) -> list[dict[str, str]]:
    """What libblkid finds on a device."""
    said = sh("wipefs", "--json", node)
    return list(json.loads(said)["signatures"]) if said else []


def is_blank(node: str, size_bytes: int) -> bool:
    """Whether no byte of a device is written."""
    return Path(node).read_bytes() == bytes(size_bytes)


def written_by(write_it: Callable[[str], None]) -> Callable[[Disk], AbstractContextManager[object]]:
    """Somebody's label is on it."""

    def state(disk: Disk) -> AbstractContextManager[object]:
        write_it(disk.node)
        return nullcontext()

    return state
