"""Noise limits on known interference (acceptance C5): hit blocks are disturbed, clean ones are not.

The live test makes its own interference in 30 % of the blocks, and needs a host on which nothing
else runs; the smoke test has the same plan with telemetry that is drawn.
"""

import contextlib
import subprocess
import sys
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pytest

from support.hosts import needs_root
from support.runs import NOISE_LIMITS, Watcher, go_on
from tiltyard.executors.engine import Engine
from tiltyard.folder import StudyFolder, write_whole
from tiltyard.host.telemetry import Telemetry
from tiltyard.plan.freeze import freeze
from tiltyard.plan.model import TrialKey
from tiltyard.plan.store import write_plan
from tiltyard.run.noise_limits import Evidence, check_evidence
from tiltyard.run.read import read_run
from tiltyard.run.runner import run_study
from tiltyard.study.load import load_study
from tiltyard.systems import KINDS

HIT_SHARE = 0.3
LEAST_HIT, MOST_CLEAN = 0.95, 0.02
BLOCKS = 40

STUDY = """\
question = "Does the signal see it?"
seed = 7
[factors]
filesystem = { a = "ext4", b = "ext4" }
[systems]
backing = { image = "256M" }
[[workload]]
use = "stream"
file = "64M"
access = "direct"
[precision]
blocks = {blocks}
[noise]
disturbed = "keep"
"""

HOG = "while True: pass"
DISK = """
import os, sys, mmap
block = mmap.mmap(-1, 1 << 20)
file = os.open(sys.argv[1], os.O_CREAT | os.O_WRONLY | os.O_DIRECT)
while True:
    os.pwrite(file, block, 0)
"""
NETWORK = """
import socket, threading
listener = socket.create_server(("127.0.0.1", 0))
sender = socket.create_connection(listener.getsockname())
receiver, _ = listener.accept()
def receive():
    while receiver.recv(1 << 16):
        pass
threading.Thread(target=receive, daemon=True).start()
while True:
    sender.sendall(bytes(1 << 16))
"""


class Saboteur(Watcher):
    """An observer that runs a program during some blocks."""

    def __init__(self, program: Sequence[str], blocks: frozenset[int]) -> None:
        super().__init__()
        self._program = program
        self._blocks = blocks
        self._running: subprocess.Popen[bytes] | None = None

    def block_started(self, block: int, of: int) -> None:
        super().block_started(block, of)
        self.stop()
        if block in self._blocks:
            self._running = subprocess.Popen((sys.executable, "-c", *self._program))

    def stop(self) -> None:
        """End the program, if it runs."""
        if self._running is not None:
            self._running.kill()
            self._running.wait()
            self._running = None


def hit_blocks(rng: np.random.Generator) -> frozenset[int]:
    """Blocks that are disturbed."""
    chosen = rng.choice(BLOCKS, round(HIT_SHARE * BLOCKS), replace=False) + 1
    return frozenset(chosen.tolist())


def require(hit: int, hit_disturbed: int, clean: int, clean_disturbed: int) -> None:
    """The shares that C5 asks for."""
    assert hit_disturbed >= LEAST_HIT * hit, f"{hit_disturbed} of {hit} hit blocks are disturbed"
    assert clean_disturbed <= MOST_CLEAN * clean, (
        f"{clean_disturbed} of {clean} clean blocks are disturbed"
    )


@contextlib.contextmanager
def stopped_at_the_end(saboteur: Saboteur) -> Iterator[Saboteur]:
    """Whatever happens."""
    try:
        yield saboteur
    finally:
        saboteur.stop()


@needs_root
@pytest.mark.conformance
@pytest.mark.parametrize("program", [HOG, DISK, NETWORK], ids=["cpu", "disk", "network"])
def test_what_is_hit_is_disturbed_and_what_is_not_is_not(program: str, tmp_path: Path) -> None:
    folder, engine = StudyFolder(tmp_path / "study"), Engine.find()
    folder.root.mkdir()
    write_whole(folder.study, STUDY.replace("{blocks}", str(BLOCKS)).encode())
    catalogue = engine.describe()
    study = load_study(folder.study, catalogue, KINDS)
    plan = freeze(study, folder.study, catalogue, engine.validate, datetime.now(UTC))
    write_plan(folder, plan)
    hit = hit_blocks(np.random.default_rng(5))
    saboteur = Saboteur((program, str(tmp_path / "others")), hit)
    with stopped_at_the_end(saboteur):
        run_study(folder, plan, engine, go_on, saboteur)
    disturbed = set(read_run(folder, plan).disturbed)
    require(len(hit), len(disturbed & hit), BLOCKS - len(hit), len(disturbed - hit))


def drawn(rng: np.random.Generator, block: int, system: str, kind: str | None) -> Evidence:
    """A trial of 0.2 to 3 s on a quiet host, or beside one of three disturbances.

    A quiet host does a tick or two of work and writes some pages of its log.
    """
    elapsed_s = float(rng.uniform(0.2, 3))
    own = int(rng.uniform(0, 2**28))
    foreign_s = 0.01 * float(rng.poisson(0.3 * elapsed_s))
    foreign = int(rng.exponential(50_000))
    foreign_s += {"cpu": rng.uniform(0.3, 1), "network": rng.uniform(0.5, 2)}.get(kind or "", 0) * (
        elapsed_s
    )
    if kind == "disk":
        foreign += int(rng.uniform(2e7, 1e9) * elapsed_s)
    telemetry = Telemetry(
        elapsed_s=elapsed_s + 0.02, own_bytes=own, foreign_bytes=foreign, clock_sources=("tsc",)
    )
    key = TrialKey(block=block, system=system, workload="stream")
    return Evidence(key, elapsed_s, foreign_s, 0.0, telemetry)


@pytest.mark.parametrize("kind", ["cpu", "disk", "network"])
def test_the_same_with_telemetry_that_is_drawn(kind: str) -> None:
    rng = np.random.default_rng(17)
    studies = 20
    counts = {True: 0, False: 0}
    for _ in range(studies):
        hit = hit_blocks(rng)
        for block in range(1, BLOCKS + 1):
            disturbed = rng.choice(["a", "b"]) if block in hit else None
            trials = [
                drawn(rng, block, name, kind if name == disturbed else None) for name in ("a", "b")
            ]
            counts[block in hit] += any(check_evidence(trials, NOISE_LIMITS))
    hits = round(HIT_SHARE * BLOCKS) * studies
    require(hits, counts[True], BLOCKS * studies - hits, counts[False])
