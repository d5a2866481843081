"""What we print, as programs of other people that read the originals look at it."""

import re
import subprocess
import tomllib
from itertools import dropwhile
from pathlib import Path
from typing import Any

import pytest

from tiltyard.executors.engine import Engine

CONSUMERS = tomllib.loads(Path(__file__).with_name("consumers.toml").read_text())["consumer"]


@pytest.mark.parametrize("consumer", CONSUMERS, ids=lambda one: str(one["name"]))
def test_a_consumer_finds_what_it_looks_for(consumer: dict[str, Any], tmp_path: Path) -> None:
    call = [Engine.find().path, "classic", *consumer["command"].split()]
    told = consumer.get("input")
    done = subprocess.run(
        call, cwd=tmp_path, input=told, check=True, capture_output=True, text=True, timeout=100
    )
    lines = done.stdout.splitlines()
    for pattern in consumer.get("finds", ()):
        assert any(re.search(pattern, line) for line in lines), (pattern, done.stdout)
    begins, skips = consumer.get("begins", ""), consumer.get("skips", ())
    left = dropwhile(lambda line: not re.search(begins, line), lines)
    rows = [
        line
        for line in left
        if not any(re.search(skip, line) for skip in skips) and re.search(consumer["row"], line)
    ]
    assert [len(row.split()) for row in rows] == [consumer["fields"]] * consumer["rows"], rows
