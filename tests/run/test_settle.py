"""Settling: until disks are calm, and no longer than patience lasts."""

import itertools
from collections.abc import Iterable, Sequence

import pytest

from tiltyard.errors import UnreachableError
from tiltyard.host.place import Place
from tiltyard.run import settle
from tiltyard.wire import HostFound


class Disks:
    """A host whose tasks have waited so long for a disk each time that is read."""

    def __init__(self, waited_s: Iterable[float | None], dirty_kib: int) -> None:
        self._waited_s = iter(waited_s)
        self._dirty_kib = dirty_kib

    def read(self, files: Sequence[str]) -> HostFound:
        texts = {}
        if "/proc/meminfo" in files:
            texts["/proc/meminfo"] = f"Dirty: {self._dirty_kib} kB\nWriteback: 0 kB\n"
        if "/proc/pressure/io" in files and (waited_s := next(self._waited_s)) is not None:
            some = f"some avg10=0.00 avg60=0.00 avg300=0.00 total={waited_s * 1e6:.0f}\n"
            texts["/proc/pressure/io"] = f"{some}full avg10=0.00 avg60=0.00 avg300=0.00 total=7\n"
        return HostFound(files=texts, links={}, programs={}, space={}, outputs=[], cut=[])


def disks_of(monkeypatch: pytest.MonkeyPatch, *waited_s: float | None, dirty_kib: int = 0) -> None:
    left = itertools.chain(waited_s, itertools.repeat(waited_s[-1]))
    host = Disks(left, dirty_kib)
    monkeypatch.setattr(Place, "host", property(lambda _: host))
    monkeypatch.setattr(settle.os, "sync", lambda: None)


def test_a_calm_host_takes_one_step(monkeypatch: pytest.MonkeyPatch) -> None:
    disks_of(monkeypatch, 5.0, dirty_kib=4)
    steps = []
    found = settle.settle(lambda: steps.append(1))
    assert (found.dirty_bytes, found.waiting_share, steps) == (4096, 0.0, [])


def test_before_a_brief_trial_only_what_is_dirty_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    disks_of(monkeypatch, 5.0, dirty_kib=2**30)
    found = settle.settle(lambda: None, brief=True)
    assert (found.dirty_bytes, found.waiting_share) == (2**40, None)


def test_a_busy_disk_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    disks_of(monkeypatch, 0.0, 1.0, 1.0, 2.0, 2.0, 2.0)
    monkeypatch.setattr(settle, "_LIMIT_S", 600.0)
    steps = []
    found = settle.settle(lambda: steps.append(1))
    assert (len(steps), found.waiting_share) == (2, 0.0)


@pytest.mark.parametrize(("limit_s", "trial_s"), [(0.1, None), (0.1, 600.0), (600.0, 1.0)])
def test_patience_ends(
    monkeypatch: pytest.MonkeyPatch, limit_s: float, trial_s: float | None
) -> None:
    monkeypatch.setattr(settle, "_LIMIT_S", limit_s)
    host = Disks(itertools.count(0.0, 1e6), dirty_kib=2**20)
    monkeypatch.setattr(Place, "host", property(lambda _: host))
    monkeypatch.setattr(settle.os, "sync", lambda: None)
    found = settle.settle(lambda: None, trial_s=trial_s)
    assert found.elapsed_s >= 0.1
    assert (found.dirty_bytes, found.waiting_share) == (2**30, 1.0)


def test_a_kernel_without_pressure_information(monkeypatch: pytest.MonkeyPatch) -> None:
    disks_of(monkeypatch, None)
    assert settle.settle(lambda: None).waiting_share is None


def test_this_host_tells_what_is_dirty() -> None:
    found = settle.settle(lambda: None)
    assert found.dirty_bytes >= 0
    assert found.waiting_share is None or 0 <= found.waiting_share <= 1


def test_another_host_settles_as_this_one() -> None:
    """A shell of this host stands for it."""
    found = settle.settle(lambda: None, Place(("sh", "-c")))
    assert found.dirty_bytes >= 0
    assert found.elapsed_s > 0


@pytest.mark.parametrize("ends", ["exit 255", "kill -9 $$"])
def test_a_host_that_is_not_reached_does_not_settle(ends: str) -> None:
    """ssh itself fails, or is killed."""
    with pytest.raises(UnreachableError, match="cannot reach"):
        settle.settle(lambda: None, Place(("sh", "-c", ends)))
