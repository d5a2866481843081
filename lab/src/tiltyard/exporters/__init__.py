"""Findings in the formats of other tools: one file a format, and one line in the list below."""

from typing import Final

from tiltyard.exporters.exporter import Exporter
from tiltyard.registry import Plugin, Registry


def _bytes(made: object) -> bytes:
    if not isinstance(made, bytes):
        raise TypeError(f"it made {type(made).__name__}, not bytes")
    return made


def _sound(made: Exporter, _plugin: Plugin) -> Exporter:
    if "/" in made.file or made.file in ("", ".", ".."):
        raise ValueError(f"{made.file!r} is no name of a file")
    return made


EXPORTERS: Final = Registry[Exporter](
    "exporters",
    {
        "csv": ".csv:EXPORTER",
        "parquet": ".parquet:EXPORTER",
        "phoronix": ".phoronix:EXPORTER",
        "bencher": ".bencher:EXPORTER",
        "openmetrics": ".openmetrics:EXPORTER",
        "runbook": ".runbook:EXPORTER",
    },
    Exporter,
    within=__name__,
    unknown="is not an export format",
    checks={"render": _bytes},
    sound=_sound,
)
"""All exporters, by what people look for first."""
