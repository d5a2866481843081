"""From what a person types to files with their bytes: ``ext4=ext4-*.txt``."""

import re
import stat
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from tiltyard.errors import UsageError
from tiltyard.importers.importer import LARGEST_BYTES


@dataclass(frozen=True)
class Given:
    """One file as a person gave it."""

    path: Path
    system: str | None
    """Which system it is of; ``None`` where the file is to say so."""


def given(words: Sequence[str]) -> list[Given]:
    """The files that words mean, in their order; those of a pattern as people count them.

    Args:
        words: ``NAME=FILE``, ``NAME=PATTERN``, or ``FILE``. A word that is a file is that file,
            also when it has an equals sign in it.

    Raises:
        UsageError: if a word means no file.
    """
    found = [one for word in words for one in _meant(word)]
    if not found:
        raise UsageError("no files; say which: tiltyard import FOLDER ext4=ext4-*.txt xfs=xfs.txt")
    return found


def contents(path: Path) -> bytes:
    """The bytes of a result file.

    Raises:
        UsageError: if it is not a plain file of a size that is read.
    """
    try:
        facts = path.stat()
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror}") from error
    if stat.S_ISDIR(facts.st_mode):
        raise UsageError(f"{path}: a directory; name the files in it: '{path}/*.txt'")
    if not stat.S_ISREG(facts.st_mode):
        raise UsageError(f"{path}: not a plain file; save the result to one")
    if facts.st_size > LARGEST_BYTES:
        raise UsageError(
            f"{path}: {facts.st_size >> 20} MiB; result files of up to {LARGEST_BYTES >> 20} MiB "
            "are read: give the summary that the tool wrote, not its log of every operation"
        )
    try:
        return path.read_bytes()
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror}") from error


def _meant(word: str) -> Iterator[Given]:
    name, equals, pattern = word.partition("=")
    if not equals or Path(word).is_file():
        yield from (Given(path, None) for path in _files(word))
        return
    if not name:
        raise UsageError(f'"{word}": no name before "="; write NAME=FILE')
    yield from (Given(path, name) for path in _files(pattern))


def _files(pattern: str) -> list[Path]:
    path = Path(pattern)
    if path.exists() or not re.search(r"[*?\[]", pattern):
        if not pattern:
            raise UsageError('no file after "="; write NAME=FILE')
        return [path]
    root = Path(path.anchor) if path.is_absolute() else Path()
    try:
        found = sorted(root.glob(str(path.relative_to(path.anchor))), key=_counted)
    except ValueError as error:
        raise UsageError(f"{pattern}: {error}") from error
    if not found:
        raise UsageError(f"{pattern}: no such files")
    return found


def _counted(path: Path) -> list[tuple[int, int | str]]:
    """``run-2`` before ``run-10``."""
    parts = re.split(r"(\d+)", str(path))
    return [(0, int(part)) if part.isdecimal() else (1, part) for part in parts]
