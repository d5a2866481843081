"""The layout of an image, on a file system that can tell: an ext4 of our own."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.hosts import needs_root
from support.images import gaps
from tiltyard.errors import HostLacksError, InterruptedRunError, RefusedError
from tiltyard.host.ledger import Ledger
from tiltyard.host.op import Mend, PutZeros
from tiltyard.host.place import HERE
from tiltyard.host.steps import Op, Steps
from tiltyard.systems import kind
from tiltyard.systems.kind import Site

MIB = 2**20


@pytest.fixture
def steps() -> Iterator[Steps]:
    """Those of a run, which takes all back."""
    with Ledger() as ledger:
        yield Steps(ledger)


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Path]:
    """A directory on the ext4."""
    with Ledger() as ledger:
        site = Site(root=tmp_path, work=tmp_path, ledger=ledger)
        document = {"filesystem": "ext4", "backing": {"image": "64M"}}
        up = kind("loop-image").system("ext4", document, site).bring_up()  # type: ignore[arg-type]
        assert isinstance(up.target, Path)
        yield up.target


def image(place: Path, size_bytes: int) -> PutZeros:
    return PutZeros(path=place / "tiltyard-image", size_bytes=size_bytes)


def test_every_block_is_allocated_and_goes_with_the_run(tmp_path: Path) -> None:
    made = image(tmp_path, 5 * MIB + 512)
    with Ledger() as ledger:
        Steps(ledger).take([made])
        assert made.path.stat().st_size == 5 * MIB + 512
        assert made.path.stat().st_blocks * 512 >= 5 * MIB
        assert not made.path.read_bytes().strip(b"\0")
    assert not made.path.exists()


def test_an_image_is_never_overwritten(steps: Steps, tmp_path: Path) -> None:
    made = image(tmp_path, MIB)
    made.path.write_text("precious")
    with pytest.raises(RefusedError, match="is there already"):
        steps.take([made])
    steps.undo()
    assert made.path.read_text() == "precious"


def test_laying_out_can_be_interrupted(tmp_path: Path) -> None:
    """What is made of it until then goes at once."""
    asked = False

    def stop() -> None:
        if asked:
            raise InterruptedRunError("stop")

    class Lays(PutZeros):
        def op(self, text: object) -> dict[str, object]:
            nonlocal asked
            asked = True
            return {"op": "put", "path": str(self.path), "zeros": self.size_bytes}

    made = Lays(path=tmp_path / "tiltyard-image", size_bytes=2**34)
    with Ledger() as ledger, pytest.raises(InterruptedRunError):
        Steps(ledger, stop).take([made])
    assert not made.path.exists()


@needs_root
def test_where_there_is_no_room_nothing_stays(steps: Steps, place: Path) -> None:
    with pytest.raises(HostLacksError, match="No space left"):
        steps.take([image(place, 128 * MIB)])
    assert list(place.iterdir()) == []


@needs_root
def test_holes_and_unwritten_ranges_are_mended(steps: Steps, place: Path) -> None:
    made = image(place, 20 * MIB)
    ops: list[Op] = [made, Mend(path=made.path)]
    steps.take(ops)
    assert gaps(made.path) == []
    path = str(made.path)
    HERE.run(("fallocate", "--punch-hole", "-o", str(3 * MIB), "-l", str(2 * MIB), path))
    HERE.run(("fallocate", "--zero-range", "-o", str(9 * MIB), "-l", str(MIB), path))
    HERE.run(("fallocate", "--punch-hole", "-o", str(19 * MIB), "-l", str(MIB), path))
    assert gaps(made.path) == [
        (3 * MIB, 5 * MIB),
        (9 * MIB, 10 * MIB),
        (19 * MIB, 20 * MIB),
    ]
    steps.take([Mend(path=made.path)])
    assert gaps(made.path) == []
    assert made.path.stat().st_size == 20 * MIB


@needs_root
def test_what_an_image_holds_stays_when_it_is_mended(steps: Steps, place: Path) -> None:
    """Also where it is in memory alone, so that the file system still calls the place unwritten."""
    made = image(place, 5 * MIB)
    steps.take([made])
    HERE.run(("fallocate", "--zero-range", "-o", str(MIB), "-l", str(MIB), str(made.path)))
    HERE.run(("fallocate", "--punch-hole", "-o", str(3 * MIB), "-l", str(MIB), str(made.path)))
    precious = {MIB + 8192: b"journal", 3 * MIB + 512: b"table"}
    with made.path.open("rb+") as file:
        for offset, data in precious.items():
            os.pwrite(file.fileno(), data, offset)
        assert gaps(made.path)
        steps.take([Mend(path=made.path)])
    data = made.path.read_bytes()
    for offset, wanted in precious.items():
        assert data[offset : offset + len(wanted)] == wanted
    assert len(data.strip(b"\0")) == 3 * MIB + 512 + 5 - MIB - 8192
    assert gaps(made.path) == []
