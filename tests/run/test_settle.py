"""Settling: until disks are calm, and no longer than patience lasts."""

import itertools
import os
from pathlib import Path

import pytest

from tiltyard.host.place import Place, UnreachableError
from tiltyard.run import settle

HEAD = """#!/bin/sh
counted="$0.$(basename "$3")"
echo >> "$counted"
times=$(wc -l < "$counted")
case "$3" in
    */uptime) echo "$((100 + times / 2)).50 0.00" ;;
    */io) echo "some avg10=0.00 avg60=0.00 avg300=0.00 total=$((times * 400000))" ;;
esac
"""
"""Uptime goes on by a second, the time in which a task waited by 0.4 s."""


def readings_of(monkeypatch: pytest.MonkeyPatch, *waited_s: float | None) -> None:
    left = itertools.chain(waited_s, itertools.repeat(waited_s[-1]))
    monkeypatch.setattr(settle, "machine_waited_s", lambda _: next(left))
    monkeypatch.setattr(settle.os, "sync", lambda: None)


def test_a_calm_host_takes_one_step(monkeypatch: pytest.MonkeyPatch) -> None:
    readings_of(monkeypatch, 5.0)
    monkeypatch.setattr(settle, "_dirty_bytes", lambda: 4096)
    steps = []
    found = settle.settle(lambda: steps.append(1))
    assert (found.dirty_bytes, found.waiting_share, steps) == (4096, 0.0, [])


def test_a_busy_disk_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    readings_of(monkeypatch, 0.0, 1.0, 1.0, 2.0, 2.0, 2.0)
    monkeypatch.setattr(settle, "_LIMIT_S", 600.0)
    monkeypatch.setattr(settle, "_dirty_bytes", lambda: 0)
    steps = []
    found = settle.settle(lambda: steps.append(1))
    assert (len(steps), found.waiting_share) == (2, 0.0)


@pytest.mark.parametrize(("limit_s", "trial_s"), [(0.1, None), (0.1, 600.0), (600.0, 1.0)])
def test_patience_ends(
    monkeypatch: pytest.MonkeyPatch, limit_s: float, trial_s: float | None
) -> None:
    monkeypatch.setattr(settle, "_LIMIT_S", limit_s)
    count = itertools.count(0.0, 1e6)
    monkeypatch.setattr(settle, "machine_waited_s", lambda _: next(count))
    monkeypatch.setattr(settle.os, "sync", lambda: None)
    monkeypatch.setattr(settle, "_dirty_bytes", lambda: 2**30)
    found = settle.settle(lambda: None, trial_s=trial_s)
    assert found.elapsed_s >= 0.1
    assert (found.dirty_bytes, found.waiting_share) == (2**30, 1.0)


def test_a_kernel_without_pressure_information(monkeypatch: pytest.MonkeyPatch) -> None:
    readings_of(monkeypatch, None)
    monkeypatch.setattr(settle, "_dirty_bytes", lambda: 0)
    assert settle.settle(lambda: None).waiting_share is None


def test_another_host_settles_by_its_own_clock(tmp_path: Path) -> None:
    """A shell in which three programs are others stands for it."""
    dirty = "#!/bin/sh\necho 'Dirty:  12 kB'\necho 'Writeback:  3 kB'\n"
    for name, text in (("sync", "#!/bin/sh\n"), ("head", HEAD), ("grep", dirty)):
        (tmp_path / name).write_text(text)
        (tmp_path / name).chmod(0o755)
    place = Place(("env", f"PATH={tmp_path}:{os.environ['PATH']}", "sh", "-c"))
    assert settle._there(place) == (pytest.approx(0.4), 15 * 1024)


@pytest.mark.parametrize("ends", ["exit 255", "kill -9 $$"])
def test_a_host_that_is_not_reached_does_not_settle(ends: str) -> None:
    """ssh itself fails, or is killed."""
    with pytest.raises(UnreachableError, match="cannot reach"):
        settle.settle(lambda: None, Place(("sh", "-c", ends)))
