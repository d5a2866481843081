"""Findings in the formats of other tools, read back by readers that are not ours."""

import csv
import json
from io import BytesIO, StringIO
from xml.etree import ElementTree

import pyarrow
import pytest
from prometheus_client.openmetrics.parser import text_string_to_metric_families
from pyarrow import parquet

from support.collections import KB, collection, metric
from support.specimen import findings as specimen
from tiltyard.analysis.collected import analyse_collection
from tiltyard.analysis.model import Findings, Summary
from tiltyard.analysis.values import cells_of, value_table
from tiltyard.collected.model import Origin, Reading
from tiltyard.exporters import EXPORTERS, bencher, openmetrics, phoronix
from tiltyard.exporters import csv as csv_exporter
from tiltyard.exporters import parquet as parquet_exporter
from tiltyard.exporters.exporter import Exporter
from tiltyard.importers import phoronix as importer

HOSTILE = '<a & b> "c" \\ {d}=1,\x07\uffff\nnext # EOF'


@pytest.fixture(scope="module")
def study() -> Findings:
    return specimen(workloads=("iozone", "tcp_rr", "postmark"), blocks=7, tests=("write",))


@pytest.fixture(scope="module")
def collected() -> Findings:
    """A mean as it was printed, and values of another one; hostile names."""
    readings = (
        Reading(metric="throughput", system=HOSTILE, at={"file": 4096}, mean=568.62 * 1024, n=3),
        Reading(metric="throughput", system="xfs", at={"file": "all"}, values=(1024.0, 2048.0)),
    )
    found = collection(readings, (metric(printed=KB),))
    origin = Origin(title="A printed study", published="2013-12-11")
    return analyse_collection(found.model_copy(update={"origin": origin}))


def summaries(findings: Findings) -> dict[tuple[str, str, str, str], Summary]:
    """Workload, metric, at and system → what was found."""
    return {
        (workload.name, cell.metric, str(cell.at), summary.system): summary
        for workload in findings.workloads
        for cell in cells_of(workload)
        for summary in cell.summaries
    }


@pytest.mark.parametrize("exporter", EXPORTERS, ids=lambda exporter: exporter.name)
def test_the_same_findings_give_the_same_bytes(
    exporter: Exporter, study: Findings, collected: Findings
) -> None:
    for findings in (study, collected):
        assert exporter.render(findings) == exporter.render(findings)
    assert [one.file for one in EXPORTERS].count(exporter.file) == 1


def test_csv_has_the_study_and_every_value(study: Findings) -> None:
    text = csv_exporter.render(study).decode()
    heads, *rows = csv.reader(StringIO(text, newline=""))
    table = value_table(study)
    assert heads == ["study", *table.heads]
    assert {row[0] for row in rows} == {study.question}
    place = heads.index("value")
    assert [float(row[place]) for row in rows] == [value.value for value in table.values]


def test_parquet_has_the_same_with_types(study: Findings) -> None:
    found = parquet.read_table(BytesIO(parquet_exporter.render(study)))
    table = value_table(study)
    assert found.column_names == ["study", *table.heads]
    assert list(zip(*found.drop_columns("study").to_pydict().values(), strict=True)) == list(
        table.rows()
    )
    types = {name: found.schema.field(name).type for name in found.column_names}
    assert types["at_file"] == types["block"] == pyarrow.int64()
    assert types["value"] == types["sd"] == pyarrow.float64()
    assert types["system"] == pyarrow.string()
    assert found.schema.metadata[b"plan_hash"] == study.plan_hash.encode()
    assert found.schema.metadata[b"question"] == study.question.encode()


def test_a_dimension_with_words_is_words(collected: Findings) -> None:
    found = parquet.read_table(BytesIO(parquet_exporter.render(collected)))
    assert found["at_file"].to_pylist() == ["4096", "all", "all"]
    assert found["system"][0].as_py() == HOSTILE
    assert found["n"].to_pylist() == [3, None, None]


def test_values_that_nobody_pairs_have_no_block() -> None:
    """A number would say that the values of one number belong together."""
    heaps, pairs = (
        collection(
            [
                Reading(metric="throughput", system=name, values=(1.0, 2.0), blocks=blocks)
                for name in ("ext4", "xfs")
            ]
        )
        for blocks in ((), (3, 5))
    )
    written = [csv_exporter.render(analyse_collection(own)).decode() for own in (heaps, pairs)]
    heap, pair = ([row["block"] for row in csv.DictReader(StringIO(text))] for text in written)
    assert heap == ["", "", "", ""]
    assert pair == ["3", "5", "3", "5"]


def test_a_dimension_beyond_64_bits_is_words() -> None:
    readings = (Reading(metric="throughput", system="ext4", at={"file": 10**20}, values=(1.0,)),)
    findings = analyse_collection(collection(readings, (metric(),)))
    found = parquet.read_table(BytesIO(parquet_exporter.render(findings)))
    assert found["at_file"].to_pylist() == [str(10**20)]


def test_bencher_has_medians_with_their_intervals(study: Findings) -> None:
    found = json.loads(bencher.render(study))
    cell = study.workloads[0].cells[0]
    own = cell.summaries[1]
    assert found[f"iozone, {cell.at_label}, xfs"] == {
        "write (B/s)": {
            "value": own.median, "lower_value": own.median_low, "upper_value": own.median_high
        }
    }  # fmt: skip
    metrics = sum(len(measures) for measures in found.values())
    assert metrics == len(summaries(study))


def test_a_mean_has_no_interval_in_bencher(collected: Findings) -> None:
    found = json.loads(bencher.render(collected))
    (measures,) = (measures for name, measures in found.items() if name.endswith(HOSTILE))
    assert measures == {"throughput (B/s)": {"value": 568.62 * 1024}}


