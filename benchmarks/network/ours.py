"""The engine at both ends, by its own figures."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tiltyard.executors.engine import ConditionsWanted, Engine
from tiltyard.wire import PROTOCOL, SampleEvent, read_events

from ..harness import Side, Times
from ..processes import Words, timed
from .far import serving
from .rig import Rig, free_port

ENGINE = Engine.find().path


def stream(rig: Rig, **parameters: Any) -> Side:
    """tcp_stream; time per byte that was received."""

    def side(directory: Path) -> Times:
        return {"per byte": 1 / _rate(rig, "tcp_stream", "throughput", parameters, directory)}

    return side


def exchange(rig: Rig, workload: str, **parameters: Any) -> Side:
    """tcp_rr, udp_rr or tcp_crr; time per transaction."""

    def side(directory: Path) -> Times:
        rate = _rate(rig, workload, "transactions", parameters, directory)
        return {"per transaction": 1 / rate}

    return side


def _rate(
    rig: Rig, workload: str, metric: str, parameters: Mapping[str, Any], directory: Path
) -> float:
    """The one sample of a metric, of one trial with a far end of its own."""
    port = free_port()
    job = _job(rig, workload, port, parameters)
    server: Words = [ENGINE, "serve", "--bind", rig.address, "--port", port]
    with serving(rig, server, port, directory):
        _, answer = timed(rig.near([ENGINE, "run"]), directory, job)
    samples = [
        each.data for each in read_events(answer.splitlines()) if isinstance(each, SampleEvent)
    ]
    (sample,) = [sample for sample in samples if sample.metric == metric]
    return sample.value


def _job(rig: Rig, workload: str, port: str, parameters: Mapping[str, Any]) -> bytes:
    """A trial that leaves the CPUs to the rig, as it does for all sides."""
    job = {
        "protocol": PROTOCOL,
        "workload": workload,
        "parameters": dict(parameters),
        "target": {"far": {"address": rig.address, "port": int(port)}},
        "conditions": ConditionsWanted(unpinned=True).model_dump(mode="json"),
    }
    return json.dumps(job).encode()
