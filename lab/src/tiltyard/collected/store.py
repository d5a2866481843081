"""A collection in its study folder, and what kind of study a folder holds."""

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from tiltyard.collected.model import Collection
from tiltyard.errors import UsageError
from tiltyard.folder import StudyFolder, write_whole
from tiltyard.frozen import Frozen, flaw

NAME: Final = "collection.json"


def is_collected(folder: Path) -> bool:
    """Whether a folder holds results that were not run here."""
    return (folder / NAME).is_file()


class _Sealed(Frozen):
    """The file: a collection, and what tells that it is still the one that was written."""

    sha256: str
    collection: Collection


def read_collection(folder: Path) -> Collection:
    """The collection of a folder.

    Raises:
        UsageError: if the file is damaged or was changed; the message names the key.
    """
    path = folder / NAME
    try:
        file = _Sealed.of_json(path.read_bytes())
        wrong = next(_contradictions(file.collection), None)
    except ValueError as error:
        wrong = flaw(error)
    else:
        if file.collection.hash != file.sha256:
            wrong = "was changed after the import: its SHA-256 is another one"
    if wrong:
        raise UsageError(f"{path}: {wrong}; import the files again, into another folder")
    return file.collection


def _contradictions(collection: Collection) -> Iterator[str]:
    """What no importer writes, key first: the analysis relies on it."""
    systems = [system.name for system in collection.systems]
    if not systems or len({*systems}) < len(systems) or collection.baseline not in systems:
        yield "systems: none, two of one name, or not the baseline"
    if len({tuple(system.levels) for system in collection.systems}) > 1:
        yield "systems: not all have levels of the same factors"
    for workload in collection.workloads:
        metrics = [metric.name for metric in workload.metrics]
        if len({*metrics}) < len(metrics):
            yield f"workloads.{workload.name}: two metrics have one name"
        for one in workload.readings:
            of_value = [len(own) for own in (one.blocks, one.groups, one.within) if own]
            if one.metric not in metrics or one.system not in systems:
                yield f"workloads.{workload.name}: a reading of what is not there"
            if any(count != len(one.values) for count in of_value):
                yield f"workloads.{workload.name}: not as many blocks, groups or repeats as values"


def write_collection(folder: StudyFolder, collection: Collection) -> None:
    """Put a collection in a folder."""
    file = _Sealed(sha256=collection.hash, collection=collection)
    write_whole(folder.root / NAME, f"{file.model_dump_json(indent=1)}\n".encode())
