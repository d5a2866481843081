"""What the judging adds to findings, made by hand: effects, ranks, statements, disturbed blocks."""

from collections.abc import Sequence

from tiltyard.analysis.disturbed_model import DisturbedBlocks, SensitivityLine
from tiltyard.analysis.model import (
    Effect,
    Findings,
    Index,
    Observation,
    Replication,
    Standing,
    Steadiness,
    WorkloadFindings,
)
from tiltyard.run.record import CalibrationNote

CALIBRATION = CalibrationNote(
    id="c7f3a91e",
    date="2026-11-20T09:14:03Z",
    resolution_percent=5.8,
    sentence="Calibration c7f3a91e of this host: 2 false verdicts of 60, injected delays recovered "
    "within 1.4 %, differences below about 5.8 % do not show.",
)
LEVEL = 0.983


def effects(systems: Sequence[str], topic: str) -> tuple[Effect, ...]:
    """A kernel that gained on the last system and lost on the others."""
    *rest, last = systems
    sides = [("simple", name, None, 0.96) for name in rest] + [("simple", last, None, 1.05)]
    terms = [
        ("main", None, None, 1.006),
        *sides,
        *(("interaction", last, name, 1.05 / 0.96) for name in rest),
    ]
    return tuple(
        Effect.model_validate(
            {
                "kind": kind,
                "factor": "kernel",
                "level": "3.13",
                "over": "3.12",
                "by": None if kind == "main" else "filesystem",
                "by_level": by_level,
                "by_over": by_over,
                "topic": topic,
                "blocks": 10,
                "ratio": ratio,
                "low": ratio / 1.02,
                "high": ratio * 1.02,
                "p_adjusted": 0.012,
                "verdict": "undecided" if kind == "main" else "faster" if ratio > 1 else "slower",
                "sentence": f"The effect of kernel 3.13 is {ratio:.3f} ({kind}, {by_level}).",
            }
        )
        for kind, by_level, by_over, ratio in terms
    )


def judged(findings: Findings) -> Findings:
    """The same study, with all that can be found about its judging."""
    return findings.model_copy(
        update={
            "workloads": tuple(_workload(workload) for workload in findings.workloads),
            "disturbed": disturbed(findings),
            "calibration": CALIBRATION,
        }
    )


def disturbed(findings: Findings) -> DisturbedBlocks:
    """Two blocks that other processes have disturbed."""
    return DisturbedBlocks(
        blocks=(2, 5),
        share=0.2,
        reasons={
            2: ("other processes used 41 % of a core (limit 3 %)",),
            5: ("reference_run 9 % off its median (limit 3 %)", "4.0 MiB were swapped (limit 0)"),
        },
        by_system={system.name: place for place, system in enumerate(findings.systems)},
        related_p=0.31,
        sensitivity=(
            SensitivityLine(
                label="xfs against ext4, postmark",
                without="faster, 1.05 (1.02 … 1.09)",
                with_disturbed="undecided, 1.04 (0.98 … 1.10)",
                changed=True,
            ),
        ),
        sentence="2 of 10 blocks (20 %) were disturbed and replaced.",
    )


def _workload(workload: WorkloadFindings) -> WorkloadFindings:
    name = workload.name
    systems = tuple(standing.system for standing in workload.index.standings)
    return workload.model_copy(
        update={
            "index": _ranked(workload.index),
            "effects": workload.effects or effects(systems, workload.index.label),
            "observations": (_observation(name, systems, 0.42), _observation(name, systems, 0.05)),
            "steadiness": Steadiness(
                workload=name,
                trials=30,
                flagged=1,
                sentence=f"{name}: 29 of 30 trials were in a steady state.",
            ),
            "replication": Replication(
                workload=name,
                trials=3,
                cv_blocks=0.021,
                cv_trials=0.004,
                sentence=f"{name}: deviation between formats 2.1 %, between trials of one 0.4 %.",
            ),
        }
    )


def _ranked(index: Index) -> Index:
    """The first two of an index share their ranks, and the pairs stopped at two looks."""
    standings = tuple(_standing(own, len(index.standings)) for own in index.standings)
    comparisons = tuple(
        own.model_copy(update={"level": LEVEL, "blocks": 10 if place else 7})
        for place, own in enumerate(index.comparisons)
    )
    return index.model_copy(update={"standings": standings, "comparisons": comparisons})


def _standing(standing: Standing, systems: int) -> Standing:
    best, worst = (1, 2) if standing.rank <= 2 else (standing.rank, systems)
    comparison = standing.comparison and standing.comparison.model_copy(update={"level": LEVEL})
    return standing.model_copy(
        update={"rank_best": best, "rank_worst": worst, "comparison": comparison}
    )


def _observation(workload: str, systems: tuple[str, ...], size: float) -> Observation:
    return Observation(
        kind="cliff",
        workload=workload,
        metric="read",
        systems=systems,
        blocks=10,
        size=size,
        p=0.0004,
        p_adjusted=0.0031,
        sentence=f"{workload} read falls off a cliff of {size:g} between 128 MiB and 256 MiB.",
        evidence=f"adjacent ratios, Holm, p = 0.0031; device bytes from 1 % to 62 % ({size:g}).",
    )
