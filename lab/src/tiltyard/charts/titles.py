"""Titles that are findings: verdicts, named or counted. What is not decided is not claimed."""

from collections.abc import Sequence
from dataclasses import dataclass

from tiltyard.analysis.model import Cell, Comparison, Findings, Index
from tiltyard.analysis.quantity import Direction
from tiltyard.analysis.statements.deltas import crossing, percent
from tiltyard.analysis.verdict import Verdict
from tiltyard.charts.figures import against, between
from tiltyard.study.model import Clock
from tiltyard.units import count_of, listed

_NAMED = 3
"""More systems than this are counted."""
_THAN: dict[Verdict, str] = {
    "faster": "faster than",
    "slower": "slower than",
    "equivalent": "equivalent to",
    "undecided": "undecided against",
    "invalid": "without a verdict against",
}
_INSTRUCTIONS: dict[Verdict, str] = {
    "faster": "fewer instructions than",
    "slower": "more instructions than",
}


@dataclass(frozen=True)
class Side:
    """What is compared with a base, in each of several tests or cells."""

    name: str
    base: str
    pairs: tuple[tuple[Comparison, Direction], ...]
    margin: float
    """Of equivalence: a share that single values must differ by to count."""

    @property
    def repeated(self) -> bool:
        """Whether anything in it has an interval."""
        return any(pair.low is not None for pair, _ in self.pairs)

    def count(self, verdict: Verdict) -> int:
        """In how many it was found so; of single values by value."""
        if self.repeated:
            return sum(pair.verdict == verdict for pair, _ in self.pairs)
        wanted = {"faster": 1, "slower": -1}.get(verdict, 0)
        known = [(pair.ratio, towards) for pair, towards in self.pairs if pair.ratio is not None]
        gains = [percent(ratio, towards) for ratio, towards in known]
        least = 100 * self.margin
        return sum((gain > least) - (gain < -least) == wanted for gain in gains)


def against_baseline(findings: Findings, tables: Sequence[Cell | Index]) -> list[Side]:
    """Each system with the baseline."""
    sides: dict[str, list[tuple[Comparison, Direction]]] = {}
    for table in tables:
        for pair in against(table.comparisons, findings.baseline):
            sides.setdefault(pair.system, []).append((pair, table.direction))
    order = [system.name for system in findings.systems if system.name in sides]
    margin = findings.design.equivalent_within
    return [Side(name, findings.baseline, tuple(sides[name]), margin) for name in order]


def along_factor(findings: Findings, tables: Sequence[Cell | Index]) -> list[Side]:
    """Each level of the compared factor with its base, all other levels being the same."""
    crossed = crossing(findings)
    sides = []
    for level in crossed.levels[1:]:
        pairs = [
            (found, table.direction)
            for table in tables
            for pair in crossed.pairs_of(level)
            if (found := between(table.comparisons, pair.system, pair.against)) is not None
        ]
        sides.append(Side(level, crossed.base, tuple(pairs), findings.design.equivalent_within))
    return [side for side in sides if side.pairs]


def ranked(findings: Findings, index: Index) -> str:
    """``xfs faster than ext4, btrfs slower``; ``no difference to ext4 shown``."""
    pairs = against(index.comparisons, findings.baseline)
    if not any(pair.low is not None for pair in pairs):
        return ""
    groups: dict[Verdict, list[str]] = {}
    for verdict in _THAN:
        if names := [pair.system for pair in pairs if pair.verdict == verdict]:
            groups[verdict] = names
    if set(groups) <= {"undecided", "invalid"}:
        return f"no difference to {findings.baseline} shown"
    return _joined(groups, findings.baseline, findings.clock)


def _joined(groups: dict[Verdict, list[str]], base: str, clock: Clock) -> str:
    parts: list[str] = []
    for verdict, names in groups.items():
        than = _INSTRUCTIONS.get(verdict) if clock == "instructions" else None
        words = than or _THAN[verdict]
        who = listed(names) if len(names) <= _NAMED else count_of(len(names), "system")
        parts.append(f"{who} {words} {base}" if not parts else f"{who} {words.rsplit(' ', 1)[0]}")
    return ", ".join(parts)


def tallied(sides: Sequence[Side], noun: str) -> str:
    """``xfs faster than ext4 in 3 of 13 tests, slower in 2; btrfs slower in 13``.

    Args:
        sides: of which verdicts are counted.
        noun: what there is one verdict on: ``test``, ``cell``.
    """
    if not 0 < len(sides) <= _NAMED:
        return ""
    return "; ".join(_tally(side, noun, first=side is sides[0]) for side in sides)


def _tally(side: Side, noun: str, *, first: bool) -> str:
    total = len(side.pairs)
    words = ("faster", "slower") if side.repeated else ("better", "worse")
    better, worse = side.count("faster"), side.count("slower")
    of = f" of {count_of(total, noun)}" if first else ""
    if not better and not worse:
        return f"{side.name}{f' and {side.base}' if first else ''}: no difference shown"
    counts = zip(words, (better, worse), strict=True)
    (word, count), *rest = [(word, count) for word, count in counts if count]
    than = f" than {side.base}" if first else ""
    texts = [f"{word}{than} in {count}{of}", *(f"{word} in {count}" for word, count in rest)]
    by_value = "" if side.repeated or not first else ", by single values"
    return f"{side.name} {', '.join(texts)}{by_value}"


def titled(topic: str, finding: str, otherwise: str) -> str:
    """``postmark: xfs faster than ext4``; without a finding what is shown otherwise."""
    return ": ".join(filter(None, (topic, finding))) if finding else otherwise
