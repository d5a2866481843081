"""A forecast as a table and a few sentences."""

from collections.abc import Iterator

from pydantic import JsonValue
from rich.table import Table

from tiltyard.analysis.cell_times import LEAST_S
from tiltyard.analysis.forecast import Budget, Forecast
from tiltyard.report.stacking import StackingTable
from tiltyard.units import count_of, format_duration, format_value


def table(found: Forecast) -> Table:
    """One line for each comparison: its noise, and what each look is expected to show."""
    made = StackingTable(title="Expected half-width of the interval, %", title_justify="left")
    made.add_column("")
    made.add_column("CV, %", justify="right")
    for look in found.pairs[0].looks:
        made.add_column(f"{look.blocks}\n{format_duration(look.elapsed_s)}", justify="right")
    asked = f"{100 * found.within:g} %"
    made.add_column(f"±{asked}\nafter", justify="right")
    made.add_column(f"{asked} found\nafter", justify="right")
    for pair in found.pairs:
        made.add_row(
            f"{found.titles[pair.workload]}\n{pair.system} / {pair.against}",
            _number(pair.cv),
            *("–" if look.half_width is None else _number(look.half_width) for look in pair.looks),
            "–"
            if pair.blocks_within is None or pair.elapsed_within_s is None
            else f"{pair.blocks_within}\n{format_duration(pair.elapsed_within_s)}",
            f"{pair.blocks_to_find}\n{format_duration(pair.blocks_to_find * found.block_s)}",
        )
    return made


def _number(share: float) -> str:
    """A share in percent with two significant digits: ``2.1``, ``17``, ``168``."""
    percent = 100 * share
    return f"{percent:.0f}" if percent >= 9.95 else f"{percent:.2g}"


def _percent(share: float) -> str:
    """``2.1 %``."""
    return f"{_number(share)} %"


def sentences(found: Forecast) -> Iterator[str]:
    """What the table rests on, how sure it is, when a decision is possible, what a budget buys."""
    rough = found.pairs[0]
    least, most = (rough.deviation_low, rough.deviation_high)
    sure = (
        f"; from so few blocks the noise is known only to {_percent(least / rough.deviation)} … "
        f"{_percent(most / rough.deviation)} of itself"
        if rough.deviation
        else ""
    )
    yield "Interval simultaneous 95 %, after so many blocks"
    yield f"Source   {found.source}{sure}"
    yield f"Block    {format_duration(found.block_s)}, if every system meets every workload"
    for name, trials in found.trials.items():
        warm_up_s = found.warm_up_s[name]
        warm = f"the first {warm_up_s:.2g} s left out" if warm_up_s else "no warm-up removed"
        yield f"Trials   {found.titles[name]}: {trials} in each turn, {warm}"
    comparisons = count_of(found.family, "comparison")
    if found.earliest is None:
        yield f"Look     none can claim a single difference among {comparisons}"
    else:
        look = f"after {count_of(found.earliest, 'block')} is the first"
        yield f"Look     {look} that can claim a single difference among {comparisons}"
    if found.budget is not None:
        yield f"Budget   {_bought(found.budget, found.power)}"
    yield from _short_cells(found)


def _short_cells(found: Forecast) -> Iterator[str]:
    """Cells that take too little time, what to write for longer ones, and what that costs."""
    for cell in found.short_cells:
        yield (
            f"Cells    {found.titles[cell.workload]}: {cell.short} of {cell.cells} take less than "
            f"{LEAST_S:g} s, the shortest {format_value(cell.shortest_s, 's')}: what else the host "
            "does in that moment decides them"
        )
        if not cell.parameters:
            yield "         No amount of its work can be raised: begin the grid at larger sizes"
            continue
        yield f"         For {LEAST_S:g} s and more write in its [[workload]]:"
        for name, value in cell.parameters.items():
            yield f"           {name} = {_toml(value)}"
        yield (
            f"         A trial then takes about {format_duration(cell.longer_trial_s)} instead of "
            f"{format_duration(cell.trial_s)}"
        )
    if any(cell.parameters for cell in found.short_cells):
        blocks = found.pairs[0].looks[-1].blocks
        yield (
            f"         All {count_of(blocks, 'block')}: about "
            f"{format_duration(blocks * found.longer_block_s)} "
            f"instead of {format_duration(blocks * found.block_s)}. Nothing is changed by itself"
        )


def _toml(value: JsonValue) -> str:
    """A value as it is typed in a study: ``["64M", "1G"]``, ``20_000``."""
    if isinstance(value, list):
        return f"[{', '.join(map(_toml, value))}]"
    return f'"{value}"' if isinstance(value, str) else f"{value:_}"


def _bought(budget: Budget, power: float) -> str:
    """``45:00: 12 blocks, so the look after 10; found with 90 %: postmark above 3.1 %``."""
    head = f"{format_duration(budget.budget_s)}: {count_of(budget.blocks, 'block')}"
    if budget.look is None:
        return f"{head}; too few for any look, so no verdict"
    if budget.look != budget.blocks:
        head += f", so the look after {budget.look}"
    found = ", ".join(
        f"{workload} no single difference" if size is None else f"{workload} above {_percent(size)}"
        for workload, size in budget.differences.items()
    )
    return f"{head}; differences that are found with {100 * power:g} %: {found}"
