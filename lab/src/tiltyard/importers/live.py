"""What a program printed, read while it is measured: metric cards before, samples after.

A reader is an importer of result files; what it reads of a file, it reads of an output. Each
execution has one value of each cell, the mean of what it printed; the value of the trial is their
mean.
"""

import base64
import hashlib
import os
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from functools import cache
from pathlib import Path
from statistics import fmean
from typing import Final, get_args

from tiltyard.collected.model import CollectedMetric
from tiltyard.errors import UsageError
from tiltyard.importers import IMPORTERS
from tiltyard.importers.importer import Imported, Importer
from tiltyard.importers.names import told_apart
from tiltyard.importers.printed import Printed, require_readable, value_of
from tiltyard.importers.quantities import name_in, percentile_name, unit_named
from tiltyard.importers.reading import text_of
from tiltyard.importers.sniff import is_output_of, read_with
from tiltyard.study.problems import not_a
from tiltyard.study.program import BuiltIn, Metrics, MetricTable
from tiltyard.wire import Execution, MetricCard, Output, Sample, Unit, WarningNote

PERCENTILES: Final = tuple(map(percentile_name, map(Fraction, ("50", "90", "95", "99", "99.9"))))
"""Of what a tool prints of single operations, these become metrics: ``latency_p99``."""
_ENGINES: Final = frozenset(get_args(BuiltIn))
_ASKED_BYTES: Final = 2**20
"""A larger file is no job file: a program may be one of the words."""
_NOTHING: Final = hashlib.sha256(b"").hexdigest()

_Point = tuple[tuple[str, int | str], ...]


def readers() -> list[Importer]:
    """What ``read`` may name: importers that know their metrics before they see a file."""
    return [one for one in IMPORTERS if one.metrics]


def cards(
    read: str | None,
    metrics: Metrics,
    own: Sequence[MetricCard],
    command: Sequence[str] = (),
    root: Path = Path(),
    inputs: Sequence[str] = (),
) -> tuple[tuple[MetricCard, ...], tuple[str, ...]]:
    """The metrics of a program workload, and the dimensions of its grid.

    What the engine measures of every program is a detail where the study names a reader or metrics
    of its own, unless it is one of those. So is what the reader reads where the study names some of
    it.

    Args:
        read: name of the reader.
        metrics: what the study names.
        own: what the engine measures.
        command: what will be executed, where that is known: it may say what is measured.
        root: where relative paths in it begin.
        inputs: texts of the files that a trial has beside those.

    Raises:
        UsageError: if there is no such reader, a name is taken, or an expression or unit is not
            understood; names the key.
    """
    tables = {name: one for name, one in metrics.items() if isinstance(one, MetricTable)}
    for name, table in tables.items():
        require_readable(name, table)
    reader = _reader(read) if read else None
    named = _named(metrics)
    asked = _asked(reader, command, root, inputs) if reader else ()
    by_reader = tuple(_cards_of_reader(reader, asked)) if reader else ()
    only = bool(named.keys() & {card.name for card in by_reader})
    found = (
        *(_card_of_table(name, table) for name, table in tables.items()),
        *(_as_named(card, named, only=only) for card in by_reader),
        *(_as_named(card, named, only=bool(read or metrics)) for card in own),
    )
    names = [card.name for card in found]
    for target, name in named.items():
        if target not in names:
            raise UsageError(f"metrics.{name}: {not_a(target, 'metric', names)}")
    for name in tables:
        if names.count(name) > 1:
            by = read if any(card.name == name for card in by_reader) else "the engine"
            raise UsageError(f"metrics.{name}: {by} has a metric of this name. Fix: another name")
    ordered = sorted(found, key=lambda card: card.role == "detail")
    return tuple(ordered), tuple(dict.fromkeys(("test", *reader.grid))) if reader else ()


def readings(
    read: str | None,
    metrics: Metrics,
    executions: Sequence[Execution],
    outputs: Mapping[str, Output],
    warnings: list[WarningNote] | None = None,
) -> list[Sample]:
    """The samples of a trial that follow from what its measured executions printed.

    Args:
        read: name of the reader.
        metrics: what the study names.
        executions: of the trial; those of other steps than ``measure`` are not read.
        outputs: SHA-256 → what was printed.
        warnings: what is doubtful about it is added here.

    Raises:
        UsageError: if an output does not hold what is looked for: quotes that and the last lines;
            or if the page cache had what a program was told to read from the device.
    """
    measured = [one for one in executions if one.step == "measure"]
    tables = {name: one for name, one in metrics.items() if isinstance(one, MetricTable)}
    if not (read or tables) or not measured:
        return []
    cards_of = {name: _card_of_table(name, table) for name, table in tables.items()}
    reader = _reader(read) if read else None
    if reader:
        cards_of |= _cards_by_name(reader.name)
    values: dict[tuple[str, _Point], list[float]] = {}
    for execution in measured:
        seen = _Outputs(execution, outputs)
        found: dict[tuple[str, _Point], float] = {
            (name, ()): value_of(name, table, seen.of(table.of)) for name, table in tables.items()
        }
        if reader:
            found |= _of_reader(reader, seen, [] if warnings is None else warnings)
        _require(_named(metrics), cards_of, [name for name, _ in found], execution)
        compared, before = (
            {place for place in cells if cards_of[place[0]].role != "detail"}
            for cells in (found, values)
        )
        if values and compared != before:
            raise UsageError(_differing(execution, compared, before))
        for place, value in found.items():
            values.setdefault(place, []).append(value)
    elapsed_s = sum(one.elapsed_s for one in measured)
    return [
        Sample(
            metric=name,
            value=fmean(of_each),
            unit=cards_of[name].unit,
            direction=cards_of[name].direction,
            operations=len(of_each),
            bytes=0,
            elapsed_s=elapsed_s,
            at=dict(at),
        )
        for (name, at), of_each in values.items()
        if len(of_each) == len(measured)  # a detail may not be kept of each
    ]


