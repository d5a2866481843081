"""Systems that are equal over sessions, though not in each: who claims a difference?

The noise of a block is 3 %; what a boot or a day adds to the ratio of two systems has a standard
deviation of none, 1 or 3 % and is drawn once a session: normal, or of two points, as where a cloud
has two kinds of hosts.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import numpy as np

from simulation.section import Line, Section, percent, span, table
from tiltyard.analysis.judging import by_session
from tiltyard.plan.sessions import BESIDE
from tiltyard.stats.sequential import FIXED, LEVEL, Spending, looks
from tiltyard.stats.student import paired_ts
from tiltyard.stats.types import BoolArray, FloatArray

BLOCK_SD: Final = 0.03
SESSION_SDS: Final = (0.0, 0.01, 0.03)
BLOCKS: Final = 7
"""In each session of those that are planned as several."""
BLOCKS_OF_ONE: Final = 20
RERUNS: Final = 3
FEW: Final = 3
PLANNED: Final = (6, 8, 10)
"""Sessions of plans whose verdict is over sessions."""
ADDED: Final = 20
"""Sessions added to a study, up to the last look at them."""

Draw = Callable[[np.random.Generator, tuple[int, int]], FloatArray]
LAWS: Final[dict[str, Draw]] = {
    "normal": lambda rng, shape: rng.normal(0, 1, shape),
    "two kinds of hosts": lambda rng, shape: rng.choice(np.array([-1.0, 1.0]), shape),
}


@dataclass(frozen=True)
class SessionRates:
    """Studies of systems that are equal over sessions; shares of all studies."""

    law: str
    """Of what sessions add."""
    session_sd: float
    one: float
    """One session of 20 blocks claims a difference."""
    reruns: float
    """Three runs of 20 blocks in one session all claim the same difference."""
    few_by_t: float
    """Student's t over three sessions claims one."""
    planned: dict[int, float]
    """Sessions of the plan → share of claims by ranks over their means."""
    covered: dict[int, float]
    """The same → share of intervals that hold the truth."""
    added: float
    """Sessions are added until ranks over them claim a difference, at their looks only."""


def session_rates(paths: int, seed: int) -> tuple[SessionRates, ...]:
    """Every way to judge, under every law and size of what sessions add.

    Args:
        paths: studies of each kind.
        seed: the same seed gives the same rates.
    """
    rng = np.random.default_rng(seed)
    return tuple(
        _rates(rng, paths, law, session_sd)
        for law in LAWS
        for session_sd in SESSION_SDS
        if session_sd or law == "normal"
    )


def _rates(rng: np.random.Generator, paths: int, law: str, session_sd: float) -> SessionRates:
    effects = session_sd * LAWS[law](rng, (paths, ADDED))
    means = _means(rng, effects)
    reruns = np.stack(
        [_claims(_blocks(rng, effects[:, :1], BLOCKS_OF_ONE), BESIDE) for _ in range(RERUNS)]
    )
    judged = {sessions: at_end(means[:, :sessions]) for sessions in PLANNED}
    return SessionRates(
        law=law,
        session_sd=session_sd,
        one=float((reruns[0] != 0).mean()),
        reruns=float((abs(reruns.sum(axis=0)) == RERUNS).mean()),
        few_by_t=float((paired_ts(means[:, :FEW], LEVEL).p <= LEVEL).mean()),
        planned={sessions: float(claimed.mean()) for sessions, (claimed, _) in judged.items()},
        covered={sessions: float(covered.mean()) for sessions, (_, covered) in judged.items()},
        added=float((_claims(means, BESIDE) != 0).mean()),
    )


def _blocks(rng: np.random.Generator, effects: FloatArray, blocks: int) -> FloatArray:
    """Differences of all blocks of sessions, shape (paths, sessions × blocks)."""
    spread = np.repeat(effects, blocks, axis=1)
    return np.asarray(spread + rng.normal(0, BLOCK_SD, spread.shape))


def _means(rng: np.random.Generator, effects: FloatArray) -> FloatArray:
    """What a verdict over sessions counts, shape (paths, sessions)."""
    differences = _blocks(rng, effects, BLOCKS)
    sessions = np.repeat(np.arange(1, effects.shape[1] + 1), BLOCKS)
    return by_session(differences, np.zeros(differences.shape, dtype=np.bool_), sessions)[0]


def at_end(differences: FloatArray) -> tuple[BoolArray, BoolArray]:
    """Whether the one look of a fixed number claims a difference, and whether it covers."""
    spending = Spending(FIXED, False, looks(FIXED, False, differences.shape[1]))
    evidence = spending.evidence(0, differences)
    covered: BoolArray = (evidence.low <= 0) & (evidence.high >= 0)
    return ~covered, covered


def _claims(differences: FloatArray, profile: str) -> FloatArray:
    """Sign of the first difference that a profile's looks claim; 0 where none does."""
    spending = Spending(profile, False, looks(profile, False, None))
    sign = np.zeros(len(differences))
    for place, (units, _) in enumerate(spending.looks):
        evidence = spending.evidence(place, differences[:, :units])
        claimed = (evidence.low > 0) | (evidence.high < 0)
        sign = np.where((sign == 0) & claimed, np.sign(evidence.estimate), sign)
    return sign


def _simulate(paths: int, seed: int) -> tuple[SessionRates, ...]:
    """A study has many blocks: there are fewer of them than of paths."""
    return session_rates(max(1, paths // 2), seed)


def _told(found: tuple[SessionRates, ...]) -> str:
    head = ("what sessions add", "deviation, %", "one session", "three re-runs agree",
            "t over 3 sessions", *(f"{sessions} sessions" for sessions in PLANNED),
            *(f"{sessions}: covered" for sessions in PLANNED),
            "sessions added, 7 to 20")  # fmt: skip
    rows = [
        (
            one.law if one.session_sd else "nothing",
            f"{100 * one.session_sd:g}",
            percent(one.one),
            percent(one.reruns),
            percent(one.few_by_t),
            *(percent(share) for share in one.planned.values()),
            *(percent(share) for share in one.covered.values()),
            percent(one.added),
        )
        for one in found
    ]
    return f"""
## Sessions

Systems that are equal over days and boots, but not in each: what a session adds to their ratio is
drawn once a session, under a noise of 3 % of each block; half as many studies of each kind. Share
of studies that claim a difference, %, and of intervals that hold the truth:

{table(head, rows)}

One session of 20 blocks and its re-runs are right about that session; taken as true of the host,
they are wrong as soon as sessions differ by as much as a block does, and re-runs in the same boot
confirm the same luck. Over sessions of seven blocks, the ranks of their means hold what they say.
Student's t over three sessions is exact for normal ones only; where there are two kinds of hosts it
claims {percent(max(one.few_by_t for one in found))} %. So nothing is decided over fewer than six
sessions, the fewest by which ranks can reach 5 %.
"""


def _lines(found: tuple[SessionRates, ...]) -> tuple[Line, ...]:
    claims = [share for one in found for share in (*one.planned.values(), one.added)]
    what = "systems equal over sessions that a verdict over sessions tells apart"
    return (Line(what, "5 ± 0.5 %", span(claims)),)


SECTION: Final = Section("sessions", _simulate, _told, _lines)
