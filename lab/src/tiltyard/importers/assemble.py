"""From what many files hold to one collection: which system each is of, and what is a replicate.

Files of one system that hold the same cells are replicates of each other, in the order in which
they are given; what one file repeats is one value, its mean. That the order means anything, and
that the i-th files of all systems belong together, only a person can say: who gives files of
systems that took turns in the order in which they were made, has said both.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from pathlib import PurePath
from statistics import fmean
from typing import Final

from tiltyard.collected.model import (
    CollectedMetric,
    CollectedSystem,
    CollectedWorkload,
    Collection,
    Kept,
    Origin,
    Reading,
    SourceFile,
)
from tiltyard.errors import UsageError
from tiltyard.folder import sha256
from tiltyard.importers.importer import Imported, ImportedWorkload, Measured
from tiltyard.importers.names import LONGEST_NAME, told_apart
from tiltyard.importers.reading import shown
from tiltyard.registry import Plugin
from tiltyard.units import count_of, few, listed

_MOST_SYSTEMS: Final = 64
"""More are not compared with each other in one study."""


@dataclass(frozen=True)
class ReadFile:
    """One file that was read."""

    name: str
    """Unique in the collection; as it is kept in ``sources/``."""
    data: bytes
    system: str | None
    """Which system a person says that it is of."""
    importer: str
    imported: Imported
    left_out: str = ""
    """Which figures of such files are not taken over: a clause."""
    plugin: Plugin | None = None
    """Whose the reader is, if it is none of ours."""


@dataclass(frozen=True)
class ImportOptions:
    """What only the person who imports can know."""

    question: str | None = None
    factors: tuple[str, ...] = ()
    """What the parts of the systems' names (``ext4/noatime``) are levels of."""
    order_given: bool = False
    """That files are given in the order in which they were made."""
    blocks: bool = False
    """That the i-th files of all systems were made in one round."""


@dataclass(frozen=True)
class _Entry:
    """One measurement with where it belongs."""

    file: str
    system: str
    workload: ImportedWorkload
    measured: Measured
    rows: bool


def assemble(files: Sequence[ReadFile], options: ImportOptions) -> Collection:
    """One collection of all files; the first system is its baseline.

    Raises:
        UsageError: if files contradict each other, are given twice, or are of no system.
    """
    _refuse_duplicates(files)
    names = told_apart([file.imported for file in files])
    files = [replace(file, imported=own) for file, own in zip(files, names, strict=True)]
    entries = [entry for file in files for entry in _entries(file)]
    systems = tuple(_systems(files, entries))
    _named_or_fail(systems)
    rounds = _rounds(entries, options)
    workloads, differing = _workloads(entries, rounds)
    facts, host = _facts(files, entries, systems)
    tools = tuple(dict.fromkeys(file.importer for file in files))
    uses = tuple(dict.fromkeys(workload.use for workload in workloads))
    return Collection(
        question=options.question or f"How do {listed(systems)} compare in {listed(uses)}?",
        origin=Origin(
            title=f"{count_of(len(files), 'result file')} of {listed(tools)}",
            note=" ".join(_notes(files)),
            files=tuple(
                SourceFile(name=file.name, sha256=sha256(file.data), importer=file.importer)
                for file in files
            ),
        ),
        kept=Kept(
            order=options.order_given,
            interleaved=bool(rounds) or all(entry.measured.blocks for entry in entries),
            limits=tuple(dict.fromkeys((*_limits(files), *differing, *_alone(workloads, systems)))),
        ),
        systems=tuple(
            CollectedSystem(name=name, levels=levels, facts=facts[name])
            for name, levels in _levels_of(systems, options.factors).items()
        ),
        baseline=systems[0],
        workloads=workloads,
        host=host,
        plugins={one.package: one.version for file in files if (one := file.plugin)},
    )


