"""LKP's ``matrix.json`` of a job: of each stat a list with a value for each run of it.

Each value is of a run of its own, from its own ``stats.json``, and counts as a file does. The paths
of these (``stats_source``) say which test, which parameters, and which commit: that is the system.
LKP does not state units, so its rates are numbers; what is better follows from a stat's name.
"""

import re
from collections.abc import Iterator, Mapping, Set
from dataclasses import dataclass
from typing import Final

from tiltyard.collected.model import CollectedMetric
from tiltyard.errors import UsageError
from tiltyard.importers.importer import Imported, ImportedWorkload, Importer, Measured
from tiltyard.importers.json_file import Node, json_of
from tiltyard.importers.quantities import (
    COUNT,
    MICROSECONDS,
    MILLISECONDS,
    NANOSECONDS,
    SECONDS,
    Unit,
    metric,
)
from tiltyard.importers.reading import NoFigureError
from tiltyard.units import count_of, few

_SOURCES: Final = "stats_source"
_INCOMPLETE: Final = "last_state.is_incomplete_run"
_PATH: Final = re.compile(
    r"(?:.*/)?result/(?P<test>[^/]+)/(?P<parameters>[^/]+)/(?P<machine>[^/]+)/(?P<rootfs>[^/]+)/"
    r"(?P<kconfig>[^/]+)/(?P<compiler>[^/]+)/(?P<commit>[^/]+)/\d+/stats\.json"
)
_FACTS: Final = ("machine", "rootfs", "kconfig", "compiler")
_RATE: Final = re.compile(
    r"throughput|.*(?:_i?ops|_per_sec(?:ond)?|[a-z_]/s(?:ec)?|[kKMG]?[Bb]ps|[tr]ps|"
    r"per[-_]min|score|flops|_bw|bandwidth)",
    re.IGNORECASE,
)
_TIME: Final = re.compile(r".*[._](ns|us|usec|ms|sec|seconds)")
_TIMES: Final = {
    "ns": NANOSECONDS,
    "us": MICROSECONDS,
    "usec": MICROSECONDS,
    "ms": MILLISECONDS,
    "sec": SECONDS,
    "seconds": SECONDS,
}
_STAT: Final = re.compile(r'"[\w-]+\.[^"\s]+":\s*\[\s*(?:-?\d|NaN)')
_COMMIT: Final = 12
"""Characters of a commit's name."""


@dataclass(frozen=True)
class _Run:
    """Where a column is from."""

    test: str
    parameters: str
    commit: str
    facts: Mapping[str, str]


def read(data: bytes, name: str) -> Imported:
    """The matrix of one job."""
    top = json_of(data, name)
    if top.get(_SOURCES) is None:
        raise UsageError(
            f'{name}: has no "{_SOURCES}", so its lists are samples within one run; give the '
            "matrix.json of all runs, in the folder above"
        )
    runs = [_run(source) for source in top[_SOURCES].entries()]
    tests = {(run.test, run.parameters) for run in runs}
    if len(tests) != 1:
        raise top.refused(f"{count_of(len(tests), 'test')} in {_SOURCES}; give the matrix of one")
    ((test, parameters),) = tests
    stats = [
        (stat, node)
        for key, node in top.items()
        for program, _, stat in [key.partition(".")]
        if stat and not stat.startswith("time.") and f"{test}-".startswith(f"{program}-")
    ]
    metrics = {stat: found for stat, _ in stats if (found := _metric(stat))}
    rates = any(one.headline for one, _ in metrics.values())
    failed = _failed(top)
    limits = (
        [f"{name}: {len(failed)} of {len(runs)} runs left out, as incomplete."] if failed else []
    )
    others = [stat for stat, _ in stats if stat not in metrics]
    if others:
        limits.append(f"{name}: left out, as nothing says what of them is better: {few(others)}.")
    measured = tuple(
        one
        for stat, node in stats
        if stat in metrics
        for one in _measured(node, metrics[stat], runs, failed, limits)
    )
    workload = ImportedWorkload(
        name=f"LKP {test}",
        use=f"LKP {test}",
        metrics=tuple(
            one.model_copy(update={"headline": one.headline or not rates})
            for one, _ in metrics.values()
        ),
        measured=measured,
        parameters={"parameters": parameters},
        apart=(parameters,),
    )
    facts = {run.commit: run.facts for run in runs}
    return Imported((workload,), system_facts=facts, limits=tuple(limits), rows=True)


def _run(source: Node) -> _Run:
    match = _PATH.fullmatch(source.text())
    if match is None:
        raise source.refused(
            "should be the path of a stats.json below result/: test, parameters, machine, rootfs, "
            "kconfig, compiler, commit, run"
        )
    facts = {key: match[key] for key in _FACTS}
    return _Run(match["test"], match["parameters"], match["commit"][:_COMMIT], facts)


def _failed(top: Node) -> Set[int]:
    """Columns of runs that did not come to their end."""
    states = top.get(_INCOMPLETE)
    return {place for place, one in enumerate(states.entries() if states else []) if one.value()}


def _metric(stat: str) -> tuple[CollectedMetric, Unit] | None:
    """The metric that a stat is, and its unit; ``None`` where its name says neither."""
    if _RATE.fullmatch(stat):
        return metric(stat, COUNT, 2, label=stat, direction="higher"), COUNT
    if match := _TIME.fullmatch(stat):
        unit = _TIMES[match[1]]
        return metric(stat, unit, None, label=stat, headline=False), unit
    return None


def _measured(
    node: Node,
    found: tuple[CollectedMetric, Unit],
    runs: list[_Run],
    failed: Set[int],
    limits: list[str],
) -> Iterator[Measured]:
    """A stat of each commit; LKP fills in a 0 for a run that has none."""
    own, unit = found
    entries = node.entries()
    if len(entries) > len(runs):
        raise node.refused(f"{count_of(len(entries), 'value')} of {count_of(len(runs), 'run')}")
    values: dict[str, list[float]] = {}
    for place, (run, entry) in enumerate(zip(runs, entries, strict=False)):
        if place in failed:
            continue
        try:
            value = unit.value(entry.value())
        except NoFigureError as error:
            limits.append(f"{node.file}: a value of {own.label} left out: {error.why}.")
            continue
        if value:
            values.setdefault(run.commit, []).append(value)
    for commit, of_commit in values.items():
        yield Measured(own.name, values=tuple(of_commit), system=commit)


IMPORTER: Final = Importer(
    name="lkp",
    about="matrix.json of LKP (lkp-tests) with `stats_source`: of the runs of a job",
    left_out="monitors and the time of the whole job; stats of whose name nothing says what is "
    "better; avg.json, stddev.json and what `lkp ncompare` prints, which are summaries",
    cut_off="refused, as it is no JSON then",
    repeats="none: each value is of a run of its own, and counts by itself",
    recognises=lambda head: (
        # The paths stand behind thousands of stats.
        head.lstrip()[:1] == "{" and len(_STAT.findall(head)) > 1
    ),
    read=read,
)
