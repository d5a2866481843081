"""Killed at any moment while it changes the host: the next start puts everything back."""

import random
import signal
import subprocess
import sys
import time
from pathlib import Path

from support.hosts import assert_as_before, host_state, needs_root
from tiltyard.host.ledger import recover

UP_AND_DOWN = """
import sys
from pathlib import Path
from tiltyard.host.ledger import Ledger
from tiltyard.systems import kind
from tiltyard.systems.kind import Site
with Ledger() as ledger:
    work = Path(sys.argv[1])
    settings = {"filesystem": "ext2", "backing": {"image": "16M"}, "scheduler": "mq-deadline"}
    system = kind("loop-image").system("ext2", settings, Site(work, work, ledger))
    print("ready", flush=True)
    while True:
        (system.bring_up().target / "file").write_bytes(b"x" * 100_000)
        system.take_down()
"""


@needs_root
def test_killed_at_random_moments(tmp_path: Path, state: Path) -> None:
    before = host_state(tmp_path)
    moments = random.Random(4711)
    left_behind = 0
    for _ in range(12):
        process = subprocess.Popen(
            (sys.executable, "-c", UP_AND_DOWN, str(tmp_path)), stdout=subprocess.PIPE
        )
        with process:
            assert process.stdout is not None
            assert process.stdout.readline() == b"ready\n"
            time.sleep(moments.uniform(0, 0.4))
            process.send_signal(signal.SIGKILL)
        left_behind += len(recover())
        assert_as_before(before, tmp_path)
        assert not list(tmp_path.iterdir())
        assert not list(state.iterdir())
    assert left_behind > 12, "the kills came too early to show anything"