class _Outputs:
    """What one execution printed, by stream or file."""

    def __init__(self, execution: Execution, outputs: Mapping[str, Output]) -> None:
        self._execution, self._outputs = execution, outputs
        streams = {"stdout": execution.stdout, **execution.files, "stderr": execution.stderr}
        self._hashes = {name: streams[name] for name in streams}

    @property
    def device_bytes(self) -> int | None:
        """Bytes that its processes read from devices, where that is counted."""
        return self._execution.read_bytes

    def of(self, name: str) -> Printed:
        """One stream or file.

        Raises:
            UsageError: if there is none of that name, or it is not text.
        """
        where = f"{name} of execution {self._execution.number}"
        if name not in self._hashes:
            raise UsageError(
                f'{where}: not captured. Fix: files = ["{name}"], and let the program write it'
            )
        output = self._outputs.get(self._hashes[name])
        if output is None and self._hashes[name] != _NOTHING:
            raise UsageError(f"{where}: its contents are not in the trial")
        return Printed(
            name=where,
            text=_text(output, where) if output else "",
            truncated=output.truncated if output else False,
            exit=self._execution.exit,
        )

    def __iter__(self) -> Iterator[Printed]:
        """Standard output, the files, standard error."""
        return (self.of(name) for name in self._hashes)


def _text(output: Output, where: str) -> str:
    """Its text; bytes that no terminal shows are refused only where they are looked at."""
    if output.text is not None:
        return output.text
    return text_of(base64.b64decode(output.base64 or ""), where)


def bin_width(read: str, metric: str) -> float:
    """Widest bin that a metric of a reader is known to, as a share of its value; 0: exactly."""
    reader = _reader(read)
    in_bins = (_live_name(reader, one, name) for one in reader.timed for name in PERCENTILES)
    return reader.bin_width if metric in in_bins else 0.0


def _reader(name: str) -> Importer:
    found = IMPORTERS.named(name)
    if not found.metrics:
        raise UsageError(
            f'read: "{name}" reads files whose metrics are not known before. Fix: name each in '
            f"metrics, or read = one of {', '.join(one.name for one in readers())}"
        )
    return found


def _card_of_table(name: str, table: MetricTable) -> MetricCard:
    unit = unit_named(table.unit)
    return MetricCard(
        name=name,
        label=table.label or name.replace("_", " "),
        unit=_wire_unit(unit.base if unit else table.unit),
        direction=table.better,
        role="headline" if table.headline else "detail",
        about="Printed by the program, found as the study says.",
    )


@cache
def _cards_by_name(read: str) -> dict[str, MetricCard]:
    """Every metric of a reader; asked for each trial."""
    reader = _reader(read)
    return {card.name: card for card in _cards_of_reader(reader, reader.metrics)}


def _asked(
    reader: Importer, command: Sequence[str], root: Path, inputs: Sequence[str]
) -> Sequence[CollectedMetric]:
    """The metrics of a reader as a command makes them."""
    if reader.asked is None:
        return reader.metrics
    paths = (root / word for word in command)
    files = [path for path in paths if os.path.isfile(path)]  # noqa: PTH113 - a long text is no path
    small = [file for file in files if file.stat().st_size <= _ASKED_BYTES]
    texts = [file.read_text(errors="replace") for file in small]
    return reader.asked(command, [*inputs, *texts])


def _cards_of_reader(reader: Importer, metrics: Sequence[CollectedMetric]) -> Iterator[MetricCard]:
    for one in metrics:
        yield _card(reader, one)
        for percentile in PERCENTILES if one.name in reader.timed else ():
            yield _card(reader, one, percentile)


def _card(reader: Importer, one: CollectedMetric, percentile: str = "") -> MetricCard:
    owned = f"{reader.name} " if one.name in _ENGINES else ""
    return MetricCard(
        name=_live_name(reader, one.name, percentile),
        label=" ".join(filter(None, (f"{owned}{one.label}", percentile))),
        unit=_wire_unit(one.unit),
        direction=one.direction,
        role="headline" if one.headline and not percentile else "detail",
        about=f"Printed by the program, read as {reader.name}.",
    )


