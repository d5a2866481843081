"""What synthetic workloads yield: one like IOzone with a grid, one like PostMark without."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal

from tiltyard.wire import MetricCard

KIB, MIB = 1024, 1024**2


@dataclass(frozen=True)
class Shape:
    """What a synthetic workload yields."""

    metrics: tuple[MetricCard, ...]
    typical: Mapping[str, float]
    """Metric → typical value of the first system."""
    grid: tuple[str, ...] = ()
    points: tuple[dict[str, int | str], ...] = ({},)
    parameters: Mapping[str, int | str] = field(default_factory=dict)
    target: Literal["directory", "far"] = "directory"
    along: Callable[[str, dict[str, int | str]], float] = lambda metric, point: 1.0
    """What the typical value of a metric is multiplied by at a point."""
    timed: Mapping[str, float | None] = field(default_factory=dict)
    """Metrics whose samples hold a histogram, with its mean in s; ``None``: the value itself."""


def card(
    name: str, label: str, unit: str, direction: str = "higher", role: str = "headline"
) -> MetricCard:
    """A metric as the engine would describe it."""
    about = f"{label.capitalize()} of a synthetic workload."
    return MetricCard.model_validate(
        {
            "name": name,
            "label": label,
            "unit": unit,
            "direction": direction,
            "role": role,
            "about": about,
        }
    )


_IOZONE = (
    ("write", 1.1e9),
    ("rewrite", 1.6e9),
    ("read", 4.1e9),
    ("reread", 4.3e9),
    ("random read", 3.6e9),
    ("random write", 1.4e9),
    ("backward read", 3.3e9),
    ("record rewrite", 2.9e9),
    ("stride read", 3.4e9),
    ("fwrite", 1.0e9),
    ("frewrite", 1.5e9),
    ("fread", 3.0e9),
    ("freread", 3.1e9),
)

SHAPES = {
    "iozone": Shape(
        metrics=tuple(card(label.replace(" ", "_"), label, "B/s") for label, _ in _IOZONE),
        typical={label.replace(" ", "_"): value for label, value in _IOZONE},
        grid=("file", "record"),
        points=tuple(
            {"file": file, "record": record}
            for file in (16 * MIB, 64 * MIB)
            for record in (4 * KIB, 64 * KIB, MIB)
        ),
        parameters={"access": "in-cache", "stride": 17},
    ),
    "postmark": Shape(
        metrics=(
            card("transactions", "transactions", "1/s"),
            card("created_alone", "files created, alone", "1/s", role="detail"),
            card("data_read", "data read", "B/s", role="detail"),
            card("data_written", "data written", "B/s", role="detail"),
            card("total_time", "total time", "s", "lower", "detail"),
        ),
        typical={
            "transactions": 14_060.0,
            "created_alone": 31_000.0,
            "data_read": 4.2e7,
            "data_written": 9.8e7,
            "total_time": 3.1,
        },
        parameters={"files": 10_000, "transactions": 20_000, "size": "500..10000"},
    ),
}
