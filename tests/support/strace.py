"""The system calls of a program on the files of one directory, as strace(1) sees them."""

import os
import re
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from tempfile import TemporaryDirectory

_NAMES = (
    "open,openat,openat2,creat,close,unlink,unlinkat,mkdir,mkdirat,rmdir,truncate,ftruncate,"
    "rename,renameat,renameat2,link,linkat,symlink,symlinkat,fallocate,flock,getdents64"
)
_MOVES = (
    "read,write,readv,writev,pread64,pwrite64,preadv,pwritev,preadv2,pwritev2,lseek,sendfile,"
    "copy_file_range,mmap,msync,munmap,io_submit,io_getevents"
)
_SYNCS = "sync,syncfs,fsync,fdatasync,sync_file_range"
_TRACED = f"{_NAMES},{_MOVES},{_SYNCS}"

_LINE = re.compile(r"(?P<when>[\d.]+) (?P<name>\w+)\((?P<arguments>.*)\)\s+= (?P<result>-?\w+)")
_DESCRIPTOR = re.compile(r"(?:\d+|AT_FDCWD)<(?P<path>/[^>]*)>")
_REQUEST = re.compile(
    r"aio_lio_opcode=IOCB_CMD_(?P<what>\w+).*?aio_fildes=\d+<(?P<path>[^>]*)>"
    r".*?aio_nbytes=(?P<size>\d+), aio_offset=(?P<offset>\d+)"
)
# What these change is not how the file is worked on: all files are large on 64-bit systems, and
# nobody calls exec(3).
_SILENT_FLAGS = {"O_LARGEFILE", "O_CLOEXEC"}
_OPENING = {"open", "openat", "creat"}
_BY_NAME = {"unlink", "unlinkat", "mkdir", "mkdirat", "rmdir", "truncate"}
_BY_NAME |= {"rename", "renameat", "renameat2", "link", "linkat", "symlink", "symlinkat"}
_AT_OFFSET = {"pread64", "pwrite64"}


@dataclass(frozen=True)
class Call:
    """One system call on something in the directory.

    Attributes:
        name: the plain name: ``openat`` and ``creat`` are ``open``.
        path: the file, relative to the directory; empty for what has none.
        detail: sizes and flags, without addresses, contents and descriptors.
        offset: in bytes from the start of the file, where the call names one.
        failed: the name of the error, or empty.
    """

    name: str
    path: str
    detail: str = ""
    offset: int | None = None
    failed: str = ""
    when_s: float = field(default=0, compare=False)
    is_inspection: bool = field(default=False, compare=False)
    """Opened with O_CLOEXEC: the standard library did it, not a workload."""

    def __str__(self) -> str:
        offset = "" if self.offset is None else f"@{self.offset}"
        return " ".join(filter(None, (self.name, self.path, self.detail, offset, self.failed)))


@dataclass(frozen=True)
class Execution:
    """One execution of a program: its calls in order, its exit code and what it printed.

    Attributes:
        server: the calls of the server that it worked with, if any.
    """

    calls: list[Call]
    exit_code: int
    stdout: str
    stderr: str
    server: list[Call] = field(default_factory=list)


def trace(argv: Sequence[str | Path], directory: Path, standard_input: str = "") -> Execution:
    """The calls of a program and all its children on files of the directory it works in.

    Two calls at once on two CPUs are in the order in which they began.
    """
    with TemporaryDirectory() as logs:
        tracer = ("strace", "-ff", "-ttt", "-y", "-v", "-s", "0", "-e", "signal=none")
        done = subprocess.run(
            [*tracer, "-e", f"trace={_TRACED}", "-o", f"{logs}/trace", "--", *argv],
            cwd=directory,
            input=standard_input,
            capture_output=True,
            text=True,
            check=False,
        )
        tasks = sorted(Path(logs).iterdir())
        calls = [call for task in tasks for call in read(task.read_text(), directory)]
    calls.sort(key=lambda call: call.when_s)
    return Execution(calls, done.returncode, done.stdout, done.stderr)


def read(text: str, directory: Path) -> list[Call]:
    """The calls in the trace of one task that are about files of the directory."""
    return list(_without_inspections(_calls(text, directory)))


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
        arguments = split_arguments(match["arguments"])
        failed = line.rpartition("= -1 ")[2].split()[0] if result == "-1" else ""
        if name in ("msync", "munmap"):
            calls = list(_on_mapping(name, arguments, mappings))
        elif name == "io_submit":
            calls = list(_requests(arguments, result, directory))
        else:
            call = _about(name, arguments, result, directory)
            calls = [] if call is None else [call]
        if calls and name == "mmap" and not failed:
            mappings.append(_Mapping(int(result, 16), int(arguments[1]), calls[0].path))
        inspects = name in _OPENING and "O_CLOEXEC" in match["arguments"]
        for call in calls:
            yield replace(call, failed=failed, when_s=float(match["when"]), is_inspection=inspects)


