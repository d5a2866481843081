"""What a sceptic would ask about counts of instructions: do they repeat, and what they mean."""

from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np

from tiltyard.analysis.model import Notice
from tiltyard.analysis.quantity import Measured

EXACT: Final = 0.01
"""Counts that differ by more between blocks hold a wait for something outside of the guest."""


def path_length_notices(measured: Sequence[Measured]) -> Iterator[Notice]:
    """How well the counts of each workload repeat, then how far any claim on them reaches."""
    for own in measured:
        spread = _largest_spread(own)
        if spread is not None:
            yield _repeats(own.workload.spec.name, spread)
    yield Notice(
        severity="note",
        text="A path length is no time: what an instruction costs, and what waits for memory or a "
        "device cost, is not in it. Fewer instructions can still take longer.",
        advice='Compare times too: the same study with clock = "time".',
    )


def _largest_spread(measured: Measured) -> float | None:
    """The largest range of one system's values in one cell over their median."""
    spreads = [
        (counts.max() - counts.min()) / np.median(counts)
        for cell in measured.cells
        for values in cell.values.T
        if len(counts := values[np.isfinite(values)]) > 1
    ]
    return float(max(spreads)) if spreads else None


def _repeats(name: str, spread: float) -> Notice:
    if spread <= EXACT:
        exactly = "exactly" if spread == 0 else f"to {100 * spread:.2g} %"
        return Notice(
            severity="note", text=f"The counts of {name} repeat {exactly} from block to block."
        )
    return Notice(
        severity="warning",
        text=f"The counts of {name} differ by up to {100 * spread:.2g} % from block to block: its "
        "trials waited for something outside of the guest, and are not exact.",
        advice='Keep the device out of what is timed: filesystem = "tmpfs", files that stay in '
        "the cache, no fsync.",
    )
