"""What a source did not keep, and what that means for every verdict."""

from collections.abc import Iterator

from tiltyard.analysis.dataset import FEWEST_VALUES, standard_error
from tiltyard.collected.model import Collection, Reading
from tiltyard.units import agreeing, count_of


def limits(collection: Collection) -> Iterator[str]:
    """One sentence for each thing that is not known."""
    readings = [r for workload in collection.workloads for r in workload.readings]
    kept = collection.kept
    yield from _replicates(readings)
    if not kept.order:
        yield (
            "The order in which things were executed was not kept: a drift of the machine cannot "
            "be told from a difference between systems."
        )
    elif not kept.interleaved and not collection.origin.studies:
        yield (
            "Whether the systems took turns is not recorded: if they did not, whatever changed "
            "between their sessions counts as a difference between them."
        )
    if not kept.cache_state:
        yield "Whether caches were in the state that is claimed was not recorded."
    yield from kept.limits


def _replicates(readings: list[Reading]) -> Iterator[str]:
    counts = [_count(reading) for reading in readings]
    single, few = counts.count(1), sum(1 < count < FEWEST_VALUES for count in counts)
    summarised = sum(
        not reading.values and count >= FEWEST_VALUES
        for reading, count in zip(readings, counts, strict=True)
    )
    if any(reading.within for reading in readings):
        yield (
            "What a file repeats is of one process or of one sequence, and counts as one value, "
            "the mean: how well it repeats there does not say how well a file repeats."
        )
    if single and single == len(readings):
        yield (
            "Of every cell one number was kept: no interval can be given, and no difference can be "
            "told from chance."
        )
    elif single:
        yield (
            f"Of {single} of {count_of(len(readings), 'cell')} one number was kept: "
            f"{agreeing(single, 'it has', 'they have')} no interval."
        )
    if few:
        yield (
            f"Of {few} of {count_of(len(readings), 'cell')} two values were kept: "
            f"{agreeing(few, 'it has', 'they have')} no interval, "
            "because two values that agree by chance look like certainty."
        )
    if summarised:
        yield (
            f"Of {summarised} of {count_of(len(readings), 'cell')} only a mean with its spread "
            "was kept: its "
            "interval takes the values as independent and their mean as normal, which cannot be "
            "checked."
        )


def _count(reading: Reading) -> int:
    """How many values tell something of the spread."""
    if reading.values:
        return len(reading.values)
    return 1 if standard_error(reading) is None else reading.n or 1
