"""A small catalogue in the shape that the engine's ``describe`` has: three workloads."""

from typing import Any, Literal

from tiltyard.wire import PROTOCOL, BackendCard, Card, Catalogue, MetricCard, Unit

_SIZE = {"description": 'Bytes: 65536, "64k".', "type": ["integer", "string"], "format": "size"}


def _metric(
    name: str,
    unit: Unit,
    role: Literal["headline", "detail"] = "headline",
    direction: Literal["higher", "lower"] = "higher",
) -> MetricCard:
    """A metric whose label and explanation follow from its name."""
    label = name.replace("_", " ")
    return MetricCard(
        name=name, label=label, unit=unit, direction=direction, role=role, about=f"Rate of {label}."
    )


def _parameters(properties: dict[str, Any]) -> dict[str, Any]:
    """A closed parameters object, as the engine's generator writes it."""
    return {
        "title": "Params",
        "type": "object",
        "properties": properties,
        "additionalProperties": False,
        "$defs": {"Size": _SIZE},
    }


_SIZES = {
    "description": "One size, or a list of them.",
    "anyOf": [
        {"$ref": "#/$defs/Size"},
        {"type": "array", "items": {"$ref": "#/$defs/Size"}},
    ],
}

IOZONE = Card(
    name="iozone",
    target="directory",
    about="Reads and writes one file in thirteen ways",
    lineage="IOzone 3.506, W. Norcott and D. Capps",
    timing="t(last record) - t(first record)",
    description="Thirteen tests over a grid of file and record sizes.",
    parameters=_parameters(
        {
            "file": {**_SIZES, "default": [67108864]},
            "record": {**_SIZES, "default": [4096, 65536, 1048576]},
            "access": {
                "description": "State of the cache.",
                "enum": ["in-cache", "direct"],
                "default": "in-cache",
            },
            "verify": {"description": "Check what is read.", "type": "boolean", "default": True},
        }
    ),
    metrics=[
        _metric(name, "B/s")
        for name in (
            "write",
            "rewrite",
            "read",
            "reread",
            "random_read",
            "random_write",
            "backward_read",
            "record_rewrite",
            "stride_read",
            "fwrite",
            "frewrite",
            "fread",
            "freread",
        )
    ],
    grid=["file", "record"],
    usual={"file": ["16M", "64M"], "record": "64k"},
    smoke={"file": "64k", "record": "4k"},
)

POSTMARK = Card(
    name="postmark",
    target="directory",
    about="Many small files, as a mail server has them",
    lineage="PostMark 1.51, J. Katcher, 1997",
    timing="transactions / t(transaction phase)",
    description="Creates a pool of files, works on it by transactions, deletes it.",
    parameters=_parameters(
        {
            "files": {"description": "Files in the pool.", "type": "integer", "default": 500},
            "transactions": {"description": "Transactions.", "type": "integer", "default": 500},
            "size": {
                "description": 'Sizes of the files: "500..10000".',
                "type": "string",
                "default": "500..10000",
            },
            "buffering": {
                "description": "Through buffered streams.",
                "type": "boolean",
                "default": True,
            },
        }
    ),
    metrics=[
        _metric("transactions", "1/s"),
        _metric("created", "1/s", role="detail"),
        _metric("data_read", "B/s", role="detail"),
        _metric("total_time", "s", role="detail", direction="lower"),
    ],
    grid=[],
    usual={"files": 1000, "transactions": 20000},
    smoke={"files": 10, "transactions": 20},
)

TCP_STREAM = Card(
    name="tcp_stream",
    target="far",
    about="Bytes in one direction over TCP",
    lineage="netperf, R. Jones, 1993",
    timing="bytes received / t(last byte) - t(first byte)",
    description="Sends messages as fast as the server takes them.",
    parameters=_parameters(
        {
            "message": {**_SIZES, "default": [16384]},
            "flows": {"description": "Connections at once.", "type": "integer", "default": 1},
        }
    ),
    metrics=[_metric("throughput", "B/s"), _metric("cpu_near", "1", "detail", "lower")],
    grid=["message", "flows"],
    usual={"message": ["64", "16k"]},
    smoke={"message": 64},
)

CATALOGUE = Catalogue(
    protocol=PROTOCOL,
    engine="0.0.0",
    backends=[
        BackendCard(name="null", about="Moves nothing"),
        BackendCard(name="sync", about="System calls"),
    ],
    workloads=[IOZONE, POSTMARK, TCP_STREAM],
)

_COMMAND = {
    "description": "Program and arguments.",
    "type": "array",
    "items": {"type": "string"},
    "brings": "starts",
}
PROGRAM = Card(
    name="program",
    target="directory",
    about="Any program",
    lineage="hyperfine, D. Peter, 2018",
    timing="t(end of the program) - t(its start)",
    description="Executes a command.",
    parameters=_parameters(
        {
            "command": _COMMAND,
            "setup": {**_COMMAND, "description": "Before all executions."},
            "prepare": {**_COMMAND, "description": "Before each execution."},
            "where": {"description": "Directory.", "type": "string", "path": "study"},
            "expect": {"description": "What is right.", "type": "object"},
            "executions": {"description": "How often.", "type": "integer", "default": 1},
            "at_least": {"description": "Seconds.", "type": "number", "default": 0},
        }
    ),
    metrics=[
        _metric("time", "s", direction="lower"),
        _metric("user", "s", role="detail", direction="lower"),
    ],
    grid=[],
    usual={"command": ["true"]},
    smoke={"command": ["true"]},
)
WITH_PROGRAM = CATALOGUE.model_copy(update={"workloads": [*CATALOGUE.workloads, PROGRAM]})
"""The same with the workload whose keys make values of systems."""
