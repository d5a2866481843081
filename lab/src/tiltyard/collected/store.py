"""A collection in its study folder, and what kind of study a folder holds."""

from pathlib import Path
from typing import Final

from pydantic import ValidationError

from tiltyard.collected.model import Collection
from tiltyard.errors import UsageError
from tiltyard.folder import StudyFolder, write_whole
from tiltyard.frozen import Frozen

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
        file = _Sealed.model_validate_json(path.read_bytes())
    except ValidationError as error:
        first = error.errors()[0]
        what = ": ".join(filter(None, (".".join(map(str, first["loc"])), first["msg"])))
        raise UsageError(f"{path}: {what}; import the files again, into another folder") from error
    if file.collection.hash != file.sha256:
        raise UsageError(
            f"{path}: was changed after the import: its SHA-256 is another one; "
            "import the files again, into another folder"
        )
    return file.collection


def write_collection(folder: StudyFolder, collection: Collection) -> None:
    """Put a collection in a folder."""
    file = _Sealed(sha256=collection.hash, collection=collection)
    write_whole(folder.root / NAME, f"{file.model_dump_json(indent=1)}\n".encode())
