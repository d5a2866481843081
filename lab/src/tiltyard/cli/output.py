"""Where what is made may go: never over a part of a study."""

from pathlib import Path

from tiltyard.collected.published import is_published
from tiltyard.collected.store import is_collected
from tiltyard.errors import RefusedError, UsageError
from tiltyard.folder import StudyFolder


def free_folder(output: Path) -> Path:
    """A folder that a report may be written to.

    Raises:
        UsageError: if it is no folder.
        RefusedError: if a study is there.
    """
    for place in (output, *output.parents):
        if place.exists() and not place.is_dir():
            raise UsageError(f"--output {output}: {place} is a file; name a folder for the report")
    if _holds_a_study(output):
        raise RefusedError(f"{output}: a study is there; --output names a folder for the report")
    return output


def free_file(output: Path) -> Path:
    """A file that may be written.

    Raises:
        UsageError: if it is a folder.
        RefusedError: if it is there, and belongs to a study.
    """
    if output.is_dir():
        raise UsageError(f"--output {output}: a directory; name the file in it")
    folder = output.resolve().parent
    above = folder.parent
    if output.exists() and folder.name != "report" and any(map(_holds_a_study, (folder, above))):
        raise RefusedError(f"--output {output}: belongs to a study; name another file")
    return output


def _holds_a_study(folder: Path) -> bool:
    return StudyFolder(folder).study.exists() or is_collected(folder) or is_published(folder)
