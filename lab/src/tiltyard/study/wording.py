"""What pydantic finds wrong, in the words of a person who edits a study file."""

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from tiltyard.study.locate import KeyPath
from tiltyard.study.problems import FLAWS_MAX, Flaw, not_a, one_of, shown

Schema = Mapping[str, Any]

_QUOTED = re.compile(r"'([^']*)'")


def flaws_of(error: ValidationError, model: type[BaseModel]) -> Iterator[Flaw]:
    """Each thing that pydantic found wrong with a document of that model."""
    schema = model.model_json_schema()
    for detail in error.errors(include_url=False)[:FLAWS_MAX]:
        yield Flaw(detail["loc"], _text(detail, schema))


def _text(detail: ErrorDetails, schema: Schema) -> str:
    """One finding as a sentence: what was typed, and what would be right."""
    kind, loc, typed = detail["type"], detail["loc"], detail["input"]
    name = next((step for step in reversed(loc) if isinstance(step, str)), "").replace("_", " ")
    context = detail.get("ctx", {})
    if kind == "missing":
        return f"is missing. {_node(schema, loc).get('description', '')}".rstrip()
    if kind == "extra_forbidden":
        parts = _alternatives(_node(schema, loc[:-1]), schema)
        keys = [key for part in parts for key in part.get("properties", {})]
        return f"there is no such key. {one_of(loc[-1], keys)}"
    if kind == "literal_error":
        return not_a(typed, f"value of {name}", _QUOTED.findall(context["expected"]))
    if kind == "value_error":
        return str(context["error"])
    if kind in _WANTED:
        return f"{shown(typed)} is not {_WANTED[kind]}"
    if kind in _BOUNDS:
        return _BOUNDS[kind](shown(typed), context)
    return f"{shown(typed)}: {detail['msg']}"


_WANTED = {
    "string_type": "text. Text stands in quotes",
    "int_type": "a whole number",
    "int_from_float": "a whole number",
    "int_parsing": "a whole number",
    "bool_type": "true or false",
    "bool_parsing": "true or false",
    "list_type": "a list. A list stands in brackets: [ … ]",
    "tuple_type": "a list. A list stands in brackets: [ … ]",
    "dict_type": "a table. A table has a header [ … ], or stands in braces { key = value }",
    "model_type": "a table. A table has a header [ … ], or stands in braces { key = value }",
    "model_attributes_type": "a table. A table has a header [ … ], or stands in braces "
    "{ key = value }",
    "path_type": "a path. A path stands in quotes",
}

_BOUNDS: dict[str, Callable[[str, Mapping[str, Any]], str]] = {
    "greater_than": lambda typed, limit: f"{typed} is too small: more than {limit['gt']}",
    "greater_than_equal": lambda typed, limit: f"{typed} is too small: at least {limit['ge']}",
    "less_than": lambda typed, limit: f"{typed} is too large: less than {limit['lt']}",
    "less_than_equal": lambda typed, limit: f"{typed} is too large: at most {limit['le']}",
    "string_pattern_mismatch": lambda typed, limit: f"{typed} does not match {limit['pattern']}",
    "string_too_short": lambda _typed, _limit: "is empty",
    "too_short": lambda _typed, limit: f"is too short: at least {limit['min_length']}",
    "too_long": lambda _typed, limit: f"is too long: at most {limit['max_length']}",
}


def _node(schema: Schema, loc: KeyPath) -> Schema:
    """The part of a JSON Schema that speaks of a key; empty if there is none."""
    node = schema
    for step in loc:
        for part in _alternatives(node, schema):
            inside = part.get("items") if isinstance(step, int) else _property(part, step)
            if inside is not None:
                node = inside
                break
        else:
            return {}
    own = {} if "$ref" not in node else _resolved(node, schema)
    return {**own, **node}


def _alternatives(node: Schema, schema: Schema) -> Iterator[Schema]:
    """A node, or all that it may be."""
    resolved = _resolved(node, schema)
    if "anyOf" in resolved:
        for part in resolved["anyOf"]:
            yield from _alternatives(part, schema)
    else:
        yield resolved


def _property(node: Schema, key: str) -> Schema | None:
    """What an object's schema says of a key; a table of any names says the same of each."""
    any_name = node.get("additionalProperties")
    found: Schema | None = node.get("properties", {}).get(key)
    return any_name if found is None and isinstance(any_name, dict) else found


def _resolved(node: Schema, schema: Schema) -> Schema:
    """Follows a reference within the schema."""
    while "$ref" in node:
        node = schema["$defs"][node["$ref"].removeprefix("#/$defs/")]
    return node
