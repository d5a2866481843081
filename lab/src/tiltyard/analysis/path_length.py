"""Checks of instruction counts: are they repeatable, and what do they mean."""

from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np

from tiltyard.analysis.model import Notice
from tiltyard.analysis.quantity import Measured
from tiltyard.plan.path_length import STRING_MOVES, WHOLE
from tiltyard.units import format_number

EXACT: Final = 0.01
"""Counts that differ by more between blocks hold a wait for something outside of the guest."""


def path_length_notices(measured: Sequence[Measured]) -> Iterator[Notice]:
    """How well the counts of each workload repeat, then how far any claim on them reaches."""
    for own in measured:
        name, spread = own.workload.display, _largest_spread(own)
        if spread is not None:
            yield _repeats(name, spread)
        yield _amounts(name, twice=own.workload.doubled is not None)
        yield from _string_moves(own)
    yield Notice(
        severity="note",
        text="A path length is no time: what an instruction costs, and what waits for memory or a "
        "device cost, is not in it. Fewer instructions can still take longer.",
        advice='Compare times too: the same study with clock = "time".',
    )


def _amounts(name: str, *, twice: bool) -> Notice:
    """Whether what is paid once is among the path lengths."""
    if twice:
        return Notice(
            severity="note",
            text=f"{name} was measured with its work as planned and with twice as much: path "
            "lengths are what each operation adds; what is paid once stands in a row of its own.",
        )
    return Notice(
        severity="warning",
        text=f"{name} was measured with one amount of work: what is paid once for a file, a page "
        "or a boot is divided among its operations, and the path length depends on how many there "
        "are.",
    )


def _string_moves(measured: Measured) -> Iterator[Notice]:
    """How much of the path lengths is repetitions, which are no code."""
    own = {cell.metric.name: cell for cell in measured.details}
    for cell in measured.cells:
        moves = own.get(cell.metric.name + STRING_MOVES)
        if moves is None or not np.isfinite(moves.values).any():
            continue
        left_out = own.get(cell.metric.name + WHOLE)
        moved = float(np.nanmedian(moves.values))
        whole = float(np.nanmedian((left_out or cell).values))
        if not moved or moved > whole:
            continue
        fate = (
            "are left out of what is compared, and stand beside it"
            if left_out
            else "are in what is compared, and a difference is the larger part of the others"
        )
        yield Notice(
            severity="note" if left_out else "warning",
            text=f"Of the {format_number(whole, 4)} instructions of an operation of "
            f"{cell.named}, {format_number(moved, 4)} are string moves: the emulator "
            "counts one for each byte that the kernel copies, where a processor has one for all. "
            f"The other {format_number(whole - moved, 4)} are code. String moves {fate}.",
        )
        return


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
