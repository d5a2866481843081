"""The layout of an image, on a file system that can tell: an ext4 of our own."""

import os
from pathlib import Path

import pytest

from support.hosts import needs_root
from tiltyard.errors import InterruptedRunError
from tiltyard.host.commands import run
from tiltyard.host.ledger import Ledger
from tiltyard.systems import kind
from tiltyard.systems.image_file import lay_out, restore_layout
from tiltyard.systems.kind import Site

MIB = 2**20


def nothing() -> None:
    """No wish to stop."""


def test_every_block_is_allocated(tmp_path: Path) -> None:
    image = tmp_path / "image"
    lay_out(image, 5 * MIB + 512, nothing)
    assert image.stat().st_size == 5 * MIB + 512
    assert image.stat().st_blocks * 512 >= 5 * MIB
    assert not image.read_bytes().strip(b"\0")


def test_an_image_is_never_overwritten(tmp_path: Path) -> None:
    image = tmp_path / "image"
    image.write_text("precious")
    with pytest.raises(FileExistsError):
        lay_out(image, MIB, nothing)
    assert image.read_text() == "precious"


def test_laying_out_can_be_interrupted(tmp_path: Path) -> None:
    def stop() -> None:
        raise InterruptedRunError("stop")

    with pytest.raises(InterruptedRunError):
        lay_out(tmp_path / "image", MIB, stop)


@needs_root
def test_holes_and_unwritten_ranges_are_mended(tmp_path: Path) -> None:
    with Ledger() as ledger:
        site = Site(root=tmp_path, work=tmp_path, ledger=ledger)
        document = {"filesystem": "ext4", "backing": {"image": "64M"}}
        up = kind("loop-image").system("ext4", document, site).bring_up()  # type: ignore[arg-type]
        image = up.target / "image"
        lay_out(image, 20 * MIB, nothing)
        assert restore_layout(image, nothing) == 0
        run(("fallocate", "--punch-hole", "-o", str(3 * MIB), "-l", str(2 * MIB), str(image)))
        run(("fallocate", "--zero-range", "-o", str(9 * MIB), "-l", str(MIB), str(image)))
        assert restore_layout(image, nothing) == 3 * MIB
        assert restore_layout(image, nothing) == 0
        assert image.stat().st_size == 20 * MIB
        run(("fallocate", "--punch-hole", "-o", str(19 * MIB), "-l", str(MIB), str(image)))
        assert restore_layout(image, nothing) == MIB


@needs_root
def test_what_an_image_holds_stays_when_it_is_mended(tmp_path: Path) -> None:
    """Also where it is in memory alone, so that the file system still calls the place unwritten."""
    with Ledger() as ledger:
        site = Site(root=tmp_path, work=tmp_path, ledger=ledger)
        document = {"filesystem": "ext4", "backing": {"image": "64M"}}
        up = kind("loop-image").system("ext4", document, site).bring_up()  # type: ignore[arg-type]
        image = up.target / "image"
        lay_out(image, 5 * MIB, nothing)
        run(("fallocate", "--zero-range", "-o", str(MIB), "-l", str(MIB), str(image)))
        run(("fallocate", "--punch-hole", "-o", str(3 * MIB), "-l", str(MIB), str(image)))
        precious = {MIB + 8192: b"journal", 3 * MIB + 512: b"table"}
        with image.open("rb+") as file:
            for offset, data in precious.items():
                os.pwrite(file.fileno(), data, offset)
            assert restore_layout(image, nothing) > 0
        data = image.read_bytes()
        for offset, wanted in precious.items():
            assert data[offset : offset + len(wanted)] == wanted
        assert len(data.strip(b"\0")) == 3 * MIB + 512 + 5 - MIB - 8192
        assert restore_layout(image, nothing) == 0
