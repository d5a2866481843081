"""Result files of other tools, read as ``tiltyard import`` reads them, told by metric and place."""

from collections.abc import Mapping
from typing import TypeAlias

from support.imports import ROOT, golden
from tiltyard.importers import IMPORTERS
from tiltyard.importers.importer import Imported, Measured
from tiltyard.importers.sniff import importer_of, read_with

REFUSED = ROOT / "tests/importers/refused"
"""What tools write that holds no result."""

Place: TypeAlias = tuple[str, *tuple[str, ...]]


def data_of(path: str) -> bytes:
    """A file that a tool wrote: ``fio/two-jobs.json``."""
    return golden(path).read_bytes()


def imported(path: str, data: bytes | None = None) -> Imported:
    """What a file holds; its kind is recognised."""
    held = data_of(path) if data is None else data
    name = path.rpartition("/")[2]
    return read_with(importer_of(held, name, IMPORTERS), held, name)


def measured(found: Imported) -> Mapping[Place, Measured]:
    """Metric and levels → what was measured, of a file with one workload."""
    (workload,) = found.workloads
    return {(one.metric, *map(str, one.at.values())): one for one in workload.measured}


def values(found: Imported) -> dict[Place, float]:
    """The same for files with one value of each."""
    return {place: one.values[0] for place, one in measured(found).items()}
