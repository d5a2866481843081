"""From what was typed to what it means: every default resolved, every name looked up."""

import math
from collections.abc import Iterator, Sequence
from typing import Final

from pydantic import JsonValue

from tiltyard.executors.engine import JobRefused
from tiltyard.study.bounds import TRIALS_MAX
from tiltyard.study.clients import flaws_of_clients, split
from tiltyard.study.factors import Keys, combine, lift_systems, services_in
from tiltyard.study.file import ConditionsTable, PrecisionTable, StudyFile, WorkloadTable
from tiltyard.study.kinds import HOST, TARGETS, Kind, kinds_of, names_of, same_target
from tiltyard.study.model import (
    ClientSpec,
    ConditionsSpec,
    GatesSpec,
    Precision,
    Study,
    SystemSpec,
    WorkloadSpec,
)
from tiltyard.study.placeholders import names_in
from tiltyard.study.problems import FLAWS_MAX, Flaw, no_workload, not_a, parameter_of
from tiltyard.study.program import (
    OF_SERVICE,
    PROGRAM,
    SERVER,
    Readings,
    flaws_of_readings,
    flaws_of_study_commands,
    is_program,
    placeholders,
    program_of,
)
from tiltyard.units import agreeing, count_of
from tiltyard.wire import Card, Catalogue

BLOCKS_OF_A_SESSION: Final = 7
"""Where the study names no number: as many as a study of one session takes at least."""


class FlawsError(Exception):
    """A study file is well-formed but does not make sense."""

    def __init__(self, flaws: Sequence[Flaw]) -> None:
        self.flaws = tuple(flaws)
        super().__init__(self.flaws)


def lift(file: StudyFile, catalogue: Catalogue, kinds: Sequence[Kind]) -> Study:
    """What a study file means.

    Raises:
        FlawsError: with all that does not make sense.
    """
    flaws: list[Flaw] = []
    programs = list(_programs(file.workload or (), catalogue, flaws))
    services = services_in(file)
    # The words of a list stand in commands, so values of systems may stand in them.
    of_systems = (file.factors, file.systems.settings) if programs else ()
    texts = map(placeholders, (*programs, *of_systems))
    standing = set(names_in(services)).union(*texts) - {"dir"}
    if any(kind.far_host and kind.name == file.systems.kind for kind in kinds):
        # What the name tells a program elsewhere is a setting here: where the server is.
        standing -= {SERVER}
    told = set(OF_SERVICE) if services else set()
    taken = (standing - told) & names_of([kind for kind in kinds if kind.target == "directory"])
    keys = Keys(names_of(kinds), variables=standing - taken, taken=taken)
    combinations = combine(file, keys, flaws)
    settings = [combination.settings for combination in combinations]
    fitting = sorted(kinds, key=lambda kind: kind.name != HOST) if programs else kinds
    found = kinds_of(settings, fitting, flaws)
    kind = same_target(settings, found, flaws)
    systems = lift_systems(combinations, found, flaws, programs=bool(programs))
    baseline = _baseline(file.baseline, systems, flaws)
    if file.asks is not None and file.asks not in file.factors:
        flaws.append(Flaw(("asks",), not_a(file.asks, "factor of this study", [*file.factors])))
    workloads = _workloads(file.workload, catalogue, kind, flaws)
    flaws += flaws_of_clients(
        workloads, kind, [system.settings for system in systems], placed=file.placement is not None
    )
    precision = _precision(file.precision, _hosts(file, found, flaws), flaws)
    if file.placement:
        flaws += _misplaced(systems)
        systems = tuple(system.model_copy(update={"elsewhere": True}) for system in systems)
    conditions = _conditions(file.conditions, flaws)
    if not flaws:
        flaws += _beyond(precision, systems, workloads)
    if flaws:
        raise FlawsError(flaws)
    return Study(
        question=file.question,
        decide=file.decide,
        asks=file.asks,
        systems=systems,
        target=kind.target if kind else "directory",
        baseline=baseline,
        workloads=workloads,
        precision=precision,
        conditions=conditions,
        gates=GatesSpec(
            spoiled=file.noise.disturbed, **file.noise.model_dump(exclude={"disturbed"})
        ),
        placement=file.placement,
        seed=file.seed,
        scale=file.scale,
    )


