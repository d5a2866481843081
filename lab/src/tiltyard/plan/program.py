"""From a program of a plan to the job of one system: words in their places, paths absolute.

A plan keeps relative paths, so that it can be read elsewhere; they begin where the study file was
written.
"""

import os
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from pydantic import JsonValue

from tiltyard.executors.engine import FarPlace
from tiltyard.study.model import SystemSpec
from tiltyard.study.placeholders import names_in, spliced
from tiltyard.study.program import (
    OF_SERVICE,
    SERVER,
    SERVICE,
    STUDY_DIR,
    Readings,
    placeholders,
)

ON_SYSTEM: Final = "system"
"""As a working directory: that of the system, which is so by default."""
AT_LEAST_S: Final = 0.1
"""Time of the executions of one trial together, where a study says nothing of their number."""
_OF_STUDY: Final = ("study", "shell", "env", "pass", "user", "timeout", "keep", "flood")
"""Parameters that hold for commands around all trials of a study, too."""
_HERE: Final = "127.0.0.1"
PATHS: Final = ("where", "stdin", "stdout")
"""Parameters that are paths on this host."""


def split(table: Mapping[str, JsonValue]) -> tuple[Readings, dict[str, JsonValue]]:
    """What a program's table says of reading, and the parameters of the engine."""
    readings, program = Readings.split(table)
    if program.get("where") == ON_SYSTEM:
        del program["where"]
    if not program.keys() & {"executions", "at_least"}:
        program["at_least"] = AT_LEAST_S
    return readings, program


def is_unsized(program: Mapping[str, JsonValue]) -> bool:
    """Whether a study leaves the number of executions in a trial open."""
    return program.get("at_least") == AT_LEAST_S and "executions" not in program


def is_open(program: Mapping[str, JsonValue]) -> bool:
    """Whether the number of executions in a trial depends on how long they take."""
    return bool(program.get("at_least"))


def with_number(program: Mapping[str, JsonValue], executions: int | None) -> dict[str, JsonValue]:
    """The program executed so often in each trial; as it is, where no number is set."""
    if executions is None:
        return dict(program)
    kept = {key: value for key, value in program.items() if key != "at_least"}
    return {**kept, "executions": executions}


def job_parameters(
    table: Mapping[str, JsonValue], system: SystemSpec, root: Path
) -> dict[str, JsonValue]:
    """Parameters of the engine for one system.

    A word that is the name of a list in braces stands for the words of the list.

    Args:
        table: the program as the plan has it.
        system: whose variables stand in its commands.
        root: where relative paths begin.
    """
    lists = {name: value for name, value in system.variables.items() if isinstance(value, tuple)}
    found: dict[str, JsonValue] = spliced(dict(table), lists)
    for key in PATHS:
        path = found.get(key)
        if isinstance(path, str) and not path.startswith("{"):
            found[key] = os.path.normpath(root / path)
    return found


def study_table(table: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
    """Parameters of the engine for what a program asks for once a study, on no system.

    Its working directory is that of the study's level. Variables of the environment whose values
    are those of systems are left out.
    """
    kept = {key: table[key] for key in _OF_STUDY if key in table}
    if isinstance(env := kept.get("env"), dict):
        kept["env"] = {name: value for name, value in env.items() if not set(names_in(value))}
    return {**kept, "command": ["true"]}


def job_variables(system: SystemSpec, root: Path) -> dict[str, str]:
    """Values that stand in commands; what is a path of the study is absolute.

    Within a longer word a list is what one would type for it in a shell.
    """
    return {
        name: str(file_of(value, root) or value) if isinstance(value, str) else shlex.join(value)
        for name, value in system.variables.items()
    }


def told_variables(table: Mapping[str, JsonValue], far: FarPlace | None = None) -> dict[str, str]:
    """What a system tells a program that asks for it; a value of the study goes before it.

    Args:
        table: the program as the plan has it.
        far: the server's end of the system; ``None``: it is this host.
    """
    address = far.address if far else _HERE
    return {SERVER: address} if SERVER in placeholders(table) else {}


def sample_variables(
    table: Mapping[str, JsonValue], system: SystemSpec, root: Path
) -> dict[str, str]:
    """All values for a job that is only looked at, with such as a service will tell."""
    told = (
        *(OF_SERVICE if system.settings.get(SERVICE) else ()),
        *((STUDY_DIR,) if table.get("study") else ()),
    )
    given = {**told_variables(table), **job_variables(system, root)}
    return {**given, **dict.fromkeys(told, "/1")}


def file_of(value: str, root: Path) -> Path | None:
    """What a value names on this host, if it is the path of something that is there.

    A name without a slash is a word like any other.
    """
    path = Path(os.path.normpath(root / value))
    return path if "/" in value and path.exists() else None
