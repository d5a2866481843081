"""What a study says of a program beyond what the engine executes: which numbers it prints.

The engine's ``program`` workload starts, times and counts (see ``tiltyard workloads program``);
what it captured is read by the lab, by the keys here.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Final, Literal, Self, get_args

from pydantic import (
    ConfigDict,
    Field,
    JsonValue,
    StringConstraints,
    ValidationError,
    model_validator,
)

from tiltyard.frozen import Frozen
from tiltyard.study.locate import KeyPath
from tiltyard.study.placeholders import names_in
from tiltyard.study.problems import Flaw, not_a, shown
from tiltyard.study.wording import flaws_of
from tiltyard.wire import Card

BuiltIn = Literal[
    "time",
    "cpu_time",
    "user",
    "system",
    "peak_memory",
    "minor_faults",
    "major_faults",
    "voluntary_switches",
    "involuntary_switches",
    "read",
    "written",
]
"""What the engine measures of every execution."""

Printed = Annotated[str, StringConstraints(min_length=1, max_length=1000)]


class MetricTable(Frozen):
    """One number of what a program prints: where it stands, its unit, and which way is better."""

    model_config = ConfigDict(
        frozen=True, extra="forbid", strict=True, validate_by_name=True, serialize_by_alias=True
    )

    regex: Printed | None = Field(
        None, description="A regular expression; its first group is the number."
    )
    json_path: Printed | None = Field(
        None, alias="json", description="A JSONPath into output that is JSON: $.jobs[0].read.iops."
    )
    csv: Printed | None = Field(
        None, description="A column of output that is CSV with a header line."
    )
    key: Printed | None = Field(
        None, description='What stands before the number: "Requests per second".'
    )
    last: bool = Field(False, description="The last line of the output is the number.")
    exit: bool = Field(False, description="The exit code is the number.")
    of: Printed = Field(
        "stdout",
        description='Where it stands: "stdout", "stderr", or the path of one of `files`.',
    )
    after: Printed | None = Field(
        None,
        description="A text; only what stands from there on is looked at.",
    )
    before: Printed | None = Field(
        None,
        description="A text; only what stands before it is looked at.",
    )
    take: Literal[
        "last", "first", "mean", "geometric_mean", "harmonic_mean", "sum", "min", "max"
    ] = Field("last", description="Which one counts where several match.")
    unit: Printed = Field(description='As printed: "1/s", "ms", "MiB/s", "B", "count", "%".')
    decimal: Literal[".", ","] | None = Field(
        None,
        description='The sign before decimals; the other one parts thousands. Without it "1,021", '
        "which may be either, is refused.",
    )
    scale: float = Field(
        1, gt=0, allow_inf_nan=False, description="What the printed number is multiplied by."
    )
    inverse: bool = Field(
        False,
        description="Whether 1 by the printed number is what counts.",
    )
    better: Literal["higher", "lower"] = Field(description="Which way is better.")
    label: Printed | None = Field(None, description="As a heading shows it; by default its name.")
    headline: bool = Field(True, description="Whether verdicts are given on it.")

    @model_validator(mode="after")
    def _one_way(self) -> "MetricTable":
        """A number stands in one place."""
        ways = (self.regex, self.json_path, self.csv, self.key, self.last, self.exit)
        if sum(map(bool, ways)) != 1:
            raise ValueError("give one of regex, json, csv, key, last = true and exit = true")
        return self


Metrics = dict[Printed, BuiltIn | Printed | MetricTable]
"""Name → what the engine measures of every execution or the reader reads, or where the program
prints it."""

WALL_TIME: Final = "time"
CPU_TIME: Final = "cpu_time"
"""What the engine measures of work that is given: how long it takes, by the clock and on CPUs."""

PROGRAM: Final = "program"
"""The engine's name of the workload that executes a program."""
INPUTS: Final = "inputs"
"""Its parameter of texts in which nothing is filled in: files in the directory of each trial."""
_OWN: Final = frozenset(("dir", "execution", "study_dir"))
"""Placeholders that are filled in for every system."""
OF_COMPARE: Final = frozenset(("expected", "output"))
"""Files that only a command that compares outputs knows."""
SERVICE: Final = "service"
"""The setting of systems that have a server."""
SECRET: Final = "secret"
OF_SERVICE: Final = ("service_dir", "port", "socket", SECRET)
"""What such a system tells its programs, new in each turn."""
STUDY_DIR: Final = "study_dir"
"""What stands for the directory of ``study.setup`` in commands."""

SERVER: Final = "server"
"""What any system tells its programs: the address of its server end."""

