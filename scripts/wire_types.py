"""The lab's types of the wire, made from its schema (``schema/wire.schema.json``)."""

import json
import re
import textwrap
from collections.abc import Iterable, Iterator
from typing import Any

MODULES = {"end_types": ("End",), "types": ("Event", "Catalogue"), "host_types": ("HostLine",)}
"""Module → what the engine sends, with all that it needs and no earlier module has; the types of
jobs are the lab's own."""
NAMES = {"Warning": "WarningNote", "Catalogue": "CatalogueMessage"}
"""Types whose name means something else in Python, or in the lab."""
FURTHER = {"Unit": ("instr/op", "instr")}
"""Values that the lab derives (:mod:`tiltyard.plan.path_length`) and the engine never sends."""
NARROWED = {("Sample", "at"): "dict[str, Count | str]"}
"""Types that are stricter than the schema."""
COMPACT = {"Sample", "SampleEvent", "Native", "Latency"}
"""What a trial may have thousands of: structs, see ``Compact``."""
SCALARS = {
    "string": "str", "integer": "int", "number": "Quantity", "boolean": "bool", "null": "None"
}  # fmt: skip
FEW = 40
"""Characters of a description, with its quotes and indent, that say no more than the name."""
SCALARS_ABSENT = {"str": "", "int": 0, "Count": 0, "Quantity": 0.0, "bool": False}
HEAD = '''"""Generated from `schema/wire.schema.json` by `make docs`; do not edit."""

{imports}
{literals}'''
BASE = '''
Count = Annotated[int, Meta(ge=0, le=2**63 - 1), Field(ge=0, le=2**63 - 1)]
"""A number of things, as the engine counts them."""

Quantity = Annotated[float, Meta(ge=-1e24, le=1e24), Field(ge=-1e24, le=1e24)]
"""Nothing that a machine does is more, in any unit."""


class Message(BaseModel):
    """Base of everything that the engine sends; fields that it does not know pass through."""

    model_config = ConfigDict(frozen=True, extra="allow", defer_build=True)


class Compact(Struct, frozen=True, gc=False, omit_defaults=True):
    """Base of what a trial may have thousands of: a tenth of the memory and the time of a model.

    Without cycles, so that the garbage collector need not know them.
    """
'''
IMPORTS = {
    "typing": ("Annotated", "Any", "Literal"),
    "msgspec": ("Meta", "Struct"),
    "pydantic": ("BaseModel", "ConfigDict", "Field"),
}
"""Whatever of these a module uses."""

Schema = dict[str, Any]


def wire_types(schema: Schema) -> dict[str, str]:
    """Module → its text, as ``ruff format`` would have it."""
    definitions: dict[str, Schema] = schema["$defs"]
    done: dict[str, str] = {}
    modules: dict[str, str] = {}
    known: dict[str, tuple[str, ...]] = {}
    for module, roots in MODULES.items():
        earlier = set(done)
        for root in roots:
            _define(root, definitions, done)
        texts = [text for name, text in done.items() if name not in earlier]
        literals = [text for text in texts if " = Literal[" in text.partition("\n")[0]]
        body = "".join(text for text in texts if text not in literals)
        body = body if known else BASE + body
        imports = _imports({**IMPORTS, **known}, "".join((*literals, body)))
        modules[module] = HEAD.format(imports=imports, literals="\n".join(literals)) + body
        base = () if known else ("Message", "Compact", "Count", "Quantity")
        own = (NAMES.get(name, name) for name in done if name not in earlier)
        known[f"tiltyard.wire.{module}"] = (*base, *own)
    return modules


def _imports(offered: dict[str, tuple[str, ...]], text: str) -> str:
    """Lines that import what a text uses, ours last."""
    words = set(re.findall(r"\w+", re.sub(r'"""(?s:.)*?"""', "", text)))
    lines, ours = "", ""
    for module, names in offered.items():
        if used := sorted(words.intersection(names)):
            line = f"from {module} import {', '.join(used)}\n"
            if module.startswith("tiltyard"):
                listed = "".join(f"    {name},\n" for name in used)
                ours = (ours or "\n") + f"from {module} import (\n{listed})\n"
            else:
                # Only that of the standard library stands above.
                gap = "\n" if lines.count("\n") == 1 else ""
                lines += gap + line
    return lines + ours


def _define(name: str, definitions: dict[str, Schema], done: dict[str, str]) -> None:
    """Add a type after those that it needs."""
    if name in done:
        return
    schema = definitions[name]
    for needed in dict.fromkeys(re.findall(r'#/\$defs/(\w+)"', json.dumps(schema))):
        _define(needed, definitions, done)
    variants = schema.get("oneOf", schema.get("anyOf", []))
    if any("properties" in variant for variant in variants):
        is_tagged = all("type" in variant["properties"] for variant in variants)
        one = _of_forms(schema, variants)
        done[name] = _union(name, variants) if is_tagged else _class(name, one)
    elif schema.get("type") == "object":
        done[name] = _class(name, schema)
    else:
        of = variants or [schema]
        values = [value for own in of for value in own.get("enum", [own.get("const")])]
        literal = _literal(name, (*values, *FURTHER.get(name, ())))
        done[name] = f"{literal}\n{_text(schema, '')}"


