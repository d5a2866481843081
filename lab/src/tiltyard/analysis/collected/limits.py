"""What a source did not keep, and what that means for every verdict."""

from collections.abc import Iterator

from tiltyard.collected.model import Collection, Reading


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
    elif not kept.interleaved:
        yield (
            "The systems did not take turns: whatever changed between their sessions counts as a "
            "difference between them."
        )
    if not kept.cache_state:
        yield "Whether caches were in the state that is claimed was not recorded."
    yield from kept.limits


def _replicates(readings: list[Reading]) -> Iterator[str]:
    single = sum(_is_single(reading) for reading in readings)
    summarised = sum(not reading.values and not _is_single(reading) for reading in readings)
    if single and single == len(readings):
        yield (
            "Of every cell one number was kept: no interval can be given, and no difference can be "
            "told from chance."
        )
    elif single:
        yield f"Of {single} of {len(readings)} cells one number was kept: they have no interval."
    if summarised:
        yield (
            f"Of {summarised} of {len(readings)} cells only a mean with its spread was kept: its "
            "interval takes the values as independent and their mean as normal, which cannot be "
            "checked."
        )


def _is_single(reading: Reading) -> bool:
    if reading.values:
        return len(reading.values) == 1
    return reading.n in (None, 1) or (reading.sd is None and reading.se is None)
