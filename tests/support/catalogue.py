"""A small catalogue in the shape that the engine's ``describe`` has: two workloads."""

from typing import Any, Literal

from tiltyard.wire import PROTOCOL, BackendCard, Card, Catalogue, MetricCard

_SIZE = {"description": 'Bytes: 65536, "64k".', "type": ["integer", "string"], "format": "size"}


def _metric(
    name: str,
    unit: Literal["B/s", "1/s", "s"],
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

CATALOGUE = Catalogue(
    protocol=PROTOCOL,
    engine="0.0.0",
    backends=[
        BackendCard(name="null", about="Moves nothing"),
        BackendCard(name="sync", about="System calls"),
    ],
    workloads=[IOZONE, POSTMARK],
)