def test_openmetrics_is_read_back(study: Findings) -> None:
    families = {
        family.name: family
        for family in text_string_to_metric_families(openmetrics.render(study).decode())
    }
    for unit in ("bytes_per_second", "per_second", "seconds"):
        assert families[f"tiltyard_typical_{unit}"].unit == unit
    typical = [
        sample
        for name, family in families.items()
        if name.startswith("tiltyard_typical_") and "_low" not in name and "_high" not in name
        for sample in family.samples
    ]
    wanted = {
        (workload, metric, at.strip("{}").replace("'", "").replace(": ", "=").replace(", ", ","),
         system): summary.median
        for (workload, metric, at, system), summary in summaries(study).items()
    }  # fmt: skip
    assert {
        (one.labels["workload"], one.labels["metric"], one.labels["at"], one.labels["system"]):
        one.value
        for one in typical
    } == wanted  # fmt: skip
    ratios = families["tiltyard_comparison_ratio"].samples
    pair = study.workloads[0].cells[0].comparisons[0]
    assert {
        one.labels["bound"]: one.value
        for one in ratios[:3]
        if (one.labels["system"], one.labels["against"]) == (pair.system, pair.against)
    } == {"estimate": pair.ratio, "low": pair.low, "high": pair.high}


def test_hostile_labels_come_back_from_openmetrics(collected: Findings) -> None:
    text = openmetrics.render(collected).decode()
    assert text.endswith("# EOF\n")
    families = list(text_string_to_metric_families(text))
    systems = {one.labels.get("system") for family in families for one in family.samples}
    assert HOSTILE in systems


def test_units_of_one_name_are_one_family_in_openmetrics() -> None:
    """Two families of the same name are no OpenMetrics; the label tells their units apart."""
    units = {"a": "MB s", "b": "MB/s", "c": "µ", "d": "€", "e": "1", "f": "ratio"}
    findings = analyse_collection(
        collection(
            tuple(Reading(metric=name, system="ext4", values=(1.0, 2.0)) for name in units),
            tuple(metric(name, unit=unit) for name, unit in units.items()),
        )
    )
    families = list(text_string_to_metric_families(openmetrics.render(findings).decode()))
    found = {
        one.labels["metric"]: one.labels["unit"]
        for family in families
        for one in family.samples
        if family.name.startswith("tiltyard_typical_") and "low" not in family.name
        if "high" not in family.name
    }
    assert found == units


def test_phoronix_has_every_value(study: Findings) -> None:
    root = ElementTree.fromstring(phoronix.render(study))
    assert [one.findtext("Identifier") for one in root.iter("System")] == ["ext4", "xfs", "btrfs"]
    found = [
        [float(text) for text in entry.findtext("RawString", "").split(":")]
        for entry in root.iter("Entry")
    ]
    scales = {one.findtext("Scale"): one.findtext("Proportion") for one in root.iter("Result")}
    assert scales == {"MiB/s": "HIB", "Ops/sec": "HIB", "us": "LIB", "Seconds": "LIB"}
    factors = {"MiB/s": 2.0**20, "Ops/sec": 1.0, "us": 1e-6, "Seconds": 1.0}
    entries = [
        factors[result.findtext("Scale", "")]
        for result in root.iter("Result")
        for _ in result.iter("Entry")
    ]
    for raw, factor, summary in zip(found, entries, summaries(study).values(), strict=True):
        assert [value * factor for value in raw] == pytest.approx(summary.values, rel=1e-14)
    first = next(root.iter("Result"))
    assert first.findtext("DisplayFormat") == "BAR_GRAPH"
    assert first.findtext("Arguments") == "write file=67108864 record=4096"


def test_what_phoronix_is_given_is_what_is_imported(study: Findings) -> None:
    read = importer.read(phoronix.render(study), "composite.xml")
    wanted = {
        (workload.name, " - ".join(filter(None, (cell.label, cell.at_label))), summary.system): (
            cell.unit,
            cell.direction,
            summary.values,
        )
        for workload in study.workloads
        for cell in cells_of(workload)
        for summary in cell.summaries
    }
    found = {
        (workload.name, one.metric, one.system): (units[one.metric], one.values)
        for workload in read.workloads
        for units in [{own.name: (own.unit, own.direction) for own in workload.metrics}]
        for one in workload.measured
    }
    assert found.keys() == wanted.keys()
    for key, (unit, direction, values) in wanted.items():
        assert found[key] == ((unit, direction), pytest.approx(values, rel=1e-14))
    assert read.system_facts["xfs"]["mount options"] == "rw,relatime,xfs"


def test_phoronix_prints_as_the_source_did(collected: Findings) -> None:
    root = ElementTree.fromstring(phoronix.render(collected))
    entries = list(root.iter("Entry"))
    assert [one.findtext("Value") for one in entries] == ["568.62", "1.5"]
    assert [one.findtext("RawString") for one in entries] == ["568.62", "1:2"]
    assert entries[0].findtext("Identifier") == HOSTILE.replace("\x07", "").replace("\uffff", "")
    assert {one.findtext("Scale") for one in root.iter("Result")} == {"KiB/s"}
    assert root.findtext("Generated/LastModified") == "2013-12-11"


def test_facts_go_under_the_names_of_the_suite(study: Findings) -> None:
    host = {"CPU": "EPYC, 2 CPUs", "kernel": "6.1", "distribution": "Debian 12"}
    root = ElementTree.fromstring(phoronix.render(study.model_copy(update={"host": host})))
    assert root.findtext("System/Hardware") == "Processor: EPYC; 2 CPUs"
    assert root.findtext("System/Software") == (
        "Kernel: 6.1, OS: Debian 12, Mount options: rw,relatime,ext4, Block size: 4096 B"
    )
