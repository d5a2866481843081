"""What a study says of a program beyond what the engine executes: which numbers it prints.

The engine's ``program`` workload starts, times and counts (see ``tiltyard workloads program``);
what it captured is read by the lab, by the keys here.
"""

from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import ConfigDict, Field, JsonValue, StringConstraints, model_validator

from tiltyard.study.model import Frozen
from tiltyard.wire import Card

BuiltIn = Literal[
    "time",
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

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

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
    take: Literal["last", "first", "mean", "sum", "min", "max"] = Field(
        "last", description="Which one counts where several match."
    )
    unit: Printed = Field(description='As printed: "1/s", "ms", "MiB/s", "B", "count", "%".')
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


Metrics = dict[Printed, BuiltIn | MetricTable]
"""Name → what is measured of every execution, or where the program prints it."""


class ProgramCard(Card):
    """A workload that is the engine's ``program``, described elsewhere: a profile."""

    argument: str | None = None
    """The parameter that may stand after its name: ``fio:mail.fio``."""

    def expand(self, parameters: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
        """What a person would type after ``use = "program"`` for such parameters.

        Raises:
            JobRefused: if a parameter is not what it must be.
        """
        raise NotImplementedError
