"""Whatever a disk does in whatever call: what the lab has written there is whole."""

import os
import subprocess
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from support.devices import loop_disk
from support.faulty_fs import CHANGES, READ_ONLY, READS, SHORT, Fault, drawn, faulty
from support.hosts import needs_root
from support.small_disk import small_disk
from support.written import WRITERS, Disk, Writer, a_journal, a_kept_device, a_ledger

pytestmark = needs_root
FEW, MANY = 500, 4000
DEVICE_BYTES = 3 * 2**20 + 4096
FOUND: Sequence[tuple[Writer, tuple[Fault, ...]]] = (
    (a_kept_device, (Fault("write", 3, SHORT),)),
    (a_kept_device, (Fault("read", 2, SHORT),)),
    (a_ledger, (Fault("open", 2, "EIO"),)),
    (a_ledger, (Fault("write", 1, READ_ONLY),)),
    (a_journal, (Fault("fsync", 2, "EIO"), Fault("truncate", 1, "EIO"))),
)
"""What once did harm."""


def at_random(schedules: int) -> Iterator[tuple[Writer, tuple[Fault, ...]]]:
    """So many schedules, one writer after another."""
    for seed in range(schedules):
        faults = drawn(seed, faults=4, within=6, calls=(*CHANGES, *READS))
        yield WRITERS[seed % len(WRITERS)], faults


def sweep(tmp_path: Path, *cases: tuple[Writer, tuple[Fault, ...]]) -> Counter[str]:
    """Every writer under its schedule; how many faults each has met."""
    met: Counter[str] = Counter()
    backing = tmp_path / "backing"
    backing.write_bytes(os.urandom(2**20) + bytes(2**20) + os.urandom(DEVICE_BYTES - 2**21))
    with (
        small_disk(tmp_path / "disk", 64 * 2**20) as memory,
        loop_disk(backing, DEVICE_BYTES) as device,
        faulty(memory / "shows", tmp_path / "faulty", ()),
    ):
        for number, (writer, faults) in enumerate(cases):
            inside = f"{number}-{'closed' if number % 2 else 'killed'}"
            disk = Disk(tmp_path / "faulty", memory / "shows", inside, faults, device)
            disk.place.mkdir()
            try:
                writer(disk)
            except BaseException as error:
                error.add_note(f"{writer.__name__}, number {number}, {faults}:\n{disk.told}")
                raise
            met[writer.__name__] += disk.told.count("\n")
            subprocess.run(("rm", "-rf", disk.real), check=True)
    return met


@pytest.mark.parametrize("case", FOUND, ids=lambda case: f"{case[0].__name__}-{case[1][0].call}")
def test_what_once_did_harm(tmp_path: Path, case: tuple[Writer, tuple[Fault, ...]]) -> None:
    assert sweep(tmp_path, case).total() >= len(case[1])


def test_whatever_fails_what_is_written_is_whole(tmp_path: Path) -> None:
    met = sweep(tmp_path, *at_random(FEW))
    assert all(met[writer.__name__] for writer in WRITERS), met


@pytest.mark.conformance
def test_whatever_fails_of_four_thousand_schedules(tmp_path: Path) -> None:
    met = sweep(tmp_path, *at_random(MANY))
    print(met.total(), met)  # noqa: T201
    assert all(met[writer.__name__] > 20 for writer in WRITERS), met
