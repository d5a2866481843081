"""Values and the ratios beside them multiply out, in every table and in the terminal."""

import re
from collections.abc import Callable, Iterator
from functools import cache
from typing import Final

import numpy as np
import pytest

from support.collections import collection, metric
from support.printed_studies import SORTS
from support.printed_verdicts import terminal
from support.shapes import Shape, card
from support.synthetic import factorial_study, synthetic_study
from tiltyard.analysis.collected import analyse_collection
from tiltyard.analysis.findings import analyse
from tiltyard.analysis.model import Findings, Index
from tiltyard.analysis.pairs import against
from tiltyard.collected.model import Collection, Reading
from tiltyard.plan.model import TrialKey
from tiltyard.report.document import Entry, Table
from tiltyard.report.sections.entries import VISIBLE
from tiltyard.report.styles import STYLES

SHAPES: Final = {
    "rates": Shape((card("rate", "operations", "1/s"),), {"rate": 9_000.0}),
    "suite": Shape(
        metrics=(card("write", "write", "B/s"), card("time", "total time", "s", "lower")),
        typical={"write": 1e9, "time": 3.0},
        grid=("loop",),
        points=({"loop": 1}, {"loop": 2}),
    ),
}
LOST: Final = tuple(TrialKey(block=block, system="xfs", workload="rates") for block in (2, 5))


def _study(systems: tuple[str, ...], **options: object) -> Findings:
    plan, run = synthetic_study(
        systems, tuple(SHAPES), shapes=SHAPES, effects={"xfs": 1.3, "f2fs": 0.4}, **options
    )
    return analyse(plan, run)


STUDIES: Final[dict[str, Callable[[], Findings]]] = {
    "few blocks": lambda: _study(("ext4", "xfs"), blocks=3, noise=0.4),
    "four systems": lambda: _study(("ext4", "xfs", "btrfs", "f2fs"), blocks=16, noise=0.5),
    "factors": lambda: analyse(
        *factorial_study(
            {"filesystem": ("ext4", "xfs"), "kernel": ("3.12", "3.13")},
            {("xfs",): 1.2, ("xfs", "3.13"): 1.1},
            blocks=15,
            noise=0.4,
            workloads=tuple(SHAPES),
            shapes=SHAPES,
        )
    ),
    "noisy": lambda: _study(("ext4", "xfs"), blocks=12, noise=0.4),
    "printed": lambda: analyse_collection(SORTS["results"](1)),
    "unbalanced": lambda: _study(("ext4", "xfs"), blocks=12, noise=0.4, failed=LOST),
    "replicates in blocks": lambda: analyse_collection(in_blocks()),
    "values kept": lambda: analyse_collection(SORTS["grids"](1)),
}


def in_blocks() -> Collection:
    """Two systems that took turns, by a tool that keeps every value."""
    rng = np.random.default_rng(5)
    values = np.exp(rng.normal(0.0, 0.4, (2, 12)))
    return collection(
        [
            Reading(metric="rate", system=system, values=tuple(own), blocks=tuple(range(12)))
            for system, own in zip("ab", values.tolist(), strict=True)
        ],
        [metric("rate")],
    )


@cache
def findings_of(name: str) -> Findings:
    return STUDIES[name]()


Span = tuple[float, float]
NUMBER: Final = re.compile(r"[−+]?\d[\d,]*(?:\.\d+)?")


def span(text: str) -> Span | None:
    """All that a printed number may stand for."""
    found = NUMBER.search(text)
    if found is None:
        return None
    digits = found[0].replace(",", "").replace("−", "-")
    half = 0.5 * 10.0 ** -len(digits.partition(".")[2])
    if "." not in digits:
        # Three digits that count: 15,500 may be any number that rounds to it.
        half *= 10.0 ** max(0, len(digits.strip("+-")) - 3)
    return float(digits) - half, float(digits) + half


def quotient(value: Span, base: Span) -> Span:
    return value[0] / base[1], value[1] / base[0] if base[0] > 0 else float("inf")


def agree(one: Span, other: Span) -> bool:
    room = VISIBLE * max(map(abs, other))
    return one[0] <= other[1] + room and other[0] <= one[1] + room


