"""The study as a shell script that does it again: see :mod:`tiltyard.analysis.runbook`."""

from tiltyard.analysis.model import Findings
from tiltyard.analysis.runbook import script
from tiltyard.exporters.exporter import Exporter


def render(findings: Findings) -> bytes:
    """The script, in UTF-8."""
    return script(findings).encode()


EXPORTER = Exporter(
    name="runbook",
    about="a shell script from the record: packages, systems, tuning, workloads, the way back",
    file="runbook.sh",
    render=render,
)
