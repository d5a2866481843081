"""A number and what it counts agree: ``1 block``, ``2 blocks``, by one function."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tiltyard.units import agreeing, count_of

ROOT = Path(__file__).parents[2]
SOURCES = (ROOT / "lab/src", *ROOT.glob("plugins/*/src"))
COUNTED = re.compile(
    r" (?:[a-z-]+ )?(?:blocks|cells|changes|comparisons|groups|hosts|levels|lines|looks|numbers|"
    r"operations|others|pairs|points|sessions|studies|systems|tests|trials|values|workloads)\b"
)
LINKED = re.compile(r" (?:of|in|over|with|without|and|on|from|to|between|against|for) ")


def bare_counts(source: str) -> Iterator[str]:
    """What is filled into a sentence, as it is, right before a word in the plural."""
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.JoinedStr):
            continue
        for filled, after in zip(node.values, node.values[1:], strict=False):
            if not isinstance(filled, ast.FormattedValue) or not isinstance(after, ast.Constant):
                continue
            if filled.format_spec:
                continue
            found = COUNTED.match(str(after.value))
            expression = ast.unparse(filled.value)
            if found and not LINKED.match(found[0]) and is_number(expression):
                yield f"{{{expression}}}{found[0]}"


def is_number(expression: str) -> bool:
    """Lengths, sums and attributes are; constants in capitals are more than 1."""
    return not expression.isupper() and not re.search(r"join|listed", expression)


NO_COUNTS = {
    "{count_of(len(readings), 'cell')} two values",
    "{part_of(lacking, family, 'comparison', 'lacks', 'lack')} blocks",
    "{size} the others",
    "{way} operations",
}
"""What is filled in there is a word."""
ALWAYS_MORE = {
    "{family} comparisons",
    "{planned} sessions",
    "{levels} levels",
    "{wanted.rounds * COMPARISONS_EACH} comparisons",
    "{len(_TERSE)} numbers",
    "{times} systems",
}
"""With 1 there is another sentence, or none."""


def test_every_count_is_printed_by_the_one_function() -> None:
    found = {
        f"{path.relative_to(ROOT)}: {text}"
        for source in SOURCES
        for path in source.rglob("*.py")
        if "stats" not in path.parts
        for text in bare_counts(path.read_text())
        if text not in NO_COUNTS | ALWAYS_MORE
    }
    assert not found, "\n".join(sorted(found))


def test_a_bare_count_is_found() -> None:
    assert list(bare_counts('f"{n} paired blocks, {MANY} cells"')) == ["{n} paired blocks"]


@pytest.mark.parametrize(
    ("number", "noun", "text"),
    [(1, "block", "1 block"), (0, "block", "0 blocks"), (2, "study", "2 studies")],
)
def test_the_noun_agrees_with_its_number(number: int, noun: str, text: str) -> None:
    assert count_of(number, noun) == text
    assert (
        count_of(number, "cell is", "cells are")
        == f"{number} {agreeing(number, 'cell is', 'cells are')}"
    )
