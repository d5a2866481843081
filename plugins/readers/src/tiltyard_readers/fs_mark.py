"""fs_mark's rows, plain or with the times of system calls (``-v``); several executions in a file.

What it prints as files per second is the sum of the rates of its processes.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from tiltyard.importers.importer import Imported, ImportedWorkload, Importer, Measured
from tiltyard.importers.quantities import MICROSECONDS, PER_S, metric
from tiltyard.importers.reading import Line, executions, lines_of

_CALLS: Final = ("create", "write", "fsync", "sync", "close", "unlink")
GRID: Final = ("file", "threads", "loop")
METRICS: Final = (
    metric("files", PER_S, 1, label="files created"),
    metric("overhead", MICROSECONDS, 0, label="time outside of system calls", headline=False),
    *(metric(name, MICROSECONDS, 0, headline=False) for name in _CALLS),
    *(
        metric(f"{name}_max", MICROSECONDS, 0, label=f"{name}, longest", headline=False)
        for name in _CALLS
    ),
)
_COMMAND: Final = re.compile(r"#\s+(\S*fs_mark(?:\s.*)?)")
_VERSION: Final = re.compile(r"#\s+.*?[Vv]ersion ([\w.]+), (\d+) thread\(s\) starting at .*")
_TOLD: Final = re.compile(r"#\s+(Sync method|Directories|File names|Files info): +(.*)")
_HEAD: Final = re.compile(r"FSUse%\s+Count\s+Size\s+Files/sec\s+App Overhead(\s+CREAT .*)?\s*")
_PLAIN, _VERBOSE = 5, 5 + 3 * len(_CALLS)


@dataclass(frozen=True)
class _Execution:
    """What the lines before a table say."""

    command: str
    version: str
    threads: int
    told: dict[str, str]

    @property
    def method(self) -> str:
        """``inband fsync``; empty where the banner is not there."""
        return self.told.get("Sync method", "").partition(":")[0].strip().lower()


def read(data: bytes, name: str) -> Imported:
    """Everything that fs_mark printed to one file."""
    own = executions(lines_of(data, name), _COMMAND)
    return Imported(
        workloads=tuple(map(_workload, own)),
        limits=(
            "fs_mark adds up the rates of its processes, each over its own time: where they do not "
            "start and end together the sum is too high.",
        ),
    )


def _workload(lines: Sequence[Line]) -> ImportedWorkload:
    execution = _execution(lines)
    return ImportedWorkload(
        name=f"fs_mark {execution.method}".strip(),
        use="fs_mark",
        lineage=f"fs_mark {execution.version}".strip(),
        metrics=METRICS,
        measured=tuple(_measured(lines, execution)),
        parameters={
            key.lower(): value for key, value in execution.told.items() if key == "Directories"
        },
        commands=(execution.command,) if execution.command else (),
        grid=GRID,
    )


def _execution(lines: Sequence[Line]) -> _Execution:
    version = next((m for line in lines if (m := _VERSION.fullmatch(line.text))), None)
    if version is None:
        raise lines[0].refused(
            'no line "# Version …, N thread(s) starting at …" follows; give the whole output'
        )
    told = {m[1]: m[2].strip() for line in lines if (m := _TOLD.fullmatch(line.text))}
    command = next((m[1] for line in lines if (m := _COMMAND.fullmatch(line.text))), "")
    return _Execution(" ".join(command.split()), version[1], lines[0].count(version[2]), told)


def _measured(lines: Sequence[Line], execution: _Execution) -> Iterator[Measured]:
    """The rows under the head, in their order: that is the loop."""
    rest = iter(lines)
    if not any(_HEAD.fullmatch(line.text) for line in rest):
        return
    loop = 0
    for line in rest:
        if not line.words or not line.words[0].isdecimal():
            continue
        loop += 1
        words = line.words
        if len(words) not in (_PLAIN, _VERBOSE):
            raise line.refused(
                f"a row of fs_mark has {_PLAIN} or {_VERBOSE} figures, this one {len(words)}"
            )
        at: dict[str, int | str] = {
            "file": line.count(words[2], "the size of a file"),
            "threads": execution.threads,
            "loop": loop,
        }
        yield Measured("files", at, (PER_S.value(line.value(words[3])),))
        yield Measured("overhead", at, (MICROSECONDS.value(line.value(words[4])),))
        for place, name in enumerate(_CALLS if len(words) == _VERBOSE else ()):
            mean, longest = (line.value(words[_PLAIN + 3 * place + part]) for part in (1, 2))
            # A call that is not made is printed as zeros.
            if mean:
                yield Measured(name, at, (MICROSECONDS.value(mean),))
            if longest:
                yield Measured(f"{name}_max", at, (MICROSECONDS.value(longest),))


IMPORTER: Final = Importer(
    name="fs_mark",
    about="the rows of fs_mark 3.3 and of our engine, plain or `-v`, one row a loop",
    left_out="how full the file system was, counts of files, shortest times of system calls",
    cut_off="rows that are whole are kept; loops that are not there are missing",
    repeats="loops, executions",
    recognises=lambda head: "FSUse%" in head and "Files/sec" in head,
    read=read,
    metrics=METRICS,
    grid=GRID,
)
