"""Studies that were never run: a plan and a record with known effects and seeded noise."""

from collections.abc import Mapping, Sequence
from itertools import product
from math import prod
from typing import Any

import numpy as np

from support.shapes import SHAPES, Shape, card
from tiltyard.plan.model import (
    FORMAT,
    Block,
    Design,
    Look,
    Plan,
    PlannedWorkload,
    TrialKey,
    Turn,
)
from tiltyard.run.record import Command, Prepared, RunRecord, TrialRecord
from tiltyard.stats.sequential import looks, overall_alpha
from tiltyard.study.model import ConditionsSpec, SystemSpec, WorkloadSpec
from tiltyard.wire import Access, Conditions, End, Floor, Hello, Latency, Sample, Usage

__all__ = [
    "SHAPES",
    "Shape",
    "card",
    "factorial_study",
    "synthetic_plan",
    "synthetic_run",
    "synthetic_study",
]

Effects = Mapping[str, float] | Mapping[tuple[str, str], float]


def synthetic_study(
    systems: Sequence[str] = ("ext4", "xfs", "btrfs"),
    workloads: Sequence[str] = ("postmark",),
    blocks: int = 10,
    effects: Effects | None = None,
    seed: int = 1,
    *,
    noise: float = 0.02,
    shapes: Mapping[str, Shape] = SHAPES,
    profile: str = "standard",
    strict: bool = False,
    fixed_blocks: int | None = None,
    equivalent_within: float = 0.02,
    drift: float = 0.0,
    failed: Sequence[TrialKey] = (),
    foreign_share: float = 0.004,
    baseline: str | None = None,
    levels: Mapping[str, Mapping[str, str]] | None = None,
) -> tuple[Plan, RunRecord]:
    """A plan and the record of its first ``blocks`` blocks.

    Args:
        systems: names; each becomes a loop image with that file system.
        workloads: names in ``shapes``.
        blocks: blocks that were executed, at most those of the profile.
        effects: factor on a system's speed (times are divided by it): by system, or by (system,
            metric). 1 where nothing is said.
        seed: of order and noise; the same call gives the same study.
        noise: standard deviation of the log value of a cell, half of its variance shared by all
            cells of a trial.
        shapes: what each workload yields.
        profile: with ``strict`` and ``fixed_blocks``, as in the precision of a study.
        strict: constants that hold whatever the noise level does.
        fixed_blocks: blocks of the fixed profile.
        equivalent_within: half-width of the region of equivalence.
        drift: change of the log value from the first to the last trial.
        failed: trials that fail.
        foreign_share: CPU time of other processes, as a share of each trial.
        baseline: the first system if not given.
        levels: system → factor → level; one factor, the file system, if not given.
    """
    rng = np.random.default_rng(seed)
    taken = looks(profile, strict, fixed_blocks)
    design = Design(
        profile=profile,
        strict=strict,
        looks=tuple(Look(blocks=n, c=c) for n, c in taken),
        alpha=overall_alpha(profile, strict, fixed_blocks),
        equivalent_within=equivalent_within,
        false_discovery_rate=0.05,
    )
    chosen = {name: shapes[name] for name in workloads}
    plan = synthetic_plan(systems, chosen, design, seed, rng, baseline or systems[0], levels)
    keys = [key for block in plan.blocks[:blocks] for key in plan.trials_of(block)]
    trials = []
    for slot, key in enumerate(keys, 1):
        shift = drift * (slot - 1) / max(1, len(keys) - 1)
        samples = _samples(chosen[key.workload], key.system, effects or {}, noise, shift, rng)
        trials.append(_trial(plan, key, slot, () if key in failed else samples, foreign_share))
    return plan, synthetic_run(plan, trials)


def factorial_study(
    factors: Mapping[str, Sequence[str]],
    effects: Mapping[tuple[str, ...], float] | None = None,
    **options: Any,
) -> tuple[Plan, RunRecord]:
    """A study whose systems are all combinations of levels, called ``ext4 noatime``.

    Args:
        factors: factor → levels, the baseline's first.
        effects: levels → factor on the speed of every system that has all of them.
        options: as :func:`synthetic_study` takes them.
    """
    combined = [dict(zip(factors, own, strict=True)) for own in product(*factors.values())]
    levels = {" ".join(own.values()): own for own in combined}
    speeds = {
        name: prod(
            factor for wanted, factor in (effects or {}).items() if {*wanted} <= {*own.values()}
        )
        for name, own in levels.items()
    }
    return synthetic_study(tuple(levels), effects=speeds, levels=levels, **options)


def synthetic_plan(
    systems: Sequence[str],
    shapes: Mapping[str, Shape],
    design: Design,
    seed: int,
    rng: np.random.Generator,
    baseline: str,
    levels: Mapping[str, Mapping[str, str]] | None = None,
) -> Plan:
    """A plan with all blocks up to the last look, in random order."""
    names = list(shapes)
    blocks = tuple(
        Block(
            number=number,
            turns=tuple(
                Turn(
                    system=systems[place],
                    workloads=tuple(names[i] for i in rng.permutation(len(names))),
                )
                for place in rng.permutation(len(systems))
            ),
        )
        for number in range(1, design.looks[-1].blocks + 1)
    )
    return Plan(
        format=FORMAT,
        tiltyard="0.1.0",
        engine="0.1.0",
        created="2026-11-20T10:00:00Z",
        study_sha256="0" * 64,
        question=f"Which is faster: {' or '.join(systems)}?",
        decide="Choose the file system of the new host",
        seed=seed,
        systems=tuple(_system(name, (levels or {}).get(name)) for name in systems),
        baseline=baseline,
        workloads=tuple(_workload(name, shape) for name, shape in shapes.items()),
        design=design,
        conditions=ConditionsSpec(cpus=(), unpinned=False, keep_awake=True),
        budget_s=None,
        blocks=blocks,
    )


