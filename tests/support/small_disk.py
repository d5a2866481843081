"""A real file system with hardly any room, which somebody fills and frees at random meanwhile."""

import contextlib
import random
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Final

_PAGE: Final = 4096


@contextlib.contextmanager
def small_disk(mounted: Path, size_bytes: int) -> Iterator[Path]:
    """A file system in memory; only root can have it."""
    mounted.mkdir()
    options = f"size={size_bytes},mode=755"
    subprocess.run(("mount", "-t", "tmpfs", "-o", options, "tmpfs", mounted), check=True)
    try:
        yield mounted
    finally:
        subprocess.run(("umount", "--lazy", mounted), check=True)


@contextlib.contextmanager
def filled_and_freed(disk: Path, seed: int, rounds: int, pause_s: float = 0.02) -> Iterator[None]:
    """All of a disk's room is taken and given back, a part at a time, for so many rounds."""
    ends = threading.Event()

    def work() -> None:
        draw = random.Random(seed)
        with (disk / "filler").open("wb", buffering=0) as filler:
            for _ in range(rounds):
                size = filler.seek(0, 2)
                with contextlib.suppress(OSError):
                    while not ends.is_set():
                        size += filler.write(bytes(_PAGE))
                ends.wait(draw.uniform(0, pause_s))
                filler.truncate(max(0, size - draw.randrange(16) * _PAGE))
                if ends.wait(draw.uniform(0, pause_s)):
                    break
        (disk / "filler").unlink()

    thread = threading.Thread(target=work)
    thread.start()
    try:
        yield
    finally:
        ends.set()
        thread.join()
