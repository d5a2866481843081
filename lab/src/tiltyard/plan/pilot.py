"""What a pilot found, and how a plan takes it up: trials in a turn and warm-up, then frozen.

A pilot is a small study of the same systems and workloads, carried out before the plan is made. It
decides how the study measures, never what it finds: its data enter no verdict.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

import numpy as np
from pydantic import Field

from tiltyard.errors import UsageError
from tiltyard.folder import sha256
from tiltyard.frozen import Frozen, flaw
from tiltyard.plan.model import Design, Look, Plan, PlannedWorkload
from tiltyard.plan.order import draw_blocks
from tiltyard.plan.program import is_unsized, with_number
from tiltyard.stats.signed_rank import nominal_p
from tiltyard.study.model import SystemSpec
from tiltyard.units import count_of

FORMAT: Final = 1
BLOCKS: Final = 5
TRIALS: Final = 3
"""Trials of each workload in each turn of a pilot."""


class CellTime(Frozen):
    """How long one metric at one point of a grid is measured in a trial."""

    metric: str
    at: dict[str, int | str]
    elapsed_s: float


class PilotWorkload(Frozen):
    """What the pilot found about one workload."""

    name: str
    hash: str
    """The engine's hash of the effective configuration: of what all this is true."""
    values: dict[str, tuple[tuple[float | None, ...], ...]]
    """System → blocks → trials: ln of the mean over headline cells; ``None``: failed."""
    cv_blocks: float | None
    """Deviation between turns of one system, beyond what trials explain; a share."""
    cv_trials: float | None
    """Deviation between trials of one turn; a share."""
    turn_s: float
    """Cost of one more turn, without its trials, shared among the workloads."""
    trial_s: float
    """Cost of one more trial."""
    trials: int
    """The cheapest number of trials in a turn (Kalibera and Jones)."""
    executions: int | None = None
    """The same of executions in a trial, of a program for which the study leaves it open; ``None``
    also where a trial had one only."""
    cv_executions: float | None = None
    """Deviation between executions of one trial; a share."""
    warm_up_s: float = 0.0
    """1.5 times the longest warm-up in any trial (MSER-5); 0 where none is known."""
    cells: tuple[CellTime, ...] = ()
    """Of the headline, medians over trials."""


class Pilot(Frozen):
    """``pilot.json``."""

    format: int = FORMAT
    ended: str
    """When the pilot was done: UTC, ISO 8601."""
    plan_hash: str
    """Of the plan in ``pilot/``, which the trials there go with."""
    seed: int
    systems_sha256: str
    blocks: int
    trials: int
    workloads: tuple[PilotWorkload, ...]
    telemetry: dict[str, float] = Field(default_factory=dict)
    """What else went on, each the median over trials: shares of the time of a trial."""

    def document(self) -> bytes:
        """As it is written to ``pilot.json``."""
        return f"{self.model_dump_json(indent=1)}\n".encode()

    @property
    def hash(self) -> str:
        """SHA-256 of the file."""
        return sha256(self.document())

    @property
    def found(self) -> dict[str, PilotWorkload]:
        """Its workloads by name."""
        return {workload.name: workload for workload in self.workloads}


def hash_of_systems(systems: Sequence[SystemSpec]) -> str:
    """By which a pilot knows the systems that it was about."""
    return sha256("\n".join(system.model_dump_json() for system in systems).encode())