def _limits(files: Sequence[ReadFile]) -> Iterator[str]:
    """Each sentence once; one that begins with the name of its file, with all of its files."""
    found: dict[str, list[str]] = {}
    for file in files:
        for limit in file.imported.limits:
            place, _, sentence = limit.partition(": ")
            own = bool(sentence) and file.name.endswith(PurePath(place).name)
            found.setdefault(sentence if own else limit, []).extend([file.name] if own else [])
    for sentence, names in found.items():
        yield f"{few(names)}: {sentence}" if names else sentence


def _alone(workloads: Sequence[CollectedWorkload], systems: Sequence[str]) -> Iterator[str]:
    """What one system alone has, and so is compared with nothing."""
    of_each: dict[str, list[str]] = {}
    for workload in workloads:
        labels = {one.name: one.label for one in workload.metrics if one.headline}
        for reading in workload.readings:
            if reading.metric in labels:
                point = [f"{level} {name}" for name, level in reading.at.items()]
                told = (workload.name if len(workloads) > 1 else "", labels[reading.metric], *point)
                of_each.setdefault(", ".join(filter(None, told)), []).append(reading.system)
    alone = [f"{point} ({own[0]})" for point, own in of_each.items() if len(own) == 1]
    if alone and len(systems) > 1:
        none = len(alone) == len(of_each)
        head = "The systems have nothing in common" if none else "Compared with nothing"
        yield f"{head}, as one system alone has it: {few(alone)}."


def _notes(files: Sequence[ReadFile]) -> Iterator[str]:
    """Sentences on how the numbers came from the files, and which did not."""
    yield (
        "Read from the files as they are; files of one system with the same cells count as "
        "repetitions, and what a file repeats as one value."
    )
    for importer, left_out in dict.fromkeys((file.importer, file.left_out) for file in files):
        if left_out:
            yield f"Not taken over of {importer}: {left_out.replace('`', '')}."


def _refuse_duplicates(files: Sequence[ReadFile]) -> None:
    seen: dict[str, str] = {}
    for file in files:
        first = seen.setdefault(sha256(file.data), file.name)
        if first != file.name:
            raise UsageError(
                f"{file.name}: the same bytes as {first}; a result counts once: leave one out"
            )


def _entries(file: ReadFile) -> Iterator[_Entry]:
    """Every measurement of a file, with its system."""
    own = dict.fromkeys(one.system for each in file.imported.workloads for one in each.measured)
    named = [name for name in own if name is not None]
    if file.system is not None and len(named) > 1:
        raise UsageError(
            f"{file.name}: names its systems itself ({listed([*map(shown, named)])}); "
            f'give it without "{file.system}="'
        )
    if file.system is None and None in own:
        raise UsageError(f"{file.name}: does not say which system it is of; write NAME={file.name}")
    for workload in file.imported.workloads:
        for measured in workload.measured:
            system = file.system or measured.system or ""
            yield _Entry(file.name, system, workload, measured, file.imported.rows)


def _systems(files: Sequence[ReadFile], entries: Sequence[_Entry]) -> dict[str, None]:
    """In the order in which files name them, whichever has the first value."""
    of_file: dict[str, dict[str, None]] = {}
    for entry in entries:
        of_file.setdefault(entry.file, {})[entry.system] = None
    found: dict[str, None] = {}
    for file in files:
        own = of_file.get(file.name, {})
        found |= {name: None for name in file.imported.system_facts if name in own} | own
    return found


def _rounds(entries: Sequence[_Entry], options: ImportOptions) -> dict[tuple[str, str], int] | None:
    """File and system → the round that the file is of: its place among the system's files.

    ``None`` where nobody says so, neither in words nor by an order in which systems take turns.
    """
    order = [*dict.fromkeys((entry.file, entry.system) for entry in entries)]
    systems = [system for _, system in order]
    counts = Counter(systems)
    if not options.blocks:
        turns = [
            systems[place : place + len(counts)] for place in range(0, len(order), len(counts))
        ]
        own = any(entry.rows or entry.measured.blocks for entry in entries)
        if own or not options.order_given or any({*turn} != {*counts} for turn in turns):
            return None
    if len(set(counts.values())) > 1:
        told = listed([f"{system} has {count}" for system, count in counts.items()])
        raise UsageError(f"--blocks wants as many files of each system as of the others: {told}")
    return {place: 1 + systems[:at].count(place[1]) for at, place in enumerate(order)}


