"""What aio-stress prints of each stage; its standard error, or both streams in one file.

A stage's figure is that with the fsync: of one thread its total, of several the throughput of all.
Figures of single files are kept where there is one file, as ``… before fsync``.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from tiltyard.importers.importer import Imported, Importer, Measured, single
from tiltyard.importers.quantities import MIB_S, MILLISECONDS, metric
from tiltyard.importers.reading import Line, lines_of

_STAGES: Final = ("write", "read", "random write", "random read")
GRID: Final = ("file", "record", "depth", "threads", "files")
METRICS: Final = tuple(
    made
    for stage in _STAGES
    for name in (stage.replace(" ", "_"),)
    for made in (
        metric(name, MIB_S, 2),
        metric(f"{name}_before_fsync", MIB_S, 2, label=f"{stage} before fsync", headline=False),
        metric(
            f"{name}_latency_mean",
            MILLISECONDS,
            2,
            label=f"{stage} latency, mean",
            headline=False,
        ),
        metric(
            f"{name}_submit_mean",
            MILLISECONDS,
            2,
            label=f"{stage} io_submit, mean",
            headline=False,
        ),
    )
)
_SIZES: Final = re.compile(r"file size (\d+)MB, record size (\d+)KB, depth (\d+), ios per .*")
_COUNTS: Final = re.compile(r"threads (\d+) files (\d+) contexts (\d+) .*")
_STAGE: Final = "|".join(sorted(_STAGES, key=len, reverse=True))
_FIGURE: Final = re.compile(
    rf"(?:thread (\d+) )?({_STAGE}) (totals|throughput|on .+) \((\S+) MB/s\) (\S+) MB in (\S+)s"
    r"(?: min transfer \S+MB)?\s*"
)
_LATENCY: Final = re.compile(r"(completion )?latency min (\S+) avg (\S+) max (\S+)\s*")
_NOTHING: Final = ("nan", "-nan")
"""The mean of no operations."""


@dataclass
class _Run:
    """What the lines so far say about the execution that is under way."""

    at: dict[str, int | str]
    threads: int = 0
    files: int = 0
    submit: Line | None = None
    completion: Line | None = None


def read(data: bytes, name: str) -> Imported:
    """Everything that aio-stress printed to one file."""
    lines = lines_of(data, name)
    return single(
        use="aio-stress",
        metrics=METRICS,
        measured=tuple(_measured(lines)),
        grid=GRID,
        limits=(
            "aio-stress does not print whether caches were bypassed (-O); its figure counts what "
            "was submitted, also where records overlap.",
        ),
    )


def _measured(lines: Sequence[Line]) -> Iterator[Measured]:
    run: _Run | None = None
    for line in lines:
        if sizes := _SIZES.fullmatch(line.text.strip()):
            run = _Run(
                {
                    "file": line.count(sizes[1]) * 2**20,
                    "record": line.count(sizes[2]) * 2**10,
                    "depth": line.count(sizes[3]),
                }
            )
        elif counts := _COUNTS.fullmatch(line.text.strip()):
            if run is None:
                raise line.refused('no line "file size …" stands before; give the whole output')
            run.threads, run.files = line.count(counts[1]), line.count(counts[2])
            run.at |= {"threads": run.threads, "files": run.files}
        elif latency := _LATENCY.fullmatch(line.text.strip()):
            if run is not None:
                setattr(run, "completion" if latency[1] else "submit", line)
        elif figure := _FIGURE.fullmatch(line.text.strip()):
            if run is None or not run.threads:
                raise line.refused('no line "threads …" stands before; give the whole output')
            yield from _figures(line, figure, run)
        elif " MB/s) " in line.text:
            raise line.refused("not a line of aio-stress on a stage")


def _figures(line: Line, figure: re.Match[str], run: _Run) -> Iterator[Measured]:
    stage, kind = figure[2].replace(" ", "_"), figure[3]
    value = (MIB_S.value(line.value(figure[4])),)
    if kind == ("totals" if run.threads == 1 else "throughput"):
        yield Measured(stage, run.at, value)
    if kind.startswith("on ") and run.files == 1:
        yield Measured(f"{stage}_before_fsync", run.at, value)
        for suffix, told in (("latency_mean", run.completion), ("submit_mean", run.submit)):
            if told is not None and told.words[-3] not in _NOTHING:
                mean = MILLISECONDS.value(told.value(told.words[-3]))
                yield Measured(f"{stage}_{suffix}", run.at, (mean,))
    if kind.startswith("on "):
        run.completion = run.submit = None


IMPORTER: Final = Importer(
    name="aio-stress",
    about="the stages of aio-stress 0.21 and of our engine, with latencies (`-l`, `-L`)",
    left_out="elapsed times, shortest and longest latencies and how many were in which class",
    cut_off="lines that are whole are kept; stages that are not there are missing",
    repeats="stages, executions",
    recognises=lambda head: "ios per iteration" in head and "context offset" in head,
    read=read,
    metrics=METRICS,
    grid=GRID,
)
