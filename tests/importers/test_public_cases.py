"""Files of kinds that were met in public reports, each with the right result beside it.

``cases/cases.toml`` says of each what is read of it, what is said, or why it is refused. The files
hold facts and forms of numbers only; where a case has two sides of three files each, these are made
of one file: its numbers in « » are scaled.
"""

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tiltyard.analysis.collected import analyse_collection
from tiltyard.analysis.model import Findings
from tiltyard.errors import UsageError
from tiltyard.importers import IMPORTERS
from tiltyard.importers.assemble import ImportOptions, ReadFile, assemble
from tiltyard.importers.sniff import importer_of, read_with

HERE = Path(__file__).parent / "cases"
CASES: dict[str, dict[str, Any]] = tomllib.loads((HERE / "cases.toml").read_text())
SIDES = {"a": 1.0, "b": 1.2}
RUNS = (1.0, 1.01, 0.99)


def files_of(case: dict[str, Any]) -> Iterator[tuple[str, str | None, str]]:
    """Name, system and text of each file."""
    path = HERE / case["file"]
    if not case.get("sides", True):
        yield path.name, None, path.read_text()
        return
    for side, scale in SIDES.items():
        own = path.with_suffix(f".{side}{path.suffix}")
        text = (own if own.exists() else path).read_text()
        for run, drawn in enumerate(RUNS):
            scaled = re.sub("«(.+?)»", lambda m, by=scale * drawn: f"{float(m[1]) * by:.6f}", text)
            yield f"{side}{run}{path.suffix}", side, scaled


def findings_of(case: dict[str, Any]) -> Findings:
    files = []
    for name, system, text in files_of(case):
        data = text.encode()
        reader = importer_of(data, name, IMPORTERS)
        files.append(ReadFile(name, data, system, reader.name, read_with(reader, data, name)))
    return analyse_collection(assemble(files, ImportOptions()))


def ratios(found: Findings) -> dict[str, list[float]]:
    """Of every cell that is compared: its values over that of the first system that has one."""
    return {
        ": ".join((workload.name, ", ".join(filter(None, (cell.label, cell.at_label))))): [
            round(one.mean / cell.summaries[0].mean, 3) if cell.summaries[0].mean else one.mean
            for one in cell.summaries
        ]
        for workload in found.workloads
        for cell in workload.cells
    }


def said(found: Findings) -> str:
    answers = [workload.answer for workload in found.workloads]
    return "\n".join((*answers, *(notice.text for notice in found.notices)))


@pytest.mark.parametrize("name", sorted(CASES))
def test_is_read_for_what_it_is(name: str) -> None:
    case = CASES[name]
    if "refused" in case:
        with pytest.raises(UsageError, match=case["refused"]):
            findings_of(case)
        return
    found = findings_of(case)
    assert ratios(found) == case["ratios"]
    if "first" in case:
        cells = [cell for workload in found.workloads for cell in workload.cells]
        assert [cell.summaries[0].mean for cell in cells] == case["first"]
    if "systems" in case:
        assert [system.name for system in found.systems] == case["systems"]
    for sentence in case.get("says", []):
        assert sentence in said(found)
    for sentence in case.get("silent", []):
        assert sentence not in said(found)


def test_every_file_is_of_a_case() -> None:
    stems = {Path(case["file"]).stem for case in CASES.values()}
    assert {path.name.partition(".")[0] for path in HERE.iterdir()} == {*stems, "cases"}