def _about(name: str, arguments: list[str], result: str, directory: Path) -> Call | None:
    """The call without time and error; nothing if it is about something else."""
    if name == "sync":
        return Call(name, "")
    if name == "io_getevents":
        return Call(name, "", f"{arguments[1]} to {arguments[2]}: {result}")
    if name in _OPENING or name in _BY_NAME:
        is_at = name.rstrip("2").endswith("at") and name != "creat"
        base = _DESCRIPTOR.fullmatch(arguments[0]) if is_at else None
        start = Path(base["path"]) if base else directory
        given = arguments[1 if is_at else 0].strip('"')
        path = _inside(start / given, directory)
        return None if path is None else _named(name, path, arguments[2 if is_at else 1 :])
    handle = arguments[4] if name == "mmap" and len(arguments) > 4 else arguments[0]
    descriptor = _DESCRIPTOR.fullmatch(handle)
    path = _inside(descriptor["path"], directory) if descriptor else None
    if path is None:
        return None
    if name == "mmap":
        return Call(name, path, " ".join(arguments[1:4]), int(arguments[5], 16))
    if name == "getdents64":
        return Call(name, path)
    rest = [word for word in arguments[1:] if not word.startswith('"')]
    offset = int(rest.pop()) if name in _AT_OFFSET else None
    moved = result if name in _MOVES.split(",") and name != "lseek" else ""
    # The size is what is asked for; a result that differs from it is added.
    short = [f"moved {moved}"] if moved not in ("", "-1", *rest[:1]) else []
    return Call(name, path, " ".join([*rest, *short]), offset)


def _on_mapping(name: str, arguments: list[str], mappings: list[_Mapping]) -> Iterator[Call]:
    """A part of a mapping, by its offset in the file; mappings start where files do."""
    address = int(arguments[0], 16)
    for mapping in reversed(mappings):
        if 0 <= address - mapping.start < mapping.size:
            yield Call(name, mapping.path, " ".join(arguments[1:]), address - mapping.start)
            if name == "munmap":
                mappings.remove(mapping)
            return


def _named(name: str, path: str, rest: list[str]) -> Call:
    if name not in _OPENING:
        return Call("rmdir" if "AT_REMOVEDIR" in rest else name.removesuffix("at"), path)
    flags = "O_WRONLY|O_CREAT|O_TRUNC" if name == "creat" else rest[0]
    kept = sorted(set(flags.split("|")) - _SILENT_FLAGS)
    return Call("open", path, "|".join(kept))


def _requests(arguments: list[str], result: str, directory: Path) -> Iterator[Call]:
    """The submission, then each of its requests."""
    yield Call("io_submit", "", f"{result} of {arguments[1]}")
    requests = list(_REQUEST.finditer(arguments[2]))
    assert len(requests) == int(arguments[1]), f"unknown requests: {arguments[2]}"
    for match in requests:
        path = _inside(match["path"], directory) or match["path"]
        yield Call(match["what"], path, match["size"], int(match["offset"]))


def _without_inspections(calls: Iterator[Call]) -> Iterator[Call]:
    """Leaves out how the engine inspects a file between passes, which moves nothing.

    It opens it with O_CLOEXEC, asks how much of it is in memory, and closes it.
    """
    pending: list[Call] = []
    for call in calls:
        if pending or call.is_inspection:
            pending.append(call)
            if call.name == "close":
                moves = [call for call in pending[1:-1] if call.name not in ("syncfs", "munmap")]
                yield from pending if moves else []
                pending = []
        else:
            yield call
    yield from pending


def _inside(path: str | Path, directory: Path) -> str | None:
    """A path relative to the directory; nothing for what lies elsewhere."""
    absolute = Path(os.path.normpath(directory / path))
    return str(absolute.relative_to(directory)) if absolute.is_relative_to(directory) else None


def split_arguments(arguments: str) -> list[str]:
    """The arguments of a call: text between commas that are in no bracket and no string."""
    parts, depth, is_text = [""], 0, False
    for letter in arguments.replace(" => ", " "):
        if letter == '"':
            is_text = not is_text
        elif not is_text:
            depth += (letter in "[{<") - (letter in "]}>")
        if letter == "," and depth == 0 and not is_text:
            parts.append("")
        else:
            parts[-1] += letter
    return [part.strip() for part in parts]
