"""What a profile file may say: the grammar of ``workloads/NAME.toml``.

Each description is the help of that key: the JSON Schema and messages of errors are made of it.
"""

from typing import Annotated, Literal, Self

from pydantic import ConfigDict, Field, JsonValue, StringConstraints, model_validator

from tiltyard.importers.patterns import require_expression
from tiltyard.study.file import Text, Typed

Name = Annotated[str, StringConstraints(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")]
Sort = Literal[
    "size", "int", "float", "text", "words", "choice", "bool", "duration", "path", "file", "files"
]
"""What a parameter is."""
Unit = Literal["B", "KiB", "MiB", "GiB", "s", "ms"]

_OF_SORTS: dict[str, tuple[Sort, ...]] = {
    "min": ("size", "int", "float", "duration"),
    "max": ("size", "int", "float", "duration"),
    "scales": ("size", "int", "duration"),
    "least": ("size", "int", "duration"),
    "unit": ("size", "duration"),
    "choices": ("choice",),
    "words": ("bool",),
    "find": ("path",),
    "environment": ("file", "files"),
    "include": ("file", "files"),
    "refuse": ("file", "files"),
    "weights": ("files",),
    "as_root": ("text",),
}
"""Keys that only some sorts of parameters have."""
_UNITS: dict[str, tuple[Unit, ...]] = {
    "size": ("B", "KiB", "MiB", "GiB"),
    "duration": ("s", "ms"),
}


class ParameterTable(Typed):
    """One parameter of a profile."""

    type: Sort = Field(
        description='What it is: a size is typed as "64M", a duration as "10 s" or in seconds, '
        "words are a list of texts. A file is text that is recorded with the plan and lies in the "
        "directory of each trial, wherever that is; its name there stands in the command."
    )
    help: Text = Field(description="What it does, in a sentence.")
    default: JsonValue = Field(
        None, description="What it is where the study leaves it out. Without one it is required."
    )
    min: int | float | str | None = Field(None, description="The smallest value.")
    max: int | float | str | None = Field(None, description="The largest value.")
    scales: bool = Field(False, description="It is an amount of work, which --scale makes smaller.")
    least: int | float | str | None = Field(
        None,
        description="The least that --scale makes of it: less is another workload. By default the "
        "smallest value.",
    )
    unit: Unit | None = Field(
        None, description="What the program counts in; by default bytes and seconds."
    )
    choices: list[Text] | dict[str, str | list[str]] | None = Field(
        None,
        description="The values it may have; as a table, what is written to the command for each: "
        "a text, or a list of words.",
    )
    words: list[str] | None = Field(
        None, description="What is written to the command where it is true."
    )
    find: Text | None = Field(
        None,
        description="A pattern such as /usr/lib/postgresql/*/bin: the last path that matches is "
        "the default, so that the newest version counts.",
    )
    as_root: Text | None = Field(
        None, description="The default where root measures: the user that a server runs as."
    )
    environment: Name | None = Field(
        None,
        description="The file names variables of the environment, as ${NAME}. They are passed to "
        "the program with the values that this other parameter gives, a list of `NAME=VALUE`, or "
        "else with those of the shell in which the plan is made, which records them.",
    )
    include: Text | None = Field(
        None,
        description="A regular expression; in a line of the file that it matches, its first group "
        "names another file, relative to this one, which goes with it.",
    )
    refuse: dict[str, Text] = Field(
        {},
        description="Regular expressions → what is wrong with a line of the files that one "
        "matches, and what would be right. Variables of the environment are filled in.",
    )
    weights: bool = Field(
        False,
        description="Each file may have a weight after it, as in a.sql@3, which is passed on.",
    )
    instead_of: Name | None = Field(
        None,
        description="Where this one is given, that other parameter is left out of the command.",
    )
    brings: Text | None = Field(
        None,
        description="What of its value is executed, in words: `a job file, which may start "
        "programs:`. A study that sets it is asked for trust.",
    )

    @model_validator(mode="after")
    def _keys_of_its_type(self) -> Self:
        """A key that means nothing here was meant for something."""
        for key, sorts in _OF_SORTS.items():
            if getattr(self, key) not in (None, False, {}) and self.type not in sorts:
                raise ValueError(
                    f"{key} belongs to parameters of type {' or '.join(sorts)}, "
                    f"and this one is of type {self.type}"
                )
        if self.least is not None and not self.scales:
            raise ValueError("least is what --scale makes of it at least. Fix: scales = true")
        if self.type == "choice" and not self.choices:
            raise ValueError('a choice needs what it may be: choices = ["one", "other"]')
        if self.unit and self.unit not in _UNITS[self.type]:
            units = ", ".join(_UNITS[self.type])
            raise ValueError(f"a {self.type} is not counted in {self.unit}. One of: {units}")
        for expression in (*([self.include] if self.include else ()), *self.refuse):
            try:
                require_expression(expression)
            except ValueError as error:
                raise ValueError(f"{expression!r} is no regular expression: {error}") from error
        if self.find and self.default is not None:
            raise ValueError("find is the default already; leave default out")
        return self


class ProgramTable(Typed):
    """The template; its keys are those of the engine's workload ``program``."""

    model_config = ConfigDict(extra="allow")
    __pydantic_extra__: dict[str, JsonValue]

    command: list[JsonValue] = Field(
        min_length=1, description="The program and its arguments, one word each."
    )
    read: Text | None = Field(
        None, description="The reader that understands what it prints, as of tiltyard import."
    )
    metrics: dict[str, JsonValue] = Field(
        {}, description="Numbers among what it prints, as in a study with a program of its own."
    )


class ProfileFile(Typed):
    """A workload that is a program: what it is, what it needs, and how it is started."""

    title: Text | None = Field(
        None, description="As people read it: `Kernel build`; by default the name of the file."
    )
    about: Text = Field(description="What it does, in one line.")
    description: Text = Field(description="What is executed, and what is checked of it.")
    lineage: Text = Field(description="Who made the program, and which version is meant.")
    needs: dict[str, Text] = Field(
        {},
        description="Commands, or paths of files, that must be there → the Debian package that "
        "has them.",
    )
    argument: Name | None = Field(
        None, description="The parameter that may stand after the name: `-w fio:mail.fio`."
    )
    variables: list[Name] = Field(
        [],
        description="Values of the systems under test that its commands name: with `path` here, "
        "{path} stands for what a system says.",
    )
    long: bool = Field(False, description="It takes minutes or hours even at its smallest.")
    parameters: dict[Name, ParameterTable] = Field({}, description="What a study may set.")
    program: ProgramTable = Field(
        description='What a person would type after `use = "program"`, with {parameter} where '
        "a value goes. A word whose parameter is empty or false is left out."
    )
    smoke: dict[str, JsonValue] = Field(
        {}, description="Parameters with which it is done in a second or two."
    )
    usual: dict[str, JsonValue] = Field(
        {}, description="Parameters of a first comparison; written by tiltyard compare."
    )
