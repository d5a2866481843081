"""Small collections: results that were not run here."""

from collections.abc import Mapping, Sequence

from tiltyard.collected.model import (
    CollectedMetric,
    CollectedSystem,
    CollectedWorkload,
    Collection,
    Kept,
    Origin,
    PrintedAs,
    Reading,
)

KB = PrintedAs(unit="KB/s", factor=1024.0, decimals=0)


def metric(
    name: str = "throughput", unit: str = "B/s", printed: PrintedAs | None = None
) -> CollectedMetric:
    """A metric of which more is better, but for times."""
    direction = "lower" if unit == "s" else "higher"
    return CollectedMetric(
        name=name, label=name.replace("_", " "), unit=unit, direction=direction, printed=printed
    )


def collection(
    readings: Sequence[Reading],
    metrics: Sequence[CollectedMetric] = (metric(),),
    levels: Mapping[str, Mapping[str, str]] | None = None,
    kept: Kept | None = None,
    workload: str = "iozone",
    **options: object,
) -> Collection:
    """One workload; the systems are those of the readings, in their order, the first the baseline.

    Args:
        readings: all of them.
        metrics: that they have.
        levels: system → factor → level; by default the system's own name.
        kept: what the source kept.
        workload: its name.
        options: other fields of a collection.
    """
    names = list(dict.fromkeys(reading.system for reading in readings))
    return Collection.model_validate(
        {
            "question": "Which is faster?",
            "origin": Origin(title="A printed study"),
            "kept": kept or Kept(),
            "systems": [
                CollectedSystem(name=name, levels=(levels or {}).get(name, {"system": name}))
                for name in names
            ],
            "baseline": names[0],
            "workloads": [
                CollectedWorkload(
                    name=workload,
                    use=workload,
                    grid=tuple(readings[0].at),
                    metrics=tuple(metrics),
                    readings=tuple(readings),
                )
            ],
            **options,
        }
    )
