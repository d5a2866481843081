"""A study file as it is typed: the grammar of ``study.toml``.

Each description is the help of that key: the JSON Schema and messages of errors are made of it.
What the file *means* is :mod:`tiltyard.study.model`; :mod:`tiltyard.study.lift` goes from one to
the other.
"""

from collections.abc import Callable
from typing import Annotated, Literal

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    JsonValue,
    StringConstraints,
    WithJsonSchema,
)

from tiltyard.study.model import Analysis, Covariate, Placement
from tiltyard.study.problems import shown
from tiltyard.units import parse_duration, parse_part, parse_percent

SEED_MAX = 2**63 - 1
"""The largest whole number of TOML."""


Text = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]
"""Text that says something."""


def _quantity(
    parse: Callable[[str], float], accepts: Callable[[float], bool], limits: str, example: str
) -> BeforeValidator:
    """Reads a quantity that is typed as text, with its unit, within limits."""

    def read(typed: object) -> float:
        if not isinstance(typed, str):
            raise ValueError(f'{shown(typed)} has no unit. Write it like "{example}"')
        if not accepts(quantity := parse(typed)):
            raise ValueError(f"{shown(typed)} is out of range: {limits}")
        return quantity

    return BeforeValidator(read)


def _text_schema(pattern: str, example: str) -> WithJsonSchema:
    """What an editor is told of a quantity that is typed as text."""
    return WithJsonSchema({"type": "string", "pattern": pattern, "examples": [example]})


Percent = Annotated[
    float,
    _quantity(parse_percent, lambda share: 0 < share < 1, "between 0% and 100%", "2%"),
    _text_schema(r"^\s*[0-9]+(\.[0-9]+)?\s*%\s*$", "2%"),
]
"""``"2%"`` in the file, 0.02 from here on."""

PercentOrNone = Annotated[
    float,
    _quantity(parse_percent, lambda share: 0 <= share < 1, "from 0% to below 100%", "3%"),
    _text_schema(r"^\s*[0-9]+(\.[0-9]+)?\s*%\s*$", "3%"),
]
"""The same where nothing has a meaning of its own."""

Duration = Annotated[
    float,
    _quantity(parse_duration, lambda seconds: seconds > 0, "longer than nothing", "45 min"),
    _text_schema(r"^\s*[0-9]+(\.[0-9]+)?\s*(s|sec|min|m|h)\s*$", "45 min"),
]
"""``"45 min"`` in the file, seconds from here on."""


def _scale(typed: object) -> str:
    """A part of the whole, as text."""
    if not isinstance(typed, str):
        raise ValueError(f'{shown(typed)} is not text. Write it like "1/64"')
    return str(parse_part(typed))


Scale = Annotated[
    str, BeforeValidator(_scale), _text_schema(r"^([0-9]+/[0-9]+|[0-9]*\.?[0-9]+)$", "1/64")
]
"""More than 0, at most 1."""


def _levels(typed: object) -> object:
    """A factor must be a list or a table; said in the words of a study."""
    if not isinstance(typed, list | dict):
        raise ValueError(
            "the levels of a factor are a list, or a table { name = value } of named levels; "
            "a setting that all systems share belongs in [systems]"
        )
    return typed


Levels = Annotated[list[JsonValue] | dict[str, JsonValue], BeforeValidator(_levels)]
"""Values of a factor's levels, named by themselves (list) or explicitly (table)."""


def _workload_tables(typed: object) -> object:
    """``[workload]`` instead of ``[[workload]]`` is easily typed."""
    if isinstance(typed, dict):
        raise ValueError("there may be several workloads; write the header [[workload]]")
    return typed


Profile = Literal["standard", "quick", "rigorous", "long"]
"""When one looks."""