def _programs(
    tables: Sequence[WorkloadTable], catalogue: Catalogue, flaws: list[Flaw]
) -> Iterator[dict[str, JsonValue]]:
    """The tables of the workloads that are programs."""
    for place, table in enumerate(tables):
        try:
            program = program_of(catalogue.workload(table.use), table.parameters)
        except JobRefused as refused:
            flaws.append(Flaw(("workload", place, refused.parameter or "use"), refused.message))
            continue
        if program is not None:
            yield program


def _baseline(named: str | None, systems: Sequence[SystemSpec], flaws: list[Flaw]) -> str:
    """The system that tables are relative to."""
    names = [system.name for system in systems]
    if not names:
        return ""
    if named is not None and named not in names:
        flaws.append(Flaw(("baseline",), not_a(named, "system of this study", names)))
    return named or names[0]


def _workloads(
    tables: Sequence[WorkloadTable] | None,
    catalogue: Catalogue,
    kind: Kind | None,
    flaws: list[Flaw],
) -> tuple[WorkloadSpec, ...]:
    """The workloads with their parameters as typed."""
    if tables is None:
        tables = [WorkloadTable(use=_default_workload(catalogue, kind))]
    specs: dict[str, WorkloadSpec] = {}
    for place, table in enumerate(tables):
        path = ("workload", place)
        card = catalogue.workload(table.use)
        if card is None:
            flaws.append(Flaw((*path, "use"), no_workload(table.use, catalogue.names)))
            continue
        if kind is not None and card.target != kind.target and not is_program(card):
            flaws.append(Flaw((*path, "use"), _wrong_target(card, kind)))
        known = dict(card.parameters.get("properties", {}))
        parameters, clients = table.parameters, tuple[ClientSpec, ...]()
        if not is_program(card):
            parameters, clients = split(parameters, path, flaws)
        if table.use == PROGRAM:
            known |= {key: {} for key in Readings.model_fields}
            flaws += flaws_of_readings(table.parameters, path)
            flaws += flaws_of_study_commands(table.parameters, path)
        for name in sorted(parameters.keys() - known)[: FLAWS_MAX - len(flaws)]:
            text = f"there is no such parameter of {table.use}. {parameter_of(name, known)}"
            flaws.append(Flaw((*path, name), text))
        if table.alternate is not None and not is_program(card):
            text = f"is of programs; {table.use} is executed by the engine. Leave it out"
            flaws.append(Flaw((*path, "alternate"), text))
        name = table.name or table.use
        if name in specs:
            text = f'two workloads are called "{name}"; give this one another: name = "{name}-2"'
            flaws.append(Flaw((*path, "name" if table.name else "use"), text))
        specs[name] = WorkloadSpec(
            name=name,
            use=table.use,
            parameters=parameters,
            trials=table.trials,
            clients=clients,
            alternate=table.alternate is not False,
        )
    return tuple(specs.values())


def _default_workload(catalogue: Catalogue, kind: Kind | None) -> str:
    """The engine's first workload that works on what the systems are."""
    fitting = (card for card in catalogue.workloads if kind is None or card.target == kind.target)
    return next(fitting, catalogue.workloads[0]).name


def _wrong_target(card: Card, kind: Kind) -> str:
    """What to say of a workload that has nothing to do on the systems of a study."""
    return (
        f"{card.name} needs {TARGETS[card.target]}; "
        f"systems of kind {kind.name} have {TARGETS[kind.target]}"
    )


def _hosts(file: StudyFile, kinds: Sequence[Kind | None], flaws: list[Flaw]) -> int:
    """How many hosts carry the study out, each a session of it."""
    placement = file.placement
    if placement is None:
        return 1
    engine, hosts = placement.engine, len(placement.hosts) or placement.nodes
    key, other = ("nodes", "hosts") if engine == "slurm" else ("hosts", "nodes")
    if not getattr(placement, key):
        flaws.append(Flaw(("placement", key), f'engine = "{engine}" needs {key}'))
    if getattr(placement, other):
        flaws.append(Flaw(("placement", other), f'is not for engine = "{engine}"; write {key}'))
    if len(set(placement.hosts)) < len(placement.hosts):
        flaws.append(Flaw(("placement", "hosts"), "names a host twice"))
    if file.precision.sessions > max(1, hosts):
        text = f"a host carries out one session, and there are {hosts}"
        flaws.append(Flaw(("precision", "sessions"), text))
    for kind in kinds:
        if kind is not None and not kind.placed:
            text = f"systems of kind {kind.name} are not made on the hosts of a placement"
            flaws.append(Flaw(("placement",), text))
            break
    return file.precision.sessions if file.precision.sessions > 1 else max(1, hosts)


