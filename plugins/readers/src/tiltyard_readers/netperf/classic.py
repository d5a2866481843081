"""The tables that netperf prints for people, of every test."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Final

from tiltyard.importers.quantities import MICROSECONDS, PERCENT, Unit
from tiltyard.importers.reading import Line, number
from tiltyard_readers.netperf.figures import US_PER_KB, Outcome, rate_unit, test_of

_HOST: Final = re.compile(r" port \d+ \S+ to ([\w.:-]+) ")
_BURST: Final = re.compile(r" : first burst (\d+)")
_NUMERIC: Final = re.compile(r"[-\d.]+(?:\s+[-\d.na]+)*")


@dataclass
class _Table:
    """A table whose head was read."""

    head: Line
    test: str
    unit: Unit
    burst: int

    @property
    def is_udp(self) -> bool:
        """Whether it has a line for the sender and one for the receiver."""
        return self.test.startswith("UDP_STREAM")

    @property
    def has_transactions(self) -> bool:
        """Whether it is of requests and responses."""
        return self.test.endswith(("RR", "_CC"))


def tables(lines: Sequence[Line]) -> Iterator[Outcome]:
    """The outcome of every table, in order.

    Raises:
        UsageError: if one is not whole, or in an unknown unit.
    """
    test, burst, host = "", 0, ""
    rest = iter(lines)
    for line in rest:
        if announced := test_of(line.text):
            match = _BURST.search(line.text)
            test, burst = announced, line.count(match[1]) if match else 0
            to = _HOST.search(line.text)
            host = to[1] if to else ""
        elif re.match(r"\s*bytes\b.*\bsecs\b", line.text):
            unit = rate_unit(line.text)
            if unit is None:
                raise line.refused(
                    "no unit of a rate that is sure; use -f k, m, g, K, M, G (not b, under which "
                    "netperf prints bytes as bits)"
                )
            table = _Table(line, test or _guessed(line), unit, burst)
            yield replace(_outcome(table, rest), host=host)


def _guessed(head: Line) -> str:
    """The kind of test by its head, where no banner stands before it."""
    if head.text.lower().count("bytes") >= 4:
        return "RR"
    return "UDP_STREAM" if "#" in head.text else "STREAM"


def _outcome(table: _Table, rest: Iterator[Line]) -> Outcome:
    first = _row(table, rest)
    if table.is_udp:
        return _udp(table, first, _row(table, rest))
    return _transactions(table, first) if table.has_transactions else _stream(table, first)


def _row(table: _Table, rest: Iterator[Line]) -> Line:
    """The next line of figures."""
    for line in rest:
        if _NUMERIC.fullmatch(line.text.strip()):
            return line
        if line.text.strip():
            raise line.refused(f"a line of figures of {table.test} should stand here")
    raise table.head.refused("the table that begins here is cut off; give the whole of it")


def _stream(table: _Table, line: Line) -> Outcome:
    words = _words(line, (5, 9))
    at = _sizes(line, message=words[2], send_buffer=words[1], receive_buffer=words[0])
    outcome = Outcome(table.test, at, table.unit, US_PER_KB)
    outcome.values["throughput"] = table.unit.value(line.value(words[4]))
    _loads(outcome, line, words[5:])
    return outcome


def _transactions(table: _Table, line: Line) -> Outcome:
    words = _words(line, (6, 10))
    at = _sizes(
        line,
        request=words[2],
        response=words[3],
        send_buffer=words[0],
        receive_buffer=words[1],
    )
    outcome = Outcome(table.test, {**at, "burst": table.burst}, table.unit, MICROSECONDS)
    outcome.values[outcome.headline] = table.unit.value(line.value(words[5]))
    _loads(outcome, line, words[6:])
    return outcome


def _udp(table: _Table, sender: Line, receiver: Line) -> Outcome:
    """The sender's line has one word more for the message, and one for the errors."""
    sent, received = _words(sender, (6, 8)), _words(receiver, (4, 6))
    if len(sent) - len(received) != 2:
        raise receiver.refused("not the receiver's line of the sender's line above")
    at = _sizes(sender, message=sent[1], send_buffer=sent[0], receive_buffer=received[0])
    outcome = Outcome(table.test, at, table.unit, US_PER_KB)
    outcome.values["throughput"] = table.unit.value(receiver.value(received[3]))
    outcome.values["throughput_sent"] = table.unit.value(sender.value(sent[5]))
    if len(sent) == 8:
        _loads(outcome, sender, [sent[6], received[4], sent[7], received[5]])
    return outcome


def _words(line: Line, counts: tuple[int, int]) -> list[str]:
    words = line.words
    if len(words) not in counts:
        raise line.refused(
            f"{len(words)} figures where netperf prints {counts[0]}, or {counts[1]} with CPU"
        )
    return words


def _sizes(line: Line, **words: str) -> dict[str, int | str]:
    return {name: line.count(word, f"a size ({name})") for name, word in words.items()}


def _loads(found: Outcome, line: Line, words: Sequence[str]) -> None:
    """CPU and service demand of both ends; an end that was not measured is -1."""
    names = (
        ("cpu_near", PERCENT),
        ("cpu_far", PERCENT),
        ("service_demand_near", found.demand),
        ("service_demand_far", found.demand),
    )
    for (name, unit), word in zip(names, words, strict=False):
        value = measured(line, word)
        if value is not None:
            found.values[name] = unit.value(value)


def measured(line: Line, word: str) -> Fraction | None:
    """A figure, or ``None`` where netperf did not measure it.

    Raises:
        UsageError: if it is something else.
    """
    if word.lstrip("-") in ("nan", ""):
        return None
    try:
        value = number(word, signed=True)
    except ValueError as error:
        raise line.refused(f"{word[:40]!a}: {error}") from None
    return value if value >= 0 else None
