"""Each test has a ledger of its own, and leaves nothing behind on the host."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from support.devices import SIZE_BYTES, Disk, loop_disk
from support.hosts import nothing_is_left, state

__all__ = ["nothing_is_left", "state"]


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Disk]:
    """A loop device of an image that is all zero."""
    image = tmp_path / "disk.img"
    with loop_disk(image, SIZE_BYTES, "--partscan") as node:
        yield Disk(image, node, tmp_path)
