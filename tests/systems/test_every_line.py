"""Killed after each op in turn, every kind of system: all is put back."""

from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from support.devices import MIB, loop_disk
from support.hosts import needs_root
from support.killed import TUNING, turn
from support.looks import find_program
from support.snapshots import assert_same, processes_of, snapshot
from tiltyard.host.devices import throttles
from tiltyard.host.ledger import restore
from tiltyard.host.processes import named

pytestmark = needs_root

LIMIT = {} if throttles.missing() else {"bandwidth": "400M"}
RICH = {
    "filesystem": "ext4",
    "backing": {"image": "16M"},
    "scheduler": "mq-deadline",
    "read_ahead": "256k",
    "state": {"filled": "50%"},
    "tuning": ["kills.toml"],
    **LIMIT,
}
"""The system with most lines."""
SYSTEMS: Mapping[str, tuple[str, dict[str, Any]]] = {
    "ext4, tuned and filled": ("loop-image", RICH),
    "xfs": ("loop-image", {"filesystem": "xfs", "backing": {"image": "300M"}}),
    "btrfs": ("loop-image", {"filesystem": "btrfs", "backing": {"image": "128M"}}),
    "image in memory": (
        "loop-image",
        {"filesystem": "ext4", "backing": {"image": "16M", "at": "memory"}},
    ),
    "block device": ("block-device", {"filesystem": "ext4", "read_ahead": "256k"}),
    "tmpfs": ("tmpfs", {"size": "8M"}),
    "service": (
        "tmpfs",
        {
            "size": "8M",
            "service": {
                "files": {"www/index.html": "hello"},
                "initialise": ["true"],
                "start": ["/usr/bin/python3", "-m", "http.server", "{port}", "-d", "{dir}/www"],
            },
        },
    ),
    "overlay": ("overlay", {"driver": "kernel", "lower": "below"}),
    "fuse-overlayfs": ("overlay", {"driver": "fuse-overlayfs", "lower": "below"}),
    "bindfs": ("mount", {"type": "fuse.bindfs", "source": "./below"}),
    "zfs-fuse": ("loop-image", {"filesystem": "zfs-fuse", "backing": {"image": "64M"}}),
    "directory, tuned": ("directory", {"directory": "below", "tuning": ["kills.toml"]}),
    "pair": ("pair", {"sysctl": {"net.core.somaxconn": 999}, "congestion_control": "cubic"}),
    "loopback": ("loopback", {}),
}
"""Every kind that can be brought up on one host without a guest."""


def kill_after_each_line(home: Path, state: Path, name: str) -> int:
    """How many kills there were; after each one all was as before."""
    kind, settings = SYSTEMS[name]
    work = home / "one"
    for directory in (work / "work", work / "below"):
        directory.mkdir(parents=True)
    (work / "kills.toml").write_text(TUNING)
    disk: AbstractContextManager[str] = nullcontext("")
    if kind == "block-device":
        disk = loop_disk(home / "disk.img", 16 * MIB)
    with disk as node:
        if node:
            confirm = {"size": 16 * MIB, "backing_file": str(home / "disk.img")}
            settings = {**settings, "device": node, "confirm": confirm}
        before = snapshot(home, state)
        for lines in count(1):
            if (whole := turn(kind, settings, work, lines)) is not None:
                assert whole == lines - 1
                assert whole > 1
                break
            left = restore().left
            assert not left, (name, lines, left)
            assert_same(before, snapshot(home, state))
            assert not list((work / "below").iterdir()), (name, lines)
    assert processes_of(state) == []
    return lines - 1


@pytest.mark.parametrize("name", SYSTEMS)
def test_a_kill_after_any_line_leaves_nothing(tmp_path: Path, state: Path, name: str) -> None:
    if name == "zfs-fuse" and (not find_program(name) or named((name,))):
        pytest.skip("zfs-fuse is not installed, or serves others")
    lines = kill_after_each_line(tmp_path, state, name)
    assert lines >= (10 if SYSTEMS[name][1] is RICH else 2)
