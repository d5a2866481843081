"""Killed at any moment while it changes the host: its agent, or the next one, puts all back."""

import json
import random
import subprocess
import sys
from pathlib import Path

import pytest

from support.hosts import assert_as_before, host_state, needs_root
from support.kills import in_the_middle, kill_when
from support.networks import left_behind, parameters
from support.snapshots import processes_of
from tiltyard.host.ledger import recover

UP_AND_DOWN = """
import json, sys
from pathlib import Path
from tiltyard.host.ledger import Ledger
from tiltyard.systems import kind
from tiltyard.systems.kind import Site
work, name, settings = Path(sys.argv[1]), sys.argv[2], json.loads(sys.argv[3])
with Ledger() as ledger:
    system = kind(name).system(name, settings, Site(work, work, ledger))
    print(ledger.token, flush=True)
    while True:
        target = system.bring_up().target
        if isinstance(target, Path):
            (target / "file").write_bytes(b"x" * 100_000)
        system.take_down()
"""
IMAGE = {"filesystem": "ext2", "backing": {"image": "16M"}, "scheduler": "mq-deadline"}
ENDS = {"congestion_control": "cubic", "sysctl": {"net.core.netdev_max_backlog": 4321}}


@needs_root
@pytest.mark.parametrize(
    ("kind", "settings", "most"),
    [
        ("loop-image", IMAGE, 10),
        ("loop-image", {**IMAGE, "state": {"aged": "downloads"}}, 10),
        ("pair", {**ENDS, "busy_poll": 7, "rate": "500mbit"}, 4),
        ("loopback", ENDS, 2),
    ],
)
def test_killed_at_random_moments(
    tmp_path: Path, state: Path, kind: str, settings: dict[str, object], most: int
) -> None:
    """After so many changes at most: the ledger of an agent counts those of one turn."""
    before, parameters_before = host_state(tmp_path), parameters()
    argv = (sys.executable, "-c", UP_AND_DOWN, str(tmp_path), kind, json.dumps(settings))
    moments = random.Random(4711)
    said = []
    for _ in range(12):
        with subprocess.Popen(argv, stdout=subprocess.PIPE) as process:
            assert process.stdout is not None
            token = process.stdout.readline().decode().strip()
            assert token
            try:
                kill_when({process: in_the_middle(moments.randint(2, most))}, state, moments)
            finally:
                process.kill()
        processes_of(state)  # waits for its agent, unless that was killed with it
        said += recover()
        assert_as_before(before, tmp_path)
        assert parameters() == parameters_before
        assert left_behind(token) == []
        assert not list(tmp_path.iterdir())
        assert not list(state.iterdir())
    assert said, "an agent that is killed as well leaves something to put back"
    assert all(line.startswith("an earlier run was killed: ") for line in said)
