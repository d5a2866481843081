"""Settling: until disks are calm, and no longer than patience lasts."""

import itertools

import pytest

from tiltyard.run import settle


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


def test_patience_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(settle, "_LIMIT_S", 0.1)
    count = itertools.count(0.0, 1.0)
    monkeypatch.setattr(settle, "machine_waited_s", lambda _: next(count))
    monkeypatch.setattr(settle.os, "sync", lambda: None)
    monkeypatch.setattr(settle, "_dirty_bytes", lambda: 2**30)
    found = settle.settle(lambda: None)
    assert found.elapsed_s >= 0.1
    assert (found.dirty_bytes, found.waiting_share) == (2**30, 1.0)


def test_a_kernel_without_pressure_information(monkeypatch: pytest.MonkeyPatch) -> None:
    readings_of(monkeypatch, None)
    monkeypatch.setattr(settle, "_dirty_bytes", lambda: 0)
    assert settle.settle(lambda: None).waiting_share is None
