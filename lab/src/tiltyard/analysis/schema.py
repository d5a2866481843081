"""JSON Schema of findings: the contract with whoever reads them."""

from typing import Any, Final

from tiltyard.analysis.model import Findings

DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"


def findings_schema() -> dict[str, Any]:
    """JSON Schema (draft 2020-12) of ``findings.json`` and ``report.json``."""
    schema = Findings.model_json_schema(mode="serialization")
    schema["properties"] = {"$schema": {"type": "string"}, **schema["properties"]}
    return {"$schema": DIALECT, **schema, "title": "Tiltyard findings"}
