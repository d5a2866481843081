"""Which programs are measured, on which inputs: the files that a study names, with their SHA-256.

A build that is made again while it is measured is another program, and a job file that is edited
another workload: the trials of the turn have failed. The same holds for whatever else of a system
is told with a hash: its kernel, its modules, its disk image, its service, its tuning profiles.
"""

import os
import re
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePath
from typing import Final

from pydantic import JsonValue

from tiltyard.folder import hashed
from tiltyard.plan.model import Plan
from tiltyard.plan.program import job_parameters, job_variables

INPUT_BYTES: Final = 2**26
"""Of a larger input no hash is made: reading it would fill the page cache."""
_SCRIPTS: Final = frozenset(
    (".awk", ".bash", ".js", ".lua", ".php", ".pl", ".py", ".R", ".rb", ".sh", ".sql", ".tcl")
)
_BETWEEN: Final = re.compile(r"""[\s;|&<>()'"=]+""")
"""What stands between the words of a shell, and between an option and its value."""


def binaries(plan: Plan, system: str, root: Path) -> dict[str, str]:
    """Facts of a system: name of a value, program, script or input → its file, with its hash.

    Args:
        plan: of the study.
        system: name of the system.
        root: where relative paths of programs begin.
    """
    spec = plan.system(system)
    named = {**dict(_programs(plan, system, root)), **job_variables(spec, root)}
    paths = {name: Path(value) for name, value in named.items() if value.startswith("/")}
    files = {name: path for name, path in paths.items() if _is_one(path)}
    files |= {path.name: path for path in _inputs(plan, system, root)}
    return {name: hashed(path) for name, path in files.items()}


def _programs(plan: Plan, system: str, root: Path) -> Iterator[tuple[str, str]]:
    """What the first word of each command stands for, where the search path has it."""
    spec = plan.system(system)
    for workload in plan.workloads:
        command = job_parameters(workload.program or {}, spec, root).get("command")
        first = str(command[0]) if isinstance(command, list) and command else ""
        if "/" not in first and (found := shutil.which(first)):
            yield first, found


def _inputs(plan: Plan, system: str, root: Path) -> Iterator[Path]:
    """Files that parameters name and that are read (a job file, standard input), and scripts."""
    spec = plan.system(system)
    for workload in plan.workloads:
        typed = (value for value in workload.spec.parameters.values() if isinstance(value, str))
        names = {PurePath(value).name for value in typed}
        table = job_parameters(workload.program or {}, spec, root)
        read = [value for key, value in table.items() if key != "stdout"]
        place = str(table.get("where") or "")
        for text in _words([*read, *job_variables(spec, root).values()]):
            for word in (text, *_BETWEEN.split(text)):
                path = Path(os.path.normpath(os.path.join(place, word)))  # noqa: PTH118
                is_input = word is text and path.name in names
                if _is_small(path) and (is_input or _is_script(path)):
                    yield path


def _is_small(path: Path) -> bool:
    # What is a text, and no path, may be too long for one.
    is_file = path.is_absolute() and os.path.isfile(path)  # noqa: PTH113
    return is_file and os.access(path, os.R_OK) and path.stat().st_size <= INPUT_BYTES


def _is_script(path: Path) -> bool:
    """What an interpreter is given to execute, by its name or its first line."""
    if path.suffix in _SCRIPTS:
        return True
    with path.open("rb") as file:
        return file.read(2) == b"#!"


def _words(value: JsonValue) -> Iterator[str]:
    """All texts of a table."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, list | dict):
        for each in value.values() if isinstance(value, dict) else value:
            yield from _words(each)


def _is_one(path: Path) -> bool:
    return path.is_file() and os.access(path, os.R_OK | os.X_OK)


def changed_file(first: Mapping[str, str], now: Mapping[str, str]) -> str | None:
    """Which file is not the one that the run began with, if any.

    Args:
        first: :attr:`tiltyard.run.record.Prepared.hashes` of the turns so far, the first of each.
        now: those of the turn.
    """
    for name, found in now.items():
        if (before := first.get(name, found)) != found:
            return (
                f"{name} changed since the run began: {before[:12]} then, {found[:12]} now. "
                "Fix: begin a new folder, and do not write to it meanwhile"
            )
    return None
