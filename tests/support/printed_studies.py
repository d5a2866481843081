"""Collections as printed studies have them, with seeded numbers: grids, curves, means, results."""

from collections.abc import Callable, Sequence
from itertools import product

import numpy as np

from support.collections import KB
from tiltyard.collected.model import (
    CollectedMetric,
    CollectedSystem,
    CollectedWorkload,
    Collection,
    Origin,
    PrintedAs,
    Reading,
)

MBIT = PrintedAs(unit="10⁶ bit/s", factor=125_000, decimals=2)
MICROSECONDS = PrintedAs(unit="µs", factor=1e-6, decimals=2)
PER_SECOND = PrintedAs(unit="/s", factor=1, decimals=0)
SIZES = (1 << 20, 1 << 22, 1 << 24, 1 << 26)
RECORDS = (8192, 65536, 1 << 20)
MESSAGES = (32, 64, 1024, 65507)


def grids(seed: int) -> Collection:
    """Three methods, 2 × 2 × 2 systems, a size × record grid each but for the last method."""
    rng = np.random.default_rng(seed)
    levels = [
        {"os": os, "filesystems": kind, "configuration": tuned}
        for os, kind, tuned in product(
            ("Linux", "Windows"), ("native", "advanced"), ("out-of-box", "optimized")
        )
    ]
    names = {("Linux", "native"): "ext4", ("Linux", "advanced"): "XFS",
             ("Windows", "native"): "NTFS", ("Windows", "advanced"): "ReFS"}  # fmt: skip
    systems = {
        f"{names[own['os'], own['filesystems']]} {own['configuration']}": own for own in levels
    }
    whole = [{"file": size, "record": record} for size in SIZES for record in RECORDS]
    short: list[dict[str, int | str]] = [{"file": 1 << 35, "record": 65536},
                                         {"file": 1 << 35, "record": 1 << 20}]  # fmt: skip
    throughput = CollectedMetric(
        name="throughput", label="throughput", unit="B/s", direction="higher", printed=KB
    )

    def workload(name: str, points: Sequence[dict[str, int | str]]) -> CollectedWorkload:
        return CollectedWorkload(
            name=name,
            use="iozone",
            about="Reads and writes a file in every way.",
            grid=("file", "record"),
            metrics=(throughput,),
            commands=("iozone -a -R",),
            readings=tuple(
                Reading(metric="throughput", system=system, at=at, mean=1024 * _integer(rng))
                for system in systems
                for at in points
            ),
        )

    return _collection(
        systems,
        (
            workload("iozone in-cache", whole),
            workload("iozone direct", whole),
            workload("iozone out-of-cache", short),
        ),
        baseline="NTFS out-of-box",
    )


def curves(seed: int) -> Collection:
    """Throughput and latency over message size, 2 × 2 systems, nothing repeated."""
    rng = np.random.default_rng(seed)
    systems = {
        f"{os} {tuned}": {"os": os, "configuration": tuned}
        for tuned in ("out-of-box", "optimized")
        for os in ("Windows", "Linux")
    }
    metrics = {
        "TCP stream": CollectedMetric(
            name="throughput", label="throughput", unit="B/s", direction="higher", printed=MBIT
        ),
        "TCP latency": CollectedMetric(
            name="latency", label="latency", unit="s", direction="lower", printed=MICROSECONDS
        ),
    }
    return _collection(
        systems,
        tuple(
            CollectedWorkload(
                name=name,
                use="netperf",
                grid=("message",),
                metrics=(metric,),
                readings=tuple(
                    Reading(metric=metric.name, system=system, at={"message": size}, mean=value)
                    for system in systems
                    for size in MESSAGES
                    if (value := round(rng.uniform(20, 9000), 2) * (metric.printed or KB).factor)
                ),
            )
            for name, metric in metrics.items()
        ),
        delta_decimals=2,
    )


