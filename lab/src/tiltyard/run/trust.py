"""What a person trusts, kept in the state directory: what a study brings, and what was made here.

What a study brings is executed only when a person has said that it is trusted: for the study and
for the contents of what it brings; either changed, it is asked for again.

A study folder that merely lies there may have come with a repository that is under test. It is gone
on with, and judged, where its plan and journals are those that this user has made or named.
"""

import contextlib
import itertools
import json
import os
import shlex
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, Self

from pydantic import JsonValue

from tiltyard.errors import RefusedError
from tiltyard.executors.engine import JobRefused
from tiltyard.folder import StudyFolder, hash_of, sha256, write_whole
from tiltyard.ownership import own_state_directory
from tiltyard.plan.model import Plan, PlannedWorkload
from tiltyard.plan.program import split
from tiltyard.run.chain import follows, seal_of
from tiltyard.study.model import SystemSpec, WorkloadSpec
from tiltyard.study.program import INPUTS, PROGRAM, ProgramCard, placeholders, program_of
from tiltyard.systems import kind, untrusted_inputs
from tiltyard.systems.untrusted_inputs import Brought
from tiltyard.wire import Catalogue

_OTHERS_WRITE: Final = 0o022
_MARK: Final = "brings"
"""Key in the JSON Schema of a workload's parameter whose value is a command: what it is, in
words."""


@dataclass(frozen=True)
class UntrustedInputs:
    """All that one study brings."""

    study: str
    """SHA-256 of the study file."""
    by_system: Mapping[str, tuple[Brought, ...]]
    """Systems that bring something."""
    by_workload: Mapping[str, tuple[Brought, ...]]

    @classmethod
    def of(cls, plan: Plan, catalogue: Catalogue, folder: StudyFolder) -> Self:
        """That of a plan; nothing is executed."""
        workloads = [_as_planned(workload, catalogue) for workload in plan.workloads]
        found = cls.among(plan.study_sha256, plan.systems, workloads, catalogue, folder)
        placement = plan.placement
        hosts = placement.addresses if placement else ()
        ways = [way for host in hosts for way in untrusted_inputs.way("placement.hosts", host)]
        if not ways:
            return found
        systems = {one.name: (*found.by_system.get(one.name, ()), *ways) for one in plan.systems}
        return cls(found.study, systems, found.by_workload)

    @classmethod
    def among(
        cls,
        study: str,
        systems: Iterable[SystemSpec],
        workloads: Iterable[WorkloadSpec],
        catalogue: Catalogue,
        folder: StudyFolder,
    ) -> Self:
        """That of systems and workloads.

        Args:
            study: SHA-256 of the study file.
            systems: as it describes them.
            workloads: with their parameters as typed.
            catalogue: whose parameters say which of them are commands.
            folder: where relative paths begin.
        """
        root = (folder.paths_from or folder.root).resolve()
        systems = tuple(systems)
        systems_ = {one.name: tuple(_of_system(one, root)) for one in systems}
        workloads_ = {one.name: tuple(_of_workload(one, catalogue, systems)) for one in workloads}
        return cls(study, _given(systems_), _given(workloads_))

    @property
    def items(self) -> dict[Brought, list[str]]:
        """Each thing once, with the systems and workloads that bring it."""
        found: dict[Brought, list[str]] = {}
        for name, items in (*self.by_system.items(), *self.by_workload.items()):
            for item in items:
                found.setdefault(item, []).append(name)
        return found

    @property
    def is_trusted(self) -> bool:
        """Whether there is nothing to trust, or a person has trusted all of it."""
        if not self.items:
            return True
        return _is_ours(self._record)

    def trust(self) -> None:
        """Remember that a person trusts it; on return that is on the disk."""
        if self.items:
            lines = "".join(f"{item.key}: {item.what}\n" for item in sorted(self.items))
            _keep(self._record, lines.encode())

    def require_trusted(self, root: Path, *, trust: bool) -> None:
        """Refuse to go on with what is not trusted.

        Args:
            root: the study folder, for the message.
            trust: a person says now that it is.

        Raises:
            RefusedError: if it is not; nothing was executed.
        """
        if trust:
            self.trust()
        if self.is_trusted:
            return
        first, *others = self.items
        more = f" and {len(others)} more" if others else ""
        if self._record.exists():
            more += (
                f"; that it is trusted is not believed: others could have written {self._record}"
            )
        raise RefusedError(
            f"{root}: {first.key}: this study brings programs, options that start them, or "
            f"what it hands on, and nothing of them was executed: {first.what}{more}. "
            f'Fix: look at what "tiltyard check" names, then give the same command with --trust'
        )

    @property
    def _record(self) -> Path:
        contents = [[item.key, item.what, _digest(item.path)] for item in sorted(self.items)]
        return _record_of("trusted", [self.study, contents])


