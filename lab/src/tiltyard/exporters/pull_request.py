"""What the gate says, as Markdown for a pull request: one line, or eight if anything moved."""

from collections.abc import Iterator
from typing import Final

from tiltyard.analysis.gate import Gate, Headline, Outcome
from tiltyard.analysis.line import interval_text, ratio_text
from tiltyard.printable import markdown
from tiltyard.units import count_of, format_value

ROWS_MAX: Final = 4
"""Headlines that are shown: with the sentence and the head of the table eight lines."""
_MOVED: Final[tuple[Outcome, ...]] = ("regression", "invalid", "undecided", "improvement")
_HEAD: Final = (
    "| metric | base | head | ratio (95 % CI) | verdict |",
    "|---|---:|---:|---:|---|",
)


def pull_request(gate: Gate) -> bytes:
    """The lines, in UTF-8."""
    return "".join(f"{line}\n" for line in _lines(gate)).encode()


def _lines(gate: Gate) -> Iterator[str]:
    moved = [line for outcome in _MOVED for line in gate.having(outcome)]
    bounds = [line.high / line.low for line in gate.headlines if line.low and line.high]
    width = f"widest interval ±{50 * (max(bounds) - 1):.2g} %, " if bounds and not moved else ""
    yield f"**Performance: {markdown(gate.sentence)}** ({width}{count_of(gate.blocks, 'block')})"
    if not moved:
        return
    several = len({line.system for line in gate.headlines}) > 1
    shown = moved if len(moved) <= ROWS_MAX else moved[: ROWS_MAX - 1]
    yield ""
    yield from _HEAD
    yield from (_row(line, several=several) for line in shown)
    if len(shown) < len(moved):
        yield f"| and {len(moved) - len(shown)} more | | | | |"


def _row(line: Headline, *, several: bool) -> str:
    values = (line.value_against, line.value)
    base, head = ("–" if v is None else format_value(v, line.shown_in) for v in values)
    name = f"{line.name}, {line.system}" if several else line.name
    ratio = f"{ratio_text(line)} ({interval_text(line)})"
    return f"| {markdown(name)} | {base} | {head} | {ratio} | {line.outcome} |"
