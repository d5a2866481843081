"""A folder of ``published/`` → what it holds."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from pydantic import ValidationError

from tiltyard.collected.model import Collection, SourceFile
from tiltyard.errors import UsageError
from tiltyard.folder import sha256
from tiltyard.frozen import Frozen
from tiltyard.study.load import parsed, read_text
from tiltyard.study.locate import KeyPath, locate
from tiltyard.study.problems import Flaw, located, not_a, shown
from tiltyard.study.wording import flaws_of
from tiltyard_published.derived import Derived
from tiltyard_published.file import PublishedFile
from tiltyard_published.readings import Shelves
from tiltyard_published.tables import read_table

NAME: Final = "published.toml"
RUNBOOK: Final = "runbook.sh"


class Publication(Frozen):
    """A printed study: its numbers, and what it calculated from them."""

    collection: Collection
    style: str
    """The house style in which it is reported by default."""
    derived: tuple[Derived, ...]


def is_published(folder: Path) -> bool:
    """Whether a folder holds a printed study."""
    return (folder / NAME).is_file()


def read_publication(folder: Path) -> Publication:
    """The printed study of a folder.

    Raises:
        UsageError: if a file cannot be read or says what it cannot mean; the message names file
            and line, and the key or the column.
    """
    path = folder / NAME
    file = _file(path)
    shelves = Shelves(file)
    sources = [path]
    for table in file.table:
        sources.append(folder / table.file)
        shelves.put(table, read_table(sources[-1], table))
    _check_identifiers(shelves.derived, folder)
    known = file.model_dump(exclude={"style", "origin", "system", "workload", "table"})
    collection = Collection(
        **known,
        origin=file.origin.model_copy(
            update={"files": tuple(map(_source, sources)), "runbook": _runbook(folder / RUNBOOK)}
        ),
        systems=file.system,
        workloads=shelves.workloads(),
    )
    return Publication(collection=collection, style=file.style, derived=tuple(shelves.derived))


def _runbook(path: Path) -> tuple[str, ...]:
    """The lines of the script beside a printed study, if there is one."""
    return tuple(read_text(path).splitlines()) if path.is_file() else ()


def _file(path: Path) -> PublishedFile:
    """What stands in ``published.toml``; errors name line and key."""
    text = read_text(path)
    document = parsed(text, path)
    try:
        file = PublishedFile.model_validate(document)
    except ValidationError as error:
        raise located(path, locate(text), flaws_of(error, PublishedFile)) from error
    if flaws := [*_twice(file), *_of_systems(file), *_of_tables(file)]:
        raise located(path, locate(text), flaws)
    return file


def _twice(file: PublishedFile) -> Iterator[Flaw]:
    """Names that do not tell one thing from another."""
    yield from _repeated(("system",), [one.name for one in file.system])
    yield from _repeated(("workload",), [one.name for one in file.workload])
    for place, workload in enumerate(file.workload):
        names = [metric.name for metric in workload.metric]
        yield from _repeated(("workload", place, "metric"), names)


def _repeated(path: KeyPath, names: Sequence[str]) -> Iterator[Flaw]:
    for place, name in enumerate(names):
        if name in names[:place]:
            yield Flaw((*path, place, "name"), f"another {path[-1]} has the name {shown(name)}")


def _of_systems(file: PublishedFile) -> Iterator[Flaw]:
    """Systems that are named and not there, or of which others differ in more than their levels."""
    systems = [one.name for one in file.system]
    if file.baseline not in systems:
        yield Flaw(("baseline",), not_a(file.baseline, "system", systems))
    varied = [*file.system[0].levels] if file.system else []
    if file.asks is not None and file.asks not in varied:
        yield Flaw(("asks",), not_a(file.asks, "factor of the systems", varied))
    for place, system in enumerate(file.system):
        if system.levels.keys() != file.system[0].levels.keys():
            factors = ", ".join(file.system[0].levels)
            text = f"every system has a level of each factor; the first one has: {factors}"
            yield Flaw(("system", place, "levels"), text)


def _of_tables(file: PublishedFile) -> Iterator[Flaw]:
    """Tables that stand elsewhere, and advantages between systems that cannot be."""
    systems = [one.name for one in file.system]
    for place, table in enumerate(file.table):
        if Path(table.file).name != table.file or "\0" in table.file:
            yield Flaw(("table", place, "file"), f"a table is a file beside {NAME}")
        for column, advantage in table.advantages.items():
            path = ("table", place, "advantages", column)
            for name in (advantage.system, advantage.against):
                if name not in systems:
                    yield Flaw(path, not_a(name, "system", systems))
            if advantage.system == advantage.against:
                yield Flaw(path, f"{shown(advantage.system)} is compared with itself")


def _check_identifiers(derived: list[Derived], folder: Path) -> None:
    """Claims are held against derived numbers by name."""
    seen: set[str] = set()
    for one in derived:
        if one.id in seen:
            raise UsageError(f'{folder}: two derived numbers have the name "{one.id}"')
        seen.add(one.id)


def _source(path: Path) -> SourceFile:
    return SourceFile(name=path.name, sha256=sha256(path.read_bytes()), importer="published")
