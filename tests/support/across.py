"""Studies with known effects, compared with each other and pooled, without a file."""

from collections.abc import Sequence
from dataclasses import replace
from math import exp

from support.synthetic import synthetic_study
from tiltyard.analysis.collected import analyse_collection
from tiltyard.analysis.findings import analyse
from tiltyard.analysis.model import Cell, Findings
from tiltyard.app.across import side_by_side
from tiltyard.app.source_study import Study


def study(
    name: str,
    sessions: Sequence[float] = (0.0,),
    *,
    xfs: float = 0.0,
    systems: Sequence[str] = ("ext4", "xfs"),
    workloads: Sequence[str] = ("postmark",),
    seed: int = 0,
    noise: float = 0.01,
    within: float = 0.02,
) -> Study:
    """A study whose sessions are that much faster as wholes, in which xfs is ahead by so much."""
    found = {}
    for number, level in enumerate(sessions, 1):
        speed = {system: exp(level + (xfs if system == "xfs" else 0.0)) for system in systems}
        plan, run = synthetic_study(
            systems,
            workloads,
            blocks=8,
            profile="fixed",
            fixed_blocks=8,
            effects=speed,
            noise=noise,
            seed=1000 * seed + number,
            equivalent_within=within,
        )
        found[number] = analyse(plan, run)
    return Study(name, found)


def cut(one: Study, system: str, blocks: int) -> Study:
    """The same study, of whose last session a system has that many blocks."""
    last = max(one.sessions)

    def of_cell(cell: Cell) -> Cell:
        summaries = tuple(
            own.model_copy(update={"values": own.values[:blocks], "blocks": own.blocks[:blocks]})
            if own.system == system
            else own
            for own in cell.summaries
            if own.system != system or blocks
        )
        return cell.model_copy(update={"summaries": summaries})

    workloads = tuple(
        own.model_copy(update={"cells": tuple(map(of_cell, own.cells))})
        for own in one.sessions[last].workloads
    )
    changed = one.sessions[last].model_copy(update={"workloads": workloads})
    return replace(one, sessions={**one.sessions, last: changed})


def compared(*studies: Study, pool: bool = False) -> Findings:
    return analyse_collection(side_by_side(studies, pool=pool))


def two_studies() -> Findings:
    """Of several sessions each: one system is slower, of the other nothing is known."""
    luck = (0.01, -0.02, 0.0, 0.015, -0.01)
    may, june = (study("may", luck, seed=1), study("june", [x - 0.2 for x in luck], seed=2))
    return compared(may, june)


def alone_studies() -> Findings:
    """Two of one session each, far apart: of sessions nothing is known."""
    return compared(
        study("may", systems=("ext4",), seed=1), study("june", (-2.2,), systems=("ext4",), seed=2)
    )


def few_studies() -> Findings:
    """Three that agree, too few for a verdict."""
    return compared(*(study(f"host{n}", xfs=0.2, seed=n) for n in range(3)))


def pooled_studies(last: str = "host6") -> Findings:
    """Six studies of which the last one does not agree."""
    effects = (0.12, 0.18, 0.09, 0.15, 0.2, -0.05)
    names = [*(f"host{n}" for n in range(1, 6)), last]
    return compared(
        *(study(n, xfs=x, seed=s) for s, (n, x) in enumerate(zip(names, effects, strict=True), 1))
    )
