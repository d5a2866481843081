"""Calibrations that are kept, and which of them is in force."""

from pathlib import Path

import pytest

from support.synthetic import synthetic_study
from tiltyard.address import Address
from tiltyard.errors import UnreachableError
from tiltyard.host import calibrations
from tiltyard.host.calibrations import KeptCalibration, in_force, keep, kernel, machine
from tiltyard.host.place import HERE, Place
from tiltyard.plan.model import Plan
from tiltyard.run.calibrated import calibration_note
from tiltyard.study.model import Placement


def kept(number: int, date: str, **changes: str) -> KeptCalibration:
    fields = {"id": f"c{number}", "date": date, "machine": machine(), "kernel": kernel()}
    return KeptCalibration(**{**fields, **changes}, resolution_percent={"random": 2.0})


def test_the_newest_one_of_this_host_and_kernel_is_in_force(tmp_path: Path) -> None:
    assert in_force(tmp_path) is None
    newest = kept(1, "2026-11-20T10:00:00.000+00:00")
    for one in (
        kept(2, "2026-11-19T10:00:00.000+00:00"),
        newest,
        kept(3, "2026-11-21T10:00:00.000+00:00", machine="another"),
        kept(4, "2026-11-21T10:00:00.000+00:00", kernel="Linux 1.0 x86_64"),
    ):
        keep(one, tmp_path)
    assert in_force(tmp_path) == newest


def test_what_cannot_be_read_is_passed_over(tmp_path: Path) -> None:
    path = keep(kept(1, "2026-11-20T10:00:00.000+00:00"), tmp_path)
    path.with_name("newer.json").write_text('{"format": 9}')
    path.with_name("torn.json").write_text("{")
    found = in_force(tmp_path)
    assert found is not None
    assert found.id == "c1"


def test_a_machine_is_told_by_a_hash_of_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    known = machine()
    assert known == machine()
    other = tmp_path / "machine-id"
    other.write_text("0123456789abcdef0123456789abcdef\n")
    monkeypatch.setattr(calibrations, "_MACHINE_ID", other)
    assert machine() != known
    assert "0123456789" not in machine()
    monkeypatch.setattr(calibrations, "_MACHINE_ID", tmp_path / "none")
    assert machine() != known


def test_what_this_host_shows_is_not_said_of_systems_on_another_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def in_force(place: Place) -> KeptCalibration | None:
        if place == Place(Address("bench@down")):
            raise UnreachableError
        return kept(1, "2026-11-20T10:00:00.000+00:00") if place in (HERE, srv1) else None

    srv1 = Place(Address("bench@srv1", ("-4",)))
    monkeypatch.setattr(calibrations, "in_force", in_force)
    plan, _ = synthetic_study()

    def on(**settings: object) -> Plan:
        far = [one.model_copy(update={"settings": settings}) for one in plan.systems]
        return plan.model_copy(update={"systems": tuple(far)})

    own, that = calibration_note(plan), calibration_note(on(host="bench@srv1", ssh_options=["-4"]))
    assert own is not None
    assert own.sentence.startswith("This host showed differences above about ")
    assert that is not None
    assert that.sentence.startswith("bench@srv1 showed differences above about ")
    assert calibration_note(on(host="bench@srv2")) is None
    assert calibration_note(on(host="bench@down")) is None
    assert calibration_note(on(server="bench@srv1", ssh_options=["-4"])) is None
    far = on(host="bench@srv1", ssh_options=["-4"]).systems
    assert calibration_note(plan.model_copy(update={"systems": (*plan.systems, far[0])})) is None
    nodes = Placement(hosts=("bench@n1", "bench@n2"))
    assert calibration_note(plan.model_copy(update={"placement": nodes})) is None
