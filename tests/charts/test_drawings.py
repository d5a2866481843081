"""Drawings that are kept: found again, and believed only where they are ours."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
import vl_convert

from tiltyard.charts import drawings
from tiltyard.charts.theme import FAMILY

SPEC = {"mark": "point", "data": {"values": [{"a": 1}]}, "encoding": {"x": {"field": "a"}}}


@pytest.fixture
def calls(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Specifications that were really drawn; the cache is an empty one."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    calls: list[str] = []
    real = vl_convert.vegalite_to_svg

    def draw(spec: str, vl_version: str) -> str:
        calls.append(spec)
        svg: str = real(spec, vl_version=vl_version)
        return svg

    monkeypatch.setattr(vl_convert, "vegalite_to_svg", draw)
    return calls


def anew(spec: str) -> str:
    """As another process draws it."""
    drawings.drawn.cache_clear()
    return drawings.drawn(spec)


def test_a_chart_is_drawn_once_for_all_processes(calls: list[str]) -> None:
    spec = json.dumps(SPEC)
    assert anew(spec) == anew(spec)
    assert calls == [spec]
    anew(json.dumps({**SPEC, "width": 99}))
    assert len(calls) == 2


def test_a_picture_of_a_kept_drawing_has_the_typeface(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    spec = json.dumps({**SPEC, "config": {"font": FAMILY}})
    make = f"""
import sys
from tiltyard.charts.drawings import drawn
from tiltyard.report.figures import KINDS
sys.stdout.buffer.write(KINDS["png"](drawn({spec!r})))
"""
    first, again = (
        subprocess.run([sys.executable, "-c", make], check=True, capture_output=True).stdout
        for _ in range(2)
    )
    assert first.startswith(b"\x89PNG")
    assert first == again


def test_what_is_not_whole_or_not_ours_is_drawn_again(calls: list[str]) -> None:
    spec = json.dumps(SPEC)
    whole = anew(spec)
    (file,) = drawings.drawings_directory().iterdir()
    file.write_bytes(file.read_bytes()[:-9])
    assert anew(spec) == whole
    file.chmod(0o666)
    assert anew(spec) == whole
    assert len(calls) == 3


def test_a_cache_that_cannot_be_written_is_done_without(
    calls: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", "/proc/1/nowhere")
    assert anew(json.dumps(SPEC)).startswith("<svg")
    assert len(calls) == 1


def test_a_full_cache_loses_its_oldest(calls: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(drawings, "_KEPT_MAX", 4)
    for width in range(6):
        anew(json.dumps({**SPEC, "width": 50 + width}))
    assert len(list(drawings.drawings_directory().iterdir())) <= 4
    anew(json.dumps({**SPEC, "width": 55}))
    assert len(calls) == 6