def _live_name(reader: Importer, name: str, percentile: str = "") -> str:
    """The name of a reader's metric beside those of the engine."""
    owned = reader.name if name in _ENGINES else ""
    return "_".join(filter(None, (owned, name, percentile)))


def _wire_unit(base: str) -> Unit:
    """A base unit as the wire has it."""
    return next(one for one in get_args(Unit) if one == base)


def _named(metrics: Metrics) -> dict[str, str]:
    """What the engine measures, or the reader reads → how the study calls it."""
    found: dict[str, str] = {}
    for name, one in metrics.items():
        if isinstance(one, str):
            if one in found:
                raise UsageError(
                    f'metrics.{name}: "{one}" is named twice, also {found[one]}. Fix: one of them'
                )
            found[one] = name
    return found


def _as_named(card: MetricCard, named: Mapping[str, str], *, only: bool) -> MetricCard:
    """A metric that verdicts are given on, if the study names it; with ``only``, else a detail."""
    if card.name in named:
        label = named[card.name].replace("_", " ")
        return card.model_copy(update={"label": label, "role": "headline"})
    return card.model_copy(update={"role": "detail"}) if only else card


def _of_reader(
    reader: Importer, outputs: _Outputs, warnings: list[WarningNote]
) -> dict[tuple[str, _Point], float]:
    """What one execution printed: on standard output, in files, or else on standard error."""
    stdout, *files, stderr = outputs
    for candidates in ([stdout], files, [stderr]):
        if found := [one for one in candidates if is_output_of(reader, one.text)]:
            break
    else:
        raise stdout.refused(f"read: no output of {reader.name} ({reader.about})")
    values: dict[tuple[str, _Point], list[float]] = {}
    for one in found:
        one.require_whole()
        text = one.text if one.text.endswith("\n") else f"{one.text}\n"
        try:
            own = read_with(reader, text.encode(), one.name, is_whole=True)
            (imported,) = told_apart([own])
        except UsageError as error:
            raise one.refused(f"read: {str(error).removeprefix(f'{one.name}: ')}") from error
        if reader.disproved and (device_bytes := outputs.device_bytes) is not None:
            doubt = reader.disproved(text.encode(), one.name, device_bytes)
            if doubt and doubt.stated:
                raise UsageError(f"{one.name}: {doubt.message}. Fix: {doubt.fix}")
            if doubt:
                note = WarningNote(
                    code=f"{reader.name}_cache", message=doubt.message, advice=doubt.fix
                )
                warnings.append(note)
        for place, of_place in _cells(reader, imported, one):
            values.setdefault(place, []).extend(of_place)
    return {place: fmean(of_place) for place, of_place in values.items()}


def _cells(
    reader: Importer, imported: Imported, printed: Printed
) -> Iterator[tuple[tuple[str, _Point], Sequence[float]]]:
    """Metric and point → the values there; percentiles are metrics of their own."""
    known = {one.name: one for one in reader.metrics}
    printed_alone = {f"{name}_{percentile}" for name in reader.timed for percentile in PERCENTILES}
    several = len({one.name for one in imported.workloads}) > 1
    for workload in imported.workloads:
        units = {one.name: one.unit for one in workload.metrics}
        test: dict[str, int | str] = {"test": workload.name} if several else {}
        for one in workload.measured:
            unit, usual = units[one.metric], known.get(one.metric)
            name = name_in(one.metric, unit, usual.unit if usual else unit)
            if name not in known and name not in printed_alone:
                raise printed.refused(f"read: {one.metric} in {unit} is not expected")
            named = one.system and "command" in reader.grid
            command: dict[str, int | str] = {"command": one.system or ""} if named else {}
            at = tuple({**test, **command, **one.at}.items())
            found = one.values or (() if one.mean is None else (one.mean,))
            yield (_live_name(reader, name), at), found
            for percentile in PERCENTILES:
                if percentile in one.percentiles and name in reader.timed:
                    place = _live_name(reader, name, percentile), at
                    yield place, (one.percentiles[percentile],)


def _require(
    named: Mapping[str, str],
    cards_of: Mapping[str, MetricCard],
    found: Sequence[str],
    execution: Execution,
) -> None:
    """Refuse output without a metric that the study names; the engine's are in its own samples."""
    for target in named.keys() & cards_of.keys():
        if target not in found:
            raise UsageError(
                f"metrics.{named[target]}: execution {execution.number} printed no {target}; it "
                f"has {', '.join(dict.fromkeys(found))}"
            )


def _differing(
    execution: Execution, found: set[tuple[str, _Point]], before: set[tuple[str, _Point]]
) -> str:
    """The sentence on an execution that printed other metrics than those before it."""
    name, at = min(found ^ before, key=str)
    point = "".join(f" at {key} {level}" for key, level in at)
    has = "has" if (name, at) in found else "lacks"
    return (
        f"execution {execution.number} {has} {name}{point}, other than the executions before it; "
        "each has to print the same metrics"
    )
