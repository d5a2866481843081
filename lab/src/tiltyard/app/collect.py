"""A collection put in a folder with the files that it was read from: whole, or not at all."""

import glob
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from tiltyard.collected.model import Collection
from tiltyard.collected.store import is_collected, read_collection, write_collection
from tiltyard.errors import RefusedError, UsageError
from tiltyard.folder import (
    PARTIAL,
    StudyFolder,
    alone_in,
    partial_beside,
    sync_directory,
    write_together,
)

SOURCES: Final = "sources"


def place_collection(folder: Path, collection: Collection, files: Mapping[str, bytes]) -> None:
    """Make a study folder of a collection; the same one again brings back what is gone.

    Args:
        folder: to be made; an empty one will do.
        collection: what was read.
        files: name → bytes, verbatim, of what it was read from.

    Raises:
        UsageError: if another collection, or anything else, is in the folder.
    """
    if is_collected(folder):
        StudyFolder(folder).require_own()
        if read_collection(folder).hash != collection.hash:
            raise UsageError(
                f"{folder}: other results are in this folder. Name another one, or remove it first"
            )
        for name in files.keys() - {path.name for path in folder.glob(f"{SOURCES}/*")}:
            write_together(folder, {f"{SOURCES}/{name}": files[name]})
        return
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise RefusedError(f"{folder}: not empty; name a folder that is to be made")
    target = folder.resolve()
    target.parent.mkdir(parents=True, exist_ok=True)
    with alone_in(target.parent) as (_, is_alone):
        if is_alone:
            for left in target.parent.glob(f".{glob.escape(target.name)}.*{PARTIAL}"):
                shutil.rmtree(left, ignore_errors=True)
        made = partial_beside(target)
        try:
            made.mkdir()
            write_together(made, {f"{SOURCES}/{name}": data for name, data in files.items()})
            write_collection(StudyFolder(made), collection)
            made.rename(target)
        except BaseException:  # Ctrl-C too
            shutil.rmtree(made, ignore_errors=True)
            raise
        sync_directory(target.parent)
