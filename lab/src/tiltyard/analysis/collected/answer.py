"""The answer that collected results allow: one sentence a workload."""

from tiltyard.analysis.model import Comparison, Index
from tiltyard.analysis.pairs import turned


def answer(index: Index) -> str:
    """The best system by estimate, and which of the others it is found to differ from."""
    ranked = [standing.system for standing in index.standings]
    if len(ranked) < 2:
        return f"No verdict on {index.label}: fewer than two systems have values."
    best = ranked[0]
    word = "highest" if index.direction == "higher" else "lowest"
    pairs = [
        pair if pair.system == best else turned(pair)
        for pair in index.comparisons
        if best in (pair.system, pair.against)
    ]
    if all(pair.low is None for pair in pairs):
        return (
            f"{best} has the {word} {index.label} of {len(ranked)} systems; whether that is more "
            "than chance cannot be said without repetitions of both sides."
        )
    parts = [
        _part("differs from", [p for p in pairs if p.verdict in ("faster", "slower")]),
        _part("is equivalent to", [p for p in pairs if p.verdict == "equivalent"]),
        _part("is not separated from", [p for p in pairs if p.verdict == "undecided"]),
    ]
    return (
        f"{best} has the {word} {index.label} of {len(ranked)} systems; by the spread that was "
        f"kept it {', '.join(filter(None, parts))}."
    )


def _part(words: str, pairs: list[Comparison]) -> str:
    return f"{words} {', '.join(pair.against for pair in pairs)}" if pairs else ""
