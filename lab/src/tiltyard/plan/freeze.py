"""From a study to its plan: the last moment at which anything is decided freely."""

import secrets
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from math import comb
from pathlib import Path

from pydantic import JsonValue

from tiltyard import __version__
from tiltyard.executors.engine import JobRefused
from tiltyard.folder import StudyFolder, sha256
from tiltyard.plan.model import FORMAT, Design, Look, Plan, PlannedWorkload
from tiltyard.plan.order import draw_blocks
from tiltyard.plan.path_length import doubled, path_length_cards
from tiltyard.plan.pilot import with_pilot
from tiltyard.stats.sequential import looks, overall_alpha, profile_of_family
from tiltyard.study.load import parameter_error, read_text
from tiltyard.study.model import Clock, Precision, Study, WorkloadSpec
from tiltyard.wire import Catalogue, Hello

SEED_BELOW = 2**32
"""Seeds that are drawn stay below it: ten digits at most, to be typed again."""

MAX_SPOILED_SHARE = 0.2
"""With a larger share of disturbed blocks a session says more about these than about systems."""

_ROUNDING = 1e-9
"""More than the error of a quotient of small numbers, less than any share of a block."""

_COUNTED_ACCESS = "in-cache"
_WAITS = (
    'with clock = "instructions" no trial may wait for a device, which answers in the time of the '
    f'host: access = "{_COUNTED_ACCESS}"'
)

Validate = Callable[[str, dict[str, JsonValue]], Hello]
"""Workload and parameters to the effective configuration; raises :class:`JobRefused`."""


def freeze(
    study: Study, study_path: Path, catalogue: Catalogue, validate: Validate, now: datetime
) -> Plan:
    """The plan of a study: systems, effective parameters, constants, and the order of all trials.

    Blocks are drawn up to the last look; a run may stop at an earlier one. Spares are drawn after
    them from the same seed, for blocks that are disturbed or in which trials fail: as many as keep
    the share of such blocks at :data:`MAX_SPOILED_SHARE` or below.

    Args:
        study: What the file means.
        study_path: The file; the plan keeps its hash.
        catalogue: What the engine can run.
        validate: Asks the engine; :meth:`tiltyard.executors.engine.Engine.validate`.
        now: The time at which the plan is made.

    Raises:
        StudyFileError: if the engine refuses a parameter; it names its line in the file.
        UsageError: if the study file cannot be read, or its pilot was about something else.
    """
    text = read_text(study_path)
    clock = study.systems[0].clock
    headlines = comb(len(study.systems), 2) * len(study.workloads)
    design = _design(study.precision, headlines, clock)
    seed = secrets.randbelow(SEED_BELOW) if study.seed is None else study.seed
    planned = design.looks[-1].blocks
    # What others do on the host spoils times; it does not change what a guest executes.
    gates = study.gates if clock == "time" else None
    blocks = draw_blocks(
        [system.name for system in study.systems],
        [workload.name for workload in study.workloads],
        planned + spares_for(planned),
        seed,
    )
    return Plan(
        format=FORMAT,
        tiltyard=__version__,
        engine=catalogue.engine,
        created=now.astimezone(UTC).isoformat(timespec="seconds"),
        study_sha256=sha256(text.encode()),
        question=study.question,
        decide=study.decide,
        seed=seed,
        systems=study.systems,
        baseline=study.baseline,
        workloads=with_pilot(
            _planned(study.workloads, study_path, text, catalogue, validate, clock),
            study.systems,
            StudyFolder(study_path.parent).pilot_findings,
        ),
        design=design,
        conditions=study.conditions,
        budget_s=study.precision.budget_s,
        blocks=blocks[:planned],
        spares=blocks[planned:],
        gates=gates,
        scaled=study.scaled,
    )


def spares_for(blocks: int) -> int:
    """Largest number of spares s for which s of ``blocks`` + s is no more than the allowed share.

    So 20 blocks have 5 spares, 7 have 1.
    """
    return int(blocks * MAX_SPOILED_SHARE / (1 - MAX_SPOILED_SHARE) + _ROUNDING)


def _design(precision: Precision, headlines: int, clock: Clock) -> Design:
    """The statistical rules that a precision asks for, with so many comparisons of workloads.

    Others do not change a count of instructions, which has nothing to be adjusted for.
    """
    timed = clock == "time"
    profile = profile_of_family(precision.profile, precision.strict, headlines)
    asked = (profile, precision.strict, precision.blocks)
    return Design(
        profile=profile,
        strict=precision.strict,
        looks=tuple(Look(blocks=blocks, c=c) for blocks, c in looks(*asked)),
        alpha=overall_alpha(*asked),
        equivalent_within=precision.equivalent_within,
        false_discovery_rate=precision.false_discovery_rate,
        futility=precision.futility,
        sessions=precision.sessions,
        adjust_for=precision.adjust_for if timed else (),
        verdict=precision.verdict if timed else "unadjusted",
    )


def _planned(
    specs: Sequence[WorkloadSpec],
    study_path: Path,
    text: str,
    catalogue: Catalogue,
    validate: Validate,
    clock: Clock,
) -> tuple[PlannedWorkload, ...]:
    """Each workload with what the engine makes of its parameters."""
    planned = []
    for place, spec in enumerate(specs):
        card = catalogue.workload(spec.use)
        if card is None:
            raise LookupError(f"a loaded study uses {spec.use}, which is not in the catalogue")
        try:
            hello = validate(spec.use, spec.parameters)
        except JobRefused as refused:
            raise parameter_error(
                study_path, text, place, refused.parameter, refused.message
            ) from refused
        metrics, twice = tuple(card.metrics), None
        if clock == "instructions":
            if hello.effective.get("access", _COUNTED_ACCESS) != _COUNTED_ACCESS:
                raise parameter_error(study_path, text, place, "access", _WAITS)
            twice = doubled(spec.parameters, hello.effective, card.parameters)
            metrics = path_length_cards(metrics, hello.effective, twice=twice is not None)
        planned.append(
            PlannedWorkload(
                spec=spec,
                about=card.about,
                lineage=card.lineage,
                timing=card.timing,
                effective=hello.effective,
                hash=hello.hash,
                metrics=metrics,
                grid=tuple(card.grid),
                target=card.target,
                doubled=twice,
            )
        )
    return tuple(planned)
