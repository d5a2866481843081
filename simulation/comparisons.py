"""Two systems on ten hosts: every rule and every design, and what they cost."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from simulation.designs import STANDARD
from simulation.others import RULES
from simulation.portfolio import PortfolioRates, portfolio_rates
from simulation.rates import EFFECTS, Rates, rates
from simulation.scenarios import NOISIEST
from simulation.section import Line, Section, percent, span, table


@dataclass(frozen=True)
class Comparisons:
    """Scenario by scenario: others' rules, then our designs."""

    rates: tuple[Rates, ...]

    @property
    def designs(self) -> tuple[str, ...]:
        """Names in the order of the tables: others' rules first."""
        return tuple(dict.fromkeys(rate.design for rate in self.rates))

    def of(self, scenario: str, design: str) -> Rates:
        """The rates of one design in one scenario."""
        return next(r for r in self.rates if (r.scenario, r.design) == (scenario, design))

    def by(self, design: str) -> list[Rates]:
        """The rates of one design in every scenario."""
        return [rate for rate in self.rates if rate.design == design]


def _simulate(paths: int, seed: int) -> Comparisons:
    return Comparisons(rates(paths, seed))


def _lines(found: Comparisons) -> list[Line]:
    standard = found.by(STANDARD.name)
    hard = found.of(NOISIEST.name, STANDARD.name).at[0]
    visible = max(at.wrong for one in standard for at in one.at if at is not hard)
    return [
        Line("*standard*: false claims, over the ten hosts", "4.2–5.5 %",
             span(one.false for one in standard)),
        Line("*standard*: intervals that hold the truth", "94.5–95.8 %",
             span(one.covered for one in standard)),
        Line("*standard*: wrong sign, differences of 5 % or more, or a noise of 3 % or less",
             "0.5 %", f"{percent(visible)} %"),
        Line("*standard*: wrong sign, a difference of 2 % under a noise of 10 %", "–",
             f"{percent(hard.wrong)} %"),
        *(
            Line(f"{rule.name}: false claims, over the ten hosts", "–",
                 span(one.false for one in found.by(rule.name)), rival=True)
            for rule in RULES
        ),
    ]  # fmt: skip


def _told(found: Comparisons) -> str:
    return "\n\n".join((_hosts_and_rules(), _equal(found), _different(found)))


def _hosts_and_rules() -> str:
    rules = [rule.name for rule in RULES]
    return f"""
## What is simulated

Ten hosts. On three the noise is normal. On four something happens while trials run: the host
drifts, wanders, takes a step, or is disturbed for a while. On three single trials are odd:
bimodal, stalled, or with heavy tails. A session has room for 30 blocks of two trials each.

Four rules of others. They run all trials of one system, then all of the other:

* **{rules[0]}**: three trials each; a winner is named when bars of one
  standard error do not overlap.
* **{rules[1]}**: three trials, then more while the standard deviation is 2.5 % of
  the mean or more, up to 15: the rule of the Phoronix Test Suite; read by the same bars.
* **{rules[2]}**: ten trials each and Welch's t-test at 5 %.
* **{rules[3]}**: ten runs each, the least that hyperfine makes, and what it prints: "1.13 ±
  0.20 times faster". A winner is named when the ratio less the error is more than 1.

Six designs of ours, in blocks of random order: the profiles *quick*, *standard*, *rigorous* and
*fast*, which is retired, *standard* with strict constants, and a confidence sequence that looks
after every block.
They may also find two systems equivalent, here within ±1 %."""


def _equal(found: Comparisons) -> str:
    return f"""\
## Equal systems: false claims, %

{_grid(found, lambda one: percent(one.false))}

Three lessons. An order that is not random turns what happens to the host into a difference between
systems: Welch's test, sound for independent trials, is as wrong as an eye where the host drifts.
And stopping when the deviation looks small picks the sessions in which it is too small. The error
that hyperfine prints is one of single runs, not of means: that makes its reader careful where runs
are independent (and blind, as the tables below tell), and saves nobody from a drift.

## Equal systems: intervals that hold the truth, %

At the moment of stopping; 95 is what they promise. For the rules of others it is Welch's interval
over the trials that they made, which is kinder than the bars that are drawn.

{_grid(found, lambda one: percent(one.covered))}"""


def _different(found: Comparisons) -> str:
    power = "\n\n".join(
        f"### A difference of {100 * effect:g} %\n\n{_grid(found, _power(place))}"
        for place, effect in enumerate(EFFECTS)
    )
    cost = _grid(found, lambda one: f"{percent(one.equivalent, 0)} ({one.blocks:.1f})")
    return f"""\
## Different systems: differences found, %

With the right sign; in brackets the trials of each system. What a rule finds is worth no more than
its rate of false claims allows: an eye that names a winner in a quarter of all equal pairs also
"finds" a fifth of the differences that are too small to be seen.

{power}

### Claims with the wrong sign, %

The largest share over the three differences.

{_grid(found, lambda one: percent(one.wrong))}

## What it costs

### Equal systems: equivalence proved, % (trials of each system)

{cost}

### Over a mix of cells

Half of the cells with a noise of 1 %, a third with 3 %, the rest with 10 %; 40 % of equal systems,
the others 2, 5 or 10 % apart. No drift, which is where the rules of others are at their best.

{_portfolio(portfolio_rates(found.rates))}

Rigour is not free: it takes trials from the clear comparisons, which end after seven blocks, and
gives them to the doubtful ones. A rule that stops after three trials is cheap because it answers
another question.
"""


SECTION: Final = Section("comparisons", _simulate, _told, _lines)


def _power(place: int) -> Callable[[Rates], str]:
    return lambda found: f"{percent(found.at[place].found, 0)} ({found.at[place].blocks:.1f})"


def _grid(found: Comparisons, cell: Callable[[Rates], str]) -> str:
    """One table: hosts down, designs across."""
    scenarios = dict.fromkeys(rate.scenario for rate in found.rates)
    rows = [
        (scenario, *(cell(found.of(scenario, design)) for design in found.designs))
        for scenario in scenarios
    ]
    return table(("host", *found.designs), rows)


def _portfolio(mixed: tuple[PortfolioRates, ...]) -> str:
    head = ("design", "trials of each system", "false claims, %", "equivalence proved, %",
            "differences found, %")  # fmt: skip
    rows = [
        (
            one.design,
            f"{one.blocks:.1f}",
            percent(one.false),
            percent(one.equivalent, 0),
            percent(one.found, 0),
        )
        for one in mixed
    ]
    return table(head, rows)
