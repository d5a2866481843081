"""The files that hyperfine writes, with the values of single executions: for its own scripts.

Source: hyperfine 1.15 to 1.20, ``--export-json``, ``-csv``, ``-markdown``, ``-asciidoc`` and
``-orgmode``. The relative time is against the baseline, with the interval of the study in place of
a ±.
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, median, stdev
from typing import Final

from tiltyard.analysis.line import interval_text, ratio_text
from tiltyard.analysis.model import Comparison, Findings
from tiltyard.delimited import delimited
from tiltyard.printable import markdown
from tiltyard.wire import Execution

TIME: Final = "time"
"""Name of the metric that hyperfine has."""
_UNITS: Final[dict[str, tuple[str, float]]] = {
    "microsecond": ("µs", 1e6), "millisecond": ("ms", 1e3), "second": ("s", 1)
}  # fmt: skip


@dataclass(frozen=True)
class Contestant:
    """A command with its measured executions, in the order in which they were made."""

    name: str
    parameters: Mapping[str, str]
    executions: Sequence[Execution]

    @property
    def times(self) -> list[float]:
        """In s."""
        return [one.elapsed_s for one in self.executions]

    def summary(self) -> dict[str, float | None]:
        """What stands in JSON and CSV of all of its executions, in s."""
        times = self.times
        return {
            "mean": fmean(times),
            "stddev": stdev(times) if len(times) > 1 else None,
            "median": median(times),
            "user": fmean(one.user_s for one in self.executions),
            "system": fmean(one.system_s for one in self.executions),
            "min": min(times),
            "max": max(times),
        }


def to_json(contestants: Sequence[Contestant], _: Findings, __: str | None) -> bytes:
    """``results``, one for each command."""
    results = [
        {
            "command": own.name,
            **own.summary(),
            "times": own.times,
            "memory_usage_byte": [one.peak_memory_bytes for one in own.executions],
            "exit_codes": [one.exit for one in own.executions],
            **({"parameters": dict(own.parameters)} if own.parameters else {}),
        }
        for own in contestants
    ]
    return f"{json.dumps({'results': results}, ensure_ascii=False, indent=2)}\n".encode()


def to_csv(contestants: Sequence[Contestant], _: Findings, __: str | None) -> bytes:
    """A line for each command."""
    parameters = list(dict.fromkeys(name for own in contestants for name in own.parameters))
    heads = ["command", *(contestants[0].summary() if contestants else ())]
    rows = (
        [own.name, *own.summary().values(), *(own.parameters.get(name) for name in parameters)]
        for own in contestants
    )
    return delimited([*heads, *(f"parameter_{name}" for name in parameters)], rows)


def to_markdown(contestants: Sequence[Contestant], findings: Findings, unit: str | None) -> bytes:
    """A table for people."""
    heads, *rows = _table(contestants, findings, unit)
    lines = [f"| {' | '.join(heads)} |", "|:---|---:|---:|---:|---:|"]
    for name, *cells in rows:
        lines.append(f"| {' | '.join((markdown(name), *cells))} |")
    return "".join(f"{line}\n" for line in lines).encode()


def to_asciidoc(contestants: Sequence[Contestant], findings: Findings, unit: str | None) -> bytes:
    """The same for AsciiDoc."""
    heads, *rows = _table(contestants, findings, unit)
    lines = ['[cols="<,>,>,>,>"]', "|===", *(f"| {head}" for head in heads)]
    for name, *cells in rows:
        word = f"`+{name}+`".replace("|", "\\|")
        lines += ["", *(f"| {cell}" for cell in (word, *cells))]
    return "".join(f"{line}\n" for line in (*lines, "|===")).encode()


def to_orgmode(contestants: Sequence[Contestant], findings: Findings, unit: str | None) -> bytes:
    """The same for Org mode."""
    heads, *rows = _table(contestants, findings, unit)
    lines = [f"| {' | '.join(heads)} |", "|--+--+--+--+--|"]
    for name, *cells in rows:
        word = f"={name}=".replace("|", "\\vert{}")
        lines.append(f"| {' | '.join((word, *cells))} |")
    return "".join(f"{line}\n" for line in lines).encode()


def _table(
    contestants: Sequence[Contestant], findings: Findings, unit: str | None
) -> Iterator[list[str]]:
    """Heads and cells of a table for people: commands, and times in one unit for all.

    Without a unit it is that of the first command's mean.
    """
    first = fmean(contestants[0].times) if contestants else 0.0
    usual = "second" if first >= 1 else "millisecond" if first >= 1e-3 else "microsecond"
    symbol, factor = _UNITS[unit or usual]
    digits = 3 if factor == 1 else 1
    yield ["Command", *(f"{head} [{symbol}]" for head in ("Mean", "Min", "Max")), "Relative"]
    against = {pair.system: pair for pair in _comparisons(findings)}
    for own in contestants:
        times = [factor * time for time in own.times]
        spread = f" ± {stdev(times):.{digits}f}" if len(times) > 1 else ""
        pair = against.get(own.name)
        relative = f"{ratio_text(pair)} ({interval_text(pair)})" if pair else "1.00"
        mean = f"{fmean(times):.{digits}f}{spread}"
        yield [own.name, mean, *(f"{end(times):.{digits}f}" for end in (min, max)), relative]


def _comparisons(findings: Findings) -> Iterator[Comparison]:
    """Those of the time, against the baseline."""
    for workload in findings.workloads:
        for cell in workload.cells:
            if cell.metric == TIME and not cell.at:
                yield from (one for one in cell.comparisons if one.against == findings.baseline)


FILES: Final[dict[str, Callable[[Sequence[Contestant], Findings, str | None], bytes]]] = {
    "json": to_json,
    "csv": to_csv,
    "markdown": to_markdown,
    "asciidoc": to_asciidoc,
    "orgmode": to_orgmode,
}
"""Format → the whole file."""
