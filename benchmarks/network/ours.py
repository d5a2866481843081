"""The engine at both ends, by its own figures."""

import json
import secrets
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tiltyard.executors.engine import ConditionsWanted
from tiltyard.wire import PROTOCOL, Sample, SampleEvent, read_events

from ..engine import engine
from ..harness import CPU, Side, Times
from ..processes import Words
from .ends import together
from .rig import Rig, free_port

# An engine does not serve at an address that others could reach without one.
SECRET = secrets.token_hex(32)


def stream(rig: Rig, **parameters: Any) -> Side:
    """tcp_stream; time per byte that was received."""

    def side(directory: Path) -> Times:
        cpu_s, sample = _trial(rig, "tcp_stream", "throughput", parameters, directory)
        return {"per byte": 1 / sample.value, CPU: cpu_s / sample.bytes}

    return side


def exchange(rig: Rig, workload: str, **parameters: Any) -> Side:
    """tcp_rr, udp_rr or tcp_crr; time per transaction."""

    def side(directory: Path) -> Times:
        cpu_s, sample = _trial(rig, workload, "transactions", parameters, directory)
        return {"per transaction": 1 / sample.value, CPU: cpu_s / sample.operations}

    return side


def _trial(
    rig: Rig, workload: str, metric: str, parameters: Mapping[str, Any], directory: Path
) -> tuple[float, Sample]:
    """CPU time of both ends, and the one sample of a metric; the server is of its own."""
    port = free_port()
    job = _job(rig, workload, port, parameters)
    keep = directory / "far.secret"
    keep.touch(mode=0o600)
    keep.write_text(SECRET)
    server: Words = [engine(), "serve", "--bind", rig.address, "--port", port]
    server = [*server, "--secret-file", str(keep)]
    cpu_s, answer = together(rig, server, [engine(), "run"], port, directory, given=job)
    events = read_events(answer.splitlines())
    samples = [event.data for event in events if isinstance(event, SampleEvent)]
    (sample,) = [sample for sample in samples if sample.metric == metric]
    return cpu_s, sample


def _job(rig: Rig, workload: str, port: str, parameters: Mapping[str, Any]) -> bytes:
    """A trial that leaves the CPUs to the rig, as it does for all sides."""
    job = {
        "protocol": PROTOCOL,
        "workload": workload,
        "parameters": dict(parameters),
        "target": {"far": {"address": rig.address, "port": int(port), "secret": SECRET}},
        "conditions": ConditionsWanted(unpinned=True).model_dump(mode="json"),
    }
    return json.dumps(job).encode()
