"""What is on a disk that nobody uses and that no library knows: refused, nothing written."""

import contextlib
import os
import re
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from support.devices import (
    MIB,
    SIZE_BYTES,
    Disk,
    loop_disk,
    loop_over,
    refused,
    sh,
    write,
    written_by,
)
from support.hosts import needs_root

pytestmark = needs_root


@contextlib.contextmanager
def has_ext4_at_2_mib(disk: Disk) -> Iterator[None]:
    """The partition table before it is gone."""
    with loop_over(disk.node, "--offset", str(2 * MIB)) as part:
        sh("mkfs.ext4", "-q", part)
    yield


@contextlib.contextmanager
def has_lost_its_beginning(disk: Disk) -> Iterator[None]:
    """The copies of its superblock would bring it back."""
    sh("mkfs.ext4", "-q", disk.node)
    write(disk.node, 0, bytes(MIB))
    yield


WHOLE = r"blkdiscard --zeroout /dev/loop\d+$"
STATES: dict[str, tuple[Callable[[Disk], AbstractContextManager[object]], str]] = {
    "ext4 at 2 MiB": (has_ext4_at_2_mib, rf"its byte \d+ is not zero.*{WHOLE}"),
    "data from 2 MiB on": (
        written_by(lambda node: write(node, 2 * MIB, os.urandom(20 * MIB))),
        rf"its byte 20\d{{5}} is not zero.*{WHOLE}",
    ),
    "an ext4 whose first MiB was zeroed": (has_lost_its_beginning, rf"its byte \d+ .*{WHOLE}"),
    "one byte anywhere": (
        written_by(lambda node: write(node, 34_567_891, b"x")),
        rf"its byte 34567891 is not zero.*{WHOLE}",
    ),
    "unknown data at its start": (
        written_by(lambda node: write(node, 70_000, b"ORCL")),
        r"its byte 70000 is not zero.*blkdiscard --zeroout --offset 0 --length 1048576 /dev/loop",
    ),
    "unknown data at its end": (
        written_by(lambda node: write(node, SIZE_BYTES - 1, b"\x01")),
        r"its byte 67108863 is not zero.* --offset 66060288 --length 1048576 /dev/loop",
    ),
}


@pytest.mark.parametrize("danger", STATES)
def test_a_disk_that_holds_something_is_refused(disk: Disk, danger: str) -> None:
    bring_about, reason = STATES[danger]
    with bring_about(disk):
        message = disk.tried(disk.confirmed())
    assert re.search(f": refused, nothing was written: .*{reason}", message), message


@pytest.fixture
def large(disk: Disk) -> Iterator[tuple[str, int]]:
    """A disk of 2 GiB whose holes nobody knows, so that a sample of it is read; node, size."""
    size_bytes = 2048 * MIB
    with loop_disk(disk.tmp_path / "large.img", size_bytes) as below, loop_over(below) as node:
        yield node, size_bytes


def reason_of(large: tuple[str, int]) -> str:
    node, size_bytes = large
    behind = Path("/sys/block", Path(node).name, "loop/backing_file").read_text().strip()
    return str(refused(node, size_bytes, {"backing_file": behind}))


def test_of_a_large_disk_a_sample_is_enough_for_what_is_spread(large: tuple[str, int]) -> None:
    node, size_bytes = large
    assert reason_of(large) == "None"
    for at in (100 * MIB, size_bytes - 100 * MIB):
        write(node, at, os.urandom(20 * MIB))
        found = re.search(rf"its byte (\d+) is not zero.*{WHOLE}", reason_of(large))
        assert found is not None
        assert at <= int(found[1]) < at + 20 * MIB
        write(node, at, bytes(20 * MIB))
    assert reason_of(large) == "None"
    sh("mkfs.ext4", "-q", "-E", "nodiscard,lazy_itable_init=1", node)
    write(node, 0, bytes(16 * MIB))
    assert re.search(rf"its byte \d+ is not zero.*{WHOLE}", reason_of(large))


def test_what_a_person_is_told_to_do_helps(disk: Disk) -> None:
    sh("mkfs.ext4", "-q", disk.node)
    for _ in range(4):
        marks = {"backing_file": str(disk.image)}
        if (reason := refused(disk.node, SIZE_BYTES, marks)) is None:
            return
        sh(*reason.rpartition("nobody needs it: ")[2].split())
    pytest.fail(f"still refused: {reason}")