def _workloads(
    entries: Sequence[_Entry], rounds: Mapping[tuple[str, str], int] | None
) -> tuple[tuple[CollectedWorkload, ...], list[str]]:
    """Workloads of the same name made one; and a sentence for each thing that differs in them."""
    found, differing = [], []
    by_name: dict[str, list[_Entry]] = {}
    for entry in entries:
        by_name.setdefault(entry.workload.name, []).append(entry)
    for name, own in by_name.items():
        used = {entry.measured.metric for entry in own}
        # One entry for each place where such a workload stands, however many values it has.
        places = list({id(entry.workload): entry for entry in own}.values())
        metrics = _metrics(places, used)
        _refuse_other_grids(own)
        cells = Cells()
        for entry in own:
            block = rounds[entry.file, entry.system] if rounds else None
            cells.add(entry.file, entry.system, entry.measured, block, rows=entry.rows)
        parameters, unlike = _told(own)
        differing += [f"{name}: {sentence}" for sentence in (*unlike, *cells.limits)]
        found.append(
            CollectedWorkload(
                name=name,
                use=own[0].workload.use,
                lineage=parameters.pop("", ""),
                parameters=parameters,
                commands=_joined(entry.workload.commands for entry in places),
                grid=_joined(tuple(entry.measured.at) for entry in own),
                metrics=tuple(metrics.values()),
                readings=tuple(cells.readings()),
            )
        )
    return tuple(found), differing


def _metrics(entries: Sequence[_Entry], used: Set[str]) -> dict[str, CollectedMetric]:
    """The metrics that have values, in the order in which importers list them."""
    found: dict[str, tuple[str, CollectedMetric]] = {}
    for entry in entries:
        for one in entry.workload.metrics:
            if one.name not in used:
                continue
            file, first = found.setdefault(one.name, (entry.file, one))
            if (one.unit, one.direction) != (first.unit, first.direction):
                raise UsageError(
                    f"{entry.file}: {entry.workload.name} {one.label} is in {one.unit}, "
                    f"{one.direction} is better; in {file} in {first.unit}, {first.direction} is "
                    "better; import them into folders of their own"
                )
            if one.printed != first.printed:
                found[one.name] = (file, first.model_copy(update={"printed": None}))
    return {name: metric for name, (_, metric) in found.items()}


def _refuse_other_grids(entries: Sequence[_Entry]) -> None:
    """Values of one metric have the same dimensions everywhere."""
    grids: dict[str, _Entry] = {}
    for entry in entries:
        first = grids.setdefault(entry.measured.metric, entry)
        if entry.measured.at.keys() != first.measured.at.keys():
            raise UsageError(
                f"{entry.file}: {entry.workload.name} {entry.measured.metric} stands over "
                f"{_dimensions(entry)}, in {first.file} over {_dimensions(first)}; import them "
                "into folders of their own"
            )


def _dimensions(entry: _Entry) -> str:
    return listed(list(entry.measured.at)) if entry.measured.at else "nothing"


def _told(entries: Sequence[_Entry]) -> tuple[dict[str, str], list[str]]:
    """Parameters, and the lineage under an empty name; and sentences on those that differ."""
    values: dict[str, dict[str, list[str]]] = {}
    told = {(entry.system, id(entry.workload)): entry.workload for entry in entries}
    for (system, _), workload in told.items():
        for key, value in (("", workload.lineage), *workload.parameters.items()):
            holders = values.setdefault(key, {}).setdefault(value, [])
            if system not in holders:
                holders.append(system)
    differing = [
        f"{key or 'the version of the tool'} is not the same everywhere ({_by_value(own)}), so a "
        "difference between systems may come of that."
        for key, own in values.items()
        if len(own) > 1
    ]
    return {key: "; ".join(filter(None, own)) for key, own in values.items()}, differing


