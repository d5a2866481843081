"""Titles that are findings: verdicts, named or counted. What is not decided is not claimed."""

from collections.abc import Iterable, Sequence

from tiltyard.analysis.model import Cell, Findings, Index, Pair
from tiltyard.analysis.pairs import against
from tiltyard.analysis.statements.deltas import Count, count_together, crossing
from tiltyard.analysis.verdict import Verdict
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


def against_baseline(findings: Findings, tables: Iterable[Cell | Index]) -> list[Count]:
    """Each system with the baseline, over some tests or cells."""
    others = [one.name for one in findings.systems if one.name != findings.baseline]
    pairs = [Pair(system=name, against=findings.baseline, within="") for name in others]
    return _counted(findings, tables, [(pair, [pair]) for pair in pairs])


def along_factor(findings: Findings, tables: Iterable[Cell | Index]) -> list[Count]:
    """Each level of the compared factor with its base, all other levels being the same."""
    crossed = crossing(findings)
    levels = [
        (Pair(system=level, against=crossed.base, within=""), crossed.pairs_of(level))
        for level in crossed.levels[1:]
    ]
    return _counted(findings, tables, levels)


def _counted(
    findings: Findings,
    tables: Iterable[Cell | Index],
    pairs: Iterable[tuple[Pair, Sequence[Pair]]],
) -> list[Count]:
    unnamed = [("", table) for table in tables]
    found = (count_together(findings, unnamed, each, pair) for pair, each in pairs)
    return [one for one in found if one is not None]


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


def tallied(counts: Sequence[Count], noun: str) -> str:
    """``xfs faster than ext4 in 3 of 13 tests, slower in 2; btrfs slower in 13``.

    Args:
        counts: of the verdicts.
        noun: what there is one verdict on: ``test``, ``cell``.
    """
    if not 0 < len(counts) <= _NAMED:
        return ""
    return "; ".join(_tally(one, noun, first=one is counts[0]) for one in counts)


def _tally(found: Count, noun: str, *, first: bool) -> str:
    name, base = found.pair.sides
    words = ("faster", "slower") if found.repeated else ("better", "worse")
    of = f" of {count_of(found.of, noun)}" if first else ""
    if not found.decided:
        return f"{name}{f' and {base}' if first else ''}: no difference shown"
    sides = zip(words, (found.better, found.worse), strict=True)
    (word, count), *rest = [(word, count) for word, count in sides if count]
    than = f" than {base}" if first else ""
    texts = [f"{word}{than} in {count}{of}", *(f"{word} in {count}" for word, count in rest)]
    by_value = "" if found.repeated or not first else ", by single values"
    return f"{name} {', '.join(texts)}{by_value}"


def titled(topic: str, finding: str, otherwise: str) -> str:
    """``postmark: xfs faster than ext4``; without a finding what is shown otherwise."""
    return ": ".join(filter(None, (topic, finding))) if finding else otherwise
