"""The tidy table: every value once, nothing made up."""

from support.collections import collection
from support.specimen import findings as specimen
from tiltyard.analysis.collected import analyse_collection
from tiltyard.analysis.values import value_table
from tiltyard.collected.model import Reading


def test_every_value_of_every_cell_is_a_row() -> None:
    findings = specimen(workloads=("iozone", "tcp_rr"), blocks=3, tests=("write",))
    table = value_table(findings)
    at = ("at_file", "at_record", "at_request", "at_response", "at_flows")
    assert table.heads == (
        "workload", "metric", "unit", "direction", *at, "system", "block", "value", "sd", "se", "n"
    )  # fmt: skip
    rows = [dict(zip(table.heads, row, strict=True)) for row in table.rows()]
    assert len(rows) == (6 + 3 + 3) * 3 * 3
    latencies = findings.workloads[1].latencies
    assert latencies is not None
    first = latencies.cells[0].summaries[1]
    assert [
        row["value"]
        for row in rows
        if (row["metric"], row["system"], row["at_request"]) == ("latency", first.system, 1)
    ] == list(first.values)
    assert {row["at_file"] for row in rows if row["workload"] == "tcp_rr"} == {None}


def test_a_mean_without_values_is_a_row_without_a_block() -> None:
    readings = (
        Reading(metric="throughput", system="ext4", mean=5.0, se=0.5, n=3),
        Reading(metric="throughput", system="xfs", values=(1.0, 2.0), blocks=(4, 7)),
    )
    table = value_table(analyse_collection(collection(readings)))
    assert [row[4:] for row in table.rows()] == [
        ("ext4", None, 5.0, None, 0.5, 3),
        ("xfs", 4, 1.0, None, None, None),
        ("xfs", 7, 2.0, None, None, None),
    ]
