"""Where a device is looked at before it counts as blank.

Up to a size all of it is read, and of a loop device all that its file has data for, as far as that
is no more. Of anything larger a sample is read: both ends, every place at which a file system or a
volume manager keeps a copy of its label, and some thousand blocks over the whole of it, one at a
random place of each equal part. The random numbers come from the size, so that the same places are
made blank after a turn that are looked at before the next one.

Sources: ext4 layout (sparse_super: groups that are powers of 3, 5 and 7), XFS (allocation groups),
btrfs (mirrors at 64 MiB and 256 GiB), OCFS2 (backups at 1 GiB and powers of 4 of it), NTFS (the
middle). GPT, md, ZFS, LVM, LUKS, bcache, NILFS2, HFS+ and bcachefs keep theirs in the first or last
mebibyte, or in the first 16.
"""

import os
import random
from collections.abc import Iterable, Iterator
from typing import Final

from tiltyard.host.devices import loops
from tiltyard.host.devices.block_devices import node_at
from tiltyard.host.devices.ranges import range_of

END_BYTES: Final = 2**20
FULL_BYTES: Final = 2**30
"""As much is read whole."""
SAMPLES: Final = 4096
BLOCK_BYTES: Final = 4096
_HEAD_BYTES = 16 * 2**20
"""Read of what is larger; LUKS2 keeps the copy of its header and its keys there."""
_MIRRORS = (64 * 2**20, 256 * 2**30)

Part = tuple[int, int]
"""From, to."""


def ends(size_bytes: int) -> Iterator[Part]:
    """First and last mebibyte, the smaller device being one part."""
    if size_bytes <= 2 * END_BYTES:
        yield 0, size_bytes
        return
    yield 0, END_BYTES
    yield size_bytes - END_BYTES, size_bytes


def looked_at(file: int, size_bytes: int) -> list[Part]:
    """The parts of an open device that are read, in order.

    Raises:
        OSError: if it is gone.
    """
    known = data_of(file)
    data = [(0, size_bytes)] if known is None else known
    if sum(end - start for start, end in data) <= FULL_BYTES:
        return data
    return list(_shared(data, sampled(size_bytes)))


def data_of(file: int) -> list[Part] | None:
    """Of a loop device what its file has no hole for; ``None`` where that is not known."""
    number = os.fstat(file).st_rdev
    place = f"{os.major(number)}:{os.minor(number)}"
    behind = range_of(place)
    image = loops.backing_file(node_at(place))
    if image is None or isinstance(behind.base, str):
        return None
    try:
        below = os.open(image, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        status = os.fstat(below)
        if (status.st_dev, status.st_ino) != behind.base:
            return None
        parts = _written(below, behind.start, behind.end)
        return [(start - behind.start, end - behind.start) for start, end in parts]
    finally:
        os.close(below)


def sampled(size_bytes: int) -> list[Part]:
    """The sample of a device of a size, in order, without overlaps."""
    chance = random.Random(size_bytes)
    step = size_bytes / SAMPLES
    spread = (int(step * (number + chance.random())) for number in range(SAMPLES))
    starts = {at - at % BLOCK_BYTES for at in (*spread, *_labels(size_bytes)) if at < size_bytes}
    blocks = [(at, min(at + BLOCK_BYTES, size_bytes)) for at in starts]
    return list(_joined([*ends(size_bytes), (0, _HEAD_BYTES), *blocks]))


def _labels(size_bytes: int) -> Iterator[int]:
    """Where copies of labels are."""
    yield from _MIRRORS
    yield size_bytes // 2
    yield from (2**power for power in range(20, size_bytes.bit_length()))
    for block_bytes in (1024, 2048, 4096, 65536):
        group_bytes = 8 * block_bytes * block_bytes
        first = block_bytes if block_bytes == 1024 else 0
        last = size_bytes // group_bytes
        for base in (3, 5, 7):
            group = 1
            while group <= last:
                yield group * group_bytes + first
                group *= base
        yield from (group * group_bytes + first for group in (last - 1, last) if group > 0)
    # Groups of XFS are equal, but for the last one, and at most 1 TiB.
    blocks = size_bytes // BLOCK_BYTES
    for groups in (2, 4, 8, 16, 32):
        yield from (-(-blocks // groups) * BLOCK_BYTES * group for group in range(1, groups))
        yield from (blocks // groups * BLOCK_BYTES * group for group in range(1, groups))
    yield from range(2**40, size_bytes, 2**40)


def _written(file: int, start: int, end: int) -> list[Part]:
    """Parts of a file that are no holes; the rest reads as zeros."""
    found: list[Part] = []
    while start < end:
        try:
            start = os.lseek(file, start, os.SEEK_DATA)
        except OSError:  # nothing more
            break
        hole = min(end, os.lseek(file, start, os.SEEK_HOLE))
        if start < hole:
            found.append((start, hole))
        start = hole
    return found


def _joined(parts: Iterable[Part]) -> Iterator[Part]:
    """In order, those that touch as one."""
    start, end = 0, 0
    for each in sorted(parts):
        if each[0] > end:
            if end > start:
                yield start, end
            start, end = each
        end = max(end, each[1])
    if end > start:
        yield start, end


def _shared(some: Iterable[Part], others: Iterable[Part]) -> Iterator[Part]:
    """What is in both; each is in order."""
    left, right = iter(some), iter(others)
    one, other = next(left, None), next(right, None)
    while one and other:
        start, end = max(one[0], other[0]), min(one[1], other[1])
        if start < end:
            yield start, end
        if one[1] < other[1]:
            one = next(left, None)
        else:
            other = next(right, None)