class Typed(BaseModel):
    """Base of the file's tables: nothing is guessed, nothing unknown is passed over."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, defer_build=True)


class SystemsTable(Typed):
    """Settings that all systems share, and their kind."""

    model_config = ConfigDict(extra="allow")
    __pydantic_extra__: dict[str, JsonValue]

    kind: str | None = Field(
        None,
        description="What the systems are. Needed only where the settings do not tell.",
    )

    @property
    def settings(self) -> dict[str, JsonValue]:
        """All keys but ``kind``."""
        return self.__pydantic_extra__


class WorkloadTable(Typed):
    """One workload; keys other than these are its parameters."""

    model_config = ConfigDict(extra="allow")
    __pydantic_extra__: dict[str, JsonValue]

    use: str = Field(description='The workload to run, as "tiltyard workloads" lists it.')
    name: Text | None = Field(
        None,
        description="What it is called in this study; by default as in `use`. "
        "Needed where one workload is used twice.",
    )
    trials: int | None = Field(
        None,
        ge=1,
        le=100,
        description="Trials in each turn, each a process of its own; their mean is the block's "
        "value. By default what a pilot found best, else one.",
    )
    alternate: bool | None = Field(
        None,
        description="Whether the executions of a program alternate between systems within a block, "
        "one each in an order drawn for each round. By default they do where systems differ in "
        "nothing but their programs, and a trial has several executions, and nothing that is done "
        "once around them (setup, cleanup, turn, servers). `false`: each system has all of its "
        "executions of a block one after the other.",
    )

    @property
    def parameters(self) -> dict[str, JsonValue]:
        """All keys but these; the engine resolves the rest."""
        return self.__pydantic_extra__


class PrecisionTable(Typed):
    """When to stop, and what counts as the same."""

    profile: Profile | None = Field(
        None,
        description="The blocks at which the data are looked at, and may decide to stop. "
        "By default standard: 7, 10, 14 and 20; with several pairs of systems or workloads "
        "9 to 12, 15 and 20. With long: 8, 12, 20, 34, 60 and 100, where blocks cost little; "
        "without a budget those after the 20th are begun in the first 2 min only.",
    )
    blocks: int | None = Field(
        None,
        ge=2,
        le=1000,
        description="Exactly so many blocks and one look at the end, instead of a profile: 6 or "
        "more, with a placement 6 or more on all hosts together, and 2 or more on each.",
    )
    sessions: int = Field(
        1,
        ge=1,
        le=100,
        description="How often the study is carried out, each time on another day or in another "
        "boot, with so many `blocks` each, by default 7. The verdict is over sessions from 6 on.",
    )
    strict: bool = Field(
        False,
        description="Use constants whose error rate holds even if the noise drifts; "
        "needs more blocks.",
    )
    equivalent_within: Percent = Field(
        "2%",
        validate_default=True,
        description="Systems that differ by less than this count as equivalent.",
    )
    false_discovery_rate: Percent = Field(
        "5%",
        validate_default=True,
        description="Share of false ones among all differences that are claimed.",
    )
    budget: Duration | None = Field(
        None,
        description="Wall time after which no further block is begun; by default no limit.",
    )
    futility: bool = Field(
        False,
        description="Stop a comparison early that is not likely to be decided by the last look.",
    )
    adjust_for: list[Covariate] = Field(
        ["external_cpu", "steal"],
        description="What others did while trials ran, on the CPUs that measure, and what the "
        "adjusted analysis takes off: CPU time of theirs, time that the hypervisor took. "
        "Empty: there is no such analysis. No adjusted verdict is given where they are not shown "
        "to have done the same beside both systems.",
    )
    verdict: Analysis = Field(
        "unadjusted",
        description="The analysis whose verdicts are those of the study; the other one stands "
        "beside it.",
    )


class NoiseTable(Typed):
    """Noise limits: when a block counts as disturbed, by telemetry, never by results."""

    disturbed: Literal["replace", "keep", "adapt"] = Field(
        "replace",
        description="What becomes of a disturbed block: a replacement block is run for it, and "
        "beyond a fifth of all there is no verdict (replace); it counts like any other (keep); or "
        "replacement blocks are run first, and further ones count (adapt). Verdicts that rest on "
        'disturbed blocks are marked "under load". Each block is kept and reported.',
    )
    foreign_cpu: Percent = Field(
        "3%",
        validate_default=True,
        description="CPU time of other processes, as a share of one core.",
    )
    foreign_io: Percent = Field(
        "2%",
        validate_default=True,
        description="Bytes that others moved on the device under test, as a share of ours.",
    )
    pressure: Percent = Field(
        "2%",
        validate_default=True,
        description="Time in which tasks of others waited for CPU, disk or memory.",
    )
    steal: Percent = Field(
        "1%", validate_default=True, description="CPU time that the hypervisor took."
    )
    frequency: Percent = Field(
        "1%",
        validate_default=True,
        description="Mean CPU frequency of a trial, off the median of its block.",
    )
    temperature_k: float = Field(
        5.0, gt=0, description="Change of temperature inside a block, in kelvin."
    )
    reference_run: PercentOrNone = Field(
        "3%",
        validate_default=True,
        description="A fixed piece of work before and after each block, off its median; 0%: none "
        "is done. Beside trials of less than 10 s together there is none either.",
    )


class ConditionsTable(Typed):
    """Conditions of measurement."""

    cpus: list[Annotated[int, Field(ge=0)]] = Field(
        [],
        description="CPUs that the measuring threads are pinned to, in order. "
        "Empty: the engine chooses.",
    )
    unpinned: bool = Field(False, description="Leave the threads where the scheduler puts them.")
    numa: int | None = Field(
        None,
        ge=0,
        description="NUMA node whose CPUs and memory the measuring threads use; by default any.",
    )
    isolate: bool = Field(
        False,
        description="Keep the work of others off `cpus` while the study runs: what measures has "
        "them for itself. Needs root and control groups of version 2, a CPU that is left for "
        "others, and no task of others that is bound to these. It is put back afterwards.",
    )
    keep_awake: bool = Field(
        False,
        description="Keep the other CPUs awake with a spinner of lowest priority: waking a "
        "halted virtual CPU can cost more than the I/O that is measured.",
    )


class StudyFile(Typed):
    """A question about systems, and how to answer it by measuring."""

    question: Text = Field(description="What is to be found out; the first line of every report.")
    decide: Text | None = Field(None, description="The decision that the answer serves.")
    asks: str | None = Field(
        None,
        description="The factor that the question is about: reports compare its levels, all other "
        "levels being the same. By default the one that the question names, else the first one.",
    )
    seed: int | None = Field(
        None,
        ge=0,
        le=SEED_MAX,
        description="Seed of the random order; by default drawn when the plan is frozen.",
    )
    baseline: str | None = Field(
        None,
        description="The system that tables are relative to; by default the first one.",
    )
    scale: Scale = Field(
        "1",
        description="Sizes, counts and durations are made smaller by this fraction before the plan "
        "is frozen; --scale goes before it. Plan and report say what became of them.",
    )
    factors: dict[str, Levels] = Field(
        min_length=1,
        description="What is varied on purpose: each key a setting of the systems, with its "
        "levels; or any other name, whose levels are tables of settings that go together. "
        "The systems are all combinations; the first factor varies slowest.",
    )
    systems: SystemsTable = Field(
        SystemsTable(), description="Settings that all systems share, and their kind."
    )
    workload: Annotated[
        list[WorkloadTable] | None, Field(min_length=1), BeforeValidator(_workload_tables)
    ] = Field(
        None,
        description="What every system meets once in each block, with parameters. "
        "By default the engine's first workload as it comes.",
    )
    precision: PrecisionTable = Field(
        PrecisionTable(), description="When to stop, and what counts as the same."
    )
    conditions: ConditionsTable = Field(ConditionsTable(), description="Conditions of measurement.")
    noise: NoiseTable = Field(
        NoiseTable(), description="Noise limits: on telemetry, never on results."
    )
    placement: Placement | None = Field(
        None,
        description="Hosts that carry the study out at the same time, each a session of it: "
        "systems are directories on them, or programs there. By default this host does.",
    )
