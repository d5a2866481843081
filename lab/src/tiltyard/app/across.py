"""Studies against studies: two of them side by side, or what all of them say of their systems.

Either becomes a collection: of two, the studies are what is compared, for each workload on each
system; of several that are pooled, the systems are, within each study. The analysis and the reports
are those of every collection.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, pairwise
from math import exp, fsum, log
from pathlib import Path
from typing import Final

from tiltyard.analysis.dataset import FEWEST_VALUES
from tiltyard.analysis.model import Cell, WorkloadFindings
from tiltyard.analysis.quantity import metric_of
from tiltyard.app.source_study import Study, differing, in_short, read_study, require_apart
from tiltyard.collected.model import (
    CollectedMetric,
    CollectedSystem,
    CollectedWorkload,
    Collection,
    Kept,
    Origin,
    Reading,
    SourceStudy,
)
from tiltyard.errors import UsageError
from tiltyard.study_path import study_path
from tiltyard.units import listed

POOLED: Final = 3
"""From so many studies on they are pooled without being asked."""
_TOLD: Final = 6
"""As many parameters that differ are told of a workload that is left out."""


@dataclass(frozen=True)
class _Block:
    """What one block of a study says of a workload on a system."""

    group: str
    """Whose block it is: the session's, or of pooled studies the study's."""
    number: tuple[int, int]
    """Of its session and in that: blocks of one session are no blocks of another one."""
    logs: Mapping[str, float]
    """Metric → logarithm of the mean over its grid."""


_Blocks = Mapping[str, Sequence[_Block]]
"""Of each system what is known; two studies that are compared are the systems."""


def across(studies: Sequence[Path], *, pool: bool = False) -> Collection:
    """Two studies against each other, or three and more pooled.

    Args:
        studies: folders, printed or imported studies; the first is what others are held against.
        pool: pool two of them as well.

    Raises:
        UsageError: if they have nothing in common that could be compared; the message says why.
    """
    if len(studies) < 2:
        raise UsageError(
            f"{studies[0]}: one study is nothing to compare. Fix: name two studies or more, as "
            f"tiltyard compare last-month this-month; one study: tiltyard report {studies[0]}"
        )
    read = [read_study(*one) for one in zip(studies, _names(studies), strict=True)]
    require_apart({str(path): one.first for path, one in zip(studies, read, strict=True)})
    return side_by_side(read, pool=pool)


def side_by_side(read: Sequence[Study], *, pool: bool = False) -> Collection:
    """The same of studies that were read; pure."""
    pooled = pool or len(read) >= POOLED
    names, left_out = _workloads_in_common(read)
    systems = [
        system.name
        for system in read[0].first.systems
        if all(system.name in (own.name for own in one.first.systems) for one in read)
    ]
    make = _pooled if pooled else _two
    workloads, missing = make(read, names, systems)
    left_out += [*missing, *_systems_left_out(read, systems)]
    alone = pooled and len(systems) < 2
    if alone or not any(workload.readings for workload in workloads):
        raise UsageError(
            f"{listed([one.name for one in read])} have nothing in common that could be compared: "
            f"{' '.join(left_out) or 'they have no workload and system of the same names.'} "
            "Fix: name studies of the same workloads and systems, as runs of one study file are"
        )
    sources = _sources(read)
    base = read[0].first.baseline
    title = listed([one.name for one in read])
    asked = {one.first.question for one in read}
    return Collection(
        question=asked.pop()
        if pooled and len(asked) == 1
        else f"{'What do ' + title + ' say together' if pooled else _against(read)}?",
        origin=Origin(title=f"the studies {title}", studies=sources, pooled=pooled),
        kept=Kept(
            order=True,
            interleaved=pooled,
            cache_state=True,
            limits=tuple(_limits(read, sources, left_out, pooled=pooled)),
        ),
        systems=_pooled_systems(read[0], systems) if pooled else tuple(map(_as_system, read)),
        baseline=(base if base in systems else systems[0]) if pooled else read[0].name,
        workloads=tuple(workload for workload in workloads if workload.readings),
        host=read[0].first.host if pooled else {},
        equivalent_within=min(one.first.design.equivalent_within for one in read),
    )


def _against(read: Sequence[Study]) -> str:
    return f"How does {read[1].name} differ from {read[0].name}"


def _names(studies: Sequence[Path]) -> list[str]:
    """Names of their folders, or the paths where these are alike.

    Raises:
        UsageError: if one is named twice.
    """
    folders = [study_path(path).resolve() for path in studies]
    for place, folder in enumerate(folders):
        if folder in folders[:place]:
            raise UsageError(f"{studies[place]}: one study is named twice. Fix: name each once")
    names = [folder.name for folder in folders]
    return [
        name if names.count(name) == 1 else str(path)
        for name, path in zip(names, studies, strict=True)
    ]


def _workloads_in_common(read: Sequence[Study]) -> tuple[list[str], list[str]]:
    """Names of workloads that did the same work in all studies; of the others why they are out."""
    names, left_out = [], []
    for name in dict.fromkeys(own.name for one in read for own in one.first.workloads):
        found = [one.workload(name) for one in read]
        known = [own for own in found if own is not None]
        if len(known) < len(found):
            without = [one.name for one, own in zip(read, found, strict=True) if own is None]
            left_out.append(f"{name}: there is none in {listed(without)}, so it is left out.")
        elif other := next(filter(None, (_other_work(*two) for two in pairwise(known))), ""):
            left_out.append(f"{name}: is not the same work in all studies ({other}), so it is "
                            "left out.")  # fmt: skip
        else:
            names.append(name)
    return names, left_out


def _other_work(first: WorkloadFindings, second: WorkloadFindings) -> str:
    """What makes two workloads of one name different work; empty where nothing does."""
    if first.use != second.use:
        return f"{first.use}, {second.use}"
    ours, theirs = first.effective, second.effective
    keys = [key for key in {**ours, **theirs} if ours.get(key) != theirs.get(key)]
    if keys:
        told = [f"{key} {ours.get(key, '–')} → {theirs.get(key, '–')}" for key in keys]
        return ", ".join(told[:_TOLD])
    return "" if _points(first) == _points(second) else "other metrics, or another grid"


def _points(workload: WorkloadFindings) -> set[tuple[str, str]]:
    return {(cell.metric, str(sorted(cell.at.items()))) for cell in workload.cells}


def _two(
    read: Sequence[Study], names: Sequence[str], systems: Sequence[str]
) -> tuple[list[CollectedWorkload], list[str]]:
    """Each workload on each system as a workload of its own; the studies are the systems."""
    found, missing = [], []
    for name in names:
        for system in systems:
            values = {one.name: list(_blocks(one, name, system)) for one in read}
            if bare := [one for one, own in values.items() if not own]:
                missing.append(_has_no_block(name, system, bare))
            readings = _readings({} if bare else values)
            found.append(_workload(read[0], name, f" on {system}", readings))
    return found, missing


def _pooled(
    read: Sequence[Study], names: Sequence[str], systems: Sequence[str]
) -> tuple[list[CollectedWorkload], list[str]]:
    """Each workload with the blocks of all studies, each study a group of blocks."""
    found, missing = [], []
    for name in names:
        unpaired = [one.name for one in read if not _has_blocks(one, name)]
        if unpaired:
            missing.append(
                f"{name}: of {listed(unpaired)} no blocks are known in which systems took turns, "
                "so they are left out of it."
            )
        paired = [one for one in read if one.name not in unpaired]
        values = {
            system: [
                replace(block, group=one.name)
                for one in paired
                for block in _blocks(one, name, system)
            ]
            for system in systems
        }
        missing += [*_too_few(name, paired, values), *_invalid(name, paired, systems)]
        found.append(_workload(read[0], name, "", _readings(values)))
    return found, missing


def _has_no_block(workload: str, system: str, studies: Sequence[str]) -> str:
    own = f"{listed(studies)} {'has' if len(studies) == 1 else 'have'}"
    left = "it is" if len(studies) == 1 else "they are"
    return f"{workload} on {system}: {own} no block with all of its values, so {left} left out."


def _too_few(workload: str, read: Sequence[Study], values: _Blocks) -> Iterator[str]:
    """Studies of which too few blocks have values of both systems."""
    blocks = {
        system: {one.name: {b.number for b in own if b.group == one.name} for one in read}
        for system, own in values.items()
    }
    for system, own in blocks.items():
        if bare := [name for name, found in own.items() if not found]:
            yield _has_no_block(workload, system, bare)
    for (first, ours), (second, theirs) in combinations(blocks.items(), 2):
        few = [
            name for name, found in ours.items()
            if found and theirs[name] and len(found & theirs[name]) < FEWEST_VALUES
        ]  # fmt: skip
        if few:
            yield (
                f"{workload}: of {listed(few)} fewer than {FEWEST_VALUES} blocks have values of "
                f"{first} and {second}, so that comparison is without them."
            )


def _invalid(workload: str, read: Sequence[Study], systems: Sequence[str]) -> Iterator[str]:
    """Studies whose own comparison is none: too many of their trials failed."""
    found: dict[str, list[str]] = {}
    for one in read:
        for own in (own for each in one.sessions.values() for own in each.workloads):
            for pair in own.index.comparisons if own.name == workload else ():
                if pair.verdict == "invalid" and {pair.system, pair.against} <= {*systems}:
                    found.setdefault(f"{pair.system} with {pair.against}", []).append(one.name)
    for pair_of, names in found.items():
        yield (
            f"{workload}: the comparison of {pair_of} is invalid by itself in "
            f"{listed(list(dict.fromkeys(names)))}; the blocks that are left there are pooled."
        )


def _blocks(one: Study, workload: str, system: str) -> Iterator[_Block]:
    """Session by session, those in which all metrics have all values."""
    for number, findings in one.sessions.items():
        unit = one.units.get(number, number)
        group = f"{one.name}, session {unit}" if len(one.sessions) > 1 else one.name
        own = next((found for found in findings.workloads if found.name == workload), None)
        cells = [(cell.metric, _logs(cell, system)) for cell in own.cells] if own else []
        for block in sorted(set.intersection(*(set(logs) for _, logs in cells))) if cells else ():
            by_metric: dict[str, list[float]] = {}
            for metric, logs in cells:
                by_metric.setdefault(metric, []).append(logs[block])
            means = {metric: fsum(own) / len(own) for metric, own in by_metric.items()}
            yield _Block(group, (number, block), means)


def _logs(cell: Cell, system: str) -> dict[int, float]:
    """Block → logarithm; without blocks in the order of the values, of a mean alone that one."""
    found = next((own for own in cell.summaries if own.system == system), None)
    if found is None:
        return {}
    values = found.values or (found.mean,)
    blocks = found.blocks or tuple(range(1, len(values) + 1))
    return {block: log(v) for block, v in zip(blocks, values, strict=True) if v > 0}


def _has_blocks(one: Study, workload: str) -> bool:
    own = one.workload(workload)
    return own is not None and all(s.blocks for cell in own.cells for s in cell.summaries)


def _readings(values: _Blocks) -> tuple[Reading, ...]:
    """Of each system and metric one."""
    every = [block for own in values.values() for block in own]
    places = dict.fromkeys((block.group, block.number) for block in every)
    numbers = {place: number for number, place in enumerate(places, 1)}
    return tuple(
        Reading(
            metric=metric,
            system=system,
            values=tuple(exp(block.logs[metric]) for block in own),
            blocks=tuple(numbers[block.group, block.number] for block in own),
            groups=tuple(block.group for block in own),
        )
        for metric in dict.fromkeys(metric for block in every for metric in block.logs)
        for system, found in values.items()
        if (own := [block for block in found if metric in block.logs])
    )


def _workload(
    first: Study, name: str, where: str, readings: tuple[Reading, ...]
) -> CollectedWorkload:
    """A workload, whose metrics bear its name and on which system it ran."""
    own = first.workload(name)
    if own is None:
        raise UsageError(f"{first.name}: has no workload {name}")
    cells = {cell.metric: cell for cell in reversed(own.cells)}
    return CollectedWorkload(
        name=f"{name}{where}",
        title=f"{own.title}{where}" if own.title else "",
        use=own.use,
        about=own.about,
        lineage=own.lineage,
        parameters={key: str(value) for key, value in own.effective.items()},
        metrics=tuple(
            CollectedMetric(
                name=cell.metric,
                label=f"{metric_of(name, own.display, cell.label)}{where}",
                unit=cell.unit,
                direction=cell.direction,
            )
            for cell in reversed(cells.values())
        ),
        readings=readings,
    )


def _as_system(one: Study) -> CollectedSystem:
    return CollectedSystem(name=one.name, levels={"study": one.name}, facts=one.first.host)


def _pooled_systems(first: Study, systems: Sequence[str]) -> tuple[CollectedSystem, ...]:
    return tuple(
        CollectedSystem(name=own.name, levels=own.levels)
        for own in first.first.systems
        if own.name in systems
    )


def _systems_left_out(read: Sequence[Study], systems: Sequence[str]) -> Iterator[str]:
    """Systems that are not in all studies."""
    others = dict.fromkeys(own.name for one in read for own in one.first.systems)
    if left := [name for name in others if name not in systems]:
        yield f"{listed(left)}: not in every study, so left out."


def _sources(read: Sequence[Study]) -> tuple[SourceStudy, ...]:
    first = read[0]
    return tuple(one.source(() if one is first else differing(first, one)) for one in read)


def _limits(
    read: Sequence[Study],
    sources: Sequence[SourceStudy],
    left_out: Sequence[str],
    *,
    pooled: bool,
) -> Iterator[str]:
    """What stands beside every verdict."""
    if not pooled:
        yield (
            "The studies did not take turns: whatever was not the same in both, and the luck of "
            "each session, counts as a difference between them. Sessions tell how large that luck "
            "is; they are added by tiltyard run STUDY --new-session."
        )
    for source in sources:
        if source.differs:
            also = f"{source.name} also differs from {sources[0].name} in"
            yield f"{also} {'; '.join(in_short(source.differs))}."
    if len({one.first.design.equivalent_within for one in read}) > 1:
        yield "The studies have different equivalence margins; the smallest one counts."
    yield from left_out
