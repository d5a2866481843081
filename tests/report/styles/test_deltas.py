"""Deltas follow from the values beside them; counts from the deltas."""

import json
import re

import pytest

from support.printed_studies import curves
from support.told_findings import findings_of
from tiltyard.analysis.collected import analyse_collection
from tiltyard.analysis.line import Line
from tiltyard.analysis.model import Findings, Pair
from tiltyard.analysis.statements.registry import claims
from tiltyard.collected.model import CollectedWorkload
from tiltyard.report.document import Document, Paragraph, Sentences, Table
from tiltyard.report.sections.entries import advantage_of, delta_of
from tiltyard.report.styles import STYLES, Style
from tiltyard.units import format_ratio
from tiltyard_press.styles import whitepaper


def document_of(name: str, seed: int = 1) -> tuple[Findings, Document]:
    findings = findings_of(name, seed)
    return findings, whitepaper.compose(findings)


def table_of(document: Document, id: str) -> Table:
    return next(table for table in document.tables() if table.id == id)


def value(table: Table, row: int, head: str, under: str) -> float:
    """The number in the column with this head and this head above it."""
    place = next(
        place
        for place, column in enumerate(table.columns)
        if (column.head, column.under) == (head, under)
    )
    found = table.rows[row][place].value
    assert found is not None
    return found


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_the_summary_of_grids_is_ratio_less_one(seed: int) -> None:
    _, document = document_of("printed grids", seed)
    table = table_of(document, "summary")
    assert len(table.rows) == 6
    for row in range(6):
        for group in ("out-of-box", "optimized"):
            ratio = value(table, row, "Linux", group) / value(table, row, "Windows", group)
            delta = value(table, row, group, "Linux over Windows")
            assert delta == pytest.approx(100 * (ratio - 1))


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_the_summary_shows_geometric_means_of_the_grids(seed: int) -> None:
    findings, document = document_of("printed grids", seed)
    table = table_of(document, "summary")
    grid = table_of(document, "iozone-in-cache-throughput-1-ext4-out-of-box")
    product = 1.0
    cells = [entry.value for row in grid.rows for entry in row[1:] if entry.value]
    for cell in cells:
        product *= cell ** (1 / len(cells))
    assert table.rows[0][1].text == "native"
    assert {"ext4", "NTFS"} == set(table.rows[0][1].beneath.split(", "))
    assert value(table, 0, "Linux", "out-of-box") == pytest.approx(product)
    assert len(findings.systems) == 8


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_curves_have_the_advantage_of_more_and_of_less(seed: int) -> None:
    """Of a rate it is ratio − 1, of a time 1 − ratio; the average of the printed values as well.

    Of twice a time or more it is the ratio: nothing can be 131 % lower.
    """
    _, document = document_of("printed curves", seed)
    for id, sign in (("tcp-stream-curve-1-throughput", 1), ("tcp-latency-curve-1-latency", -1)):
        table = table_of(document, id)
        for row in range(4 + (sign < 0)):
            for group in ("out-of-box", "optimized"):
                ratio = value(table, row, "Linux", group) / value(table, row, "Windows", group)
                place = next(
                    place for place, column in enumerate(table.columns)
                    if (column.head, column.under) == (group, "Linux over Windows")
                )  # fmt: skip
                entry = table.rows[row][place]
                if sign < 0 and ratio >= 2:
                    assert (entry.text, entry.value) == (f"{format_ratio(ratio)}× as much", None)
                    continue
                assert entry.value == pytest.approx(100 * sign * (ratio - 1))
                text = entry.text.replace("−", "-").replace(",", "")
                assert float(text) == round(entry.value, 2)


@pytest.mark.parametrize("style", STYLES, ids=[style.name for style in STYLES])
def test_no_time_is_more_than_all_of_it_lower(style: Style) -> None:
    """In no table, sentence or picture; of a rate there may be 131 % more."""
    findings = findings_of("printed curves", 1)
    only = [own for own in findings.workloads if own.latencies or own.cells[0].direction == "lower"]
    assert only
    document = style.compose(findings.model_copy(update={"workloads": tuple(only)}))
    texts = [
        text
        for table in document.tables()
        for row in table.rows
        for entry in row
        for text in (entry.text, entry.beneath)
    ]
    texts += [json.dumps(figure.wide, ensure_ascii=False) for figure in document.figures()]
    texts += [block.text for block in document.blocks() if isinstance(block, Paragraph)]
    texts += [
        text for block in document.blocks() if isinstance(block, Sentences) for text in block.items
    ]
    assert not [text for text in texts if re.search(r"−(?:[1-9],)?[1-9]\d\d(?!\d)", text)]
    assert any("× as much" in text for text in texts)


def test_a_time_that_may_be_more_than_doubled_has_ratios_as_its_interval() -> None:
    pair = Pair(system="new", against="old", within="")
    told = Line(pair, 2.31, 2.10, 2.50, "slower", "lower")
    assert (told.told, told.told_interval) == ("2.31× as much", "2.10 … 2.50×")
    assert (told.size, told.ends) == ("2.31×", ("2.10", "2.50"))
    wide = Line(pair, 1.45, 0.90, 2.31, "undecided", "lower")
    assert (wide.told, wide.told_interval) == ("1.45× as much", "0.90 … 2.31×")
    barely = Line(pair, 1.45, 1.0, 2.31, "slower", "lower")
    assert barely.told_interval == "> 1.00 … 2.31×"
    short = Line(pair, 1.45, 1.30, 1.60, "slower", "lower")
    assert (short.told, short.told_interval, short.size) == ("−45 %", "−60 … −30 %", "45 %")
    rate = Line(pair, 2.31, 2.10, 2.50, "faster", "higher")
    assert (rate.told, rate.told_interval) == ("+131 %", "+110 … +150 %")


