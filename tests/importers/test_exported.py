"""What we export as composite.xml is what we import again."""

import pytest

from support.imports import GENUINE, Genuine, collected, golden
from tiltyard.analysis.collected import analyse_collection
from tiltyard.analysis.values import cells_of
from tiltyard.exporters import phoronix as exporter
from tiltyard.importers import phoronix as importer


def test_systems_come_back_in_their_order() -> None:
    before = collected(Genuine(golden("phoronix/composite.xml")).read())
    data = exporter.EXPORTER.render(analyse_collection(before))
    after = collected(importer.IMPORTER.read(data, "a.xml"))
    assert [system.name for system in after.systems] == [system.name for system in before.systems]


@pytest.mark.parametrize("file", GENUINE, ids=lambda file: file.name)
def test_values_come_back_whatever_unit_they_were_printed_in(file: Genuine) -> None:
    """Above all a KB of 1024 B, which the suite has no name for, comes back as that."""
    findings = analyse_collection(collected(file.read()))
    wanted = {
        (workload.name, " - ".join(filter(None, (cell.label, cell.at_label))), summary.system): (
            cell.unit,
            cell.direction,
            pytest.approx(summary.values or (summary.mean,), rel=1e-14),
        )
        for workload in findings.workloads
        for cell in cells_of(workload)
        for summary in cell.summaries
    }
    read = importer.read(exporter.render(findings), "composite.xml")
    found = {
        (workload.name, one.metric, one.system): (*units[one.metric], one.values)
        for workload in read.workloads
        for units in [{own.name: (own.unit, own.direction) for own in workload.metrics}]
        for one in workload.measured
    }
    assert found == wanted