def means(seed: int) -> Collection:
    """Means with deviations of ten runs: six tests at two record sizes, and a run time."""
    rng = np.random.default_rng(seed)
    systems = {name: {"filesystem": name} for name in ("ext3", "ext4", "Reiser4")}
    tests = ("write", "rewrite", "read", "reread", "random read", "random write")
    two = KB.model_copy(update={"decimals": 2})
    readings = []
    for system, test, record in product(systems, tests, (1 << 20, 1 << 22)):
        mean = 1024 * _integer(rng)
        sd = mean * round(float(rng.uniform(0.0005, 0.1)), 6)
        at: dict[str, int | str] = {"record": record}
        readings.append(Reading(metric=test, system=system, at=at, mean=mean, sd=sd, n=10))
    time = CollectedMetric(
        name="run_time", label="run time", unit="s", direction="lower",
        printed=PrintedAs(unit="s", factor=1, decimals=2),
    )  # fmt: skip
    return _collection(
        systems,
        (
            CollectedWorkload(
                name="iozone",
                use="iozone",
                grid=("record",),
                commands=("iozone -s 16G -r 1M", "iozone -s 16G -r 4M"),
                metrics=tuple(
                    CollectedMetric(
                        name=test, label=test, unit="B/s", direction="higher", printed=two
                    )
                    for test in tests
                ),
                readings=tuple(readings),
            ),
            CollectedWorkload(
                name="run time",
                use="iozone",
                metrics=(time,),
                readings=tuple(
                    Reading(metric="run_time", system=system, mean=9000.0 + 700 * place, sd=5.27)
                    for place, system in enumerate(systems)
                ),
            ),
        ),
    )


def results(seed: int) -> Collection:
    """A result page: seven tests of one value with standard error and N, 2 × 3 systems."""
    rng = np.random.default_rng(seed)
    systems = {
        f"{kernel} {fs}": {"kernel": kernel, "filesystem": fs}
        for kernel in ("Linux 3.12", "Linux 3.13")
        for fs in ("EXT4", "XFS", "Btrfs")
    }
    workloads = []
    for number in range(7):
        counted = number % 2 == 0
        metric = CollectedMetric(
            name="value",
            label="transactions" if counted else "throughput",
            unit="1/s" if counted else "B/s",
            direction="higher",
            printed=PER_SECOND if counted else KB,
        )
        readings = []
        for system in systems:
            mean = _integer(rng) * (1.0 if counted else 1024.0)
            se = mean * float(rng.uniform(0.001, 0.05))
            readings.append(
                Reading(metric="value", system=system, mean=mean, se=se, n=int(rng.integers(3, 7)))
            )
        workloads.append(
            CollectedWorkload(
                name=f"Test no. {number}",
                use="a suite",
                metrics=(metric,),
                readings=tuple(readings),
            )
        )
    return _collection(systems, workloads, facts={"mount options": "relatime,rw"})


def with_holes(seed: int) -> Collection:
    """The curves, of which every third reading was not kept."""
    whole = curves(seed)
    return whole.model_copy(
        update={
            "workloads": tuple(
                workload.model_copy(
                    update={
                        "readings": tuple(
                            reading for place, reading in enumerate(workload.readings) if place % 3
                        )
                    }
                )
                for workload in whole.workloads
            )
        }
    )


def without_values(seed: int) -> Collection:
    """A study of which only the systems are known."""
    return means(seed).model_copy(update={"workloads": ()})


SORTS: dict[str, Callable[[int], Collection]] = {
    "grids": grids,
    "curves": curves,
    "means": means,
    "results": results,
    "with holes": with_holes,
    "without values": without_values,
}


def _integer(rng: np.random.Generator) -> int:
    return int(rng.integers(20_000, 9_000_000))


def _collection(
    systems: dict[str, dict[str, str]],
    workloads: Sequence[CollectedWorkload],
    baseline: str | None = None,
    facts: dict[str, str] | None = None,
    delta_decimals: int = 1,
) -> Collection:
    return Collection(
        question="Which system is better?",
        origin=Origin(title="A printed study", author="An author", delta_decimals=delta_decimals),
        systems=tuple(
            CollectedSystem(name=name, levels=levels, facts=facts or {})
            for name, levels in systems.items()
        ),
        baseline=baseline or next(iter(systems)),
        workloads=tuple(workloads),
        host={"processor": "One", "memory": "16 GB"},
    )