def synthetic_run(plan: Plan, trials: Sequence[TrialRecord]) -> RunRecord:
    """The record of a run that made these trials in one go."""
    begun = {trial.key.block for trial in trials}
    return RunRecord(
        host={"CPU": "Example 2 GHz", "CPUs": "2", "kernel": "Linux 6.18", "memory": "24 GiB"},
        starts=1,
        resumed_blocks=(),
        prepared=tuple(
            _prepared(turn.system, block.number)
            for block in plan.blocks
            if block.number in begun
            for turn in block.turns
        ),
        trials=tuple(trials),
        stopped=None,
    )


def _samples(
    shape: Shape,
    system: str,
    effects: Effects,
    noise: float,
    shift: float,
    rng: np.random.Generator,
) -> tuple[Sample, ...]:
    shared = rng.normal(0, noise * np.sqrt(0.5))
    own = rng.normal(0, noise * np.sqrt(0.5), (len(shape.metrics), len(shape.points)))
    factors = dict(effects)
    samples = []
    for metric, row in zip(shape.metrics, own, strict=True):
        effect = factors.get((system, metric.name), factors.get(system, 1.0))  # type: ignore[call-overload]
        for point, deviation in zip(shape.points, row, strict=True):
            log_speed = np.log(effect) + shared + deviation + shift
            sign = 1 if metric.direction == "higher" else -1
            typical = shape.typical[metric.name] * shape.along(metric.name, point)
            value = float(typical * np.exp(sign * log_speed))
            samples.append(
                Sample(
                    metric=metric.name,
                    value=value,
                    unit=metric.unit,
                    direction=metric.direction,
                    at=point,
                    operations=1000,
                    bytes=4096_000,
                    elapsed_s=0.5,
                    latency_ns=_latency(shape.timed[metric.name] or value)
                    if metric.name in shape.timed
                    else None,
                )
            )
    return tuple(samples)


def _latency(mean_s: float) -> Latency:
    """Percentiles of operations that took this long on average, with a long tail."""
    mean_ns = 1e9 * mean_s
    return Latency(
        count=1000,
        min=round(0.7 * mean_ns),
        max=round(40 * mean_ns),
        mean=mean_ns,
        p50=round(0.95 * mean_ns),
        p90=round(1.1 * mean_ns),
        p99=round(1.6 * mean_ns),
        p999=round(6 * mean_ns),
        buckets=[(round(mean_ns), 1000)],
    )


def _trial(
    plan: Plan, key: TrialKey, slot: int, samples: tuple[Sample, ...], foreign_share: float
) -> TrialRecord:
    outcome = "done" if samples else "failed"
    workload = plan.workload(key.workload)
    access = Access(
        declared="in-cache",
        verdict="confirmed",
        reason="all of the file was resident before each read test",
        read_bytes=4096_000,
        written_bytes=4096_000,
    )
    return TrialRecord(
        key=key,
        slot=slot,
        started=f"2026-11-20T{10 + slot // 900:02}:{slot // 15 % 60:02}:{slot % 15 * 4:02}Z",
        elapsed_s=3.5,
        outcome=outcome,
        reason=None if samples else "no space left on the target",
        hello=Hello(
            protocol=1,
            engine=plan.engine,
            workload=workload.spec.use,
            effective=workload.effective,
            hash=workload.hash,
            timing="pass",
            conditions=Conditions(cpus=[0], awake=[1]),
        ),
        samples=samples,
        intervals=(),
        connections=(),
        warnings=(),
        end=End(
            outcome=outcome,
            operations=1000 * len(samples),
            bytes=4096_000 * len(samples),
            elapsed_s=3.2,
            checksum="0123456789abcdef",
            floor=Floor(clock_ns=22.5, clock_step_ns=20.0, operation_ns=1.9),
            access=access if samples else None,
            usage=Usage(
                user_s=0.2,
                system_s=2.7,
                parent_s=0.01,
                kernel_threads_s=0.1,
                foreign_s=3.2 * foreign_share,
                steal_s=0.0,
                voluntary_switches=40,
                involuntary_switches=12,
                minor_faults=900,
                major_faults=0,
                peak_memory_bytes=24 * 1024**2,
            ),
        ),
        file=f"trials/{key.file_name}",
    )


def _system(name: str, levels: Mapping[str, str] | None) -> SystemSpec:
    return SystemSpec(
        name=name,
        levels=dict(levels or {"filesystem": name}),
        kind="loop-image",
        settings={"filesystem": name, "reset": "mkfs"},
    )


def _workload(name: str, shape: Shape) -> PlannedWorkload:
    return PlannedWorkload(
        spec=WorkloadSpec(name=name, use=name, parameters=dict(shape.parameters)),
        about=f"A synthetic {name}.",
        lineage="Made for tests.",
        timing="from before the first operation to after the last one",
        effective=dict(shape.parameters),
        hash="1" * 64,
        metrics=shape.metrics,
        grid=shape.grid,
        target=shape.target,
    )


def _prepared(system: str, block: int) -> Prepared:
    return Prepared(
        system=system,
        block=block,
        commands=(
            Command(argv=("mkfs", "-t", system, "/dev/loop7"), elapsed_s=0.2),
            Command(argv=("mount", "/dev/loop7", "work/mnt"), elapsed_s=0.03),
        ),
        facts={"file system": system, "mount options": "rw,relatime", "block size": "4096 B"},
    )
