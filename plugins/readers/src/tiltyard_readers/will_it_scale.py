"""will-it-scale's table (``runtest.py``): operations of processes and of threads, by their count.

The table does not say which test it is of: that is read in a line before it (``runtest.py brk1``,
``Running brk1``), or in the name of the file, as in ``brk1.csv``.
"""

import re
from collections import Counter
from collections.abc import Iterator
from typing import Final

from tiltyard.delimited import fields_of
from tiltyard.importers.importer import Imported, ImportedWorkload, Importer, Measured
from tiltyard.importers.quantities import PER_S, metric
from tiltyard.importers.reading import Line, lines_of
from tiltyard.units import count_of

METRICS: Final = (
    metric("processes", PER_S, 0, label="operations of processes"),
    metric("threads", PER_S, 0, label="operations of threads"),
)
_HEAD: Final = "tasks,processes,processes_idle,threads,threads_idle,linear"
_TESTS: Final = (
    "brk", "context_switch", "dup", "eventfd", "fallocate", "futex", "getppid", "lock", "lseek",
    "malloc", "mmap", "open", "page_fault", "pipe", "poll", "posix_semaphore", "pread",
    "pthread_mutex", "pwrite", "read", "readseek", "signal", "tlb_flush", "unix", "unlink", "write",
    "writeseek",
)  # fmt: skip
"""Each has a number behind it."""
_IN_NAME: Final = re.compile(rf"(?<![a-z])(?:(?:{'|'.join(_TESTS)})\d|sched_yield)(?![a-z\d])")
_BEFORE: Final = re.compile(r"(?:.*runtest\.py|Running)\s+(\w+)(?:\s.*)?")
_UNNAMED: Final = (
    "Which of will-it-scale's tests it is, neither the file nor its name says: files of several "
    "tests need their names, as in brk1.csv."
)


def read(data: bytes, name: str) -> Imported:
    """One table, or one of each test."""
    test = next(reversed(_IN_NAME.findall(name)), "")
    found: dict[str, list[Measured]] = {}
    missing = Counter[str]()
    table = False
    for line in lines_of(data, name):
        if match := _BEFORE.fullmatch(line.text.strip()):
            test, table = match[1], False
        elif line.text.strip() == _HEAD:
            if not test and found:
                raise line.refused(
                    "a second table, and nothing says of which test; give each in a file of its own"
                )
            table = True
            found.setdefault(test, [])
        elif table and re.match(r"\d+,", line.text):
            found[test] += _row(line, test, missing)
    return Imported(
        workloads=tuple(
            ImportedWorkload(
                name=f"will-it-scale {one}".strip(),
                use="will-it-scale",
                metrics=METRICS,
                measured=tuple(measured),
                grid=("tasks",),
            )
            for one, measured in found.items()
        ),
        limits=(
            *(
                f"{name}: {what} left out in {count_of(rows, 'row')}: not run, or failed."
                for what, rows in missing.items()
            ),
            *((_UNNAMED,) if "" in found else ()),
        ),
    )


def _row(line: Line, test: str, missing: Counter[str]) -> Iterator[Measured]:
    """Both rates of a count of tasks; what was not run, or failed, is a 0 or -1."""
    fields = fields_of(line.text)
    if len(fields) != len(_HEAD.split(",")):
        raise line.refused(f"{len(fields)} fields under a head of {len(_HEAD.split(','))}")
    tasks = line.count(fields[0])
    for metric_name, text in (("processes", fields[1]), ("threads", fields[3])):
        if tasks and text not in ("0", "-1"):
            at: dict[str, int | str] = {"tasks": tasks}
            yield Measured(metric_name, at, (PER_S.value(line.value(text)),))
        elif tasks:
            missing[" of ".join(filter(None, (metric_name, test)))] += 1


IMPORTER: Final = Importer(
    name="will-it-scale",
    about="the CSV that will-it-scale's runtest.py prints, of one test or several",
    left_out="idle time, the rate that would be linear",
    cut_off="rows that are whole are kept",
    repeats="tables of the same test",
    recognises=lambda head: bool(re.search(rf"^{_HEAD}\s*$", head, re.MULTILINE)),
    read=read,
    metrics=METRICS,
    grid=("tasks",),
)
