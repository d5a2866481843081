"""Tables that an editor's weights, prices and powers add."""

from collections.abc import Iterator, Mapping
from typing import Final

from tiltyard.analysis.line import interval_text, load_mark, marked_word, ratio_text
from tiltyard.analysis.model import Findings
from tiltyard.analysis.verdict import Verdict
from tiltyard.analysis.weighted import Gain, Sort, Spending, spendings, weighted_means
from tiltyard.report.document import Column, Entry, Section, Table
from tiltyard.report.edition.file import Cost, Edition
from tiltyard.report.sections.entries import MISSING, system_entry
from tiltyard.study.problems import Flaw
from tiltyard.units import display_unit, format_number

_LESS: Final[dict[Verdict, str]] = {"faster": "higher", "slower": "lower"}
_PREFIXES: Final = ((1e-12, "p"), (1e-9, "n"), (1e-6, "µ"), (1e-3, "m"), (1.0, ""), (1e3, "k"))
_CAPTION: Final = (
    "Lower is better. The interval is that of the verdict on the measured values, times the ratio "
    "of the two amounts, which count as exact."
)
_TITLES: Final[dict[Sort, str]] = {
    "price": "Price for performance",
    "price_per_hour": "Price of the work",
    "watts": "Energy of the work",
}


def added(findings: Findings, edition: Edition) -> Iterator[Section]:
    """The sections that weights and costs make."""
    file = edition.file
    names = tuple(one.name for one in findings.workloads)
    if file.weights:
        edition.require_names(("weights",), names, "workload")
        if not any(file.weights.get(name, 1.0) for name in names):
            raise edition.error(Flaw(("weights",), "all weights are 0: nothing is left"))
        yield Section("weighted-mean", "Weighted mean", (_means(findings, file.weights),))
    systems = tuple(system.name for system in findings.systems)
    tables = []
    for sort in _TITLES:
        constants: dict[str, float] = getattr(file.cost, sort)
        edition.require_names(("cost", sort), systems, "system")
        found = [*spendings(findings, sort, constants)] if constants else []
        if found:
            tables.append(_spent(findings, file.cost, sort, found, constants))
    if tables:
        yield Section("cost", "Cost and energy", tuple(tables))


def _means(findings: Findings, weights: Mapping[str, float]) -> Table:
    counted = ", ".join(
        f"{one.display} {weights.get(one.name, 1.0):g}" for one in findings.workloads
    )
    return Table(
        id="weighted-mean",
        title=f"Weighted geometric mean over workloads, relative to {findings.baseline}",
        columns=(
            Column("System", figures=False),
            Column("better by a factor of"),
            Column("interval"),
            Column("Verdict", figures=False),
        ),
        rows=tuple(
            (
                system_entry(name),
                *_estimate(gain),
                Entry(marked_word(gain, findings), kind="verdict", verdict=gain.verdict),
            )
            for name, gain in weighted_means(findings, weights).items()
        ),
        caption=f"Weights: {counted}. More is better. The interval lies between the weighted means "
        "of the bounds of simultaneous intervals, so it is wider than it need be.",
    )


def _spent(
    findings: Findings,
    cost: Cost,
    sort: Sort,
    found: list[Spending],
    constants: Mapping[str, float],
) -> Table:
    money = "J" if sort == "watts" else cost.currency
    amount = {"price": cost.currency, "price_per_hour": f"{cost.currency}/h", "watts": "W"}[sort]
    stated = ", ".join(f"{name} {value:g}" for name, value in constants.items())
    return Table(
        id=f"cost-{sort.replace('_', '-')}",
        title=_TITLES[sort],
        columns=(
            Column("Test", figures=False),
            Column("Unit", figures=False),
            Column("System", figures=False),
            Column("value"),
            Column("relative"),
            Column("interval"),
            Column("Verdict", figures=False),
        ),
        rows=tuple(row for one in found for row in _rows(one, money, findings)),
        caption=f"Stated by the authors, {amount}: {stated}. {_CAPTION}",
    )


def _rows(one: Spending, money: str, findings: Findings) -> Iterator[tuple[Entry, ...]]:
    factor, unit = _unit(one, money)
    for place, own in enumerate(one.systems):
        value = own.value / factor
        judged = (Entry("1", 1.0) if own.system == findings.baseline else MISSING, MISSING, MISSING)
        if own.ratio:
            word = _LESS.get(own.ratio.verdict, own.ratio.verdict)
            word += load_mark(own.ratio.verdict, findings)
            judged = (*_estimate(own.ratio), Entry(word))
        yield (
            Entry(one.index.label if place == 0 else "", strong=True),
            Entry(unit if place == 0 else "", quiet=True),
            system_entry(own.system),
            Entry(format_number(value), value),
            *judged,
        )


def _unit(one: Spending, money: str) -> tuple[float, str]:
    """What to divide by, and what it then is: ``(1e-9, "nEUR per B")``, ``(1, "EUR per MB/s")``."""
    index, least = one.index, min(own.value for own in one.systems)
    if one.sort == "price" and index.direction == "higher":
        size = min(own.value for own in index.standings if own.value > 0)
        scale, unit = display_unit(size, index.shown_in)
        return 1 / scale, f"{money} per {'1' if unit.startswith('/') else ''}{unit}"
    if index.direction == "lower":
        what = " × s" if one.sort == "price" else " per execution"
        factor, prefix = _prefixed(least)
        return factor, f"{prefix}{money}{what}"
    if index.unit in ("B/s", "bit/s"):
        return 1e-9, f"{money} per G{index.unit.removesuffix('/s')}"
    factor, prefix = _prefixed(least)
    return factor, f"{prefix}{money} per operation"


def _prefixed(value: float) -> tuple[float, str]:
    return next((step for step in reversed(_PREFIXES) if value >= step[0]), _PREFIXES[0])


def _estimate(gain: Gain) -> tuple[Entry, Entry]:
    return (
        Entry(ratio_text(gain), gain.ratio, strong=True),
        Entry(interval_text(gain), quiet=gain.low is None),
    )
