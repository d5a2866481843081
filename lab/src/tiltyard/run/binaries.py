"""Which programs are measured: the files by which a study names them, with their SHA-256.

A build that is made again while it is measured is another program: its trials have failed.
"""

import functools
import hashlib
import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from tiltyard.plan.model import Plan
from tiltyard.plan.program import job_parameters, job_variables
from tiltyard.run.record import Prepared

_MARK: Final = ", SHA-256 "


def binaries(plan: Plan, system: str, root: Path) -> dict[str, str]:
    """Facts of a system: name of a value or program → its file, with its hash.

    Args:
        plan: of the study.
        system: name of the system.
        root: where relative paths of programs begin.
    """
    spec = plan.system(system)
    named = {**dict(_programs(plan, system, root)), **job_variables(spec, root)}
    files = {name: Path(value) for name, value in named.items() if value.startswith("/")}
    return {name: f"{path}{_MARK}{_hash(path)}" for name, path in files.items() if _is_one(path)}


def _programs(plan: Plan, system: str, root: Path) -> Iterator[tuple[str, str]]:
    """What the first word of each command stands for, where the search path has it."""
    spec = plan.system(system)
    for workload in plan.workloads:
        command = job_parameters(workload.program or {}, spec, root).get("command")
        first = str(command[0]) if isinstance(command, list) and command else ""
        if "/" not in first and (found := shutil.which(first)):
            yield first, found


def _is_one(path: Path) -> bool:
    return path.is_file() and os.access(path, os.X_OK)


def changed_binary(prepared: Sequence[Prepared], system: str, now: Mapping[str, str]) -> str | None:
    """Which program is not the one that the run began with, if any.

    Args:
        prepared: the turns so far.
        system: name of the system.
        now: its :func:`binaries`.
    """
    first = next((turn.facts for turn in prepared if turn.system == system), {})
    for name, found in now.items():
        before = first.get(name, found)
        if before != found and _MARK in before:
            path = found.partition(_MARK)[0]
            return (
                f"{path} changed during the run: {before.partition(_MARK)[2][:12]} when it began, "
                f"{found.partition(_MARK)[2][:12]} now. Fix: begin a new folder, and build before"
            )
    return None


def _hash(path: Path) -> str:
    found = path.stat()
    return _hash_of(path, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns)


@functools.lru_cache(maxsize=256)
def _hash_of(path: Path, *_: int) -> str:
    """Computed again only where the file was written, or exchanged."""
    with path.open("rb") as contents:
        return hashlib.file_digest(contents, "sha256").hexdigest()