def _by_value(holders: Mapping[str, Sequence[str]]) -> str:
    """``1.51: ext4 and xfs; not recorded: btrfs``."""
    return "; ".join(f"{value or 'not recorded'}: {listed(own)}" for value, own in holders.items())


def _facts(
    files: Sequence[ReadFile], entries: Sequence[_Entry], systems: Sequence[str]
) -> tuple[dict[str, dict[str, str]], dict[str, str]]:
    """System → facts; and apart from them what is the same of all systems: the host."""
    found: dict[str, dict[str, list[str]]] = {name: {} for name in systems}
    places = dict.fromkeys((entry.file, entry.system, entry.measured.system) for entry in entries)
    by_name = {file.name: file.imported for file in files}
    for file, system, own_name in places:
        imported = by_name[file]
        own = imported.system_facts.get(own_name or "", {})
        for key, value in {**imported.facts, **own}.items():
            values = found[system].setdefault(key, [])
            if value not in values:
                values.append(value)
    facts = {
        name: {key: "; ".join(values) for key, values in own.items()} for name, own in found.items()
    }
    host = {
        key: value
        for key, value in facts[systems[0]].items()
        if all(fact.get(key) == value for fact in facts.values())
    }
    return {
        name: {key: value for key, value in own.items() if key not in host}
        for name, own in facts.items()
    }, host


def _joined(groups: Iterator[tuple[str, ...]]) -> tuple[str, ...]:
    """Everything once, in order."""
    return tuple(dict.fromkeys(one for group in groups for one in group))


def _named_or_fail(systems: Sequence[str]) -> None:
    """Refuse names that cannot stand in one line of a report, and too many of them.

    Raises:
        UsageError: if there is one, or more than :data:`_MOST_SYSTEMS`.
    """
    for name in systems:
        if not name or not name.isprintable() or name != name.strip() or len(name) > LONGEST_NAME:
            raise UsageError(
                f"{shown(name)} cannot name a system: a name is one line of 1 to {LONGEST_NAME} "
                "characters, without blanks around it"
            )
    if len(systems) > _MOST_SYSTEMS:
        raise UsageError(
            f"{count_of(len(systems), 'system')}; at most {_MOST_SYSTEMS} are compared in one "
            "study. Give fewer "
            "files, or import into several folders"
        )


def _levels_of(systems: Sequence[str], factors: Sequence[str]) -> dict[str, dict[str, str]]:
    """System → factor → level: the parts of its name between slashes, or the name as a whole.

    Raises:
        UsageError: if a name has not as many parts as there are factors.
    """
    if not factors:
        return {name: {"system": name} for name in systems}
    levels = {}
    for name in systems:
        parts = [part.strip() for part in name.split("/")]
        if len(parts) != len(factors) or not all(parts):
            example = "/".join(factor.upper() for factor in factors)
            raise UsageError(
                f'"{name}" should have {len(factors)} parts, one for each factor: {example}=FILE'
            )
        levels[name] = dict(zip(factors, parts, strict=True))
    return levels


_Place = tuple[str, str, tuple[tuple[str, int | str], ...]]


@dataclass
class _Cell:
    """One cell, so far."""

    file: str
    """The first file that holds it."""
    summary: Measured
    values: list[list[float]]
    """Of each value all that its file repeats."""
    stated: list[float | None]
    """Of each value the mean that its file states."""
    blocks: list[int]
    percentiles: bool
    seen: set[int]
    """The blocks, to be looked up."""
    last: str = ""
    """The file that was added last, unless each of its values counts by itself."""


