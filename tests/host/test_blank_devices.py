"""What is on a disk that nobody uses and that no library knows: refused, nothing written."""

import contextlib
import itertools
import os
import re
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager

import pytest

from support.devices import MIB, SIZE_BYTES, Disk, loop_over, refusal_by, sh, write, written_by
from support.hosts import needs_root
from tiltyard.host.devices import places

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


@pytest.mark.parametrize(
    "danger", ["ext4 at 2 MiB", "data from 2 MiB on", "an ext4 whose first MiB was zeroed"]
)
def test_of_a_large_disk_a_sample_is_enough_for_what_is_spread(
    disk: Disk, danger: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(places, "FULL_BYTES", MIB)
    monkeypatch.setattr(places, "_HEAD_BYTES", MIB)
    monkeypatch.setattr(places, "SAMPLES", 64)
    with disk.image.open("r+b") as file:
        os.posix_fallocate(file.fileno(), 0, SIZE_BYTES)
    write(disk.node, 0, bytes(SIZE_BYTES))
    bring_about, reason = STATES[danger]
    with bring_about(disk):
        assert re.search(reason.replace(r"20\d{5}", r"\d+"), disk.tried(disk.confirmed()))


def test_the_sample_has_the_places_where_labels_are() -> None:
    size_bytes = 2 * 10**12
    parts = places.sampled(size_bytes)
    assert parts == places.sampled(size_bytes)
    assert all(one[1] < other[0] for one, other in itertools.pairwise(parts))
    assert parts[0][0] == 0
    assert parts[-1][1] == size_bytes
    assert places.SAMPLES <= len(parts) <= places.SAMPLES + 500
    ext4 = [group * 128 * MIB for group in (1, 3, 5, 7, 9, 25, 49, 14641)]
    xfs = [-(-(size_bytes // 4096) // 4) * 4096 * group for group in (1, 2, 3)]
    for at in (64 * MIB, 256 * 2**30, 2**30, 4 * 2**30, *ext4[:-1], *xfs):
        assert any(start <= at < end for start, end in parts), at


def test_what_a_person_is_told_to_do_helps(disk: Disk) -> None:
    sh("mkfs.ext4", "-q", disk.node)
    for _ in range(4):
        marks = {"backing_file": str(disk.image)}
        if (reason := refusal_by(disk.by, disk.node, SIZE_BYTES, marks)) is None:
            return
        sh(*reason.rpartition("nobody needs it: ")[2].split())
    pytest.fail(f"still refused: {reason}")
