from pathlib import Path

import pytest

from tiltyard.errors import HostLacksError
from tiltyard.executors import engine as module
from tiltyard.executors.engine import Engine, Job, JobRefused
from tiltyard.installation import CHECKOUT
from tiltyard.wire import PROTOCOL


def script(path: Path, text: str) -> Path:
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return path


def test_the_real_engine_is_found_and_describes_itself() -> None:
    engine = Engine.find()
    catalogue = engine.describe()
    assert catalogue.protocol == PROTOCOL
    assert catalogue.workload("iozone") is not None
    assert engine.describe() is catalogue


def test_defaults_are_resolved_by_the_engine() -> None:
    hello = Engine.find().validate("iozone", {"file": "64k", "record": "4k"})
    assert hello.workload == "iozone"
    assert hello.effective["file"] == [65536]
    assert len(hello.hash) == 64


@pytest.mark.parametrize(
    ("parameters", "parameter", "what"),
    [
        ({"record": "4kb4"}, "record", "4kb4"),
        ({"recrod": "4k"}, "recrod", "record"),
    ],
)
def test_a_refused_job_names_the_parameter(
    parameters: dict[str, str], parameter: str, what: str
) -> None:
    with pytest.raises(JobRefused) as raised:
        Engine.find().validate("iozone", parameters)
    assert raised.value.parameter is not None
    assert parameter in raised.value.parameter
    assert what in raised.value.message


def test_an_unknown_workload_is_refused() -> None:
    with pytest.raises(JobRefused, match="iozzone"):
        Engine.find().validate("iozzone", {})


def test_the_environment_has_the_first_word(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mine = script(tmp_path / "mine", "")
    monkeypatch.setenv("TILTYARD_ENGINE", str(mine))
    assert Engine.find().path == mine


def test_a_wrong_environment_is_not_passed_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TILTYARD_ENGINE", str(tmp_path / "nonesuch"))
    with pytest.raises(HostLacksError, match="nonesuch"):
        Engine.find()


def test_a_lacking_engine_lists_every_place(monkeypatch: pytest.MonkeyPatch) -> None:
    places = [Path("/nonesuch/a"), Path("/nonesuch/b")]
    monkeypatch.delenv("TILTYARD_ENGINE", raising=False)
    monkeypatch.setattr(module, "_places", lambda: iter(places))
    with pytest.raises(HostLacksError, match="looked at /nonesuch/a, /nonesuch/b") as raised:
        Engine.find()
    assert str(raised.value).endswith(f"Fix: make -C {CHECKOUT} setup")


def test_another_protocol_is_refused(tmp_path: Path) -> None:
    text = '{"protocol": 99, "engine": "9", "backends": [], "workloads": []}'
    old = Engine(script(tmp_path / "old", f"echo '{text}'"))
    with pytest.raises(HostLacksError, match="speaks protocol 99, this lab speaks 1"):
        old.describe()


def test_something_else_in_its_place_is_refused(tmp_path: Path) -> None:
    with pytest.raises(HostLacksError, match="not an engine of this lab"):
        Engine(script(tmp_path / "other", "echo hello")).describe()


def test_a_job_is_what_the_wire_wants() -> None:
    job = Job(workload="iozone", parameters={"file": "1M"}, target=Path("/mnt"))
    assert job.message() == (
        b'{"protocol": 1, "workload": "iozone", "parameters": {"file": "1M"}, '
        b'"conditions": {"cpus": [], "unpinned": false, "keep_awake": false, "settle": false, '
        b'"watched": false}, '
        b'"target": {"directory": "/mnt"}}'
    )
