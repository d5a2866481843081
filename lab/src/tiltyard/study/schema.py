"""JSON Schema of study files, so that an editor completes keys and explains them.

Put together from what is declared elsewhere: the grammar (:mod:`tiltyard.study.file`), the
settings of each kind of system, and the parameters of each workload as the engine describes them.
It is as strict as an editor needs; what only the whole file can tell is left to the loader.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import BaseModel
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue
from pydantic_core import core_schema

from tiltyard.study.clients import ClientsKey
from tiltyard.study.file import StudyFile
from tiltyard.study.kinds import Kind
from tiltyard.study.program import PROGRAM, Readings, is_program
from tiltyard.wire import Card, Catalogue

DIALECT = "https://json-schema.org/draft/2020-12/schema"

Json = dict[str, Any]
_SHARED = "settings"
"""Owner of definitions that are the same in all kinds of systems."""


def study_schema(catalogue: Catalogue, kinds: Sequence[Kind]) -> Json:
    """JSON Schema (draft 2020-12) of a study file.

    Args:
        catalogue: Which workloads there are, as the engine describes them.
        kinds: Which kinds of system there are.
    """
    schema = StudyFile.model_json_schema(schema_generator=_TomlSchema)
    definitions: Json = schema.pop("$defs")
    settings = _settings(kinds, definitions)
    systems = definitions["SystemsTable"]
    systems["properties"]["kind"]["enum"] = [kind.name for kind in kinds]
    systems["properties"] |= settings
    systems["additionalProperties"] = False
    schema["properties"]["factors"] |= {
        "properties": {name: _levels(each) for name, each in systems["properties"].items()},
        "additionalProperties": {"$ref": "#/$defs/bundle"},
    }
    definitions["bundle"] = _bundle(systems["properties"])
    # Both tables that took any value are closed now; nothing refers to this any more.
    del definitions["JsonValue"]
    cards = catalogue.whole().workloads
    if programs := [card.name for card in cards if is_program(card)]:
        schema |= _opened_for(programs, schema, systems, definitions)
    workload = definitions.pop("WorkloadTable")
    schema["properties"]["workload"]["items"] = {
        "oneOf": [_workload(card, workload, definitions) for card in cards]
    }
    return {"$schema": DIALECT, **schema, "title": "Tiltyard study", "$defs": definitions}


class _TomlSchema(GenerateJsonSchema):
    """Pydantic's generator, for a language that has no null: a key is there or it is not."""

    def nullable_schema(self, schema: core_schema.NullableSchema) -> JsonSchemaValue:
        """Only what it is when it is there."""
        return self.generate_inner(schema["schema"])

    def default_schema(self, schema: core_schema.WithDefaultSchema) -> JsonSchemaValue:
        """Defaults that one could type; those of a whole table are those of its keys."""
        if schema.get("default") is None or isinstance(schema["default"], BaseModel):
            return self.generate_inner(schema["schema"])
        return super().default_schema(schema)

    def field_title_should_be_set(self, schema: object) -> bool:  # noqa: ARG002  the base's name
        """A key needs no title: it says its name."""
        return False


def _settings(kinds: Sequence[Kind], definitions: Json) -> Json:
    """Setting → reference to what may stand there, in any of the kinds that have it."""
    found: dict[str, list[Json]] = {}
    for kind in kinds:
        schema = kind.Settings.model_json_schema(schema_generator=_TomlSchema)
        owner = kind.name if _clashes(schema, definitions) else _SHARED
        for name, setting in _embedded(schema, owner, definitions)["properties"].items():
            found.setdefault(name, []).append(setting)
    for name, schemas in found.items():
        first, *others = schemas
        alike = all(other == first for other in others)
        several = {"anyOf": schemas, "description": first.get("description", "")}
        definitions[f"setting.{name}"] = first if alike else several
    return {name: {"$ref": f"#/$defs/setting.{name}"} for name in found}


