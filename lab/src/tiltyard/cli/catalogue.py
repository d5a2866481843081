"""The engine's catalogue as a person reads it."""

import json
from collections.abc import Iterator
from typing import Any, Final

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.text import Text

from tiltyard.report.stacking import StackingTable
from tiltyard.study.toml import toml_key, toml_value
from tiltyard.wire import Card, Catalogue
from tiltyard.workloads.catalogue import ProfileCard
from tiltyard.workloads.load import Origin


def catalogue_table(catalogue: Catalogue) -> RenderableType:
    """One line for each workload."""
    table = StackingTable("Workload", "What it does", "Metrics", "Profile")
    for card in catalogue.whole().workloads:
        table.add_row(card.name, card.about, str(len(card.metrics)), _origin(card))
    return Group(table, Text(f"\nEngine {catalogue.engine}. More: tiltyard workloads NAME"))


def with_key(name: str, title: str) -> str:
    """What people read of a workload, and what they type: ``TCP throughput (tcp_stream)``."""
    return f"{title} ({name})" if title not in ("", name) else name


def workload_page(card: Card) -> RenderableType:
    """Everything about one workload."""
    parameters = StackingTable("Parameter", "Default", "Meaning")
    for name, schema in card.parameters.get("properties", {}).items():
        about = "\n".join(
            [flowing(schema), *(_bullet(*choice) for choice in choices(card, schema))]
        )
        parameters.add_row(name, _default(schema), Text(about))
    metrics = StackingTable("Metric", "Unit", "Better", "Verdict", "Meaning")
    for metric in card.metrics:
        verdict = "yes" if metric.role == "headline" else "–"
        metrics.add_row(metric.name, metric.unit, metric.direction, verdict, metric.about)
    return Group(
        Text.assemble((with_key(card.name, card.title), "bold"), f": {card.about}\n"),
        Text(card.description.strip() + "\n"),
        Text.assemble(("Lineage  ", "bold"), card.lineage),
        Text.assemble(("Timing   ", "bold"), card.timing + "\n"),
        Padding(parameters, (0, 0, 1, 0)),
        metrics,
        *(_expanded(card) if isinstance(card, ProfileCard) else ()),
    )


def _origin(card: Card) -> str:
    """Where a profile is from; nothing for a workload of the engine."""
    if not isinstance(card, ProfileCard):
        return ""
    hides = ", hides another" if card.profile.hides else ""
    return f"{_ORIGINS[card.profile.origin]}{hides}"


def _expanded(card: ProfileCard) -> Iterator[RenderableType]:
    """What a profile needs, and what is executed with its usual parameters."""
    needs = card.profile.file.needs
    packages = " ".join(sorted(set(needs.values())))
    yield Text.assemble(("\nNeeds    ", "bold"), f"apt install {packages}" if needs else "nothing")
    yield Text.assemble(("File     ", "bold"), str(card.profile.source))
    for path in card.profile.hides:
        yield Text.assemble(("Hides    ", "bold"), str(path))
    yield Text("\nThe same as a program of your own, with its usual parameters:\n", style="bold")
    yield Text('[[workload]]\nuse = "program"')
    for key, value in card.expand(card.usual).items():
        yield Text(f"{toml_key(key)} = {toml_value(value)}")


def flowing(schema: dict[str, Any]) -> str:
    """What a parameter or a choice means, without the line breaks of the source it stands in."""
    return str(schema.get("description", "")).replace("\n", " ")


def choices(card: Card, schema: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """The names that a parameter may be set to, and what each means; none where values are free.

    A parameter that also takes other things (a list of names, or an object) has them as well.
    """
    if reference := schema.get("$ref"):
        yield from choices(card, card.parameters["$defs"][reference.rpartition("/")[2]])
    yield from ((name, "") for name in schema.get("enum", []))
    yield from ((one["const"], flowing(one)) for one in schema.get("oneOf", []) if "const" in one)
    for one in schema.get("anyOf", []):
        yield from choices(card, one)


_ORIGINS: Final[dict[Origin, str]] = {
    "study": "of this study",
    "user": "yours",
    "package": "of a package",
    "ready": "ready",
    "suite": "Phoronix",
}
"""Origin of a profile, as the list shows it."""


def _bullet(name: str, meaning: str) -> str:
    """One line for a name that a parameter may be set to."""
    return f"• {name}: {meaning}" if meaning else f"• {name}"


def _default(schema: dict[str, Any]) -> str:
    """The default as one would write it in a study file; a dash where it is left out."""
    default = schema.get("default")
    return "–" if default is None else json.dumps(default)