def read_pilot(
    path: Path, workloads: Sequence[PlannedWorkload], systems: Sequence[SystemSpec]
) -> Pilot | None:
    """What a pilot found about these systems and workloads; ``None`` if there was none.

    What it did not measure in this very configuration is refused, not guessed.

    Args:
        path: where its findings are, if anywhere.
        workloads: as the study plans them.
        systems: of the study.

    Raises:
        UsageError: if the file is damaged, or about other systems or workloads.
    """
    try:
        text = path.read_bytes()
    except FileNotFoundError:
        return None
    again = f"Delete it, or make another pilot: tiltyard plan {path.parent} --pilot"
    try:
        pilot = Pilot.of_json(text)
    except ValueError as error:
        raise UsageError(f"{path}: {flaw(error)}. {again}") from error
    if pilot.format != FORMAT:
        raise UsageError(
            f"{path}: a pilot of format {pilot.format}; this Tiltyard reads format {FORMAT}"
        )
    if pilot.systems_sha256 != hash_of_systems(systems):
        raise UsageError(f"{path}: this pilot was about other systems than the study. {again}")
    for workload in workloads:
        found = pilot.found.get(workload.spec.name)
        if found is None or found.hash != workload.hash:
            name = workload.spec.name
            raise UsageError(
                f"{path}: this pilot did not run {name} as it is in the study. {again}"
            )
    return pilot


def with_pilot(
    workloads: Sequence[PlannedWorkload], systems: Sequence[SystemSpec], path: Path
) -> tuple[PlannedWorkload, ...]:
    """The workloads with what a pilot found, where there was one.

    A number of trials or executions that the study names stands.

    Args:
        workloads: as they are about to be frozen.
        systems: of the study.
        path: where the pilot's findings are, if anywhere.

    Raises:
        UsageError: as :func:`read_pilot` does.
    """
    pilot = read_pilot(path, workloads, systems)
    if pilot is None:
        return tuple(workloads)
    taken = []
    for workload in workloads:
        found = pilot.found[workload.spec.name]
        spec = workload.spec.model_copy(update={"trials": workload.spec.trials or found.trials})
        sized = with_executions(workload, found.executions)
        update = {"spec": spec, "warm_up_s": found.warm_up_s}
        taken.append(sized.model_copy(update=update))
    return tuple(taken)


def with_executions(workload: PlannedWorkload, executions: int | None) -> PlannedWorkload:
    """A program that is executed so often in each trial, unless the study says how often."""
    if executions is None or workload.program is None or not is_unsized(workload.program):
        return workload
    program = with_number(workload.program, executions)
    effective = {**workload.effective, "executions": executions, "at_least": 0.0}
    return workload.model_copy(update={"program": program, "effective": effective})


def executions_said(pilot: Pilot) -> Iterator[str]:
    """How often programs are executed in a trial because of it, in words."""
    for own in pilot.workloads:
        if own.executions is not None and own.cv_executions is not None:
            yield (
                f"{own.name}: {count_of(own.executions, 'execution')} in each trial: they deviate "
                "by "
                f"{100 * own.cv_executions:.2g} % within a trial; a turn costs {own.turn_s:.2g} s "
                "beside its trials"
            )


def plan_of_pilot(plan: Plan) -> Plan:
    """The pilot of a study that is planned like this: few blocks, several trials in each turn.

    Systems, workloads and conditions are the study's; the order is the pilot's own, from a seed
    that the study's one determines.
    """
    seed = int(np.random.SeedSequence(plan.seed).generate_state(1)[0])
    trials = {"trials": TRIALS}
    return plan.model_copy(
        update={
            "question": f"Pilot of: {plan.question}",
            "seed": seed,
            "workloads": tuple(
                workload.model_copy(
                    update={"spec": workload.spec.model_copy(update=trials), "warm_up_s": 0.0}
                )
                for workload in plan.workloads
            ),
            "design": Design(
                profile="fixed",
                strict=False,
                looks=(Look(blocks=BLOCKS, c=0),),
                alpha=nominal_p(BLOCKS, 0),
                equivalent_within=plan.design.equivalent_within,
                false_discovery_rate=plan.design.false_discovery_rate,
            ),
            "budget_s": None,
            "blocks": draw_blocks(
                [system.name for system in plan.systems],
                [workload.spec.name for workload in plan.workloads],
                BLOCKS,
                seed,
            ),
            "spares": (),
            "noise_limits": None,
        }
    )
