"""PostMark's report: verbose or terse, one or several in a file.

Its clock has whole seconds, and its rates are divided without a rest; both are kept as printed.
Of its version 1.51, the line ``deleted`` repeats the number of files created, so it is not kept.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Final

from tiltyard.importers.importer import Imported, Importer, Measured, single
from tiltyard.importers.quantities import (
    BYTES_S,
    KIB_S,
    MIB_S,
    PER_S,
    SECONDS,
    Unit,
    metric,
)
from tiltyard.importers.reading import Line, lines_of, text_of

METRICS: Final = (
    metric("transactions", PER_S, 0),
    metric("transaction_time", SECONDS, 0, label="time of transactions", headline=False),
    metric("total_time", SECONDS, 0, headline=False),
    metric("created", PER_S, 0, label="files created", headline=False),
    metric("created_alone", PER_S, 0, label="files created, alone", headline=False),
    metric("created_mixed", PER_S, 0, label="files created, mixed", headline=False),
    metric("read", PER_S, 0, label="files read", headline=False),
    metric("appended", PER_S, 0, label="files appended to", headline=False),
    metric("deleted_alone", PER_S, 0, label="files deleted, alone", headline=False),
    metric("deleted_mixed", PER_S, 0, label="files deleted, mixed", headline=False),
    metric("data_read", MIB_S, 2, headline=False),
    metric("data_written", MIB_S, 2, headline=False),
)
_PROMPTS: Final = re.compile(r"(?:pm>)+\Z")
"""Those that nobody answered; commands from a pipe leave one at the end, without a newline."""
_RATE: Final = r"\((\S+) per second\)"
_TOTAL: Final = re.compile(r"\s*(\S+) seconds total")
_LINES: Final = (
    ("transactions", re.compile(rf"\s*(\S+) seconds of transactions {_RATE}")),
    ("created", re.compile(rf"\s*\S+ created {_RATE}")),
    ("created_alone", re.compile(rf"\s*Creation alone: \S+ files {_RATE}")),
    ("created_mixed", re.compile(rf"\s*Mixed with transactions: \S+ files {_RATE}")),
    ("read", re.compile(rf"\s*\S+ read {_RATE}")),
    ("appended", re.compile(rf"\s*\S+ appended {_RATE}")),
    ("", re.compile(rf"\s*\S+ deleted {_RATE}")),
    ("deleted_alone", re.compile(rf"\s*Deletion alone: \S+ files {_RATE}")),
    ("deleted_mixed", re.compile(rf"\s*Mixed with transactions: \S+ files {_RATE}")),
    ("data_read", re.compile(r"\s*\S+ \w+ read \((\S+) (\w+) per second\)")),
    ("data_written", re.compile(r"\s*\S+ \w+ written \((\S+) (\w+) per second\)")),
)
"""The lines after the first, in their order."""
_UNITS: Final = {"megabytes": MIB_S, "kilobytes": KIB_S, "bytes": BYTES_S}
_TERSE: Final = (
    "total_time", "transaction_time", "transactions", "created", "created_alone", "created_mixed",
    "read", "appended", "", "deleted_alone", "deleted_mixed", "data_read", "data_written",
)  # fmt: skip
_SETTINGS: Final = (
    ("files", re.compile(r"The base number of files is (\d+)")),
    ("transactions", re.compile(r"Transactions: (\d+)")),
    ("size", re.compile(r"Files (range between .+|are .+) in size")),
    ("blocks", re.compile(r"Block sizes are: (.+)")),
    ("biases", re.compile(r"Biases are: (.+)")),
    ("subdirectories", re.compile(r"(\d+) subdirectories will be used")),
    ("seed", re.compile(r"Random number generator seed is (\d+)")),
)


def read(data: bytes, name: str) -> Imported:
    """Everything that PostMark printed to one file."""
    lines = lines_of(_PROMPTS.sub("", text_of(data, name)).encode(), name)
    measured: list[Measured] = []
    for place, line in enumerate(lines):
        if _TOTAL.fullmatch(line.text):
            measured += _verbose([one for one in lines[place:] if one.text.strip()])
        elif re.fullmatch(r"[\d.]+( [\d.]+){5,}", line.text.strip()):
            measured += _terse(line)
    return single(
        use="postmark",
        lineage=next((one.text for one in lines if one.text.startswith("PostMark v")), ""),
        metrics=METRICS,
        measured=tuple(measured),
        parameters=_settings(lines),
        limits=(
            "PostMark reads a clock of whole seconds and drops the rest of a division: a rate over "
            "few seconds is coarse, and a phase of less than one counts as one second.",
        ),
    )


def _verbose(lines: Sequence[Line]) -> Iterator[Measured]:
    """One report, from the line with the total time."""
    rest = iter(line for line in lines if line.text.strip() not in ("Files:", "Data:"))
    first = next(rest)
    yield _one("total_time", SECONDS, first, first.words[0])
    for name, pattern in _LINES:
        line = next(rest, None)
        if line is None:
            raise first.refused("the report that begins here is cut off; give the whole of it")
        match = pattern.fullmatch(line.text)
        if match is None:
            raise line.refused(f'not the line of a PostMark report on "{name or "deleted"}"')
        if name == "transactions":
            yield _one("transaction_time", SECONDS, line, match[1])
            yield _one(name, PER_S, line, match[2])
        elif name.startswith("data"):
            yield _one(name, _unit(line, match[2]), line, match[1])
        elif name:
            yield _one(name, PER_S, line, match[1])


def _terse(line: Line) -> Iterator[Measured]:
    if len(line.words) != len(_TERSE):
        raise line.refused(f"a terse report has {len(_TERSE)} numbers, this line {len(line.words)}")
    for name, word in zip(_TERSE, line.words, strict=True):
        unit = SECONDS if name.endswith("time") else BYTES_S if name.startswith("data") else PER_S
        if name:
            yield _one(name, unit, line, word)


def _one(name: str, unit: Unit, line: Line, word: str) -> Measured:
    return Measured(name, values=(unit.value(line.value(word)),))


def _unit(line: Line, word: str) -> Unit:
    if word not in _UNITS:
        raise line.refused(f'"{word}" should be one of {", ".join(_UNITS)}')
    return _UNITS[word]


def _settings(lines: Sequence[Line]) -> dict[str, str]:
    """What the command ``show`` printed, if it was given."""
    found = {}
    for line in lines:
        for key, pattern in _SETTINGS:
            if match := pattern.fullmatch(line.text.strip()):
                found[key] = match[1]
    return found


IMPORTER: Final = Importer(
    name="postmark",
    about="the report of PostMark 1.5 and of our engine, verbose or terse",
    left_out="counts of files and amounts of data",
    cut_off="refused, as a report is one whole",
    repeats="executions",
    recognises=lambda head: "PostMark v" in head or " seconds of transactions (" in head,
    read=read,
    metrics=METRICS,
)
