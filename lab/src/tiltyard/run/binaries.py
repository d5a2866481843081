"""Which programs are measured, on which inputs: the files that a study names, with their SHA-256.

A build that is made again while it is measured is another program, and a job file that is edited
another workload: the trials of the turn have failed.
"""

import functools
import os
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePath
from typing import Final

from pydantic import JsonValue

from tiltyard.folder import sha256_of
from tiltyard.plan.model import Plan
from tiltyard.plan.program import job_parameters, job_variables
from tiltyard.run.record import HASHED

INPUT_BYTES: Final = 2**26
"""Of a larger input no hash is made: reading it would fill the page cache."""


def binaries(plan: Plan, system: str, root: Path) -> dict[str, str]:
    """Facts of a system: name of a value or program → its file, with its hash.

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
    return {name: f"{path}{HASHED}{_hash(path)}" for name, path in files.items()}


def _programs(plan: Plan, system: str, root: Path) -> Iterator[tuple[str, str]]:
    """What the first word of each command stands for, where the search path has it."""
    spec = plan.system(system)
    for workload in plan.workloads:
        command = job_parameters(workload.program or {}, spec, root).get("command")
        first = str(command[0]) if isinstance(command, list) and command else ""
        if "/" not in first and (found := shutil.which(first)):
            yield first, found


def _inputs(plan: Plan, system: str, root: Path) -> Iterator[Path]:
    """Files that parameters name and that are read: a job file, standard input."""
    for workload in plan.workloads:
        typed = (value for value in workload.spec.parameters.values() if isinstance(value, str))
        names = {PurePath(value).name for value in typed}
        table = job_parameters(workload.program or {}, plan.system(system), root)
        for word in _words([value for key, value in table.items() if key != "stdout"]):
            if word.startswith("/") and PurePath(word).name in names:
                path = Path(word)
                if path.is_file() and path.stat().st_size <= INPUT_BYTES:
                    yield path


def _words(value: JsonValue) -> Iterator[str]:
    """All texts of a table."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, list | dict):
        for each in value.values() if isinstance(value, dict) else value:
            yield from _words(each)


def _is_one(path: Path) -> bool:
    return path.is_file() and os.access(path, os.X_OK)


def changed_file(first: Mapping[str, str], now: Mapping[str, str]) -> str | None:
    """Which file is not the one that the run began with, if any.

    Args:
        first: path of each file of the turns so far → its hash when it was used first.
        now: the :func:`binaries` of the turn.
    """
    for path, _, digest in (fact.partition(HASHED) for fact in now.values()):
        if (before := first.get(path, digest)) != digest:
            return (
                f"{path} changed during the run: {before[:12]} when it began, {digest[:12]} now. "
                "Fix: begin a new folder, and do not write to it meanwhile"
            )
    return None


def _hash(path: Path) -> str:
    found = path.stat()
    return _hash_of(path, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns)


@functools.lru_cache(maxsize=256)
def _hash_of(path: Path, *_: int) -> str:
    """Computed again only where the file was written, or exchanged."""
    return sha256_of(path)
