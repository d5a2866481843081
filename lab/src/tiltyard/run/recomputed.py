"""Recomputes a value from its operations, bytes, time and latencies.

The engine sends each value with the amounts that its formula takes (rules of the instrument,
ARCHITECTURE.md). Rates are amounts over the time of the region; a time that has a histogram is its
mean. Values that come from elsewhere (shares of CPUs, service demands, percentiles of another
sample's histogram, times of whole phases) cannot be computed from their sample and are not.
"""

from collections.abc import Sequence
from math import isclose, nan
from operator import attrgetter
from typing import Final

import numpy as np

from tiltyard.stats.types import IntArray
from tiltyard.units import count_of
from tiltyard.wire import Sample

_TOLERANCE: Final = 1e-9
_FEW: Final = 32
"""Samples that are looked at one by one in less time than numpy takes to begin."""
"""Relative: the engine divides the same numbers in the same precision."""
_OF_SEVERAL: Final = {"iozone_throughput": ("_parent", "_child_min", "_child_max")}
"""Workloads whose other rates are sums or means of the rates of children, each with a time of its
own; the endings of those that are not."""
_AMOUNT: Final = {"B/s": attrgetter("bytes"), "1/s": attrgetter("operations")}
"""What a rate is an amount of, by its unit."""


def first_contradiction(samples: Sequence[Sample], workload: str) -> tuple[int, str] | None:
    """Place and reason of the first sample whose value cannot be the one that was measured.

    Args:
        samples: as the engine sent them.
        workload: the engine's name of the workload.
    """
    few = len(samples) < _FEW
    for place in range(len(samples)) if few else _doubtful(samples).tolist():
        if why := _contradiction(samples[place], workload):
            return place, why
    return None


def _doubtful(samples: Sequence[Sample]) -> IntArray:
    """Those that are more than a rate that fits its amount and its time: a grid has thousands."""
    value = np.array([one.value for one in samples])
    elapsed_s = np.array([one.elapsed_s for one in samples])
    amounts = (_AMOUNT[one.unit](one) if one.unit in _AMOUNT else nan for one in samples)
    amount = np.fromiter(amounts, np.float64, len(samples))
    timed = np.array([one.latency_ns is not None for one in samples], dtype=np.bool_)
    with np.errstate(all="ignore"):
        fits = np.abs(amount / elapsed_s - value) <= _TOLERANCE / 2 * np.abs(value)
    return np.flatnonzero(timed | ~fits)


def _contradiction(sample: Sample, workload: str) -> str | None:
    """Why a value cannot be the one that was measured; ``None`` if nothing speaks against it.

    Args:
        sample: as the engine sent it.
        workload: the engine's name of the workload.
    """
    latency = sample.latency_ns
    if latency and latency.count != sample.operations:
        return (
            f"{sample.metric}: {count_of(latency.count, 'latency')} of "
            f"{count_of(sample.operations, 'operation')}"
        )
    if latency and (counted := sum(count for _, count in latency.buckets)) != latency.count:
        return f"{sample.metric}: a histogram of {counted} of {latency.count} latencies"
    expected = _expected(sample, workload)
    if expected is None or isclose(sample.value, expected, rel_tol=_TOLERANCE):
        return None
    return (
        f"{sample.metric}: the value is {sample.value:.10g} {sample.unit}, and what it is "
        f"computed from makes {expected:.10g}"
    )


def _expected(sample: Sample, workload: str) -> float | None:
    """The value by its formula; ``None`` where the sample does not have all of it."""
    if sample.unit == "s" and sample.latency_ns:
        return sample.latency_ns.mean / 1e9
    if sample.elapsed_s <= 0:
        return None
    if sample.unit == "1/s":
        return sample.operations / sample.elapsed_s
    computable = _OF_SEVERAL.get(workload)
    if sample.unit == "B/s" and (computable is None or sample.metric.endswith(computable)):
        return sample.bytes / sample.elapsed_s
    return None
