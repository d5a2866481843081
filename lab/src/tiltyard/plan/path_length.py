"""Path lengths: instructions per operation, where a guest's clock counts instructions.

The clock of such a guest goes on by one nanosecond with each instruction that it executes, so what
the engine takes for elapsed time is how many there were: with *n* operations in a timed region,

    path length = elapsed_s · 10⁹ / n   instructions per operation

all of the guest's instructions, its kernel's and the engine's. It is not a time, and nothing that
the guest calls one is kept: latencies, time slices, connections, and metrics that are times.
"""

from collections.abc import Iterable
from dataclasses import replace
from typing import Final

from tiltyard.wire import MetricCard, Sample, Unit

INSTRUCTIONS_PER_S: Final = 10**9
PATH_LENGTH: Final[Unit] = "instr/op"
_RATES: Final = frozenset({"B/s", "1/s"})


def path_length_cards(cards: Iterable[MetricCard]) -> tuple[MetricCard, ...]:
    """What a workload yields by such a clock: of each headline rate the path length."""
    return tuple(
        card.model_copy(
            update={
                "unit": PATH_LENGTH,
                "direction": "lower",
                "about": f"Instructions of the guest for each operation. By time: {card.about}",
            }
        )
        for card in cards
        if card.role == "headline" and card.unit in _RATES
    )


def path_length_samples(
    samples: Iterable[Sample], cards: Iterable[MetricCard]
) -> tuple[Sample, ...]:
    """The path lengths among a trial's samples: of the metrics in ``cards``, where any was done."""
    names = {card.name for card in cards}
    return tuple(
        replace(
            sample,
            value=sample.elapsed_s * INSTRUCTIONS_PER_S / sample.operations,
            unit=PATH_LENGTH,
            direction="lower",
            native=None,
            latency_ns=None,
        )
        for sample in samples
        if sample.metric in names and sample.operations
    )
