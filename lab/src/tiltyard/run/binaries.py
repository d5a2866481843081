"""Which programs are measured, on which inputs: the files that a study names, with their SHA-256.

A build that is made again while it is measured is another program, and a job file that is edited
another workload: the trials of the turn have failed. The same holds for whatever else of a system
is told with a hash: its kernel, its modules, its disk image, its service, its tuning profiles.
"""

import itertools
import os
import re
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePath
from typing import Final

from pydantic import JsonValue

from tiltyard.folder import HASHED, hash_of, hashed
from tiltyard.plan.model import Plan
from tiltyard.plan.program import job_parameters, job_variables

INPUT_BYTES: Final = 2**26
"""Of a larger input no hash is made: reading it would fill the page cache."""
_SCRIPTS: Final = frozenset(
    (".awk", ".bash", ".js", ".lua", ".php", ".pl", ".py", ".R", ".rb", ".sh", ".sql", ".tcl")
)
_BETWEEN: Final = re.compile(r"""[\s;|&<>()'"=]+""")
"""What stands between the words of a shell, and between an option and its value."""
_OUTPUTS: Final = ("-o", "--output")
"""What a compiler writes, for one, is no program of the study."""


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


def twins(plan: Plan, root: Path) -> Iterator[str]:
    """Files that are compared with each other and are equal, a sentence each pair."""
    users: dict[Path, list[str]] = {}
    for spec in plan.systems if plan.placement is None else ():
        if not spec.settings.get("host"):
            facts = binaries(plan, spec.name, root).values()
            used = {Path(fact.partition(HASHED)[0]) for fact in facts}
            words = itertools.chain.from_iterable(_commands(spec.settings))
            paths = (root / Path(word).expanduser() for word in words if "/" in word)
            found = {Path(os.path.normpath(path)) for path in paths if os.path.isfile(path)}  # noqa: PTH113
            for path in used | found:
                users.setdefault(path, []).append(spec.name)
    sizes = {path: path.stat().st_size for path in users}
    for one, other in itertools.combinations(users, 2):
        apart = not set(users[one]) & set(users[other])
        if apart and sizes[one] == sizes[other] and hash_of(one) == hash_of(other):
            first, second = (f"{path} of {', '.join(users[path])}" for path in (one, other))
            yield f"{first} and {second} are the same, SHA-256 {hash_of(one)[:12]}"


def _programs(plan: Plan, system: str, root: Path) -> Iterator[tuple[str, str]]:
    """What the first word of each command stands for, where the search path has it."""
    spec = plan.system(system)
    for workload in plan.workloads:
        command = job_parameters(workload.program or {}, spec, root).get("command")
        first = str(command[0]) if isinstance(command, list) and command else ""
        if "/" not in first and (found := shutil.which(first)):
            yield first, found


def _inputs(plan: Plan, system: str, root: Path) -> Iterator[Path]:
    """Files that are read (a job file, standard input), programs by their paths, and scripts."""
    spec = plan.system(system)
    for workload in plan.workloads:
        typed = (value for value in workload.spec.parameters.values() if isinstance(value, str))
        names = {PurePath(value).name for value in typed}
        table = job_parameters(workload.program or {}, spec, root)
        read = [value for key, value in table.items() if key not in ("stdout", "where")]
        place = str(table.get("where") or "")
        for command in _commands([*read, *job_variables(spec, root).values()]):
            is_first = True
            for word in command:
                if word in _OUTPUTS:
                    break
                path = Path(os.path.normpath(os.path.join(place, word)))  # noqa: PTH118
                if not _is_small(path):
                    continue
                executed = "/" in word and _is_one(path)
                if (executed and is_first) or path.name in names or _is_script(path):
                    yield path
                is_first = is_first and not executed


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


def _commands(value: JsonValue) -> Iterator[list[str]]:
    """The words of each list of texts, and of each other text: whole, and as a shell has them."""
    if isinstance(value, str):
        yield [value, *_BETWEEN.split(value)]
    elif isinstance(value, dict):
        yield from itertools.chain.from_iterable(map(_commands, value.values()))
    elif isinstance(value, list):
        each = list(itertools.chain.from_iterable(map(_commands, value)))
        is_one = all(isinstance(inner, str) for inner in value)
        yield from [list(itertools.chain.from_iterable(each))] if is_one else each


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
