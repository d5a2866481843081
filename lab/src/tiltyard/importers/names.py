"""Names that are told apart: each grows by what else its file says of it, until it is unique.

Names are judged over all files, so that one thing has one name in each of them.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Final

from tiltyard.importers.importer import Imported, ImportedWorkload, Measured
from tiltyard.importers.reading import printable

LONGEST_NAME: Final = 80
"""Characters of a system's name."""
_Named = tuple[str, tuple[str, ...]]
"""A name, and what else is told of it."""
_Grown = Mapping[str, Mapping[_Named, str]]
"""What is named (``system``, ``metric``, ``workload`` or a dimension) → name → unique name."""


def told_apart(files: Sequence[Imported]) -> list[Imported]:
    """What files hold, under names that mean one thing each; a system's has room in a report."""
    met: dict[str, dict[_Named, None]] = {}
    for file in files:
        for workload in file.workloads:
            met.setdefault("workload", {})[workload.name, workload.apart] = None
            for one in workload.measured:
                for kind, parts in _apart(one).items():
                    met.setdefault(kind, {})[_name(one, kind), parts] = None
    grown = {kind: _grown(names) for kind, names in met.items()}
    grown["system"] = _in_one_line(grown.get("system", {}))
    return [_renamed(file, grown) for file in files]


def _apart(one: Measured) -> Mapping[str, tuple[str, ...]]:
    return one.apart if one.system is None else {"system": (), **one.apart}


def _name(one: Measured, kind: str) -> str:
    return one.system or "" if kind == "system" else str({**one.at, "metric": one.metric}[kind])


def _grown(names: Iterable[_Named]) -> dict[_Named, str]:
    """With the first of its parts that tell it from all others of the same name, in brackets.

    A name of which nothing else is told is that of the only one of which something is.
    """
    found: dict[_Named, str] = {}
    alike: dict[str, list[tuple[str, ...]]] = {}
    for name, parts in names:
        alike.setdefault(name, []).append(parts)
    for name, own in alike.items():
        known = [parts for parts in own if any(parts)]
        places: list[int] = []
        for place in range(max(map(len, known), default=0)):
            if len({_chosen(parts, places) for parts in known}) == len(known):
                break
            if len({_chosen(parts, [place]) for parts in known}) > 1:
                places.append(place)
        for parts in own:
            told = ", ".join(filter(None, _chosen(parts, places)))
            found[name, parts] = f"{name} ({told})" if told else name
    return found


def _chosen(parts: tuple[str, ...], places: Sequence[int]) -> tuple[str, ...]:
    return tuple(parts[place] if place < len(parts) else "" for place in places)


def _in_one_line(names: Mapping[_Named, str]) -> dict[_Named, str]:
    """Without the middle of what is too long; numbered where two become alike by that."""
    found: dict[_Named, str] = {}
    taken: dict[str, str] = {}
    for named, name in names.items():
        line = printable(" ".join(name.split()))
        if len(line) > LONGEST_NAME:
            line = f"{line[: LONGEST_NAME // 2 - 1]}…{line[-LONGEST_NAME // 2 :]}"
        place, short = 1, line
        while taken.setdefault(short, name) != name:
            place += 1
            short = f"{line[: LONGEST_NAME - 5]} ({place})"
        found[named] = short
    return found


def _renamed(file: Imported, grown: _Grown) -> Imported:
    return replace(
        file,
        workloads=tuple(_of_workload(workload, grown) for workload in file.workloads),
        system_facts={
            grown["system"].get((name, ()), name): facts
            for name, facts in file.system_facts.items()
        },
    )


def _of_workload(workload: ImportedWorkload, grown: _Grown) -> ImportedWorkload:
    measured = [_of_one(one, grown) for one in workload.measured]
    metrics = {old.metric: new.metric for old, new in zip(workload.measured, measured, strict=True)}
    return replace(
        workload,
        name=grown["workload"][workload.name, workload.apart],
        measured=tuple(measured),
        metrics=tuple(
            one.model_copy(
                update={
                    "name": metrics[one.name],
                    "label": metrics[one.name].replace(one.name, one.label, 1),
                }
            )
            if metrics.get(one.name, one.name) != one.name
            else one
            for one in workload.metrics
        ),
    )


def _of_one(one: Measured, grown: _Grown) -> Measured:
    new = {kind: grown[kind][_name(one, kind), parts] for kind, parts in _apart(one).items()}
    return replace(
        one,
        at={key: new.get(key, level) for key, level in one.at.items()},
        metric=new.get("metric", one.metric),
        system=new.get("system"),
    )
