"""Files that the tools themselves wrote, against what a person has looked at.

``TILTYARD_UPDATE_GOLDEN=1 pytest tests/importers`` writes the files anew; read the difference.
"""

import json
import os

import pytest

from support.imports import GENUINE, GOLDEN, Genuine, collected, told, written
from tiltyard.importers import IMPORTERS
from tiltyard.importers.sniff import importer_of

UPDATE = os.environ.get("TILTYARD_UPDATE_GOLDEN") == "1"


@pytest.mark.parametrize("file", GENUINE, ids=lambda file: file.name)
def test_is_read_as_before(file: Genuine) -> None:
    found = told(file.read())
    if UPDATE:
        file.expected.write_text(written(told(file.read())))
    assert found == json.loads(file.expected.read_text())


@pytest.mark.parametrize(
    "file",
    [file for file in GENUINE if file.path.parent.name != "csv"],
    ids=lambda file: file.name,
)
def test_is_recognised_as_its_own(file: Genuine) -> None:
    """But for CSV, whose mapping says what it is."""
    assert importer_of(file.data, file.name, IMPORTERS).name == file.importer.name


@pytest.mark.parametrize("file", GENUINE, ids=lambda file: file.name)
def test_becomes_a_collection(file: Genuine) -> None:
    collection = collected(file.read())
    assert all(workload.readings for workload in collection.workloads)
    assert all(len(set(workload.grid)) == len(workload.grid) for workload in collection.workloads)


def test_every_importer_has_genuine_files_and_no_other_has() -> None:
    assert GOLDEN.keys() == {one.name for one in IMPORTERS}
    assert {file.importer.name for file in GENUINE} == {one.name for one in IMPORTERS}


def test_no_expected_file_is_left_over() -> None:
    found = {path for place in GOLDEN.values() for path in place.glob("*.expected.json")}
    assert found == {file.expected for file in GENUINE}