def _clashes(schema: Json, definitions: Json) -> bool:
    """Whether what kinds share is something else in one of them."""
    own = _renamed(schema.get("$defs", {}), f"#/$defs/{_SHARED}.")
    return any(definitions.get(f"{_SHARED}.{name}", each) != each for name, each in own.items())


def _levels(setting: Json) -> Json:
    """A factor: several values of a setting, in a list or by name."""
    return {
        "anyOf": [
            {"type": "array", "items": setting, "minItems": 1},
            {"type": "object", "additionalProperties": setting, "minProperties": 1},
        ],
    }


def _bundle(settings: Json) -> Json:
    """A factor that is no setting: levels by name, each with the settings that it sets."""
    return {
        "description": "Levels by name, each a table of the settings that it sets.",
        "type": "object",
        "minProperties": 1,
        "additionalProperties": {
            "type": "object",
            "properties": settings,
            "additionalProperties": False,
        },
    }


def _opened_for(programs: list[str], schema: Json, systems: Json, definitions: Json) -> Json:
    """With a program among the workloads, levels and ``[systems]`` may set further keys.

    They are opened, and closed again for studies without a program.

    Returns:
        Keys to add to the schema.
    """
    factors, bundle = schema["properties"]["factors"], definitions["bundle"]
    names = {"propertyNames": {"enum": [*systems["properties"]]}}
    definitions["variable"] = {
        "description": "Stands as {name} in the commands of programs.",
        "anyOf": [
            {"type": ["string", "number"]},
            {"type": "array", "items": {"type": ["string", "number"]}},
        ],
    }
    variable = {"$ref": "#/$defs/variable"}
    systems["additionalProperties"] = variable
    bundle["additionalProperties"]["additionalProperties"] = variable
    factors["additionalProperties"] = {"anyOf": [{"$ref": "#/$defs/bundle"}, _levels(variable)]}
    closed = {
        "systems": names,
        "factors": {
            "properties": dict.fromkeys(factors["properties"], True),
            "additionalProperties": {"type": "object", "additionalProperties": names},
        },
    }
    uses_one = {"properties": {"use": {"enum": programs}}, "required": ["use"]}
    return {
        "if": {"properties": {"workload": {"contains": uses_one}}, "required": ["workload"]},
        "else": {"properties": closed},
    }


def _workload(card: Card, table: Json, definitions: Json) -> Json:
    """One ``[[workload]]`` that uses this workload of the engine."""
    own: Json = table["properties"]
    parameters = _embedded(card.parameters, card.name, definitions)
    if card.name == PROGRAM:
        read = Readings.model_json_schema(schema_generator=_TomlSchema)
        own = own | _embedded(read, "readings", definitions)["properties"]
    if not is_program(card):
        clients = ClientsKey.model_json_schema(schema_generator=_TomlSchema)
        own = own | _embedded(clients, "clients", definitions)["properties"]
    return {
        "title": card.name,
        "description": card.about,
        "type": "object",
        "properties": {
            **own,
            "use": {**own["use"], "const": card.name},
            **parameters.get("properties", {}),
        },
        "required": table["required"],
        "additionalProperties": False,
    }


def _embedded(schema: Mapping[str, Any], owner: str, definitions: Json) -> Json:
    """A schema whose definitions have moved to those of the whole, under names of their own."""
    renamed: Json = _renamed(dict(schema), f"#/$defs/{owner}.")
    for name, definition in renamed.pop("$defs", {}).items():
        definitions[f"{owner}.{name}"] = definition
    return renamed


def _renamed(node: Any, prefix: str) -> Any:
    """A copy in which each reference to ``#/$defs/`` goes to ``prefix``."""
    if isinstance(node, dict):
        return {
            key: prefix + value.removeprefix("#/$defs/")
            if key == "$ref" and isinstance(value, str)
            else _renamed(value, prefix)
            for key, value in node.items()
        }
    if isinstance(node, list):
        return [_renamed(item, prefix) for item in node]
    return node
