"""A calibration of another host, by ssh, is one of that host, and its studies quote it."""

from dataclasses import replace
from pathlib import Path

import pytest
from plugins.calibrate.tests.conftest import READS, WANTED

from support.hosts import needs_root
from support.runs import SMOKE, Watcher, go_on, image_system, place, plan_of
from support.sshd import sshd
from tiltyard.address import Address
from tiltyard.errors import UsageError
from tiltyard.executors.engine import Engine
from tiltyard.folder import StudyFolder
from tiltyard.host import calibrations
from tiltyard.host.place import Place
from tiltyard.plan.store import read_plan
from tiltyard.run.read import read_run
from tiltyard.run.runner import run_study
from tiltyard_calibrate import calibrate as whole
from tiltyard_calibrate.calibrate import calibrate
from tiltyard_calibrate.subjects import check_kinds, place_of


@needs_root
@pytest.mark.usefixtures("small")
@pytest.mark.parametrize(
    "parts", ["one part", pytest.param("all parts", marks=pytest.mark.conformance)]
)
def test_it_is_made_there_and_quoted_of_it(
    parts: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """That host has another machine-id, and is this kernel."""
    subject = READS
    if parts == "one part":
        subject = replace(READS, call=None)
        monkeypatch.setattr(whole, "_overheads", lambda *_: ())
        monkeypatch.setattr(whole, "ladders_of", lambda *_: ())
    monkeypatch.setenv("TILTYARD_STATE", str(tmp_path / "state"))
    monkeypatch.setattr(calibrations, "machine", lambda place: "far" if place.is_remote else "near")
    with sshd(tmp_path / "server", state=tmp_path / "far state") as server:
        wanted = replace(WANTED, subjects=(subject,), kinds=("loop-image",), address=server.address)
        found = calibrate(tmp_path / "calibration", wanted, Engine.find(), Watcher())
        assert (found.machine, found.kernel) == ("far", calibrations.kernel())
        assert found.host["kernel"].startswith("Linux ")
        assert found.clock.source
        (same,) = (tmp_path / "calibration").glob("*-same-1")
        part = StudyFolder(same)
        run = read_run(part, read_plan(part))
        assert {each.facts["host"] for each in run.prepared} == {server.far}
        calibrations.keep(found.kept())
        assert calibrations.in_force() is None
        assert calibrations.in_force(place=Place(server.address)) == found.kept()
        far = image_system("ext4", "16M", host=server.far, ssh_options=server.options)
        plan = plan_of((far,), workloads=(SMOKE,), blocks=1)
        folder = place(tmp_path / "study", plan)
        run_study(folder, plan, Engine.find(), go_on, Watcher())
        note = read_run(folder, plan).calibration
        assert note is not None
        assert note.id == found.id
        assert note.sentence.startswith(f"{server.far} showed differences above about ")
        assert not [*server.home.iterdir()]


def test_directories_of_another_host_are_refused() -> None:
    with pytest.raises(UsageError, match='"directory" of another host cannot be'):
        check_kinds(("directory",), is_remote=True)
    there = place_of(READS, (), Address("bench@sut", ("-p", "22")))
    assert there is not None
    assert there.settings.splitlines()[1:] == [
        'host = "bench@sut"', 'ssh_options = ["-p", "22"]'
    ]  # fmt: skip
