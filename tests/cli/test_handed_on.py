"""What a study reads, writes or hands on is named under "Brings", whatever workload does it."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from pydantic import JsonValue

from support.said import said_in
from tiltyard.cli.check import check
from tiltyard.cli.report import report
from tiltyard.cli.run import run
from tiltyard.errors import ExitCode, RefusedError
from tiltyard.executors.engine import Engine, JobRefused
from tiltyard.folder import StudyFolder
from tiltyard.run.trust import UntrustedInputs
from tiltyard.study.model import WorkloadSpec
from tiltyard.study.program import ProgramCard
from tiltyard.systems import KINDS
from tiltyard.workloads.catalogue import catalogue_of

OWN_WORDS = {"congestion", "user"}
"""Texts that are names of the kernel's or of users, and of nothing that is read or handed on."""
UNDER_TEST = {
    ("block-device", "backing_file"),
    ("block-device", "device"),
    ("directory", "directory"),
    ("loop-image", "at"),
    ("overlay", "base"),
    ("overlay", "lower"),
    ("vm", "at"),
}
"""Settings that are paths of what a study is about, and where its images lie."""
EXECUTED = {("vm", "disk"), ("vm", "modules")}
"""Those that are named: see the tests of systems."""


def texts(
    schema: Mapping[str, Any], definitions: Mapping[str, Any], *above: str
) -> Iterator[tuple[tuple[str, ...], bool]]:
    """Parameters that take a free text: keys, and whether they take a list of them."""
    for name, one in schema.get("properties", {}).items():
        inner = definitions.get(str(one.get("$ref", "")).rpartition("/")[2], one)
        if inner.get("properties"):
            yield from texts(inner, definitions, *above, name)
        elif one.get("type") == "array" and one.get("items", {}).get("type") == "string":
            yield (*above, name), True
        elif "string" in one.get("type", ()) and not {"enum", "format", "pattern"} & one.keys():
            yield (*above, name), False


def test_each_text_of_each_workload_is_named_or_refused(tmp_path: Path) -> None:
    """A path of root's, which is also a name that no variable has."""
    secret = tmp_path / "secret"
    secret.write_text("#!/bin/sh\n")
    secret.chmod(0o700)
    engine = Engine.find()
    catalogue = catalogue_of(engine, StudyFolder(tmp_path))
    silent, tried = [], 0
    for card in catalogue.whole().workloads:
        if isinstance(card, ProgramCard):
            continue
        for keys, many in texts(card.parameters, card.parameters.get("$defs", {})):
            for value in (str(secret), str(tmp_path)):
                given: JsonValue = [value] if many else value
                for key in reversed(keys[1:]):
                    given = {key: given}
                parameters = {"command": ["true"], keys[0]: given}
                if card.name != "program":
                    parameters = {**card.smoke, keys[0]: given}
                try:
                    engine.validate(card.name, parameters)
                except JobRefused:
                    continue
                tried += 1
                spec = WorkloadSpec(name="w", use=card.name, parameters=parameters)
                found = UntrustedInputs.among("", (), [spec], catalogue, StudyFolder(tmp_path))
                if keys[-1] not in OWN_WORDS and not any(value in one.what for one in found.items):
                    silent.append((card.name, *keys))
    assert silent == []
    assert tried > 10


READS = """
question = "q"
[factors]
which = { first = { kind = "pair" }, other = { kind = "pair", mtu = 4000 } }
[[workload]]
use = "tcp_sendfile"
file = "SECRET"
"""
PROGRAM = """
question = "q"
[factors]
at = ["1", "2"]
[[workload]]
use = "program"
command = ["cat", "{at}"]
stdin = "SECRET"
pass = ["TOKEN_OF_CI"]
files = ["SECRET"]
"""


@pytest.mark.parametrize(
    ("text", "named"),
    [
        (READS, ["file: sends the file {}"]),
        (
            PROGRAM,
            ["stdin: reads {}", "files: captures {}", "pass: is handed the variables TOKEN_OF_CI"],
        ),
    ],
)
def test_what_it_reads_and_hands_on_goes_nowhere_untrusted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str, named: list[str]
) -> None:
    secret = tmp_path / "secret"
    secret.write_text("of root alone")
    secret.chmod(0o600)
    folder = StudyFolder(tmp_path / "study")
    folder.root.mkdir()
    folder.study.write_text(text.replace("SECRET", str(secret)))
    assert check(folder.root) == ExitCode.REFUSED
    said = " ".join(capsys.readouterr().out.split())
    for one in named:
        assert f"Brings {one.format(secret)}" in said
    with pytest.raises(RefusedError, match="this study brings"):
        run(folder.root)
    assert not folder.journal.exists()


PRINTS = """
question = "q"
[factors]
at = ["1", "2"]
[[workload]]
use = "program"
command = ["sh", "-c", "echo $TOKEN; echo $TOKEN >&2; echo $TOKEN > f; echo $SHORT; exit {at}"]
pass = ["TOKEN", "SHORT"]
files = ["f"]
expect = { exit = [1] }
[noise]
disturbed = "keep"
reference_run = "0%"
[precision]
blocks = 6
[conditions]
isolate = false
"""


def test_the_values_of_variables_that_are_handed_on_are_kept_nowhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    token = 'tok"en-of é-4711'
    monkeypatch.setenv("TOKEN", token)
    monkeypatch.setenv("SHORT", "6")
    folder = StudyFolder(tmp_path / "study")
    folder.root.mkdir()
    folder.study.write_text(PRINTS)
    run(folder.root, trust=True)
    report(folder.root, format=("json", "csv"))
    said = capfd.readouterr()
    kept = {path: said_in(path).decode(errors="replace") for path in folder.root.rglob("*.*")}
    forms = (token, json.dumps(token)[1:-1], json.dumps(token, ensure_ascii=False)[1:-1])
    found = [str(path) for path, text in kept.items() if any(form in text for form in forms)]
    assert found == []
    assert not any(form in text for form in forms for text in said)
    trials = "".join(kept[path] for path in folder.trials.iterdir())
    assert '"TOKEN":"{TOKEN}"' in trials
    assert '"SHORT":"{SHORT}"' in trials
    assert '"text":"{TOKEN}\\n6\\n"' in trials


def test_each_path_among_the_settings_of_systems_is_named_or_under_test() -> None:
    found = set()
    for kind in KINDS:
        schema = kind.Settings.model_json_schema()
        for table in (schema, *schema.get("$defs", {}).values()):
            for name, one in table.get("properties", {}).items():
                if '"format": "path"' in json.dumps(one):
                    found.add((kind.name, name))
    assert found == UNDER_TEST | EXECUTED
