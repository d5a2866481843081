"""From a study to its plan: the last moment at which anything is decided freely."""

import json
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from math import comb
from pathlib import Path
from typing import Protocol

from pydantic import JsonValue

from tiltyard import __version__
from tiltyard.errors import UsageError
from tiltyard.executors.engine import JobRefused
from tiltyard.folder import StudyFolder, sha256
from tiltyard.importers import live
from tiltyard.plan.model import (
    FORMAT,
    Design,
    Further,
    Look,
    Plan,
    PlannedWorkload,
    spares_for,
)
from tiltyard.plan.order import draw_blocks
from tiltyard.plan.path_length import doubled, path_length_cards
from tiltyard.plan.pilot import with_pilot
from tiltyard.plan.program import job_parameters, sample_variables, split
from tiltyard.stats.looks import LONG
from tiltyard.stats.sequential import looks, overall_alpha, profile_of_family
from tiltyard.study.clients import with_stonewalls
from tiltyard.study.load import parameter_error, read_text
from tiltyard.study.model import Clock, Precision, Study, WorkloadSpec
from tiltyard.study.problems import StudyFileError
from tiltyard.study.program import INPUTS, PROGRAM, program_of
from tiltyard.wire import Card, Catalogue, Hello

SEED_BELOW = 2**32
"""Seeds that are drawn stay below it: ten digits at most, to be typed again."""

FURTHER = Further(beyond=20, within_s=120.0)
"""A hundred blocks fit that take about a second each."""

_COUNTED_ACCESS = "in-cache"
_WAITS = (
    'with clock = "instructions" no trial may wait for a device, which answers in the time of the '
    f'host: access = "{_COUNTED_ACCESS}"'
)


class Validate(Protocol):
    """Asks the engine; :meth:`tiltyard.executors.engine.Engine.validate`."""

    def __call__(
        self,
        workload: str,
        parameters: Mapping[str, JsonValue],
        variables: Mapping[str, str] | None = None,
        /,
        *,
        elsewhere: bool = False,
    ) -> Hello:
        """The effective configuration; raises :class:`JobRefused`."""


def freeze(
    study: Study,
    study_path: Path,
    catalogue: Catalogue,
    validate: Validate,
    now: datetime,
    folder: StudyFolder | None = None,
) -> Plan:
    """The plan of a study: systems, effective parameters, constants, and the order of all trials.

    Blocks are drawn up to the last look; a run may stop at an earlier one. Spares are drawn after
    them from the same seed, for blocks that are disturbed or in which trials fail: as many as keep
    the share of such blocks at :data:`tiltyard.plan.model.MAX_DISTURBED_SHARE` or below.

    Args:
        study: What the file means.
        study_path: The file; the plan keeps its hash.
        catalogue: What the engine can run.
        validate: Asks the engine.
        now: The time at which the plan is made.
        folder: Where the study is carried out; by default where the file is.

    Raises:
        StudyFileError: if the engine refuses a parameter; it names its line in the file.
        UsageError: if the study file cannot be read, or its pilot was about something else.
    """
    text = read_text(study_path)
    clock = study.systems[0].clock
    folder = folder or StudyFolder(study_path.parent)
    written = _Written(study_path, text, (folder.study_root / folder.origin).resolve())
    headlines = comb(len(study.systems), 2) * len(study.workloads)
    design = _design(study.precision, headlines, clock)
    seed = secrets.randbelow(SEED_BELOW) if study.seed is None else study.seed
    planned = design.looks[-1].blocks
    # What others do on the host disturbs times; it does not change what a guest executes.
    noise_limits = study.noise_limits if clock == "time" else None
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
        asks=study.asks,
        seed=seed,
        systems=study.systems,
        baseline=study.baseline,
        workloads=with_pilot(
            tuple(
                _planned_program(place, spec, program, study, catalogue, validate, written)
                if (program := program_of(_card(spec, catalogue), spec.parameters)) is not None
                else _planned(place, spec, catalogue, validate, clock, written)
                for place, spec in enumerate(study.workloads)
            ),
            study.systems,
            StudyFolder(study_path.parent).pilot_findings,
        ),
        design=design,
        conditions=study.conditions,
        budget_s=study.precision.budget_s,
        further=_further(study.precision),
        blocks=blocks[:planned],
        spares=blocks[planned:],
        noise_limits=noise_limits,
        placement=study.placement,
        scaled=study.scaled,
        paths_from=folder.origin,
    )


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