def test_the_average_row_is_the_mean_of_the_column() -> None:
    _, document = document_of("printed curves")
    table = table_of(document, "tcp-latency-curve-1-latency")
    assert table.closing == 1
    assert table.rows[-1][0].text == "average"
    for place in range(1, 5):
        *own, mean = (row[place].value or 0.0 for row in table.rows)
        assert mean == pytest.approx(sum(own) / len(own))


def test_counts_are_counted_from_the_deltas_of_the_curve() -> None:
    _, document = document_of("printed curves", 2)
    curve = table_of(document, "tcp-stream-curve-1-throughput")
    counted = table_of(document, "tcp-stream-better")
    for row, group in zip(counted.rows, ("out-of-box", "optimized"), strict=True):
        deltas = [value(curve, at, group, "Linux over Windows") for at in range(4)]
        found = [row[place].value for place in (2, 3, 4, 5, 6)]
        # Within the margin of ±2 % neither is better.
        apart = [d for d in deltas if abs(d) > 2]
        better, worse = sum(d > 0 for d in apart), sum(d < 0 for d in apart)
        assert found == [better, worse, 4 - better - worse, 0, 4]
        assert [row[7].value, row[9].value] == pytest.approx([min(apart), max(apart)])


def test_measured_deltas_have_their_interval_and_verdict() -> None:
    findings, document = document_of("two factors")
    table = table_of(document, "summary")
    pairs = {(pair.system, pair.against): pair for pair in findings.workloads[0].index.comparisons}
    for group in ("default", "noatime"):
        pair = pairs[f"xfs {group}", f"ext4 {group}"]
        assert pair.ratio is not None
        assert pair.low is not None
        entry = next(
            entry
            for entry, column in zip(table.rows[0], table.columns, strict=True)
            if (column.head, column.under) == (group, "xfs over ext4")
        )
        assert entry.value == pytest.approx(100 * (pair.ratio - 1))
        assert entry.verdict == pair.verdict
        low = float(entry.beneath.split(" … ")[0].replace("−", "-"))
        assert low == pytest.approx(100 * (pair.low - 1), abs=0.5)


def test_many_levels_stand_below_each_other() -> None:
    _, document = document_of("four levels")
    table = table_of(document, "summary")
    assert [row[1].text for row in table.rows] == ["ext4", "xfs", "btrfs", "ext3"]
    assert [entry.text for entry in table.rows[0][-2:]] == ["baseline", "baseline"]


def test_further_factors_have_tables_of_their_own() -> None:
    _, document = document_of("two factors")
    table = table_of(document, "worth-mount-noatime")
    assert [column.head for column in table.columns] == ["Test", "ext4", "xfs"]


def test_deltas_of_values_of_two_digits_have_two() -> None:
    """In tables, sentences and pictures: what rounding leaves open is not printed."""
    collection = curves(1)
    told = (0.62, 0.47, 0.55, 0.49)

    def rounded(workload: CollectedWorkload) -> CollectedWorkload:
        factor = next(m.printed.factor for m in workload.metrics if m.printed)
        place = {system.name: told[n] for n, system in enumerate(collection.systems)}
        readings = tuple(
            one.model_copy(update={"mean": factor * place[one.system]}) for one in workload.readings
        )
        return workload.model_copy(update={"readings": readings, "means": ()})

    workloads = tuple(rounded(one) for one in collection.workloads)
    findings = analyse_collection(collection.model_copy(update={"workloads": workloads}))
    document = whitepaper.compose(findings)
    entries = [entry.text for table in document.tables() for row in table.rows for entry in row]
    deltas = {text for text in entries if re.match(r"[+−]", text)}
    assert deltas == {"−24", "+24", "−11", "+11", "+4", "−4"}
    sentences = " ".join(claim.sentence for claim in claims(findings))
    assert "24 % " in sentences
    assert not any(digits in sentences for digits in ("24.1", "31.9", "10.9"))


@pytest.mark.parametrize("low", [1.00001, 1.001, 1.01])
def test_a_percentage_has_the_same_digits_in_every_table(low: float) -> None:
    """An interval that barely excludes 1 is printed so that it does, beside a ratio or alone."""
    findings, _ = document_of("two factors")
    index = findings.workloads[0].index
    found = index.comparisons[0]
    changed = {"ratio": 1.012, "low": low, "high": 1.02, "verdict": "faster"}
    index = index.model_copy(update={"comparisons": (found.model_copy(update=changed),)})
    pair = Pair(system=found.system, against=found.against, within="")
    alone, beside = delta_of(findings, index, pair), advantage_of(findings, index, pair)
    assert alone.text == beside.text
    assert not alone.beneath.startswith(("0.0 ", "+0.00 "))