def require_made_here(folder: StudyFolder) -> None:
    """Refuse a folder with results that this user has neither made here nor named.

    Raises:
        RefusedError: if its plan, its pilot or a journal is not the one that was made here.
    """
    if not any(_holds(path) for path in _results(folder)):
        return
    known = _known(_made(folder))
    if not (known and _is_as_known(folder, known)):
        raise RefusedError(
            f"{folder.root}/ was not made here, and may have come with what is under test: it is "
            f"neither gone on with nor judged. Fix: remove it, or name it: --folder {folder.root}"
        )


def remember_made(folder: StudyFolder, coming: Mapping[Path, str] = MappingProxyType({})) -> None:
    """Remember that what is in a folder was made here, or named by this user.

    Args:
        folder: of a study.
        coming: files that are about to be written, each with its SHA-256.
    """
    known = {_name(folder, path): sha256(path.read_bytes()) for path in _frozen(folder)}
    known |= {_name(folder, path): hash_ for path, hash_ in coming.items()}
    known |= {_name(folder, path): seal_of(path.read_bytes()) for path in _journals(folder)}
    _keep(_made(folder), json.dumps(known).encode())


def _known(record: Path) -> dict[str, str]:
    """What is kept; empty where nothing is, or it is damaged."""
    if _is_ours(record):
        with contextlib.suppress(OSError, ValueError, RecursionError):
            found = json.loads(record.read_bytes())
            if isinstance(found, dict) and all(isinstance(one, str) for one in found.values()):
                return found
    return {}


def _is_as_known(folder: StudyFolder, known: Mapping[str, str]) -> bool:
    """Whether files are as they were, and journals go on from where they were.

    A journal that was begun since names the hash of a plan, which nobody can guess.
    """
    return all(
        known.get(_name(folder, path)) == sha256(path.read_bytes()) for path in _frozen(folder)
    ) and all(
        follows(path.read_bytes(), known.get(_name(folder, path), "")) for path in _journals(folder)
    )


def _results(folder: StudyFolder) -> tuple[Path, ...]:
    """All that an answer could rest on."""
    files = (folder.plan, folder.journal, folder.findings, folder.pilot_findings)
    return (*files, folder.trials, folder.pilot.root, folder.sessions, folder.lost)


def _holds(path: Path) -> bool:
    return any(path.iterdir()) if path.is_dir() else path.exists()


def _frozen(folder: StudyFolder) -> list[Path]:
    files = (folder.plan, folder.pilot_findings, folder.pilot.plan)
    return [path for path in files if path.is_file()]


def _journals(folder: StudyFolder) -> list[Path]:
    own = (folder.journal, folder.pilot.journal, *folder.sessions.glob("*/journal.jsonl"))
    return [path for path in own if path.is_file()]


def _name(folder: StudyFolder, path: Path) -> str:
    return str(path.relative_to(folder.root))


def _made(folder: StudyFolder) -> Path:
    return _record_of("made", str(folder.root.resolve()))


def _record_of(what: str, about: object) -> Path:
    """Where something is kept."""
    return own_state_directory() / what / sha256(json.dumps(about).encode())


def _keep(record: Path, data: bytes) -> None:
    """On return it is on the disk, and nobody else's to change, whatever the umask is."""
    record.parent.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    record.parent.mkdir(mode=0o700, exist_ok=True)
    record.parent.chmod(0o700)
    write_whole(record, data)
    record.chmod(0o600)


def _is_ours(record: Path) -> bool:
    try:
        found = record.lstat(), record.parent.lstat()
    except OSError:
        return False
    return all(one.st_uid == os.geteuid() and not one.st_mode & _OTHERS_WRITE for one in found)


