"""A study in a folder, and an engine that accepts what it is given."""

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest
from pydantic import JsonValue

from support.catalogue import CATALOGUE
from tiltyard.executors.engine import JobRefused
from tiltyard.folder import StudyFolder, sha256
from tiltyard.plan.freeze import freeze
from tiltyard.plan.model import Plan
from tiltyard.study.load import load_study
from tiltyard.systems import KINDS
from tiltyard.wire import PROTOCOL, Conditions, Hello

NOW = datetime(2026, 11, 21, 1, 30, 5, 999, UTC)
STUDY = """\
question = "Which?"
seed = 4711

[factors]
filesystem = ["ext4", "xfs", "btrfs"]

[[workload]]
use = "postmark"

[[workload]]
use = "iozone"
file = "1M"
record = "3k"
"""


def accept(workload: str, parameters: dict[str, JsonValue]) -> Hello:
    """Says what an engine would: parameters with defaults, and their hash. Refuses ``3k``."""
    if parameters.get("record") == "3k":
        raise JobRefused("record", '"3k" is not a multiple of 4 KiB')
    effective = {"verify": True, **parameters}
    return Hello(
        protocol=PROTOCOL,
        engine="0.0.0",
        workload=workload,
        effective=effective,
        hash=sha256(repr(effective).encode()),
        timing="pass",
        conditions=Conditions(cpus=[], awake=[]),
    )


@pytest.fixture
def folder(tmp_path: Path) -> StudyFolder:
    """A study folder whose study the engine accepts."""
    folder = StudyFolder(tmp_path)
    folder.study.write_text(STUDY.replace("3k", "4k"))
    return folder


@pytest.fixture
def frozen(folder: StudyFolder) -> Callable[[], Plan]:
    """Freezes whatever stands in the folder's study file."""

    def freeze_now() -> Plan:
        study = load_study(folder.study, CATALOGUE, KINDS)
        return freeze(study, folder.study, CATALOGUE, accept, NOW)

    return freeze_now
