"""A workload's page tells all that a person needs to set its parameters."""

import io
from typing import Any

import pytest
from rich.console import Console

from tiltyard.cli.catalogue import choices, workload_page
from tiltyard.executors.engine import Engine
from tiltyard.wire import Card

CARDS = Engine.find().describe().workloads


def page(card: Card) -> str:
    console = Console(file=io.StringIO(), width=2000)
    console.print(workload_page(card))
    return console.file.getvalue()  # type: ignore[attr-defined, no-any-return]


@pytest.mark.parametrize("card", CARDS, ids=lambda card: card.name)
def test_every_name_that_a_parameter_may_take_is_on_the_page(card: Card) -> None:
    text = page(card)
    for schema in card.parameters["properties"].values():
        for name, meaning in choices(card, schema):
            assert f"• {name}" in text
            assert meaning in text


def test_a_page_begins_with_what_people_read_and_what_they_type() -> None:
    heads = {card.name: page(card).partition(":")[0] for card in CARDS}
    assert heads["tcp_stream"] == "TCP throughput (tcp_stream)"
    assert heads["program"] == "program"
    assert all(name in head for name, head in heads.items())


@pytest.mark.parametrize("card", CARDS, ids=lambda card: card.name)
def test_the_default_is_among_the_names(card: Card) -> None:
    named = {name: [one for one, _ in choices(card, schema)] for name, schema in defaults(card)}
    choice = "backend" if card.target == "directory" else "timing"
    if card.name != "program":
        assert named[choice], "each workload that moves bytes has choices"
    for name, schema in defaults(card):
        if isinstance(schema["default"], str) and named[name]:
            assert schema["default"] in named[name]


def test_a_parameter_left_out_by_default_shows_a_dash() -> None:
    random = next(card for card in CARDS if card.name == "random")
    assert "null" not in page(random).partition("• null")[0].split()


def defaults(card: Card) -> list[tuple[str, dict[str, Any]]]:
    return [(n, s) for n, s in card.parameters["properties"].items() if "default" in s]
