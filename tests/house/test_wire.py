"""The lab's reader of the wire against the schema that the engine's types generate."""

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from pydantic.fields import FieldInfo

from tiltyard import wire
from tiltyard.executors.engine import Engine
from tiltyard.executors.far import FarEngine

SCHEMA = json.loads((Path(__file__).resolve().parents[2] / "schema/wire.schema.json").read_text())
TYPES = {
    "Hello": wire.Hello,
    "Progress": wire.Progress,
    "Interval": wire.Interval,
    "Sample": wire.Sample,
    "Connection": wire.Connection,
    "Warning": wire.WarningNote,
    "End": wire.End,
    "Network": wire.Network,
    "Side": wire.Side,
    "Failure": wire.Failure,
    "Floor": wire.Floor,
    "Access": wire.Access,
    "Usage": wire.Usage,
    "Device": wire.Device,
    "Pressure": wire.Pressure,
    "Native": wire.Native,
    "Latency": wire.Latency,
    "Conditions": wire.Conditions,
    "Card": wire.Card,
    "MetricCard": wire.MetricCard,
    "BackendCard": wire.BackendCard,
    "Catalogue": wire.Catalogue,
}


def fields_of(ours: type[Any]) -> dict[str, FieldInfo]:
    """The fields of a model, or of a dataclass."""
    fields: dict[str, FieldInfo] = ours.__pydantic_fields__
    return fields


@pytest.mark.parametrize("name", TYPES)
def test_fields_are_those_of_the_schema(name: str) -> None:
    theirs: dict[str, Any] = SCHEMA["$defs"][name]
    fields = fields_of(TYPES[name])
    assert set(fields) <= set(theirs["properties"]), "the lab reads a field that is not sent"
    needed = {field for field, info in fields.items() if info.is_required()}
    assert needed <= set(theirs["required"]), "the lab needs a field that may be absent"


def test_every_event_has_a_reader() -> None:
    kinds = {
        variant["properties"]["type"]["const"] for variant in SCHEMA["$defs"]["Event"]["oneOf"]
    }
    assert kinds == {
        "hello", "progress", "interval", "sample", "connection", "warning", "end",
    }  # fmt: skip


@pytest.fixture(scope="module")
def far() -> Iterator[dict[str, object]]:
    """A far end on loopback."""
    engine = FarEngine((str(Engine.find().path), "serve", "--until-eof", "--port", "0"))
    yield {"address": "127.0.0.1", "port": engine.port}
    engine.stop()


@pytest.mark.parametrize("card", Engine.find().describe().workloads, ids=lambda card: card.name)
def test_the_engine_keeps_to_the_schema(
    card: wire.Card, far: dict[str, object], tmp_path: Path
) -> None:
    validator = jsonschema.Draft202012Validator({"$ref": "#/$defs/Event", "$defs": SCHEMA["$defs"]})
    job = {
        "protocol": wire.PROTOCOL,
        "workload": card.name,
        "parameters": card.smoke,
        "target": {"far": far} if card.target == "far" else {"directory": str(tmp_path)},
    }
    done = subprocess.run(
        [str(Engine.find().path), "run"],
        input=json.dumps(job),
        capture_output=True,
        text=True,
        check=True,
    )
    lines = done.stdout.splitlines()
    for line in lines:
        validator.validate(json.loads(line))
    events = list(wire.read_events(lines))
    assert events[0].type == "hello"
    assert events[-1].type == "end"
    assert events[-1].data.outcome == "done"
    assert (events[-1].data.network is not None) == (card.target == "far")
    assert {event.data.metric for event in events if event.type == "sample"} == {
        metric.name for metric in card.metrics
    }
    assert list(tmp_path.iterdir()) == []