def _union(name: str, variants: list[Schema]) -> str:
    """Messages that their ``type`` tells apart: models, and structs beside them."""
    text = ""
    models, structs = [], []
    for variant in variants:
        kind = variant["properties"]["type"]["const"]
        own = f"{kind.capitalize()}Event"
        of = _type(variant["properties"]["data"], ("", ""))
        if own in COMPACT:
            structs.append(own)
            text += f'\n\nclass {own}(Compact, frozen=True, tag_field="type", tag="{kind}"):\n'
            text += f"{_text(variant, '    ')}\n    data: {of}\n"
        else:
            models.append(own)
            text += f"\n\nclass {own}(Message):\n{_text(variant, '    ')}\n"
            text += f'    type: Literal["{kind}"]\n    data: {of}\n'
    joined = "\n    | ".join(models)
    text += f'\n\nModel{name} = Annotated[\n    {joined},\n    Field(discriminator="type"),\n]\n'
    return f"{text}{name} = {' | '.join((f'Model{name}', *structs))}\n"


def _of_forms(schema: Schema, variants: list[Schema]) -> Schema:
    """One message for forms that their keys tell apart: each key may be absent."""
    fields = {name: of for variant in variants for name, of in variant["properties"].items()}
    absent: Schema = {"type": "null"}
    optional = {
        name: of if "null" in of.get("type", ()) else {"anyOf": [of, absent]}
        for name, of in fields.items()
    }
    return {"description": schema.get("description", ""), "properties": optional}


def _class(name: str, schema: Schema) -> str:
    """A class, after two empty lines."""
    return "\n\n" + "\n".join(_model(name, schema)).rstrip("\n") + "\n"


def _model(name: str, schema: Schema) -> Iterator[str]:
    """A class, the fields that are required first."""
    base = "Compact, frozen=True" if name in COMPACT else "Message"
    yield f"class {NAMES.get(name, name)}({base}):"
    yield _text(schema, "    ") or f'    """`{name}` of the wire."""\n'
    required = schema.get("required", [])
    properties: dict[str, Schema] = schema.get("properties", {})
    for own in sorted(properties, key=lambda own: own not in required):
        kind = _type(properties[own], (name, own))
        default = "" if own in required else f" = {_default(properties[own], kind)}"
        yield f"    {own}: {kind}{default}"
        # What is of a type of its own is described there; a few letters repeat the name.
        text = _text(properties[own], "    ").rstrip("\n")
        if "$defs" not in json.dumps(properties[own]) and len(text) > FEW:
            yield text


def _default(schema: Schema, kind: str) -> str:
    """Of a field that may be absent."""
    if kind.endswith("| None"):
        return "None"
    if kind.startswith("dict"):
        return "{}"
    if kind.startswith("list"):
        return "[]"
    default = schema.get("default", SCALARS_ABSENT[kind])
    return repr(default) if kind == "bool" else json.dumps(default)


def _type(schema: Schema, place: tuple[str, str]) -> str:
    """The annotation of a field."""
    if place in NARROWED:
        return NARROWED[place]
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        return NAMES.get(name, name)
    if "anyOf" in schema:
        return " | ".join(_type(own, place) for own in schema["anyOf"])
    kind = schema.get("type", "object")
    if isinstance(kind, list):
        return " | ".join(_type({**schema, "type": own}, place) for own in kind)
    if kind == "array":
        if fixed := schema.get("prefixItems"):
            return f"tuple[{', '.join(_type(own, place) for own in fixed)}]"
        return f"list[{_type(schema['items'], place)}]"
    if kind == "object":
        of = schema.get("additionalProperties", True)
        return f"dict[str, {_type(of, place) if isinstance(of, dict) else 'Any'}]"
    return "Count" if kind == "integer" and schema.get("minimum") == 0 else SCALARS[kind]


def _text(schema: Schema, indent: str) -> str:
    """The first sentence of the description as a docstring; nothing where there is none."""
    words, end, _ = " ".join(schema.get("description", "").split()).partition(". ")
    if not words:
        return ""
    lines = textwrap.wrap(f'"""{words}{end.strip()}"""', 100 - len(indent))
    return "".join(f"{indent}{line}\n" for line in lines)


def _literal(name: str, values: Iterable[str]) -> str:
    """On one line, or on one for each value."""
    quoted = [f'"{value}"' for value in values]
    line = f"{name} = Literal[{', '.join(quoted)}]"
    if len(line) <= 100:
        return line
    return f"{name} = Literal[\n" + "".join(f"    {value},\n" for value in quoted) + "]"
