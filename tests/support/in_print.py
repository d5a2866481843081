"""Small printed studies that nobody ran: what a source may keep, in the units that it prints.

The numbers are made up by formulas; names are as long as they are in print.
"""

from collections.abc import Sequence

from tiltyard.collected.model import (
    CollectedMetric,
    CollectedSystem,
    CollectedWorkload,
    Collection,
    Origin,
    PrintedAs,
    Reading,
)

KB_S = PrintedAs(unit="KB/s", factor=1024, decimals=0)
MBIT_S = PrintedAs(unit="Mbit/s", factor=1e6 / 8, decimals=2)
MICROSECONDS = PrintedAs(unit="µs", factor=1e-6, decimals=2)
SECONDS = PrintedAs(unit="s", factor=1, decimals=1)
ORIGIN = Origin(title="A printed study", author="Nobody", published="2013")


def printed_grids(levels: Sequence[str] = ("ext4", "NTFS")) -> Collection:
    """Size × record grids of two file systems in two configurations, one value a cell."""
    systems = _systems("file system", levels, "configuration")
    return _collection(
        systems,
        CollectedWorkload(
            name="in-cache",
            use="iozone",
            grid=("file", "record"),
            metrics=(_metric("throughput", "B/s", KB_S),),
            readings=tuple(
                Reading(
                    metric="throughput",
                    system=system.name,
                    at={"file": 2**file, "record": 2**record},
                    mean=1024.0 * (2_000_000 + 900_000 * n - 60_000 * file + 40_000 * record),
                )
                for n, system in enumerate(systems)
                for file in (20, 22, 24, 26)
                for record in (12, 14, 16, 18)
            ),
        ),
    )


def printed_messages() -> Collection:
    """Throughput and latency over message sizes, long names, one value a point."""
    systems = _systems(
        "operating system",
        ("Red Hat Enterprise Linux 6", "Microsoft Windows Server 2012"),
        "configuration",
    )

    def workload(
        name: str, metric: CollectedMetric, base: float, growth: float
    ) -> CollectedWorkload:
        return CollectedWorkload(
            name=name,
            use="netperf",
            grid=("message",),
            metrics=(metric,),
            readings=tuple(
                Reading(
                    metric=metric.name,
                    system=system.name,
                    at={"message": size},
                    mean=base * (1 + 0.2 * n) * growth**step,
                )
                for n, system in enumerate(systems)
                for step, size in enumerate((32, 256, 2048, 16_384, 65_507))
            ),
        )

    throughput = _metric("throughput", "B/s", MBIT_S)
    latency = _metric("latency", "s", MICROSECONDS)
    return _collection(
        systems,
        workload("TCP_STREAM", throughput, 1e8, 2.4),
        workload("TCP_RR", latency, 40e-6, 1.01),
    )


def printed_tests(level: str = "XFS") -> Collection:
    """Tests with deviation over two records, and run times with standard error and N."""
    systems = _systems("kernel", ("Linux 3.12", "Linux 3.13"), "file system", ("Btrfs", level))
    names = ("write", "random write", "read", "random read")
    return _collection(
        systems,
        CollectedWorkload(
            name="iozone",
            use="iozone",
            grid=("record",),
            metrics=tuple(_metric(name, "B/s", KB_S) for name in names),
            readings=tuple(
                Reading(
                    metric=name,
                    system=system.name,
                    at={"record": record * 2**20},
                    mean=1024.0 * (60_000 + 9_000 * n + 7_000 * m + 900 * record),
                    sd=1024.0 * (300 + 500 * n),
                    n=10,
                )
                for m, name in enumerate(names)
                for n, system in enumerate(systems)
                for record in (1, 16)
            ),
        ),
        CollectedWorkload(
            name="compile",
            use="compile",
            metrics=(_metric("run time", "s", SECONDS),),
            readings=tuple(
                Reading(metric="run time", system=s.name, mean=90.0 - 7 * n, se=0.4 + 0.2 * n, n=3)
                for n, s in enumerate(systems)
            ),
        ),
    )


def _systems(
    factor: str,
    levels: Sequence[str],
    other: str,
    others: Sequence[str] = ("out-of-box", "optimized"),
) -> tuple[CollectedSystem, ...]:
    return tuple(
        CollectedSystem(name=f"{level}, {second}", levels={factor: level, other: second})
        for level in levels
        for second in others
    )


def _metric(name: str, unit: str, printed: PrintedAs) -> CollectedMetric:
    direction = "lower" if unit == "s" else "higher"
    return CollectedMetric(name=name, label=name, unit=unit, direction=direction, printed=printed)


def _collection(systems: tuple[CollectedSystem, ...], *workloads: CollectedWorkload) -> Collection:
    return Collection(
        question="Which one?",
        origin=ORIGIN,
        systems=systems,
        baseline=systems[0].name,
        workloads=workloads,
    )