Variable = str | tuple[str, ...]
"""A value of a system that stands in commands: text, or the words of a list."""


class Readings(Frozen):
    """What is read of what a program prints."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    read: Printed | None = Field(
        None, description='The reader of what it prints, by name: "fio", "pgbench".'
    )
    metrics: Metrics = Field(
        {}, description="Metrics by name: one that the engine measures, or where it is printed."
    )

    @classmethod
    def split(cls, table: Mapping[str, JsonValue]) -> tuple[Self, dict[str, JsonValue]]:
        """The keys of a program's table that are about reading, and those that the engine takes.

        Raises:
            pydantic.ValidationError: if the former are not right.
        """
        own = {key: value for key, value in table.items() if key in cls.model_fields}
        rest = {key: value for key, value in table.items() if key not in cls.model_fields}
        return cls.model_validate(own), rest


class ProgramCard(Card):
    """A workload that is the engine's ``program``, described elsewhere: a profile."""

    argument: str | None = None
    """The parameter that may stand after its name: ``fio:mail.fio``."""

    @property
    def brought(self) -> bool:
        """Whether it comes with the study, and its commands with it."""
        raise NotImplementedError

    def files_of(self, parameters: Mapping[str, JsonValue], name: str) -> list[Path]:
        """The files that a study means by a parameter, with those that they include."""
        raise NotImplementedError

    def from_shell(self, parameters: Mapping[str, JsonValue]) -> dict[str, list[str]]:
        """Parameters whose values are those of this shell, so that they are written down.

        Raises:
            JobRefused: if a parameter is not what it must be.
        """
        raise NotImplementedError

    def expand(self, parameters: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
        """What a person would type after ``use = "program"`` for such parameters.

        Raises:
            JobRefused: if a parameter is not what it must be.
        """
        raise NotImplementedError


def is_program(card: Card | None) -> bool:
    """Whether a workload is a program, whose commands may have values of the systems."""
    return isinstance(card, ProgramCard) or (card is not None and card.name == PROGRAM)


def program_of(
    card: Card | None, parameters: Mapping[str, JsonValue]
) -> dict[str, JsonValue] | None:
    """The table of a program workload, as one would type it; ``None`` for any other workload.

    Args:
        card: of the workload.
        parameters: as the study has them.

    Raises:
        JobRefused: if a parameter of a profile is not what it must be.
    """
    if isinstance(card, ProgramCard):
        return card.expand(parameters)
    return dict(parameters) if is_program(card) else None


def flaws_of_study_commands(table: Mapping[str, JsonValue], path: KeyPath) -> Iterator[Flaw]:
    """Values of systems in commands that are executed when no system is up.

    Args:
        table: of a program, as it is typed.
        path: where it stands.
    """
    for name in sorted(set(names_in(table.get("study"))) - _OWN):
        yield Flaw(
            (*path, "study"),
            f"{{{name}}} is a value of one system, and these commands are executed once for all. "
            "Fix: move the command to turn.setup or turn.cleanup",
        )


def flaws_of_readings(table: Mapping[str, JsonValue], path: KeyPath) -> Iterator[Flaw]:
    """What is wrong with what a program's table says of reading.

    Args:
        table: as it is typed.
        path: where it stands.
    """
    metrics = table.get("metrics", {})
    if not isinstance(metrics, dict):
        yield Flaw((*path, "metrics"), f"{shown(metrics)} is not a table {{ name = … }}")
        return
    built_in = get_args(BuiltIn)
    for name, value in metrics.items():
        key = (*path, "metrics", name)
        if isinstance(value, str) and value not in built_in and "read" not in table:
            yield Flaw(key, not_a(value, "metric of the engine", built_in))
        elif not isinstance(value, str):
            try:
                MetricTable.model_validate(value)
            except ValidationError as error:
                for flaw in flaws_of(error, MetricTable):
                    yield Flaw((*key, *flaw.path), flaw.text)
    if not isinstance(read := table.get("read", ""), str):
        yield Flaw((*path, "read"), f"{shown(read)} is not text. Text stands in quotes")


def placeholders(table: Mapping[str, JsonValue]) -> set[str]:
    """Names of the values of a system that stand in the table of a program, as ``{name}``."""
    aside = {*Readings.model_fields, INPUTS}
    executed = {key: value for key, value in table.items() if key not in aside}
    expect = executed.pop("expect", {})
    compare = names_in(expect.get("compare", [])) if isinstance(expect, dict) else ()
    return {*names_in(executed), *(set(compare) - OF_COMPARE)} - _OWN
