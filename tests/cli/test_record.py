"""``tiltyard record`` prints what is taken, for people and for programs."""

import json
from pathlib import Path

import pytest

from tiltyard.cli.record import record
from tiltyard.host.record import SECTIONS


def test_json_is_sections_of_facts(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert record(tmp_path, json=True) == 0
    found = json.loads(capsys.readouterr().out)
    assert list(found) == [section.name for section in SECTIONS]
    assert found["versions"]["engine"]


def test_people_get_a_heading_a_section(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert record(tmp_path) == 0
    lines = capsys.readouterr().out.splitlines()
    assert "Kernel" in lines
    assert [line for line in lines if line.startswith("  release")]
