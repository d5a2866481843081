"""Studies that several hosts carry out: is a difference claimed that there is not?

And is an odd host named, and named only where there is one? Two systems meet in three blocks on
each host; the noise of a value is 3 %.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np

from simulation.section import Line, Section, percent, span, table
from simulation.sessions import BLOCK_SD, at_end
from tiltyard.stats.looks import FEWEST
from tiltyard.stats.outlying_groups import outlying_groups
from tiltyard.stats.sequential import LEVEL
from tiltyard.stats.types import FloatArray

HOSTS: Final = (4, 10)
BLOCKS: Final = 3
"""On each host."""
MARGIN: Final = float(np.log(1.02))
SLOWER: Final = float(np.log(0.8))
NOISIER: Final = 3.0
SPREAD: Final = 0.03
DIFFERENCE: Final = float(np.log(1.15))
"""Of the systems on all hosts but one, on which it is the other way round."""


@dataclass(frozen=True)
class Law:
    """What hosts are like; the odd one is the first."""

    name: str
    slower: float = 0.0
    """Level of the odd one, of all systems, on the log scale."""
    noise: float = 1.0
    """Of the odd one, as a multiple."""
    spread: float = 0.0
    """Standard deviation of the levels of all hosts."""
    turned: bool = False


LAWS: Final = (
    Law("alike"),
    Law("levels spread by 3 %", spread=SPREAD),
    Law("one is three times as noisy", noise=NOISIER),
    Law("one is 20 % slower for all systems", slower=SLOWER),
    Law("+15 % on all but one, −13 % there", turned=True),
)


@dataclass(frozen=True)
class NodeRates:
    """Shares of studies on so many hosts."""

    law: Law
    hosts: int
    claimed: float
    """In which one of two systems is called different: by blocks, or from six hosts on by hosts."""
    disagreeing: float
    """In which a host is named because the comparison comes out otherwise there."""
    slow: float
    """In which a host is named because its values are others."""
    odd: float
    """In which the odd host is named alone, for what is odd of it."""


def node_rates(paths: int, seed: int) -> tuple[NodeRates, ...]:
    """Every law on every number of hosts.

    Args:
        paths: studies of each kind.
        seed: the same seed gives the same rates.
    """
    rng = np.random.default_rng(seed)
    return tuple(_rates(rng, paths, law, hosts) for law in LAWS for hosts in HOSTS)


def _rates(rng: np.random.Generator, paths: int, law: Law, hosts: int) -> NodeRates:
    values = _values(rng, paths, law, hosts)
    differences, levels = values[..., 1] - values[..., 0], values.mean(axis=-1)
    means = differences.mean(axis=2) if hosts >= FEWEST else differences.reshape(paths, -1)
    apart, slow = ([_named(own) for own in found] for found in (differences, levels))
    odd = apart if law.turned else slow
    return NodeRates(
        law=law,
        hosts=hosts,
        claimed=float(at_end(means)[0].mean()),
        disagreeing=sum(map(bool, apart)) / paths,
        slow=sum(map(bool, slow)) / paths,
        odd=sum(own == [0] for own in odd) / paths,
    )


def _values(rng: np.random.Generator, paths: int, law: Law, hosts: int) -> FloatArray:
    """Log values, shape (paths, hosts, blocks, systems)."""
    values = rng.normal(0, BLOCK_SD, (paths, hosts, BLOCKS, 2))
    values[:, 0] *= law.noise
    values += law.spread * rng.normal(0, 1, (paths, hosts, 1, 1))
    values[:, 0] += law.slower
    if law.turned:
        values[..., 1] += np.where(np.arange(hosts) == 0, -DIFFERENCE, DIFFERENCE)[:, np.newaxis]
    return values


def _named(values: FloatArray) -> list[int]:
    return [one.group for one in outlying_groups([*values], MARGIN, LEVEL)]


def _simulate(paths: int, seed: int) -> tuple[NodeRates, ...]:
    """Each study is looked at by itself: there are fewer of them than of paths."""
    return node_rates(max(1, paths // 10), seed)


def _told(found: tuple[NodeRates, ...]) -> str:
    head = ("hosts", "number", "a difference is claimed", "a host is said to disagree",
            "a host is called slow or fast", "the odd one is named alone")  # fmt: skip
    rows = [
        (
            one.law.name,
            str(one.hosts),
            percent(one.claimed),
            percent(one.disagreeing),
            percent(one.slow),
            percent(one.odd) if one.law.slower or one.law.turned else "–",
        )
        for one in found
    ]
    return f"""
## Hosts

Two systems meet in {BLOCKS} blocks on each host of a study; the noise of a value is 3 %, a tenth as
many studies of each kind. They are equal, but in the last rows. A host is named if its mean surely
lies more than the margin of 2 % apart from that of the others. Shares of studies, %:

{table(head, rows)}

How fast a host is for all systems is in no comparison, however slow one of them is. Where one host
turns a difference round, the verdict holds for these hosts where there are few, and says so; over
ten of them it is what most of them say.
"""


def _lines(found: tuple[NodeRates, ...]) -> tuple[Line, ...]:
    equal = [one for one in found if not one.law.turned]
    named = [one.disagreeing for one in equal]
    named += [one.slow for one in equal if not one.law.slower and not one.law.spread]
    return (
        Line(
            "equal systems on several hosts: a difference is claimed",
            "5 ± 1.5 %",
            span(one.claimed for one in equal),
        ),
        Line("hosts that are alike: one is named", "5 %", span(named)),
    )


SECTION: Final = Section("nodes", _simulate, _told, _lines)
