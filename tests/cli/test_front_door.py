"""What a comparison of two commands has loaded, and asked, before its first block."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

UP_TO_THE_FIRST_BLOCK = """
import json, sys

from tiltyard.executors.engine import Engine
from tiltyard.run import runner

asked, ask = [], Engine._ask


def counted(engine, verb, *message):
    asked.append(verb)
    return ask(engine, verb, *message)


def stop(*_):
    print(json.dumps({"asked": asked, "loaded": [*sys.modules]}))
    raise KeyboardInterrupt


Engine._ask, runner.run_block = counted, stop
from tiltyard.__main__ import main

main()
"""
NOT_YET = ("analysis", "charts", "exporters", "report")
"""Rooms that judge and print: there is nothing to judge yet."""
OF_EVERY_READER = {
    "importer", "live", "names", "patterns", "printed", "quantities", "reading", "sniff",
}  # fmt: skip
"""Of the importers: what a program prints may be read by the keys of a study, without a tool's."""


@pytest.mark.parametrize("verb", [("compare",), ("gate", "--within", "3%")])
def test_a_comparison_loads_what_it_needs_and_asks_once(
    tmp_path: Path, verb: tuple[str, ...]
) -> None:
    done = subprocess.run(
        [sys.executable, "-c", UP_TO_THE_FIRST_BLOCK, *verb, "-c", "true", "-c", "true"],
        cwd=tmp_path,
        env=os.environ,
        capture_output=True,
        text=True,
        check=False,
    )
    found = json.loads(done.stdout)
    assert found["asked"].count("describe") == 1
    own = [name for name in found["loaded"] if name.partition(".")[0] == "tiltyard"]
    importers = {name.split(".")[2] for name in own if name.startswith("tiltyard.importers.")}
    assert importers <= OF_EVERY_READER
    assert [name for name in own if name.split(".")[1:2] and name.split(".")[1] in NOT_YET] == []
    machines = {name for name in own if name.startswith("tiltyard.systems.vm.")}
    assert machines <= {"tiltyard.systems.vm.settings", "tiltyard.systems.vm.tools"}
    assert "scipy" not in found["loaded"]
    assert len(own) <= 300, "504 before anything was loaded when it is needed"
