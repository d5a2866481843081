"""What findings state, as rows of numbers and words that a file can hold.

A row is known by its section and its name, a value in it by its column. Columns at the end of a row
that hold nothing are left out. This is the one place that knows the shapes in which the analysis
hands over what it states.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, TypeAlias

from tiltyard.analysis.decision import Decision
from tiltyard.analysis.gate import Gate, Headline
from tiltyard.analysis.model import Cell, Comparison, Findings, Index, WorkloadFindings
from tiltyard.analysis.statements.registry import claims
from tiltyard.analysis.statements.warnings import warnings
from tiltyard.analysis.weighted import Gain
from tiltyard.app.combine import Combined

Row: TypeAlias = list[Any]
Stated: TypeAlias = dict[str, dict[str, Row]]
"""Section → name of a row → its values."""
Line: TypeAlias = Cell | Index

_INTERVAL: Final = ("ratio", "low", "high")
COLUMNS: Final[Mapping[str, tuple[str, ...]]] = {
    "texts": ("text",),
    "warnings": ("severity", "text"),
    "notices": ("severity", "text"),
    "counts": ("value",),
    "lines": (
        "verdict", "blocks", *_INTERVAL, "level", "p", "p_adjusted", "at_least",
        "geometric_mean_ratio", "ahead", "more_needed", "new_study_needs", "rounding", "marks",
        "differences", "sentence",
    ),
    "not judged": ("verdict", "sentence", "ratios"),
    "beside": (
        "analysis", "verdict", "blocks", *_INTERVAL, "level", "p", "p_adjusted", "explained",
        "covariates", "sentence",
    ),
    "over studies": (
        *_INTERVAL, "tau", "tau_low", "tau_high", "i2", "p_same", "predicted_low",
        "predicted_high", "blocks", "sessions", "apart", "lacks", "values", "sentence",
    ),
    "ranks": ("rank", "rank_best", "rank_worst", "value", "own_value"),
    "quantities": ("unit", "shown_in", "direction", "label", "cells"),
    "values": (
        "n", "median", "median_low", "median_high", "mean", "sd", "beside_ratio", "se",
        "percentiles",
    ),
    "averages": ("value", "ratios"),
    "effects": (
        "verdict", "blocks", *_INTERVAL, "level_of_interval", "p_adjusted", "extended", "sentence",
    ),
    "observations": ("blocks", "size", "p", "p_adjusted", "sentence", "evidence"),
    "drifts": ("spearman", "p", "change_percent", "sentence"),
    "sessions": (
        "verdict", "sessions", *_INTERVAL, "level", "p_adjusted", "sd_within", "sd_between",
        "sd_between_low", "sd_between_high", "values", "apart", "following", "sentence",
    ),
    "session levels": ("sd_between", "sd_between_low", "sd_between_high", "apart", "sentence"),
    "gate": ("result", "sentence", "blocks", "trials_failed", "blocks_needed", "margin_reached"),
    "headlines": ("outcome", "blocks", *_INTERVAL, "level", "value", "value_against", "why"),
    "gains": ("verdict", *_INTERVAL),
    "decision": ("done", "reason", "open", "going_on"),
}  # fmt: skip
"""Section → its columns; what stands for itself is the attribute of that name."""


def stated_of(findings: Findings) -> Stated:
    """All that is judged, and the words around it."""
    stated: Stated = {name: {} for name in COLUMNS}
    stated["texts"] = {name: [text] for name, text in _texts(findings) if text}
    stated["notices"] = {
        f"{place}": _row("notices", one) for place, one in enumerate(findings.notices, 1)
    }
    stated["warnings"] = {
        f"{place}": _row("warnings", one) for place, one in enumerate(warnings(findings), 1)
    }
    stated["counts"] = {name: [getattr(findings, name)] for name in _COUNTS}
    for workload in findings.workloads:
        _add_workload(stated, workload)
    _add_comparisons(stated, "overall", findings.overall)
    for drift in findings.drifts:
        stated["drifts"][drift.workload] = _row("drifts", drift)
    for one in findings.sessions.comparisons if findings.sessions else ():
        name = f"{one.workload} | {_pair(one)}"
        stated["sessions"][name] = _row(
            "sessions", one,
            values=[[own.session, own.blocks, own.ratio] for own in one.values],
            apart=[[own.session, own.ratio, own.low, own.high, own.turned] for own in one.apart],
        )  # fmt: skip
    for level in findings.sessions.levels if findings.sessions else ():
        apart = [[own.session, own.ratio, own.low, own.high] for own in level.apart]
        stated["session levels"][level.workload] = _row("session levels", level, apart=apart)
    return stated


def stated_of_gate(gate: Gate) -> Stated:
    """What the gate answers, headline by headline."""

    def named(headlines: Iterable[Headline], where: str) -> Iterator[tuple[str, Row]]:
        for one in headlines:
            yield f"{where}{one.name} | {_pair(one)}", _row("headlines", one)

    return {
        "gate": {f"within {100 * gate.within:g} %": _row("gate", gate)},
        "headlines": {**dict(named(gate.headlines, "")), **dict(named(gate.beside, "beside: "))},
    }


def stated_of_decision(name: str, found: Decision) -> Stated:
    """Whether further blocks could change anything, and which trials they would have."""
    going_on = [f"{workload} on {system}" for system, workload in sorted(found.going_on)]
    row = _row("decision", found, open=[_pair(one) for one in found.open], going_on=going_on)
    return {"decision": {name: row}}


def stated_of_gains(gains: Mapping[str, Gain]) -> Stated:
    """Means over workloads, or what they are made of."""
    return {"gains": {name: _row("gains", gain) for name, gain in gains.items()}}


def stated_of_combined(combined: Combined) -> Stated:
    """The matrix of purposes and systems."""
    gains = {
        f"{one.system} | {purpose}": gain
        for one in combined.systems
        for purpose, gain in {**one.purposes, "together": one.together}.items()
    }
    counts: dict[str, Row] = {one.name: [one.weight] for one in combined.purposes}
    counts |= {"family": [combined.family]}
    texts = {"question": [combined.question], "left out": [" ".join(combined.left_out)]}
    return {**stated_of_gains(gains), "counts": counts, "texts": texts}


_COUNTS: Final = (
    "blocks_done", "look", "family", "trials_kept", "trials_failed", "trials_replaced",
    "trials_later", "resolution_percent", "complete",
)  # fmt: skip


def _texts(findings: Findings) -> Iterator[tuple[str, str]]:
    """The sentences that stand for the whole study, or for a workload."""
    yield "answer", findings.answer
    yield "design", findings.design_sentence
    yield "under load", findings.under_load
    yield "disturbed", findings.disturbed.sentence if findings.disturbed else ""
    yield "sessions", findings.sessions.sentence if findings.sessions else ""
    for place, claim in enumerate(claims(findings), 1):
        yield f"claim {place}", claim.sentence
    for one in findings.workloads:
        yield f"answer of {one.name}", one.answer
        yield f"steadiness of {one.name}", one.steadiness.sentence if one.steadiness else ""
        yield f"replication of {one.name}", one.replication.sentence if one.replication else ""
        for loss in one.losses:
            yield f"loss of {one.name}, {loss.label}", loss.comparison.sentence


def _add_workload(stated: Stated, workload: WorkloadFindings) -> None:
    """Everything about one workload."""
    names = {id(line): f"{workload.name} | {_named(workload, line)}" for line in workload.judged}
    for line in workload.judged:
        name = names[id(line)]
        cells = line.cells if isinstance(line, Index) else None
        if cells or any(one.low is not None for one in line.comparisons):
            stated["quantities"][name] = _row("quantities", line, cells=cells)
        if isinstance(line, Index):
            for one in line.standings:
                stated["ranks"][f"{name} | {one.system}"] = _row("ranks", one)
        _add_comparisons(stated, name, line.comparisons)
    timed = workload.latencies.cells if workload.latencies else ()
    for cell in (*workload.cells, *timed, *workload.details):
        for own in cell.summaries:
            name = f"{workload.name} | {_at(cell)} | {own.system}"
            marks = _percentiles(own.percentiles, own.percentile_intervals)
            n = len(own.values) if own.n is None else own.n
            if n > 1 or marks:  # A value by itself is what was read, and judges nothing.
                stated["values"][name] = _row("values", own, n=n, percentiles=marks)
    of_latencies = workload.latencies.averages if workload.latencies else ()
    for what, averages in (("cells", workload.averages), ("latencies", of_latencies)):
        for own in averages:
            ratios = [[name, ratio] for name, ratio in own.ratios.items()]
            name = f"{workload.name} | {what} | {own.system}"
            stated["averages"][name] = _row("averages", own, ratios=ratios)
    for effect in workload.effects:
        by = f" by {effect.by} {effect.by_level} {effect.by_over}" if effect.by else ""
        what = f"{effect.kind}: {effect.factor} {effect.level} / {effect.over}{by}"
        stated["effects"][f"{workload.name} | {effect.topic} | {what}"] = _row("effects", effect)
    for place, one in enumerate(workload.observations, 1):
        stated["observations"][f"{workload.name} | {place} {one.kind}"] = _row("observations", one)


def _add_comparisons(stated: Stated, name: str, comparisons: Sequence[Comparison]) -> None:
    """Those of one line: each in a row, or all in one where nothing has an interval."""
    if not comparisons:
        return
    if all(one.low is None and one.verdict == "undecided" for one in comparisons):
        first = comparisons[0]
        stated["not judged"][f"{name} | {_pair(first)} …"] = _row(
            "not judged", first, ratios=[one.ratio for one in comparisons]
        )
    else:
        for one in comparisons:
            stated["lines"][f"{name} | {_pair(one)}"] = _row(
                "lines", one, marks=" ".join(_marks(one)), differences=len(one.differences)
            )
    for one in comparisons:
        if one.beside:
            covariates = " ".join(one.beside.covariates)
            stated["beside"][f"{name} | {_pair(one)}"] = _row(
                "beside", one.beside, covariates=covariates
            )
        if one.over:
            values = [[own.study, own.blocks, *_of(own, _INTERVAL)] for own in one.over.values]
            stated["over studies"][f"{name} | {_pair(one)}"] = _row(
                "over studies", one.over, values=values
            )


def _marks(one: Comparison) -> Iterator[str]:
    """What is true of an interval."""
    for name in ("open_low", "open_high", "extended", "futile", "unpaired"):
        if getattr(one, name):
            yield name


def _named(workload: WorkloadFindings, line: Line) -> str:
    """Which table of the workload it is."""
    if line is workload.index:
        return "whole"
    if workload.latencies and line is workload.latencies.index:
        return "latencies"
    if isinstance(line, Index):
        return f"mean of {line.name}"
    return _at(line)


def _at(cell: Cell) -> str:
    return " ".join((cell.metric, *(f"{key}={level}" for key, level in cell.at.items())))


def _pair(one: Any) -> str:
    return f"{one.system} / {one.against}"


def _percentiles(values: Mapping[str, float], ends: Mapping[str, Sequence[float]]) -> list[Any]:
    return [[name, value, *ends.get(name, ())] for name, value in values.items()]


def _of(thing: object, names: Sequence[str]) -> list[Any]:
    return [getattr(thing, name) for name in names]


def _row(section: str, thing: object, **own: Any) -> Row:
    """The columns of a section; those that are given, and the attributes of the others."""
    row = [own[name] if name in own else getattr(thing, name) for name in COLUMNS[section]]
    row = [list(value) if isinstance(value, tuple) else value for value in row]
    while row and (row[-1] is None or row[-1] is False or row[-1] in ("", [])):
        row.pop()
    return row
