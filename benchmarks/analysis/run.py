"""An unfinished run of any length, on disk as a run would leave it, and how one goes on with it.

python -m benchmarks.analysis.run FOLDER TRIALS     goes on, and prints the cost as a line of JSON
"""

import contextlib
import json
import resource
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tiltyard.analysis.decision import Decision
from tiltyard.errors import InterruptedRunError
from tiltyard.executors.engine import Engine, Job
from tiltyard.folder import StudyFolder, sha256, write_whole
from tiltyard.host.telemetry import Telemetry
from tiltyard.plan.model import Design, Look, Plan, PlannedWorkload
from tiltyard.plan.store import read_plan
from tiltyard.run.chain import Chain
from tiltyard.run.journal import (
    BlockChecked,
    Entry,
    Event,
    ReferenceRun,
    Started,
    SystemPrepared,
    TrialFinished,
    TrialStarted,
    now,
)
from tiltyard.run.record import Prepared, RunRecord
from tiltyard.run.runner import run_study
from tiltyard.run.stream import file_of, kept
from tiltyard.study.model import NoiseLimits, SystemSpec, WorkloadSpec

from .study import plan_of, text_of

SYSTEMS = ("old", "new")
WORKLOADS = tuple(f"random-{number}" for number in range(5))
LEFT = 10
"""Blocks that are left to be run."""
_STREAMS = 20
"""As many trials are run beforehand; the others have their streams."""
_QUESTION = "What does a long run cost the lab?"
_SMALL = {"backend": "null", "file": "64k", "block": "4k", "operations": 2000, "timing": "pass"}
_FACTS = {f"fact {number}": "what the kernel says of the file system" for number in range(10)}


def write_run(folder: StudyFolder, trials: int) -> int:
    """Plan, journal and trials of 2 systems × 5 workloads, a multiple of 10 trials.

    Returns:
        Bytes of the journal.
    """
    engine = Engine.find()
    plan = _plan(engine, trials // (len(SYSTEMS) * len(WORKLOADS)) + LEFT)
    for name in SYSTEMS:
        (folder.root / name).mkdir(parents=True)
    folder.trials.mkdir()
    folder.study.write_bytes(text_of(_QUESTION))
    write_whole(folder.plan, plan.document())
    streams = [kept(_stream(engine, folder.root)) for _ in range(_STREAMS)]
    hashes = [sha256(stream) for stream in streams]
    chain = Chain()
    with folder.journal.open("wb") as journal:
        for event in _events(plan, hashes):
            entry = Entry(at=now(), t_s=0.0, event=event)
            line, seal = chain.link(entry.model_dump_json().encode())
            chain.lengthen(seal)
            journal.write(line + b"\n")
            if isinstance(event, TrialFinished):
                (folder.root / event.file).write_bytes(streams[event.slot % _STREAMS])
    return folder.journal.stat().st_size


def _plan(engine: Engine, blocks: int) -> Plan:
    card = engine.describe().workload("random")
    assert card is not None
    spec = {"use": "random", "parameters": _SMALL}
    return plan_of(
        _QUESTION,
        [
            SystemSpec(
                name=name, levels={"system": name}, kind="directory", settings={"directory": name}
            )
            for name in SYSTEMS
        ],
        [
            PlannedWorkload(
                spec=WorkloadSpec.model_validate({"name": name, **spec}),
                about="",
                lineage="",
                timing="",
                effective={},
                hash="",
                metrics=tuple(card.metrics),
                grid=("file", "block", "depth", "threads"),
            )
            for name in WORKLOADS
        ],
        Design(
            profile="fixed",
            strict=False,
            looks=(Look(blocks=blocks, c=0),),
            alpha=0.05,
            equivalent_within=0.02,
            false_discovery_rate=0.05,
        ),
        blocks,
        NoiseLimits(
            disturbed="keep",
            foreign_cpu=100,
            foreign_io=100,
            pressure=1,
            steal=1,
            frequency=1,
            temperature_k=100,
            reference_run=0.9,
        ),
    )


def _stream(engine: Engine, directory: Path) -> bytes:
    """What the engine says of a trial."""
    job = Job(workload="random", parameters=_SMALL, target=directory.resolve())
    command = [str(engine.path), "run"]
    return subprocess.run(command, input=job.message(), capture_output=True, check=True).stdout


def _events(plan: Plan, hashes: list[str]) -> Iterator[Event]:
    """All that a run tells its journal, up to the last blocks."""
    yield Started(
        number=1, pid=1, token="", tiltyard="0", engine="0", plan_hash=plan.hash, boot="", host={},
        record={}, recovered=(),
    )  # fmt: skip
    slot = 0
    for block in plan.blocks[:-LEFT]:
        yield ReferenceRun(block=block.number, when="before", cpu_s=0.3, disk_s=0.1)
        for turn in block.turns:
            facts = Prepared(system=turn.system, block=block.number, commands=(), facts=_FACTS)
            yield SystemPrepared(prepared=facts)
            for key in plan.trials_in(block.number, turn):
                slot += 1
                yield TrialStarted(key=key, slot=slot)
                yield TrialFinished(
                    key=key,
                    slot=slot,
                    started=now(),
                    elapsed_s=0.1 + slot % 7 / 100,
                    outcome="done",
                    reason=None,
                    file=file_of(key),
                    sha256=hashes[slot % _STREAMS],
                    telemetry=Telemetry(elapsed_s=0.1, foreign_waits_s={"cpu": 0.0, "io": 0.0}),
                )
        yield ReferenceRun(block=block.number, when="after", cpu_s=0.3, disk_s=0.1)
        yield BlockChecked(block=block.number, reasons=())


class _Watch:
    """An observer that keeps the times of a few trials, and then ends the run."""

    def __init__(self, trials: int) -> None:
        self._trials = trials
        self.first: tuple[float, float] | None = None
        self.last = (0.0, 0.0)
        self.made = 0

    def trial_started(self, *_: Any) -> None:
        self.first = self.first or _times()

    def trial_finished(self, *_: Any) -> None:
        self.made += 1
        self.last = _times()
        if self.made == self._trials:
            raise InterruptedRunError("measured")

    def __getattr__(self, _: str) -> Any:
        """Everything else is passed over."""
        return lambda *_: None


def _times() -> tuple[float, float]:
    return time.perf_counter(), time.process_time()


def _undecided(_: RunRecord) -> Decision:
    return Decision(done=False, open=(), reason="", going_on=frozenset())


def main() -> None:
    """Go on with a run for some trials."""
    folder, trials = StudyFolder(Path(sys.argv[1])), int(sys.argv[2])
    watch, begin = _Watch(trials), _times()
    with contextlib.suppress(InterruptedRunError):
        run_study(folder, read_plan(folder), Engine.find(), _undecided, watch)
    assert watch.first is not None
    cost = {
        "resume_s": watch.first[0] - begin[0],
        "resume_cpu_s": watch.first[1] - begin[1],
        "trial_cpu_s": (watch.last[1] - watch.first[1]) / watch.made,
        "peak_memory_bytes": 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss,
    }
    sys.stdout.write(json.dumps(cost))


if __name__ == "__main__":
    main()
