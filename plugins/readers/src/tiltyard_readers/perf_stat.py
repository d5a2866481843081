"""What ``perf stat`` prints of one run or of several (``-r``), as text or with ``-x`` as CSV.

With ``-r`` it states means over runs that it starts one after the other: one value of a file.
Compared is the elapsed time; where there is none, as in CSV, CPU time (``task-clock``), and without
that the counts of events.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from tiltyard.importers.importer import Imported, ImportedWorkload, Importer, Measured
from tiltyard.importers.quantities import (
    COUNT,
    MILLISECONDS,
    NANOSECONDS,
    SECONDS,
    Unit,
    metric,
)
from tiltyard.importers.reading import Line, lines_of

METRICS: Final = (
    metric("time", SECONDS, None, label="time elapsed"),
    metric("cpu_time", SECONDS, None, label="CPU time"),
    metric("cpu_clock", SECONDS, None, label="CPU clock", headline=False),
    metric("user", SECONDS, None, label="user time", headline=False),
    metric("system", SECONDS, None, label="system time", headline=False),
    metric("events", COUNT, 0, headline=False),
)
_TIMES: Final[dict[str, tuple[str, Unit]]] = {
    "task-clock": ("cpu_time", MILLISECONDS),
    "cpu-clock": ("cpu_clock", MILLISECONDS),
    "duration_time": ("time", NANOSECONDS),
    "user_time": ("user", NANOSECONDS),
    "system_time": ("system", NANOSECONDS),
}
"""Events that are times, and the unit of those beside which none stands."""
_UNITS: Final = {"msec": MILLISECONDS, "ns": NANOSECONDS}
_HEADLINES: Final = ("time", "cpu_time", "cpu_clock", "events")
"""Of those that a file has, the first one is compared."""
_HEAD: Final = re.compile(r"\s*Performance counter stats for (.+?)(?: \((\d+) runs\))?:\s*")
_GROUPED: Final = r"\d{1,3}(?:[  ]\d{3})+(?:,\d+)?|[\d.,’'\u202f\u00a0]*\d"
_ROW: Final = re.compile(
    rf"\s*(?P<value>{_GROUPED}|<not \w+>)\s+(?:(?P<unit>[A-Za-z]+)\s+)?"
    r"(?P<event>[A-Za-z_]\S*)(?:\s+\(msec\))?\s*(?P<rest>(?:[#(\[].*)?)"
)
_FOOT: Final = re.compile(
    r"\s*(?P<value>\d[\d.,]*)(?:\s+\+-\s+[\d.,]+)?\s+"
    r"seconds (?P<of>time elapsed|user|sys)(?P<rest>.*)"
)
_OF_FOOT: Final = {"time elapsed": "time", "user": "user", "sys": "system"}
_ERROR: Final = re.compile(r"\(\s*\+-\s*\d+[.,]\d+%\s*\)|[,;|\t]\d+\.\d+%[,;|\t]")
_ERRORS: Final = (
    "The standard errors of perf stat are those of runs one after the other: they do not say how "
    "another sequence would differ, and are not used."
)
_SHARE: Final = re.compile(r"[(\[](\d+[.,]\d+)%[)\]]\s*$")
_CSV: Final = re.compile(
    r"(?P<value>[\d.]+|<not \w+>)(?P<by>[,;|\t])(?P<unit>[A-Za-z]*)(?P=by)"
    r"(?P<event>[A-Za-z_][^/,;|\t]*(?:/[^/]*/[\w:]*)?)"
    r"(?:(?P=by)\d+\.\d+%)?(?P=by)\d+(?P=by)(?P<share>\d+\.\d\d)(?:(?P=by).*)?",
    re.MULTILINE,
)
_PARTS: Final = re.compile(
    r"[^,;|\t]+(?:([,;|\t])\d+)?([,;|\t])(?:[\d.]+|<not \w+>)\2[A-Za-z]*\2[A-Za-z_][^,;|\t]*\2.*"
)


@dataclass
class _Sequence:
    """The runs of one command."""

    command: str = ""
    runs: int | None = None
    measured: dict[tuple[str, str], Measured] = field(default_factory=dict)
    """Metric and event → what was measured."""


def read(data: bytes, name: str) -> Imported:
    """Everything that ``perf stat`` printed to one file."""
    lines = lines_of(data, name)
    missing: dict[str, dict[str, None]] = {}
    texts = any(_HEAD.fullmatch(line.text) for line in lines)
    found = [*_texts(lines, missing)] if texts else [_table(lines, missing)]
    commands = {one.command for one in found}
    return Imported(
        workloads=tuple(_workload(one, several=len(commands) > 1) for one in found),
        limits=(
            *((_ERRORS,) if any(_ERROR.search(line.text) for line in lines) else ()),
            *(f"{name}: {why}: {', '.join(events)}." for why, events in missing.items()),
        ),
    )


def _workload(found: _Sequence, *, several: bool) -> ImportedWorkload:
    own = {one.metric for one in found.measured.values()}
    compared = next((one for one in _HEADLINES if one in own), "")
    return ImportedWorkload(
        name="perf stat",
        use="perf stat",
        metrics=tuple(one.model_copy(update={"headline": one.name == compared}) for one in METRICS),
        measured=tuple(found.measured.values()),
        parameters={"runs": str(found.runs)} if found.runs else {},
        commands=(found.command,) if found.command else (),
        grid=("event",),
        apart=(found.command,) if several else (),
    )


def _texts(lines: Sequence[Line], missing: dict[str, dict[str, None]]) -> Iterator[_Sequence]:
    """Of each head the rows down to the elapsed time, and what follows that."""
    found, ended = None, False
    for line in lines:
        if match := _HEAD.fullmatch(line.text):
            if found:
                yield found
            runs = line.count(match[2]) if match[2] else None
            found, ended = _Sequence(match[1].strip("'"), runs), False
        elif found and (match := _FOOT.fullmatch(line.text)):
            name, ended = _OF_FOOT[match["of"]], True
            value = _number(match["value"], fraction=True)
            found.measured[name, ""] = Measured(name, values=(SECONDS.value(line.value(value)),))
        elif found and not ended and (match := _ROW.fullmatch(line.text)):
            share = _SHARE.search(match["rest"])
            _add(found, line, match, share and share[1], missing)
    if found:
        yield found


def _table(lines: Sequence[Line], missing: dict[str, dict[str, None]]) -> _Sequence:
    """CSV, of one sequence and whole: neither by processor nor by interval."""
    found = _Sequence()
    seen: set[str] = set()
    for line in lines:
        if match := _CSV.fullmatch(line.text):
            if match["event"] in seen:
                raise line.refused(
                    f"{match['event']} a second time, and nothing says that it is of the same "
                    "command; give each sequence in a file of its own"
                )
            seen.add(match["event"])
            _add(found, line, match, match["share"], missing)
        elif not line.text.startswith("#") and _PARTS.fullmatch(line.text):
            raise line.refused(
                "counts of a processor, thread or interval; give those of a whole run: without "
                "-A, --per-… and -I"
            )
    return found


def _add(
    found: _Sequence,
    line: Line,
    match: re.Match[str],
    share: str | None,
    missing: dict[str, dict[str, None]],
) -> None:
    """Take a row of an event; why it is not taken, or is an estimate, is added to ``missing``."""
    event, unit_name = match["event"], match["unit"] or ""
    base = event.partition(":")[0]
    name, unit = _TIMES.get(base, ("events", COUNT))
    unit = _UNITS.get(unit_name, unit)
    if match["value"].startswith("<"):
        missing.setdefault(f"left out, as perf has {match['value']} for it", {})[event] = None
        return
    if (unit_name and unit_name not in _UNITS) or (name == "events" and unit is not COUNT):
        missing.setdefault(f"left out, as it is in {unit_name}", {})[event] = None
        return
    if share and float(_number(share, fraction=True)) < 100:
        why = "counted for a part of the time only, and scaled up by perf"
        missing.setdefault(why, {})[event] = None
    value = unit.value(line.value(_number(match["value"])))
    at: dict[str, int | str] = {"event": event} if name == "events" else {}
    found.measured[name, event if at else ""] = Measured(name, at, (value,))


def _number(text: str, *, fraction: bool = False) -> str:
    """A number of any locale as all others write it.

    Counts have groups of three digits, times two, six or nine decimals.

    Args:
        text: how it is printed.
        fraction: whether its last sign parts decimals, also three of them.
    """
    whole, sign, last = re.fullmatch(r"(?:(.*?)([.,]))?(\d+|[^.,]+)", text).groups()  # type: ignore[union-attr]
    if sign and (fraction or len(last) != 3):
        return f"{re.sub('[^0-9]', '', whole)}.{last}"
    return re.sub("[^0-9]", "", text)


IMPORTER: Final = Importer(
    name="perf-stat",
    about="what `perf stat` prints on standard error or to `-o FILE`, also with `-r N` and `-x ,`",
    left_out="what follows from the counts, such as rates and instructions per cycle; standard "
    "errors over runs; events in other units than time, such as Joules; the table of `--table`",
    cut_off="events that are there are kept",
    repeats="statistics of the same command; `-r` states means only",
    recognises=lambda head: (
        bool(re.search(r"^[ \t]*Performance counter stats for .+:\s*$", head, re.MULTILINE))
        or any(_CSV.fullmatch(line.strip("\r")) for line in head.split("\n"))
    ),
    read=read,
    metrics=METRICS,
    grid=("event",),
)
