"""The engine against the schema of the wire, and the lab's reader against the engine."""

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path

import jsonschema
import pytest

from tiltyard import wire
from tiltyard.executors.engine import Engine

SCHEMA = json.loads((Path(__file__).resolve().parents[2] / "schema/wire.schema.json").read_text())


@pytest.fixture(scope="module")
def far() -> Iterator[dict[str, object]]:
    """A server on loopback."""
    argv = (str(Engine.find().path), "serve", "--until-eof", "--port", "0")
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as engine:
        assert engine.stdout is not None
        said = wire.ListeningLine.model_validate_json(engine.stdout.readline())
        port = int(said.data.addresses[0].rpartition(":")[2])
        yield {"address": "127.0.0.1", "port": port}
        engine.communicate()


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
    assert {event.data.metric for event in events if isinstance(event, wire.SampleEvent)} == {
        metric.name for metric in card.metrics
    }
    assert list(tmp_path.iterdir()) == []
