"""The man pages render without a warning, and say what `--help` says."""

import re
import subprocess
from pathlib import Path

import pytest

from tiltyard.cli import add_verbs, app

_OVERSTRUCK = re.compile(".\x08")
add_verbs()
PAGES = Path(__file__).resolve().parents[2] / "share/man/man1"


def rendered(page: Path) -> str:
    done = subprocess.run(
        ["man", "--warnings", "-E", "UTF-8", "-P", "cat", "-l", str(page)],
        capture_output=True,
        text=True,
        check=True,
        env={"PATH": "/usr/bin:/bin", "MANWIDTH": "200"},
    )
    assert done.stderr == ""
    return _OVERSTRUCK.sub("", done.stdout)


def test_there_is_a_page_for_each_verb() -> None:
    verbs = {name for name in app if not name.startswith("-")}
    names = {page.stem for page in PAGES.iterdir()}
    assert names == {"tiltyard", *(f"tiltyard-{verb}" for verb in verbs)}


@pytest.mark.parametrize("page", sorted(PAGES.iterdir()), ids=lambda page: page.stem)
def test_it_renders_without_a_warning(page: Path) -> None:
    text = rendered(page)
    assert "NAME" in text
    assert "SYNOPSIS" in text


def test_options_stand_as_they_are_typed() -> None:
    text = " ".join(rendered(PAGES / "tiltyard-compare.1").split())
    assert "--workload, -w" in text
    assert "tiltyard compare mtu=1500 mtu=9000 -w tcp_stream" in text
    assert "`" not in text