def ratio_in(entry: Entry, direction: str) -> Span | None:
    """The ratio of a cell: as itself, or as a percentage with or without it."""
    told = re.search(r"values: (\S+)", entry.beneath)
    text = told[1] if told else entry.text
    found = span(text)
    if found is None or "×" in text:
        return None
    sign = 1 if direction == "higher" else -1
    low, high = sorted(1 + sign * end / 100 for end in found)
    return low, high


def held_in(table: Table, baseline: str) -> Iterator[tuple[str, bool]]:
    """The rows with two values and a ratio of them, and whether they have it."""
    heads = [column.head for column in table.columns]
    relative = f"relative to {baseline}"
    if relative in heads:
        value, system = heads.index(relative) - 1, heads.index("System")
        rows = {row[system].text: row for row in table.rows}
        base = span(rows[baseline][value].text)
        for name, row in rows.items():
            ratio, own = span(row[heads.index(relative)].text), span(row[value].text)
            if ratio and own and base:
                text = f"{table.title}, {name}: {row[value].text}, {row[value + 1].text}"
                yield text, agree(quotient(own, base), ratio)
        return
    for place, column in enumerate(table.columns):
        level, _, over = column.under.partition(" over ")
        if not over:
            continue
        group = column.head if column.head not in ("advantage", "delta") else ""
        sides = [
            at
            for name in (level, over)
            for at, own in enumerate(table.columns)
            if own.head in (name, f"{group} {name}".strip(), f"{name} {group}".strip())
            and own.under in ("", group)
        ]
        if len(sides) != 2:
            continue
        for row in table.rows:
            value, base = (span(row[at].text) for at in sides)
            cell = row[place]
            ratios = [r for way in ("higher", "lower") if (r := ratio_in(cell, way))]
            if value and base and ratios:
                found = quotient(value, base)
                text = f"{table.title}, {row[0].text}: {found} {cell.text} {cell.beneath}"
                yield text, any(agree(found, ratio) for ratio in ratios)


@pytest.mark.parametrize("name", sorted(STUDIES))
def test_values_and_ranks_of_the_findings_follow_from_their_ratios(name: str) -> None:
    findings = findings_of(name)
    for workload in findings.workloads:
        for of in workload.compared:
            pairs = {pair.system: pair.ratio for pair in against(of.comparisons, findings.baseline)}
            own = of.standings if isinstance(of, Index) else of.summaries
            values = {one.system: one.value for one in own}
            for system, ratio in pairs.items():
                if ratio is not None and of.printed is None:
                    base = values[findings.baseline]
                    assert values[system] / base == pytest.approx(ratio, rel=1e-6)
            if isinstance(of, Index):
                assert list(values.values()) == sorted(
                    values.values(), reverse=of.direction == "higher"
                )


@pytest.mark.parametrize("name", sorted(STUDIES))
def test_the_terminal_multiplies_out(name: str) -> None:
    findings = findings_of(name)
    printed = list(ranked_in(terminal(findings), findings))
    assert printed
    for rows in printed:
        base = rows[findings.baseline][0]
        for value, ratio in rows.values():
            assert ratio is None or agree(quotient(value, base), ratio), rows


def ranked_in(text: str, findings: Findings) -> Iterator[dict[str, tuple[Span, Span | None]]]:
    """Each ranking in a terminal: system → its value and its ratio."""
    names = sorted((one.name for one in findings.systems), key=len, reverse=True)
    rows: dict[str, tuple[Span, Span | None]] = {}
    for line in [*text.splitlines(), ""]:
        name = next((own for own in names if line.strip().startswith(own)), None)
        cells = re.findall(r"[^\s●■◆▲]+", line.strip()[len(name or "") :])
        if name and len(cells) > 1 and (value := span(cells[0])):
            rows[name] = value, span(cells[1])
        elif rows:
            if findings.baseline in rows and len(rows) == len(names):
                yield rows
            rows = {}


@pytest.mark.parametrize("name", sorted(STUDIES))
def test_every_table_multiplies_out(name: str) -> None:
    findings = findings_of(name)
    tables = [table for style in STYLES for table in style.compose(findings).tables()]
    held = [found for table in tables for found in held_in(table, findings.baseline)]
    assert held
    assert [text for text, agrees in held if not agrees] == []
