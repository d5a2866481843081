"""What a program asks of the kernel about the files of one directory, as strace sees it."""

import re
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory

_NAMES = "open,openat,creat,close,unlink,unlinkat,mkdir,mkdirat,rmdir,ftruncate"
_MOVES = "read,write,pread64,pwrite64,preadv,pwritev,lseek,mmap,msync,io_submit,io_getevents"
_SYNCS = "sync,syncfs,fsync,fdatasync"
_TRACED = f"{_NAMES},{_MOVES},{_SYNCS}"

_LINE = re.compile(r"(?P<when>[\d.]+) (?P<name>\w+)\((?P<arguments>.*)\)\s+= (?P<result>-?\w+)")
_DESCRIPTOR = re.compile(r"\d+<(?P<path>/[^>]*)>")
_REQUEST = re.compile(
    r"aio_lio_opcode=IOCB_CMD_(?P<what>\w+).*?aio_fildes=\d+<(?P<path>[^>]*)>"
    r".*?aio_nbytes=(?P<size>\d+), aio_offset=(?P<offset>\d+)"
)
# What these change is not how the file is worked on: all files are large on 64-bit systems, and
# nobody calls exec(3).
_SILENT_FLAGS = {"O_LARGEFILE", "O_CLOEXEC"}
_OPENING = {"open", "openat", "creat"}
_BY_NAME = {"unlink", "unlinkat", "mkdir", "mkdirat", "rmdir"}


@dataclass(frozen=True)
class Call:
    """One system call on something in the directory.

    Attributes:
        name: the plain name: ``openat`` and ``creat`` are ``open``.
        path: the file, relative to the directory; empty for what has none.
        detail: everything else, without addresses, contents and descriptors.
        failed: the name of the error, or empty.
    """

    name: str
    path: str
    detail: str = ""
    failed: str = ""
    when_s: float = field(default=0, compare=False)
    is_look: bool = field(default=False, compare=False)
    """Opened with O_CLOEXEC: the standard library did it, not a workload."""

    def __str__(self) -> str:
        return " ".join(filter(None, (self.name, self.path, self.detail, self.failed)))


