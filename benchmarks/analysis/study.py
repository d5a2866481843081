"""A finished run of any size, on disk as a run would leave it; its values are drawn."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from tiltyard.folder import StudyFolder, sha256
from tiltyard.plan.model import FORMAT, Design, Look, Plan, PlannedWorkload, TrialKey
from tiltyard.plan.order import draw_blocks
from tiltyard.run.chain import Chain
from tiltyard.run.journal import Entry, Event, Started, TrialFinished
from tiltyard.run.stream import file_of, kept
from tiltyard.stats.sequential import looks, overall_alpha
from tiltyard.study.model import ConditionsSpec, NoiseLimits, SystemSpec, WorkloadSpec
from tiltyard.wire import End, EndEvent, Floor, MetricCard, Usage

SEED = 20_261_121
NOISE = 0.03
EFFECTS = (0.0, 0.0, 0.01, 0.02, 0.05, 0.2)
"""Of each system in turn, ln: nothing, little, and much."""
METRICS = ("write", "read")


@dataclass(frozen=True)
class Shape:
    """How much there is of what in a study."""

    systems: int = 6
    workloads: int = 1
    blocks: int = 20
    points: int = 1
    """Of the grid of each workload."""

    @property
    def trials(self) -> int:
        """Of all blocks together."""
        return self.systems * self.workloads * self.blocks

    @property
    def values(self) -> int:
        """Of all trials together."""
        return self.trials * self.points * len(METRICS)


def write_study(folder: StudyFolder, values: int) -> int:
    """Plan, journal and trials of 6 systems in 20 blocks.

    Args:
        folder: an empty one.
        values: about so many samples in all trials together.

    Returns:
        How many there are.
    """
    shape = Shape(points=values // Shape().values)
    write_shape(folder, shape)
    return shape.values


def write_shape(folder: StudyFolder, shape: Shape) -> None:
    """Plan, journal and trials of a study of that size, in an empty folder."""
    plan = _plan(shape)
    points = [{"record": 512 * (n + 1)} for n in range(shape.points)]
    folder.trials.mkdir(parents=True)
    folder.study.write_bytes(text_of(_QUESTION))
    folder.plan.write_bytes(plan.document())
    rng = np.random.default_rng(SEED)
    keys = [key for block in plan.blocks for key in plan.trials_of(block)]
    started = Started(
        number=1, pid=1, token="", tiltyard="0", engine="0", plan_hash=plan.hash, boot="", host={},
        record={}, recovered=(),
    )  # fmt: skip
    events: list[Event] = [started]
    for slot, key in enumerate(keys, 1):
        data = kept(b"".join(_lines(key, plan, points, rng)))
        (folder.root / file_of(key)).write_bytes(data)
        events.append(_finished(key, slot, data))
    chain = Chain()
    with folder.journal.open("wb") as journal:
        for event in events:
            entry = Entry(at=_AT, t_s=0.0, event=event)
            line, seal = chain.link(entry.model_dump_json().encode())
            chain.lengthen(seal)
            journal.write(line + b"\n")


def plan_of(
    question: str,
    systems: Sequence[SystemSpec],
    workloads: Sequence[PlannedWorkload],
    design: Design,
    blocks: int,
    noise_limits: NoiseLimits | None = None,
) -> Plan:
    """The plan of a study in which nothing but the question is said."""
    names = [system.name for system in systems]
    return Plan(
        format=FORMAT,
        tiltyard="0",
        engine="0",
        created=_AT,
        study_sha256=sha256(text_of(question)),
        question=question,
        decide=None,
        seed=SEED,
        systems=tuple(systems),
        baseline=names[0],
        workloads=tuple(workloads),
        design=design,
        conditions=ConditionsSpec(cpus=(), unpinned=False, keep_awake=False),
        budget_s=None,
        blocks=draw_blocks(names, [own.spec.name for own in workloads], blocks, SEED),
        noise_limits=noise_limits,
    )


def text_of(question: str) -> bytes:
    """The study file."""
    return f'question = "{question}"\n'.encode()


_QUESTION = "How long does the analysis take?"
_AT = "2026-11-21T10:00:00.000Z"


_END = (
    EndEvent(
        type="end",
        data=End(
            outcome="done",
            operations=1,
            bytes=1,
            elapsed_s=1.0,
            checksum="",
            floor=Floor(clock_ns=25.0, clock_step_ns=1.0, operation_ns=5.0),
            usage=Usage(
                user_s=0.5,
                system_s=0.4,
                parent_s=0.0,
                kernel_threads_s=0.0,
                foreign_s=0.0,
                voluntary_switches=1,
                involuntary_switches=1,
                minor_faults=1,
                major_faults=0,
                peak_memory_bytes=2**20,
            ),
        ),
    )
    .model_dump_json()
    .encode()
    + b"\n"
)


def _plan(shape: Shape) -> Plan:
    names = [f"system-{number}" for number in range(shape.systems)]
    systems = [
        SystemSpec(
            name=name, levels={"system": name}, kind="directory", settings={"directory": name}
        )
        for name in names
    ]
    asked = ("standard", False, None)
    design = Design(
        profile="standard",
        strict=False,
        looks=tuple(Look(blocks=blocks, c=c) for blocks, c in looks(*asked)),
        alpha=overall_alpha(*asked),
        equivalent_within=0.02,
        false_discovery_rate=0.05,
    )
    workloads = [_workload(number) for number in range(shape.workloads)]
    return plan_of(_QUESTION, systems, workloads, design, shape.blocks)


def _workload(number: int) -> PlannedWorkload:
    cards = [
        MetricCard(name=n, label=n, unit="B/s", direction="higher", role="headline", about="Drawn.")
        for n in METRICS
    ]
    return PlannedWorkload(
        spec=WorkloadSpec(name=f"grid-{number}" if number else "grid", use="grid", parameters={}),
        about="Drawn values over a large grid.",
        lineage="Made for this benchmark.",
        timing="none",
        effective={},
        hash="0" * 64,
        metrics=tuple(cards),
        grid=("record",),
    )


def _lines(
    key: TrialKey, plan: Plan, points: list[dict[str, int]], rng: np.random.Generator
) -> Iterator[bytes]:
    """The stream of one trial, without what the analysis of its values does not need."""
    number = [system.name for system in plan.systems].index(key.system)
    effect = EFFECTS[number % len(EFFECTS)]
    factors = np.exp(rng.normal(effect, NOISE, (len(METRICS), len(points)))).tolist()
    for metric, row in zip(METRICS, factors, strict=True):
        for at, factor in zip(points, row, strict=True):
            bytes_, elapsed_s = 512_000 + at["record"], 512e-6 / factor
            sample = {
                "metric": metric,
                "value": bytes_ / elapsed_s,
                "unit": "B/s",
                "direction": "higher",
                "at": at,
                "operations": 1_000 + at["record"],
                "bytes": bytes_,
                "elapsed_s": elapsed_s,
            }
            yield json.dumps({"type": "sample", "data": sample}).encode() + b"\n"
    yield _END


def _finished(key: TrialKey, slot: int, data: bytes) -> TrialFinished:
    return TrialFinished(
        key=key,
        slot=slot,
        started=_AT,
        elapsed_s=1.0,
        outcome="done",
        reason=None,
        file=file_of(key),
        sha256=sha256(data),
    )
