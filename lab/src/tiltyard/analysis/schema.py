"""JSON Schema of documents: the contract with whoever reads them."""

from typing import Any, Final

from pydantic import BaseModel

from tiltyard.analysis.model import Findings

DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"


def document_schema(model: type[BaseModel], title: str) -> dict[str, Any]:
    """JSON Schema (draft 2020-12) of a document; a copy of it may name its schema."""
    schema = model.model_json_schema(mode="serialization")
    schema["properties"] = {"$schema": {"type": "string"}, **schema["properties"]}
    return {"$schema": DIALECT, **schema, "title": title}


def findings_schema() -> dict[str, Any]:
    """That of ``findings.json`` and ``report.json``."""
    return document_schema(Findings, "Tiltyard findings")