def trace(
    argv: Sequence[str | Path],
    directory: Path,
    *,
    standard_input: str = "",
    environment: Mapping[str, str] | None = None,
) -> list[Call]:
    """The calls of a program and all its children on what lies in the directory, in order.

    It is executed in that directory and must succeed. Two calls at once on two CPUs are in the
    order in which they began.
    """
    with TemporaryDirectory() as place:
        tracer = ("strace", "-ff", "-ttt", "-y", "-v", "-s", "0", "-e", "signal=none")
        done = subprocess.run(
            [*tracer, "-e", f"trace={_TRACED}", "-o", f"{place}/trace", "--", *argv],
            cwd=directory,
            input=standard_input,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, f"{argv}: {done.stderr}"
        tasks = sorted(Path(place).iterdir())
        calls = [call for task in tasks for call in read(task.read_text(), directory)]
    return sorted(calls, key=lambda call: call.when_s)


def read(text: str, directory: Path) -> list[Call]:
    """The calls in one task's trace that are about something in the directory."""
    return list(_without_looks(_calls(text, directory)))


def renamed(calls: Sequence[Call]) -> list[str]:
    """The calls in words, each name replaced by its number in the order of first appearance.

    Every part of a path is numbered within its parent, so that what lies where still shows.
    """
    numbers: dict[tuple[str, str], str] = {}
    counts: dict[str, int] = {}

    def rename(path: str) -> str:
        parent, new = "", ""
        for part in Path(path).parts:
            if (parent, part) not in numbers:
                counts[parent] = counts.get(parent, 0) + 1
                numbers[parent, part] = f"{counts[parent]}"
            new = f"{new}/{numbers[parent, part]}"
            parent = f"{parent}/{part}"
        return new

    return [str(Call(c.name, rename(c.path), c.detail, c.failed)) for c in calls]


def by_file(calls: Sequence[Call]) -> dict[str, list[str]]:
    """The calls on each file, without its name: for files that are worked on at once."""
    found: dict[str, list[str]] = {}
    for call in calls:
        found.setdefault(call.path, []).append(str(Call(call.name, "", call.detail, call.failed)))
    return found


@dataclass(frozen=True)
class _Mapping:
    start: int
    size: int
    path: str


def _calls(text: str, directory: Path) -> Iterator[Call]:
    mappings: list[_Mapping] = []
    for line in text.splitlines():
        match = _LINE.match(line)
        if match is None:
            continue
        name, result = match["name"], match["result"]
        arguments = _split(match["arguments"])
        if name == "msync":
            call = _synced(arguments, mappings)
        else:
            call = _about(name, arguments, result, directory)
        if call is not None and name == "mmap" and result != "-1":
            mappings.append(_Mapping(int(result, 16), int(arguments[1]), call.path))
        if call is not None:
            failed = line.rpartition("= -1 ")[2].split()[0] if result == "-1" else ""
            is_look = name in _OPENING and "O_CLOEXEC" in match["arguments"]
            yield Call(
                call.name, call.path, call.detail, failed, float(match["when"]), is_look=is_look
            )


def _about(name: str, arguments: list[str], result: str, directory: Path) -> Call | None:
    """The call without time and error; nothing if it is about something else."""
    if name == "sync":
        return Call(name, "")
    if name in ("io_submit", "io_getevents"):
        return _asynchronous(name, arguments, result, directory)
    if name in _OPENING or name in _BY_NAME:
        is_at = name.endswith("at") and name != "creat"
        path = _inside(arguments[1 if is_at else 0].strip('"'), directory)
        return None if path is None else _named(name, path, arguments[2 if is_at else 1 :])
    handle = arguments[4] if name == "mmap" and len(arguments) > 4 else arguments[0]
    descriptor = _DESCRIPTOR.fullmatch(handle)
    path = _inside(descriptor["path"], directory) if descriptor else None
    if path is None:
        return None
    moved = result if name in _MOVES.split(",") and name not in ("lseek", "mmap") else ""
    rest = [argument for argument in arguments[1:] if not argument.startswith('"')]
    if name == "mmap":
        rest = [*arguments[1:4], arguments[5]]
    # A whole record is what is asked for; another number is worth a word.
    cut = f"moved {moved}" if moved not in ("", "-1", *rest[:1]) else ""
    return Call(name, path, " ".join([*rest, *filter(None, [cut])]))


def _synced(arguments: list[str], mappings: list[_Mapping]) -> Call | None:
    """A part of a mapping, by its place in the file; mappings start where files do."""
    address = int(arguments[0], 16)
    for mapping in reversed(mappings):
        if 0 <= address - mapping.start < mapping.size:
            place = f"@{address - mapping.start}"
            return Call("msync", mapping.path, f"{place} {arguments[1]} {arguments[2]}")
    return None


def _named(name: str, path: str, rest: list[str]) -> Call:
    if name not in _OPENING:
        return Call("rmdir" if "AT_REMOVEDIR" in rest else name.removesuffix("at"), path)
    flags = "O_WRONLY|O_CREAT|O_TRUNC" if name == "creat" else rest[0]
    kept = sorted(set(flags.split("|")) - _SILENT_FLAGS)
    return Call("open", path, "|".join(kept))


def _asynchronous(name: str, arguments: list[str], result: str, directory: Path) -> Call:
    if name == "io_getevents":
        return Call(name, "", f"{arguments[1]} to {arguments[2]}: {result}")
    requests = [
        f"{match['what']} {_inside(match['path'], directory)} {match['size']} @{match['offset']}"
        for match in _REQUEST.finditer(arguments[2])
    ]
    assert len(requests) == int(arguments[1]), f"unknown requests: {arguments[2]}"
    return Call(name, "", ", ".join([f"{result} of {arguments[1]}", *requests]))


def _without_looks(calls: Iterator[Call]) -> Iterator[Call]:
    """Leaves out what the engine looks at between passes, which moves nothing.

    It opens a file with O_CLOEXEC, asks how much of it is in memory, and closes it.
    """
    look: list[Call] = []
    for call in calls:
        if look or call.is_look:
            look.append(call)
            if call.name == "close":
                moves = [call for call in look[1:-1] if call.name != "syncfs"]
                yield from look if moves else []
                look = []
        else:
            yield call
    yield from look


def _inside(path: str, directory: Path) -> str | None:
    """A path relative to the directory; nothing for what lies elsewhere."""
    whole = directory / path
    return str(whole.relative_to(directory)) if whole.is_relative_to(directory) else None


def _split(arguments: str) -> list[str]:
    """Arguments at the commas that are in no bracket and no string."""
    parts, depth, is_text = [""], 0, False
    for letter in arguments:
        if letter == '"':
            is_text = not is_text
        elif not is_text:
            depth += (letter in "[{<") - (letter in "]}>")
        if letter == "," and depth == 0 and not is_text:
            parts.append("")
        else:
            parts[-1] += letter
    return [part.strip() for part in parts]
