"""The engine's catalogue as a person reads it."""

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from tiltyard.wire import Card, Catalogue


def catalogue_table(catalogue: Catalogue) -> RenderableType:
    """One line for each workload."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("Workload")
    table.add_column("What it does")
    table.add_column("Metrics", justify="right")
    for card in catalogue.workloads:
        table.add_row(card.name, card.about, str(len(card.metrics)))
    return Group(table, Text(f"\nEngine {catalogue.engine}. More: tiltyard workloads NAME"))


def workload_page(card: Card) -> RenderableType:
    """Everything about one workload."""
    parameters = Table(box=None, pad_edge=False, header_style="bold")
    for heading in ("Parameter", "Default", "Meaning"):
        parameters.add_column(heading)
    for name, schema in card.parameters.get("properties", {}).items():
        parameters.add_row(name, _default(schema), str(schema.get("description", "")))
    metrics = Table(box=None, pad_edge=False, header_style="bold")
    for heading in ("Metric", "Unit", "Better", "Verdict", "Meaning"):
        metrics.add_column(heading)
    for metric in card.metrics:
        verdict = "yes" if metric.role == "headline" else "–"
        metrics.add_row(metric.name, metric.unit, metric.direction, verdict, metric.about)
    return Group(
        Text.assemble((card.name, "bold"), f": {card.about}\n"),
        Text(card.description.strip() + "\n"),
        Text.assemble(("Lineage  ", "bold"), card.lineage),
        Text.assemble(("Timing   ", "bold"), card.timing + "\n"),
        Padding(parameters, (0, 0, 1, 0)),
        metrics,
    )


def _default(schema: dict[str, object]) -> str:
    """The default as one would write it in a study file."""
    from json import dumps

    return dumps(schema["default"]) if "default" in schema else "–"