def _misplaced(systems: Sequence[SystemSpec]) -> Iterator[Flaw]:
    """What no host of a placement does."""
    asked = [system.settings for system in systems]
    if any(settings.get("reset") == "reboot" for settings in asked):
        text = 'does not boot its hosts; write reset = "mkfs", or systems.host and no placement'
        yield Flaw(("placement",), text)
    if any(settings.get("host") for settings in asked):
        yield Flaw(
            ("placement",), "says which hosts have the systems; leave host out, or placement"
        )


def _precision(table: PrecisionTable, hosts: int, flaws: list[Flaw]) -> Precision:
    """When to stop; a number of blocks is a profile of its own."""
    from tiltyard.stats.looks import FEWEST

    sessions = max(table.sessions, hosts)
    if table.blocks is not None and table.profile is not None:
        text = f'fixes the number of blocks, profile = "{table.profile}" does not; choose one'
        flaws.append(Flaw(("precision", "blocks"), text))
    blocks = table.blocks
    if sessions > 1:
        if table.profile is not None:
            text = (
                "each session has as many blocks as the others and no look of its own, profile = "
                f'"{table.profile}" looks after some of them; write blocks instead'
            )
            flaws.append(Flaw(("precision", "sessions"), text))
        blocks = blocks or BLOCKS_OF_A_SESSION
        if table.verdict == "adjusted":
            text = "what is said over sessions is not adjusted; leave verdict out, or sessions"
            flaws.append(Flaw(("precision", "verdict"), text))
    fewest = math.ceil(FEWEST / hosts)
    if blocks is not None and blocks < fewest:
        text = f"{blocks} is too small: at least {fewest}"
        flaws.append(Flaw(("precision", "blocks"), text))
    if table.verdict == "adjusted" and not table.adjust_for:
        text = 'needs something to adjust for: leave adjust_for out, or write ["external_cpu"]'
        flaws.append(Flaw(("precision", "verdict"), text))
    return Precision(
        profile="fixed" if blocks is not None else table.profile or "standard",
        strict=table.strict,
        blocks=blocks,
        equivalent_within=table.equivalent_within,
        false_discovery_rate=table.false_discovery_rate,
        budget_s=table.budget,
        futility=table.futility,
        sessions=sessions,
        adjust_for=tuple(dict.fromkeys(table.adjust_for)),
        verdict=table.verdict,
    )


def _beyond(
    precision: Precision, systems: Sequence[SystemSpec], workloads: Sequence[WorkloadSpec]
) -> Iterator[Flaw]:
    """More trials than a study can have."""
    from tiltyard.stats.sequential import looks

    asked = (precision.profile, precision.strict, precision.blocks)
    blocks = precision.sessions * looks(*asked)[-1][0]
    trials = blocks * len(systems) * sum(workload.trials or 1 for workload in workloads)
    if trials > TRIALS_MAX:
        text = (
            f"{count_of(blocks, 'block')} of {count_of(trials // blocks, 'trial')} "
            f"{agreeing(blocks, 'is', 'are')} {trials}, and no more than "
            f"{TRIALS_MAX} can be planned; take fewer systems, workloads, trials or blocks"
        )
        yield Flaw(("precision", "blocks") if precision.blocks else ("workload",), text)


def _conditions(table: ConditionsTable, flaws: list[Flaw]) -> ConditionsSpec:
    """Conditions of measurement; pinned and unpinned at once is a contradiction."""
    if table.cpus and table.unpinned:
        text = "contradicts cpus: threads are pinned to CPUs, or left unpinned"
        flaws.append(Flaw(("conditions", "unpinned"), text))
    if table.isolate and not table.cpus:
        text = "needs cpus: those that others are kept off"
        flaws.append(Flaw(("conditions", "isolate"), text))
    return ConditionsSpec(
        cpus=tuple(table.cpus),
        unpinned=table.unpinned,
        keep_awake=table.keep_awake,
        numa=table.numa,
        isolate=table.isolate,
    )
