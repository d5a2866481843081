"""The results as a document; the prose is in ``document.md.j2``, the tables are made here."""

from collections.abc import Callable, Iterable, Sequence
from importlib.resources import files

from jinja2 import Environment, StrictUndefined

from tiltyard.simulation.adjusting import EFFECT, OURS, WAYS, AdjustedRates
from tiltyard.simulation.designs import STANDARD
from tiltyard.simulation.imports import PAIRS
from tiltyard.simulation.others import RULES
from tiltyard.simulation.rates import EFFECTS, Rates
from tiltyard.simulation.results import Range, Results
from tiltyard.simulation.scenarios import NOISIEST

Row = Sequence[str]


def document(results: Results) -> str:
    """The document in Markdown; a function of the results and of nothing else."""
    text = files("tiltyard.simulation").joinpath("document.md.j2").read_text("utf-8")
    environment = Environment(
        undefined=StrictUndefined, autoescape=False, keep_trailing_newline=True
    )
    standard = [found for found in results.rates if found.design == STANDARD.name]
    hard = results.of(NOISIEST.name, STANDARD.name).at[0]
    return environment.from_string(text).render(
        results=results,
        rules=[rule.name for rule in RULES],
        percent=_percent,
        span=_span,
        worst_of_others=max(results.false_of(rule.name).high for rule in RULES),
        wrong_where_visible=max(at.wrong for r in standard for at in r.at if at is not hard),
        wrong_where_not=hard.wrong,
        false_claims=_grid(results, lambda found: _percent(found.false)),
        coverage=_grid(results, lambda found: _percent(found.covered)),
        power=[
            (f"{100 * effect:g}", _grid(results, _found(place)))
            for place, effect in enumerate(EFFECTS)
        ],
        wrong=_grid(results, lambda found: _percent(found.wrong)),
        equivalence=_grid(
            results, lambda found: f"{_percent(found.equivalent, 0)} ({found.blocks:.1f})"
        ),
        portfolio=_portfolio(results),
        growth=_growth(results),
        laws=_laws(results),
        levels=_levels(results),
        orders=_orders(results),
        families=_families(results),
        imports=_imports(results),
        rounded=_rounded(results),
        adjusted=adjusted_section(results.adjusted),
    )


def _found(place: int) -> Callable[[Rates], str]:
    return lambda found: f"{_percent(found.at[place].found, 0)} ({found.at[place].blocks:.1f})"


def _grid(results: Results, cell: Callable[[Rates], str]) -> str:
    """One table: hosts down, designs across."""
    rows = [
        (scenario, *(cell(results.of(scenario, design)) for design in results.designs))
        for scenario in results.scenarios
    ]
    return _table(("host", *results.designs), rows)


def _portfolio(results: Results) -> str:
    head = ("design", "trials of each system", "false claims, %", "equivalence proved, %",
            "differences found, %")  # fmt: skip
    rows = [
        (
            found.design,
            f"{found.blocks:.1f}",
            _percent(found.false),
            _percent(found.equivalent, 0),
            _percent(found.found, 0),
        )
        for found in results.portfolio
    ]
    return _table(head, rows)


def _growth(results: Results) -> str:
    rows = [(r.scale, _percent(r.standard), _percent(r.strict)) for r in results.growth]
    return _table(("noise over 30 blocks", "standard", "standard, strict"), rows)


def _laws(results: Results) -> str:
    rows = [(r.law, *(_percent(share) for share in r.false.values())) for r in results.laws]
    return _table(("paired differences", *results.laws[0].false), rows)


def _levels(results: Results) -> str:
    head = ("deviation between preparations", "10 trials on one", "10 fresh, 1 trial each",
            "5 fresh × 6 trials, 30 counted", "5 fresh × 6 trials, 5 means counted")  # fmt: skip
    rows = [
        (
            f"{100 * found.between:g} %",
            _percent(found.one_preparation),
            _percent(found.fresh),
            _percent(found.pooled),
            _percent(found.averaged),
        )
        for found in results.levels
    ]
    return _table(head, rows)


def _orders(results: Results) -> str:
    head = ("host", "AAA…BBB, Welch", "ABAB, paired", "ABBA, paired", "random in block, paired",
            "fully random, Welch", "2 % found in blocks", "2 % found fully random")  # fmt: skip
    rows = [
        (
            found.scenario,
            _percent(found.one_after_other),
            _percent(found.alternating),
            _percent(found.mirrored),
            _percent(found.in_blocks),
            _percent(found.anywhere),
            _percent(found.power_in_blocks, 0),
            _percent(found.power_anywhere, 0),
        )
        for found in results.orders
    ]
    return _table(head, rows)


def _families(results: Results) -> str:
    head = ("family", "procedure", "any false claim, %", "false among the claims, %",
            "intervals of claims that miss, %", "3 % found, %", "10 % found, %",
            "blocks of those that differ")  # fmt: skip
    rows = [
        (
            f"{found.family.cells} cells, {found.family.equal} equal",
            found.procedure,
            _percent(found.any_false),
            _percent(found.false_discoveries),
            "–" if found.missed is None else _percent(found.missed),
            _percent(found.found_small, 0),
            _percent(found.found_large, 0),
            f"{found.blocks:.1f}",
        )
        for found in results.families
    ]
    return _table(head, rows)


def _imports(results: Results) -> str:
    first = results.imports[0]
    head = (
        "values of each side",
        "ρ",
        *(f"{n} values" for n in first.values),
        f"{PAIRS} paired",
        *(f"{n}, means only" for n in first.summarised),
        *(f"{n}, cells taken as independent" for n in first.as_independent),
    )
    rows = [
        (
            found.law,
            f"{found.shared:g}",
            *(_percent(share) for share in found.values.values()),
            _percent(found.paired),
            *(_percent(share) for share in found.summarised.values()),
            *(_percent(share, 0) for share in found.as_independent.values()),
        )
        for found in results.imports
    ]
    return _table(head, rows)


def _rounded(results: Results) -> str:
    head = ("values of each side", "equal: any false claim, %", "were they exact, %",
            "4 % apart: cells called equivalent, %")  # fmt: skip
    rows = [
        (
            f"{found.values}, paired" if found.paired else f"{found.values}",
            _percent(found.false),
            _percent(found.as_exact, 0),
            _percent(found.equivalent),
        )
        for found in results.rounded
    ]
    return _table(head, rows)


def adjusted_section(found: Sequence[AdjustedRates]) -> str:
    """The table of adjusted verdicts: one law of the covariate and its share of the noise a row."""
    head = (
        "time of others",
        "of the variance, %",
        *(f"false claims {way}, %" for way in WAYS),
        *(f"{100 * EFFECT:g} % found {way}, % (blocks)" for way in OURS),
        *(f"intervals that hold it, {way}, %" for way in OURS),
    )
    rows = [
        (
            own.law,
            _percent(own.explained, 0),
            *(_percent(own.false[way]) for way in WAYS),
            *(f"{_percent(own.found[way], 0)} ({own.blocks[way]:.1f})" for way in OURS),
            *(_percent(own.covered[way]) for way in OURS),
        )
        for own in found
    ]
    return _table(head, rows)


def _table(head: Row, rows: Iterable[Row]) -> str:
    """A Markdown table; numbers stand to the right."""
    lines = [head, ["---", *("---:" for _ in head[1:])], *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _percent(share: float, digits: int = 1) -> str:
    return f"{100 * share:.{digits}f}"


def _span(found: Range) -> str:
    """``4.7–5.1 %``."""
    return f"{_percent(found.low)}–{_percent(found.high)} %"
