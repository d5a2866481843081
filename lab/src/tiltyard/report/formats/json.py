"""The findings and the document as JSON, with the schema of the findings beside them."""

import json
from base64 import b64encode
from dataclasses import fields
from functools import cache
from typing import Any, Final

from tiltyard.analysis.model import Findings
from tiltyard.analysis.schema import findings_schema
from tiltyard.report.document import Document
from tiltyard.report.formats.format import Format

SCHEMA: Final = "findings.schema.json"


def render(document: Document, findings: Findings) -> dict[str, bytes]:
    """The findings are the data; the document is what a style has made of them."""
    data = findings.model_dump_json(indent=1)
    schema = json.dumps(findings_schema(), ensure_ascii=False, indent=1)
    made = {
        "report.json": data.replace("{", f'{{\n "$schema": "{SCHEMA}",', 1),
        "document.json": json.dumps(document, default=_plain, ensure_ascii=False),
        SCHEMA: schema,
    }
    return {path: f"{text}\n".encode() for path, text in made.items()}


def _plain(part: Any) -> dict[str, object] | str:
    """A part of a document as JSON has it; which kind of part it is, stands in ``is``.

    Files of the house's look are in base64.
    """
    if isinstance(part, bytes):
        return b64encode(part).decode()
    kind: Any = type(part)
    return {"is": kind.__name__.lower(), **{name: getattr(part, name) for name in _names(kind)}}


@cache
def _names(kind: Any) -> tuple[str, ...]:
    return tuple(one.name for one in fields(kind))


FORMAT = Format(
    name="json",
    about="findings with their JSON Schema, and the document with its figures as Vega-Lite",
    file="report.json",
    render=render,
)