def _given(found: Mapping[str, tuple[Brought, ...]]) -> dict[str, tuple[Brought, ...]]:
    return {name: items for name, items in found.items() if items}


def _of_system(spec: SystemSpec, root: Path) -> Iterator[Brought]:
    own = kind(spec.kind)
    yield from own.brings(own.Settings.model_validate(spec.settings), root)


def _as_planned(workload: PlannedWorkload, catalogue: Catalogue) -> WorkloadSpec:
    """A workload whose parameters are what is executed, whatever else the plan says of it.

    A profile that does not come with the study is as it was typed if that is what the plan has.
    """
    spec = workload.spec
    if workload.program is None:
        return spec
    card = catalogue.workload(spec.use)
    if isinstance(card, ProgramCard) and not card.brought:
        with contextlib.suppress(JobRefused):
            if split(card.expand(spec.parameters))[1] == workload.program:
                return spec
    return spec.model_copy(update={"use": PROGRAM, "parameters": workload.program})


def _of_workload(
    spec: WorkloadSpec, catalogue: Catalogue, systems: Iterable[SystemSpec]
) -> Iterator[Brought]:
    """Parameters that the engine would execute, and ways to hosts: commands, or their words."""
    for client in spec.clients:
        yield from untrusted_inputs.way("clients.host", client.address)
    card = catalogue.workload(spec.use)
    table = program_of(card, spec.parameters)
    values = spec.parameters
    if table is not None and not (isinstance(card, ProgramCard) and not card.brought):
        card, values = catalogue.workload(PROGRAM), table
    for name, schema, value in _marked(card.parameters, values) if card else ():
        if not value:
            continue
        if isinstance(card, ProgramCard) and "path" in schema:
            for file in card.files_of(spec.parameters, name):
                yield Brought(name, f"{schema[_MARK]} {file}", file)
        elif name == INPUTS and isinstance(value, dict):
            for file_name, contents in value.items():
                hash_ = sha256(str(contents).encode())
                yield Brought(name, f"{schema[_MARK]} {file_name} with the SHA-256 {hash_}")
        else:
            for words in _commands(value):
                yield Brought(name, f"{schema[_MARK]} {shlex.join(words)}")
    standing = placeholders(table or {})
    variables = itertools.chain.from_iterable(system.variables.items() for system in systems)
    for name, text in dict.fromkeys(variables):
        if name in standing:
            told = shlex.join([text] if isinstance(text, str) else text)
            yield Brought(name, f"stands in commands as {told}")


def _marked(
    parameters: Mapping[str, Any], values: Mapping[str, JsonValue]
) -> Iterator[tuple[str, Mapping[str, Any], JsonValue]]:
    """Parameters that are commands, also in tables: key, JSON Schema, value."""
    for name, schema in parameters.get("properties", {}).items():
        if _MARK in schema:
            yield name, schema, values.get(name)
        elif isinstance(table := values.get(name), dict) and "$ref" in schema:
            inner = parameters["$defs"][schema["$ref"].rpartition("/")[2]]
            for key, below, value in _marked({**inner, "$defs": parameters["$defs"]}, table):
                yield f"{name}.{key}", below, value


def _commands(value: JsonValue) -> Iterator[list[str]]:
    """The words of each command: of one, of a list of them, or of tables that have some."""
    if isinstance(value, dict):
        for each in value.values():
            if isinstance(each, list | dict):
                yield from _commands(each)
    elif isinstance(value, list) and any(isinstance(each, list | dict) for each in value):
        for each in value:
            yield from _commands(each)
    else:
        yield list(map(str, value if isinstance(value, list) else [value]))


def _digest(path: Path | None) -> str:
    """Of a file's contents, or of a directory's names and contents; empty where nothing is."""
    if path is None:
        return ""
    if path.is_dir():
        return sha256(json.dumps([[str(each), _digest(each)] for each in _files_in(path)]).encode())
    if not path.is_file():
        return ""
    return hash_of(path)


def _files_in(directory: Path) -> list[Path]:
    """All below it, in order; a tree may be deeper than Python's stack."""
    found, left = [], [directory]
    while left:
        with os.scandir(left.pop()) as entries:
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    left.append(Path(entry.path))
                elif entry.is_file():
                    found.append(Path(entry.path))
    return sorted(found)
