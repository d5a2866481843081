"""compilebench's summary, wherever in a log it stands."""

import re
from collections.abc import Iterator, Sequence
from typing import Final

from tiltyard.importers.importer import Imported, Importer, Measured, single
from tiltyard.importers.quantities import MIB_S, SECONDS, metric
from tiltyard.importers.reading import Line, lines_of

_RATES: Final = {
    "intial create": "initial_create",
    "create": "create",
    "patch": "patch",
    "compile": "compile",
    "clean": "clean",
    "read tree": "read_tree",
    "read compiled tree": "read_compiled_tree",
}
_TIMES: Final = {
    "delete tree": "delete_tree_time",
    "delete compiled tree": "delete_compiled_tree_time",
    "stat tree": "stat_tree_time",
    "stat compiled tree": "stat_compiled_tree_time",
}
_HEADLINES: Final = ("initial_create", "compile", "read_compiled_tree")
METRICS: Final = (
    *(metric(name, MIB_S, 2, headline=name in _HEADLINES) for name in _RATES.values()),
    *(
        metric(name, SECONDS, 2, label=f"time to {label}", headline=False)
        for label, name in _TIMES.items()
    ),
)
_LINE: Final = re.compile(
    r"\s*(.+?) total runs (\d+) avg (\S+) (MB/s|seconds) \(user (\S+)s sys (\S+)s\)\s*"
)
_DONE: Final = re.compile(r"\s*(?:no runs for stat compiled tree|stat compiled tree total runs .*)")


def read(data: bytes, name: str) -> Imported:
    """The summaries in one file."""
    lines = lines_of(data, name)
    measured = list(_measured(lines))
    return single(
        use="compilebench",
        metrics=METRICS,
        measured=tuple(measured),
        limits=tuple(_limits(lines)),
    )


def _measured(lines: Sequence[Line]) -> Iterator[Measured]:
    for line in lines:
        match = _LINE.fullmatch(line.text)
        if match is None:
            if " total runs " in line.text:
                raise line.refused("not a line of compilebench's summary")
            continue
        label, runs, value, unit, *_ = match.groups()
        name = (_RATES if unit == "MB/s" else _TIMES).get(label)
        if name is None:
            raise line.refused(f"compilebench prints no {label[:40]} in {unit}")
        if line.count(runs) == 0:
            raise line.refused("a mean of no runs")
        in_base = (MIB_S if unit == "MB/s" else SECONDS).value(line.value(value))
        yield Measured(name, values=(in_base,))


def _limits(lines: Sequence[Line]) -> Iterator[str]:
    yield (
        "compilebench prints the mean over the trees of one execution, and not their spread; "
        "creating the first trees, and everything with --makej, is timed without a sync."
    )
    if not any(_DONE.fullmatch(line.text) for line in lines):
        yield f"{lines[0].file}: the summary is cut off; what would follow is missing."


IMPORTER: Final = Importer(
    name="compilebench",
    about="the summary of compilebench 0.6 and of our engine, also inside a log",
    left_out="counts of runs, CPU times",
    cut_off="lines that are whole are kept, and that it ends early is said",
    repeats="executions",
    recognises=lambda head: "intial create total runs" in head or "no runs for intial" in head,
    read=read,
    metrics=METRICS,
)
