"""The JSON documents that verbs print with ``--json``, and their schemas.

What is promised of them: in a version 1.x a field keeps its name and its meaning; fields may be
added. A document is read by its names, and what a reader does not know is passed over.
"""

from dataclasses import dataclass
from typing import Any, Final

from pydantic import BaseModel

from tiltyard.analysis.forecast import Forecast
from tiltyard.analysis.gate import Gate
from tiltyard.analysis.model import Findings
from tiltyard.analysis.schema import document_schema
from tiltyard.app.check import Checked
from tiltyard.app.clean import Cleaned
from tiltyard.app.combine import Combined
from tiltyard.app.devices import Devices
from tiltyard.app.explain import Explained
from tiltyard.app.recommend import Recommendations
from tiltyard.app.status import Status
from tiltyard.host.doctor import Examined


@dataclass(frozen=True)
class Document:
    """One kind of document."""

    name: str
    """Of its schema: ``schema/NAME.schema.json``."""
    about: str
    verbs: tuple[str, ...]
    """Those that print it."""
    model: type[BaseModel]

    @property
    def schema(self) -> dict[str, Any]:
        """JSON Schema, draft 2020-12."""
        return document_schema(self.model, f"Tiltyard {self.name}")


DOCUMENTS: Final = (
    Document(
        "findings", "what the analysis states", ("compare", "run", "report", "demo"), Findings
    ),
    Document("gate", "what a gate answers, headline by headline", ("gate",), Gate),
    Document("check", "what a study would do, and what would go wrong", ("check",), Checked),
    Document("plan", "blocks and time needed for a precision", ("plan",), Forecast),
    Document("status", "how far a study is", ("status",), Status),
    Document("doctor", "what this host lacks", ("doctor",), Examined),
    Document("combine", "several studies as one decision", ("combine",), Combined),
    Document("devices", "block devices, and which could be used", ("devices",), Devices),
    Document("explain", "what words mean", ("explain",), Explained),
    Document("recommend", "ready studies by purpose", ("recommend",), Recommendations),
    Document("clean", "what may go, or has gone", ("clean",), Cleaned),
)
"""In the order of the reference page."""
