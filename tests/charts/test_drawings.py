"""Drawings that are kept: found again, and believed only where they are ours."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tiltyard.charts import drawings
from tiltyard.charts.theme import FAMILY
from tiltyard.errors import HostLacksError

SPEC = {"mark": "point", "data": {"values": [{"a": 1}]}, "encoding": {"x": {"field": "a"}}}


@pytest.fixture
def calls(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Specifications that were really drawn; the cache is an empty one."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    calls: list[str] = []
    real = drawings._draw

    def draw(spec: str) -> str:
        calls.append(spec)
        return real(spec)

    monkeypatch.setattr(drawings, "_draw", draw)
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
assert "vl_convert" not in sys.modules, "it stays in memory until the end"
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


def test_what_draws_goes_on_after_a_flaw(calls: list[str]) -> None:
    with pytest.raises(ValueError, match="Vega-Lite to SVG conversion failed"):
        anew(json.dumps({**SPEC, "mark": {"type": "none of them"}}))
    assert anew(json.dumps(SPEC)).startswith("<svg")


def test_one_that_has_ended_is_an_error_and_the_next_draws(calls: list[str]) -> None:
    anew(json.dumps(SPEC))
    drawings._drawer().kill()
    with pytest.raises(HostLacksError, match=r"what draws pictures has ended \(code -9\)"):
        anew(json.dumps({**SPEC, "width": 99}))
    assert anew(json.dumps({**SPEC, "width": 99})).startswith("<svg")


def test_an_answer_that_nobody_waited_for_is_no_answer_to_the_next(
    calls: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    other = json.dumps({**SPEC, "width": 99})
    whole = anew(other)

    def interrupted(_text: bytes) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(drawings.json, "loads", interrupted)
        with pytest.raises(KeyboardInterrupt):
            anew(json.dumps(SPEC))
    assert drawings._draw(other) == whole


def test_a_full_cache_loses_its_oldest(calls: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(drawings, "_KEPT_MAX", 4)
    for width in range(6):
        anew(json.dumps({**SPEC, "width": 50 + width}))
    assert len(list(drawings.drawings_directory().iterdir())) <= 4
    anew(json.dumps({**SPEC, "width": 55}))
    assert len(calls) == 6
