"""What a picture shows, in a few lines that a person can review: titles, marks, scales."""

import json
from collections.abc import Iterator
from statistics import fmean
from typing import Any

_VIEWS = ("layer", "concat", "hconcat", "vconcat")
_OWN = ("x", "y", "xOffset", "yOffset", "theta", "radius", "text", "color", "shape", "size")
"""Channels of which a line tells."""


def summary_of(spec: dict[str, Any]) -> Iterator[str]:
    """A line for each title and each mark, those of a view below its own.

    A mark's line has the number of its rows, and of each channel the type, the field, what the
    data hold of it (the ends of numbers, how many different names), and the domain of its scale.
    """
    yield from _view(spec, {}, [], "")


def _view(view: Any, encoding: Any, rows: list[Any], indent: str) -> Iterator[str]:
    size = " × ".join(_length(view[side]) for side in ("width", "height") if side in view)
    title = view.get("title") or ""
    words = [title.get("text", ""), title.get("subtitle", "")] if title else []
    if size or words:
        yield indent + "; ".join(filter(None, [*words, size]))
        indent += "  "
    encoding = {**encoding, **view.get("encoding", {})}
    rows = view["data"]["values"] if "data" in view else rows
    if "mark" in view:
        yield indent + _mark(view, encoding, rows)
    facet = view.get("facet")
    if facet:
        by = facet.get("row") or facet.get("column") or facet
        yield f"{indent}{_channel('facets', by, rows)} in order {_span(by['sort'])}"
        yield from _view(view["spec"], encoding, rows, indent + "  ")
    for name in _VIEWS:
        for part in view.get(name, ()):
            yield from _view(part, encoding, rows, indent)


def _mark(view: Any, encoding: Any, rows: list[Any]) -> str:
    mark = view["mark"]["type"] if isinstance(view["mark"], dict) else view["mark"]
    kept = [row for row in rows if all(_passes(row, one) for one in view.get("transform", ()))]
    channels = [_channel(name, encoding[name], kept) for name in _OWN if name in encoding]
    spans = [f"{name} to {encoding[name]['field']}" for name in ("x2", "y2")
             if "field" in encoding.get(name, {})]  # fmt: skip
    return f"{mark} ×{len(kept)}: " + "; ".join(filter(None, [*channels, *spans]))


def _passes(row: Any, transform: dict[str, str]) -> bool:
    """Whether a row is drawn: the only filter of ours is ``isValid(datum.FIELD)``."""
    field = transform["filter"].removeprefix("isValid(datum.").removesuffix(")")
    return row[field] is not None


def _channel(name: str, channel: Any, rows: list[Any]) -> str:
    if "field" not in channel:
        fixed = channel.get("datum", channel.get("value"))
        return f"{name} = {_value(fixed)}"
    values = [row.get(channel["field"]) for row in rows]
    scale = channel.get("scale") or {}
    axis = channel.get("axis") or {}
    parts = [
        f"{name} {channel['field']}",
        f"({', '.join(values)})"
        if name == "text"
        else _held([value for value in values if value is not None]),
        scale.get("type", ""),
        f"of {_span(scale['domain'])}" if "domain" in scale and _has_own_scale(name, scale) else "",
        _names(axis.get("labelExpr", "")) if name != "x" else "",
        f"“{channel['title']}”" if channel.get("title") else "",
        f"at {', '.join(map(_value, axis['values']))}" if "values" in axis else "",
    ]
    return " ".join(filter(None, parts))


def _has_own_scale(name: str, scale: Any) -> bool:
    """Whether a domain is the picture's, not that of the theme."""
    return name in "xy" or scale.get("type") == "threshold"


def _names(expression: str) -> str:
    """The words that an axis shows in place of what the data hold."""
    names = expression.removesuffix("[datum.value]")
    return f"named {', '.join(json.loads(names).values())}" if names.startswith("{") else ""


def _held(values: list[Any]) -> str:
    """What the data hold: of numbers also the mean, which no number can leave unchanged."""
    if values and all(isinstance(value, int | float) for value in values):
        return f"{_span(values)}, mean {_number(fmean(values))}"
    return _span(values)


def _span(values: list[Any]) -> str:
    if values and all(isinstance(value, int | float) for value in values):
        return f"{_number(min(values))} … {_number(max(values))}"
    names = list(dict.fromkeys(map(str, values)))
    short = names if len(names) <= 4 else [names[0], f"… {len(names)} …", names[-1]]
    return f"({', '.join(short)})"


def _length(side: Any) -> str:
    return f"{_number(side['step'])} each" if isinstance(side, dict) else _number(side)


def _value(value: Any) -> str:
    return _number(value) if isinstance(value, int | float) else str(value)


def _number(value: Any) -> str:
    """Six digits: the last bits differ between mathematics libraries."""
    return f"{value:.6g}" if isinstance(value, int | float) else str(value)
