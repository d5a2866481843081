"""Findings in the formats of other tools: one file a format, and one line in the list below."""

from tiltyard.exporters import bencher, csv, openmetrics, parquet, phoronix, runbook
from tiltyard.exporters.exporter import Exporter

EXPORTERS: tuple[Exporter, ...] = (
    csv.EXPORTER,
    parquet.EXPORTER,
    phoronix.EXPORTER,
    bencher.EXPORTER,
    openmetrics.EXPORTER,
    runbook.EXPORTER,
)
"""All exporters, by what people look for first."""