@dataclass
class Cells:
    """All cells of one workload."""

    limits: list[str] = field(default_factory=list)
    """Sentences on what could not be kept together."""
    _cells: dict[_Place, _Cell] = field(default_factory=dict)

    def add(
        self, file: str, system: str, measured: Measured, block: int | None, *, rows: bool = False
    ) -> None:
        """Take one measurement.

        Args:
            file: where it is from.
            system: which it is of.
            measured: what was measured.
            block: the round that its file is of; ``None`` where nobody says so.
            rows: whether each of its values counts by itself; else all that the file has of the
                cell counts as one value.

        Raises:
            UsageError: if it cannot be joined with what is there.
        """
        place = (measured.metric, system, tuple(measured.at.items()))
        cell = self._cells.get(place)
        if cell and cell.values and measured.values and cell.last == file:
            cell.values[-1] += measured.values
            cell.stated[-1] = None
            self._join_percentiles(cell, measured)
            return
        own = [[one] for one in measured.values] if rows else [[*measured.values]]
        values = own if measured.values else []
        stated = [measured.mean if len(values) == 1 else None for _ in values]
        blocks = self._blocks(file, place, measured, block, len(values))
        if cell is None:
            self._cells[place] = _Cell(
                file=file,
                summary=measured,
                values=values,
                stated=stated,
                blocks=blocks,
                percentiles=bool(measured.percentiles),
                seen=set(blocks),
                last="" if rows else file,
            )
            return
        if not cell.values or not values:
            raise UsageError(
                f"{file}: {_where(place)}: a mean, as in {cell.file}; means are not repetitions: "
                "give one of the files, or give each its own system"
            )
        if bool(cell.blocks) != bool(blocks) or not cell.seen.isdisjoint(blocks):
            raise UsageError(
                f"{file}: {_where(place)}: is of a round that has a value already, from "
                f"{cell.file}; a round has one"
            )
        cell.values += values
        cell.stated += stated
        cell.blocks += blocks
        cell.seen.update(blocks)
        cell.last = "" if rows else file
        self._join_percentiles(cell, measured)

    def readings(self) -> Iterator[Reading]:
        """Everything that was added, in the order of the cells, with the means that files state."""
        for (metric, system, at), cell in self._cells.items():
            one = cell.summary
            joined = sum(map(len, cell.values)) > len(one.values)
            repeated = any(len(own) > 1 for own in cell.values)
            yield Reading(
                metric=metric,
                system=system,
                at=dict(at),
                values=tuple(
                    fmean(own) if stated is None else stated
                    for own, stated in zip(cell.values, cell.stated, strict=True)
                ),
                within=tuple(map(tuple, cell.values)) if repeated else (),
                blocks=tuple(cell.blocks),
                mean=None if joined else one.mean,
                sd=None if joined else one.sd,
                se=None if joined else one.se,
                n=None if joined else one.n,
                percentiles=dict(one.percentiles) if cell.percentiles else {},
            )

    def _join_percentiles(self, cell: _Cell, measured: Measured) -> None:
        if cell.percentiles or measured.percentiles:
            self._say("percentiles of several executions cannot be joined, and were left out.")
            cell.percentiles = False

    def _blocks(
        self, file: str, place: _Place, measured: Measured, block: int | None, values: int
    ) -> list[int]:
        if block is None:
            return list(measured.blocks)
        if measured.blocks:
            raise UsageError(f"{file}: says itself which rounds its values are of; drop --blocks")
        if values > 1:
            raise UsageError(
                f"{file}: {_where(place)}: {count_of(values, 'value')}; with "
                "--blocks a file is "
                "one round and has one value of each cell"
            )
        return [block] * values

    def _say(self, sentence: str) -> None:
        if sentence not in self.limits:
            self.limits.append(sentence)


def _where(place: _Place) -> str:
    """A cell in words, for an error."""
    metric, system, at = place
    point = ", ".join(f"{name} {level}" for name, level in at)
    return " of ".join((", ".join(filter(None, (metric, point))), system))
