"""Every value as one line of a CSV file, in base units."""

from tiltyard.analysis.model import Findings
from tiltyard.delimited import delimited
from tiltyard.exporters.exporter import Exporter
from tiltyard.exporters.tidy import tidy


def render(findings: Findings) -> bytes:
    """The file, in UTF-8."""
    return delimited(*tidy(findings))


EXPORTER = Exporter(
    name="csv",
    about="every value as a line, in base units; for R, pandas, a database",
    file="values.csv",
    render=render,
)
