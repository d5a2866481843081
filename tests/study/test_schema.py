"""The schema that editors use accepts good files and refuses bad ones."""

import tomllib
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from support.catalogue import CATALOGUE, WITH_PROGRAM
from tiltyard.study.schema import study_schema
from tiltyard.study.templates import new_study, template_names
from tiltyard.systems import KINDS

SCHEMA = study_schema(CATALOGUE, KINDS)
VALIDATOR = Draft202012Validator(SCHEMA)
BAD = Path(__file__).parent / "bad"
SEEN = [
    "blocks-not-whole",
    "budget-without-unit",
    "cpus-negative",
    "factor-not-a-list",
    "factor-unknown",
    "factors-missing",
    "kind-unknown",
    "level-of-wrong-type",
    "level-unknown",
    "parameter-unknown",
    "percent-as-number",
    "precision-key-unknown",
    "precision-unknown",
    "question-missing",
    "seed-negative",
    "setting-not-one-of",
    "setting-table-key-unknown",
    "setting-unknown",
    "top-key-unknown",
    "workload-not-a-list",
    "workload-unknown",
    "workload-without-use",
]
"""Bad files that an editor can already mark; the others need the whole file to be understood."""


def test_it_is_a_schema() -> None:
    Draft202012Validator.check_schema(SCHEMA)


@pytest.mark.parametrize("name", template_names())
def test_templates_are_valid(name: str) -> None:
    Draft202012Validator(study_schema(WITH_PROGRAM, KINDS)).validate(tomllib.loads(new_study(name)))


@pytest.mark.parametrize("name", SEEN)
def test_bad_files_are_not(name: str) -> None:
    assert not VALIDATOR.is_valid(tomllib.loads((BAD / f"{name}.toml").read_text()))


def test_every_key_is_explained() -> None:
    definitions = SCHEMA["$defs"]
    tables = [SCHEMA, *(definitions[f"{name}Table"] for name in ("Systems", "Precision", "Noise"))]
    for table in tables:
        for key, schema in table["properties"].items():
            inner = definitions.get(schema.get("$ref", "").removeprefix("#/$defs/"), {})
            assert schema.get("description") or inner.get("description"), key


def test_parameters_keep_their_definitions() -> None:
    iozone, postmark, _ = SCHEMA["properties"]["workload"]["items"]["oneOf"]
    assert iozone["properties"]["file"]["anyOf"][0] == {"$ref": "#/$defs/iozone.Size"}
    assert SCHEMA["$defs"]["iozone.Size"]["format"] == "size"
    assert postmark["properties"]["use"]["const"] == "postmark"