def _further(precision: Precision) -> Further | None:
    """What bounds a long study without a budget: the time of its blocks, never what they yield."""
    return FURTHER if precision.profile == LONG and precision.budget_s is None else None


@dataclass(frozen=True)
class _Written:
    """A study file."""

    path: Path
    text: str
    root: Path
    """Where relative paths of programs begin."""

    def refused(self, place: int, parameter: str | None, message: str) -> StudyFileError:
        """What is wrong with a parameter of the workload at that place."""
        return parameter_error(self.path, self.text, place, parameter, message)


def _planned(
    place: int,
    spec: WorkloadSpec,
    catalogue: Catalogue,
    validate: Validate,
    clock: Clock,
    written: _Written,
) -> PlannedWorkload:
    """A workload of the engine with what the engine makes of its parameters."""
    card = _card(spec, catalogue)
    try:
        hello = validate(spec.use, spec.parameters)
    except JobRefused as refused:
        raise written.refused(place, refused.parameter, refused.message) from refused
    metrics, twice = tuple(card.metrics), None
    if spec.clients:
        metrics = tuple(with_stonewalls(metrics))
    if clock == "instructions":
        if hello.effective.get("access", _COUNTED_ACCESS) != _COUNTED_ACCESS:
            raise written.refused(place, "access", _WAITS)
        twice = doubled(spec.parameters, hello.effective, card.parameters)
        metrics = path_length_cards(metrics, hello.effective, twice=twice is not None)
    return PlannedWorkload(
        spec=spec,
        title=card.title if spec.name == spec.use else "",
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


def _planned_program(
    place: int,
    spec: WorkloadSpec,
    table: dict[str, JsonValue],
    study: Study,
    catalogue: Catalogue,
    validate: Validate,
    written: _Written,
) -> PlannedWorkload:
    """A program with what the engine makes of it on each system."""
    card = _card(spec, catalogue)
    own = catalogue.workload(PROGRAM)
    readings, program = split(table)
    hellos: dict[str, Hello] = {}
    for system in study.systems:
        parameters = job_parameters(program, system, written.root)
        variables = sample_variables(program, system, written.root)
        elsewhere = system.elsewhere
        job = json.dumps([parameters, variables, elsewhere])
        try:
            hellos[job] = hellos.get(job) or validate(
                PROGRAM, parameters, variables, elsewhere=elsewhere
            )
        except JobRefused as refused:
            text = f"{refused.message} ({system.name})"
            raise written.refused(place, refused.parameter, text) from refused
    first = next(iter(hellos.values()))
    try:
        metrics, grid = live.cards(
            readings.read,
            readings.metrics,
            own.metrics if own else (),
            _words(program),
            written.root,
            [*map(str, inputs.values())] if isinstance(inputs := program.get(INPUTS), dict) else (),
        )
    except UsageError as error:
        key = "read" if readings.read else "metrics"
        raise written.refused(place, key, str(error)) from error
    return PlannedWorkload(
        spec=spec,
        title=card.title if spec.name == spec.use else "",
        about=card.about,
        lineage=card.lineage,
        timing=card.timing,
        effective={**first.effective, **program},
        hash=first.hash,
        metrics=metrics,
        grid=grid,
        target=study.target,
        program=program,
        readings=readings if readings.read or readings.metrics else None,
    )


def _words(program: Mapping[str, JsonValue]) -> list[str]:
    command = program.get("command")
    return [str(word) for word in command] if isinstance(command, list) else []


def _card(spec: WorkloadSpec, catalogue: Catalogue) -> Card:
    """What is said of the workload that is used."""
    card = catalogue.workload(spec.use)
    if card is None:
        raise LookupError(f"a loaded study uses {spec.use}, which is not in the catalogue")
    return card
