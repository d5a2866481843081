"""From what was typed to what it means: every default resolved, every name looked up."""

import itertools
import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from typing import Final

from pydantic import JsonValue, ValidationError

from tiltyard.executors.engine import JobRefused
from tiltyard.study.bounds import SYSTEMS_MAX, TRIALS_MAX
from tiltyard.study.clients import flaws_of_clients, split
from tiltyard.study.file import ConditionsTable, PrecisionTable, StudyFile, WorkloadTable
from tiltyard.study.kinds import (
    HOST,
    KIND,
    TARGETS,
    UNSPOKEN,
    Given,
    Kind,
    Level,
    kinds_of,
    levels_of,
    names_of,
    same_target,
)
from tiltyard.study.locate import KeyPath
from tiltyard.study.model import (
    ClientSpec,
    ConditionsSpec,
    NoiseLimits,
    Precision,
    Study,
    SystemSpec,
    WorkloadSpec,
)
from tiltyard.study.placeholders import names_in, partly_filled
from tiltyard.study.problems import FLAWS_MAX, Flaw, no_workload, not_a, parameter_of, shown
from tiltyard.study.program import (
    OF_SERVICE,
    PROGRAM,
    SERVER,
    SERVICE,
    Readings,
    Variable,
    flaws_of_readings,
    flaws_of_study_commands,
    is_program,
    placeholders,
    program_of,
)
from tiltyard.study.wording import flaws_of
from tiltyard.study_path import perhaps
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
        noise_limits=NoiseLimits(
            disturbed=file.noise.disturbed, **file.noise.model_dump(exclude={"disturbed"})
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


@dataclass(frozen=True)
class Combination:
    """One level of each factor: what a system is made of."""

    levels: tuple[Level, ...]
    settings: dict[str, Given]
    """What its levels and ``[systems]`` set; a kind, where one is named, is among them."""
    variables: dict[str, Given]
    """What they set beside that, for the commands of programs."""

    @property
    def home(self) -> KeyPath:
        """Where a setting that is missing would stand."""
        bundles = (level.path for level in self.levels if level.is_bundle)
        return next(bundles, ("systems",))


@dataclass(frozen=True)
class Keys:
    """What a level can set."""

    settings: Set[str]
    """Of any kind of system."""
    variables: Set[str] = frozenset()
    """For the commands of programs."""
    taken: Set[str] = frozenset()
    """Settings that stand in commands, and cannot be told from variables there."""


def combine(file: StudyFile, keys: Keys, flaws: list[Flaw]) -> tuple[Combination, ...]:
    """All combinations of levels, the first factor varying slowest.

    Args:
        file: the study.
        keys: what a level can set.
        flaws: what is wrong is added here.
    """
    before = len(flaws)
    settable = keys.settings | keys.variables
    factors = [levels_of(factor, typed, settable, flaws) for factor, typed in file.factors.items()]
    shared = {
        key: Given(value, ("systems", key), ("systems", key))
        for key, value in file.systems.settings.items()
    }
    if file.systems.kind is not None:
        shared[KIND] = Given(file.systems.kind, ("systems", KIND), ("systems", KIND))
    flaws.extend(_set_twice(shared, factors))
    if keys.variables or keys.taken:
        flaws.extend(_no_variables(shared, factors, keys))
    if (systems := math.prod(map(len, factors))) > SYSTEMS_MAX:
        text = (
            f"the levels combine to {count_of(systems, 'system')}, and no more than {SYSTEMS_MAX} "
            "can be "
            "compared; take out levels, or a factor"
        )
        flaws.append(Flaw(("factors",), text))
    if len(flaws) > before:
        return ()
    combinations = []
    for levels in itertools.product(*factors):
        given = _merged(shared, *(level.settings for level in levels))
        own = {key: given.pop(key) for key in keys.variables & given.keys()}
        combinations.append(Combination(levels, given, own))
    return tuple(combinations)


def services_in(file: StudyFile) -> list[JsonValue]:
    """The tables of servers of systems, as they are typed."""
    levels = [one for factor in file.factors.values() for one in _levels_of(factor)]
    found = [level[SERVICE] for level in levels if isinstance(level, dict) and SERVICE in level]
    found += _levels_of(file.factors.get(SERVICE, []))
    shared = file.systems.settings.get(SERVICE)
    return found if shared is None else [shared, *found]


def _levels_of(factor: list[JsonValue] | dict[str, JsonValue]) -> Iterable[JsonValue]:
    return factor.values() if isinstance(factor, dict) else factor


def lift_systems(
    combinations: Sequence[Combination],
    kinds: Sequence[Kind | None],
    flaws: list[Flaw],
    *,
    programs: bool = False,
) -> tuple[SystemSpec, ...]:
    """The systems that combinations of a kind each describe.

    Args:
        combinations: of levels.
        kinds: one for each; ``None``: not known.
        flaws: what is wrong is added here.
        programs: whether programs are executed on them.
    """
    before = len(flaws)
    systems = [
        system
        for combination, kind in zip(combinations, kinds, strict=True)
        if kind is not None
        and (system := _system(kind, combination, flaws, programs=programs)) is not None
    ]
    if combinations and None not in kinds and len(flaws) == before:
        _check_distinct(systems, flaws)
        _check_one_clock(systems, flaws)
    return tuple(systems)


def _set_twice(shared: dict[str, Given], factors: Sequence[Sequence[Level]]) -> Iterator[Flaw]:
    """A setting belongs to one factor, or to ``[systems]``; of a table each key does."""
    owners: dict[KeyPath, str] = {}
    for level in itertools.chain(*factors):
        for key, given in level.settings.items():
            for leaf in _leaves((key,), given.value):
                owner = _owner_of(leaf, owners)
                owners.setdefault(leaf, level.factor)
                if owner not in (None, level.factor):
                    text = f"is set by the factor {owner} as well; a setting belongs to one factor"
                    yield Flaw((*given.key, *leaf[1:]), text)
    for key, given in shared.items():
        for leaf in _leaves((key,), given.value):
            if (owner := _owner_of(leaf, owners)) is None:
                continue
            if owner == key:
                text = "is a factor as well; take it out of [systems], or out of [factors]"
            else:
                text = f"is set by the factor {owner} as well; take it out of one of them"
            yield Flaw((*given.key, *leaf[1:]), text)


def _leaves(path: KeyPath, value: JsonValue) -> Iterator[KeyPath]:
    """What a setting sets: itself, or each key of its table, whose dots may be tables."""
    if isinstance(value, dict) and value:
        for key, each in value.items():
            yield from _leaves((*path, *key.split(".")), each)
    else:
        yield path


def _owner_of(leaf: KeyPath, owners: Mapping[KeyPath, str]) -> str | None:
    """The factor that sets it, what it is in, or what is in it."""
    if leaf in owners:
        return owners[leaf]
    return next((own for path, own in owners.items() if _overlap(path, leaf)), None)


def _overlap(path: KeyPath, other: KeyPath) -> bool:
    """Whether one is the other, or is in it."""
    shorter = min(len(path), len(other))
    return path[:shorter] == other[:shorter]


def _merged(*tables: Mapping[str, Given]) -> dict[str, Given]:
    """Settings of several places; those that are tables have the keys of each."""
    found: dict[str, Given] = {}
    for key, given in itertools.chain.from_iterable(table.items() for table in tables):
        before = found.get(key)
        found[key] = given if before is None else replace(
            given, value=_joined(before.value, given.value)
        )  # fmt: skip
    return found


def _joined(before: JsonValue, value: JsonValue) -> JsonValue:
    if not isinstance(before, dict) or not isinstance(value, dict):
        return value
    return {**before, **{key: _joined(before.get(key), each) for key, each in value.items()}}


def _no_variables(
    shared: dict[str, Given], factors: Sequence[Sequence[Level]], keys: Keys
) -> Iterator[Flaw]:
    """A key that stands in no command is a setting, and one that stands in one is none."""
    tables = (shared, *(level.settings for level in itertools.chain(*factors)))
    for key, given in itertools.chain.from_iterable(table.items() for table in tables):
        if key in keys.taken:
            text = f"is a setting of systems; in a command it needs another name: {{the_{key}}}"
            yield Flaw(given.key, text)
        elif key not in keys.settings | keys.variables:
            text = f"no command has {{{key}}}, and no kind of system such a setting"
            yield Flaw(given.key, f"{text}.{perhaps(key, keys.settings | keys.variables)}")


def _variables(combination: Combination, flaws: list[Flaw]) -> dict[str, Variable]:
    """Values for commands, as text."""
    found: dict[str, Variable] = {}
    for key, given in sorted(combination.variables.items()):
        value = given.value
        words = value if isinstance(value, list) else [value]
        if isinstance(value, bool) or not all(
            isinstance(word, str | int | float) and not isinstance(word, bool) for word in words
        ):
            text = f"{shown(value)} cannot stand in a command: it is text, a number or a list"
            flaws.append(Flaw(given.path, text))
            continue
        texts = tuple(map(str, words))
        found[key] = texts if isinstance(value, list) else texts[0]
    return found


def _system(
    kind: Kind, combination: Combination, flaws: list[Flaw], *, programs: bool
) -> SystemSpec | None:
    """One system; ``None``, with flaws added, if its settings are not right."""
    if len(flaws) >= FLAWS_MAX:
        return None
    given = {key: each for key, each in combination.settings.items() if key != KIND}
    variables = _variables(combination, flaws)
    typed = {key: each.value for key, each in given.items()}
    if SERVICE in typed:
        for key in sorted(variables.keys() & {*OF_SERVICE}):
            text = f"{{{key}}} is what the service tells. Fix: give the variable another name"
            flaw = Flaw(combination.variables[key].key, text)
            flaws += [] if flaw in flaws else [flaw]
        typed[SERVICE] = partly_filled(typed[SERVICE], variables)
    try:
        settings = kind.Settings.model_validate(typed)
    except ValidationError as error:
        for flaw in flaws_of(error, kind.Settings):
            setting, *inside = flaw.path or ("",)
            found = given.get(str(setting))
            path = (*found.path, *inside) if found else (*combination.home, *flaw.path)
            text = flaw.text
            if found and not inside and _is_bundle_of(kind, found.value):
                text = (
                    f"{setting} is a setting by itself, and this level is a table of several. "
                    f"Fix: call the factor otherwise: [factors.{setting}s]"
                )
            flaws.append(Flaw(path, text))
        return None
    if programs and (reason := kind.programs(settings)):
        telling = combination.settings.get(KIND) or next(iter(given.values()), None)
        path = telling.key if telling else combination.home
        flaws.append(Flaw(path, f"no program can be executed on {kind.name}: {reason}"))
        return None
    spoken = [level.name for level in combination.levels if level.name != UNSPOKEN]
    return SystemSpec(
        name=" ".join(spoken) or UNSPOKEN,
        levels={level.factor: level.name for level in combination.levels},
        kind=kind.name,
        settings=settings.model_dump(mode="json"),
        redraws=kind.redraws(settings),
        clock=kind.clock(settings),
        elsewhere=programs and (kind.elsewhere or getattr(settings, "host", None) is not None),
        variables=variables,
    )


def _is_bundle_of(kind: Kind, value: JsonValue) -> bool:
    """Whether a value looks like a level that sets several settings."""
    return isinstance(value, dict) and bool(value.keys() & {KIND, *kind.Settings.model_fields})


def _check_distinct(systems: Sequence[SystemSpec], flaws: list[Flaw]) -> None:
    """There are two systems at least, and a name means one of them."""
    if len(systems) == 1:
        text = "there is nothing to compare: give one factor two levels or more"
        flaws.append(Flaw(("factors",), text))
    for name, times in Counter(system.name for system in systems).items():
        if times > 1:
            text = f'{times} systems would be called "{name}"; give the levels different names'
            flaws.append(Flaw(("factors",), text))


def _check_one_clock(systems: Sequence[SystemSpec], flaws: list[Flaw]) -> None:
    """Time and instructions cannot be compared."""
    if len({system.clock for system in systems}) > 1:
        varied = any("clock" in system.levels for system in systems)
        text = "all systems of a study have one clock: a count of instructions is no time"
        flaws.append(Flaw(("factors", "clock") if varied else ("factors",), text))
