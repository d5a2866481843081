"""The normal form of a sequence of calls: comparable between programs, short, readable.

Files are numbered within their directory in the order of first appearance, since names differ
and may be random. An offset that continues the last call on the same file is ``@next``. Sequences
that repeat are written ``N* (call; call)``.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from support.strace import Call

_LINE_MAX = 96
_PERIOD_MAX = 10
_BEGINNINGS = ("open ", "file:")
_BETWEEN_UNITS = re.compile(r"; (?![^(]*\))")
_REPEATED = re.compile(r"(\d+)\* (?:\((.*)\)|(.*))")


def in_order(calls: Sequence[Call]) -> list[str]:
    """All calls of all tasks, in the order in which they began."""
    return _with_next(_renamed(calls))


def by_file(calls: Sequence[Call]) -> list[str]:
    """The calls on each file after a line that begins it: for tasks that work at once.

    Files are in the order of their sequences, since that of the tasks is left to chance.
    """
    groups: dict[str, list[Call]] = {}
    for call in calls:
        groups.setdefault(call.path, []).append(replace(call, path=""))
    sequences = sorted(_with_next(group) for group in groups.values())
    return [word for sequence in sequences for word in ("file:", *sequence)]


def compress(words: Sequence[str]) -> list[str]:
    """As few lines as hold it: a new one for each file that is opened, repetitions as one call."""
    lines: list[str] = []
    for unit in _units(words):
        begins = not lines or unit.startswith(_BEGINNINGS)
        if begins or len(lines[-1]) + len(unit) + 2 > _LINE_MAX:
            lines.append(unit)
        else:
            lines[-1] += f"; {unit}"
    return lines


def expand(lines: Sequence[str]) -> list[str]:
    """The sequence that was compressed."""
    words: list[str] = []
    for unit in (unit for line in lines for unit in _BETWEEN_UNITS.split(line)):
        match = _REPEATED.fullmatch(unit)
        if match is None:
            words.append(unit)
        else:
            words += int(match[1]) * (match[2].split("; ") if match[2] else [match[3]])
    return words


def without_random_offsets(calls: Sequence[Call]) -> list[Call]:
    """Offsets drawn by the time of day become ``random``; they must be whole blocks.

    A pass from open to close is random if it does not go from 0 upwards without a gap.
    """
    passes: dict[str, list[int]] = {}
    result = list(calls)
    for index, call in enumerate(calls):
        if call.name == "open":
            passes[call.path] = []
        elif call.offset is not None:
            passes.setdefault(call.path, []).append(index)
        if call.name == "close":
            moved = passes.pop(call.path, [])
            sizes = [int(calls[index].detail.split()[0]) for index in moved]
            offsets = [calls[index].offset or 0 for index in moved]
            if offsets != [sum(sizes[:at]) for at in range(len(sizes))]:
                for index, size, offset in zip(moved, sizes, offsets, strict=True):
                    if offset % size == 0:
                        detail = f"{calls[index].detail} @random"
                        result[index] = replace(calls[index], detail=detail, offset=None)
    return result


def _units(words: Sequence[str]) -> Iterator[str]:
    """A call, or a repetition of up to ten."""
    start = 0
    while start < len(words):
        period, count = max(
            ((period, _count(words, start, period)) for period in range(1, _PERIOD_MAX + 1)),
            key=lambda pair: (pair[0] * pair[1] if pair[1] > 1 else 1, -pair[0]),
        )
        block = "; ".join(words[start : start + period])
        if count == 1:
            block, period = words[start], 1
        elif period > 1:
            block = f"({block})"
        yield f"{count}* {block}" if count > 1 else block
        start += period * count


def _count(words: Sequence[str], start: int, period: int) -> int:
    """How many times the sequence of this length stands there in a row."""
    block = words[start : start + period]
    if any(word.startswith(_BEGINNINGS) for word in block[1:]):
        return 1
    count = 1
    while words[start + count * period : start + (count + 1) * period] == block:
        count += 1
    return count if len(block) == period else 1


def _renamed(calls: Sequence[Call]) -> list[Call]:
    """Paths as numbers; a name that begins with a dot has a meaning and is kept."""
    numbers: dict[tuple[str, str], str] = {}
    counts: dict[str, int] = {}

    def rename(path: str) -> str:
        parent, parts = "", []
        for part in Path(path).parts:
            if part.startswith("."):
                numbers[parent, part] = part
            elif (parent, part) not in numbers:
                counts[parent] = counts.get(parent, 0) + 1
                numbers[parent, part] = f"{counts[parent]}"
            parts.append(numbers[parent, part])
            parent = f"{parent}/{part}"
        return "/".join(parts) or path

    return [replace(call, path=rename(call.path)) for call in calls]


def _with_next(calls: Sequence[Call]) -> list[str]:
    ends: dict[str, int] = {}
    words = []
    for call in calls:
        word = str(call)
        if call.offset is not None:
            if call.offset and ends.get(call.path) == call.offset:
                word = word.replace(f"@{call.offset}", "@next")
            ends[call.path] = call.offset + int(call.detail.split()[0])
        words.append(word)
    return words
