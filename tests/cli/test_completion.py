"""Completion in real shells: Tab is pressed, and what the shell offers is read."""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

import pytest

from support.patience import PATIENCE_S, wait_until
from support.screens import terminal

BIN = Path(sys.executable).parent
SHARE = Path(__file__).resolve().parents[2] / "share"
PHORONIX = Path(__file__).resolve().parents[1] / "workloads/phoronix"
BASH = f"""
source {SHARE}/bash-completion/completions/tiltyard
while IFS= read -r COMP_LINE; do
  COMP_POINT=${{#COMP_LINE}} COMPREPLY=()
  _tiltyard_joined
  echo "${{COMPREPLY[*]}}"
done
"""
OFFERED = {
    "tiltyard comp": "compare completion",
    "tiltyard run --requ": "--require-decision",
    "tiltyard compare ext4 xfs -w postm": "postmark",
    "tiltyard compare ext4 xfs -w random:depth=4,blo": "4,block=",
    "tiltyard compare ext4 xfs --workload iozone:access=in": "in-cache",
    "tiltyard compare bt": "btrfs",
    "tiltyard status s": "spool",
    "tiltyard run --trust sp": "spool",
    "tiltyard new base -t datab": "database",
    "tiltyard report spool --style whi": "whitepaper",
    "tiltyard explain equivalent_w": "equivalent_within",
    "tiltyard completion fi": "fish",
}
"""What is typed → what bash puts in the place of the word, from where it has split it."""


def environment() -> dict[str, str]:
    return {"PATH": f"{BIN}:{os.environ['PATH']}", "HOME": "/nonexistent", "TERM": "screen"}


@pytest.fixture
def place(tmp_path: Path) -> Path:
    (tmp_path / "spool").mkdir()
    (tmp_path / "spool/study.toml").write_text("")
    (tmp_path / "other").mkdir()
    return tmp_path


def completed(lines: Iterable[str], place: Path, **also: str) -> dict[str, str]:
    """What bash offers for each line."""
    lines = list(lines)
    done = subprocess.run(
        ["bash", "--norc", "-c", BASH],
        input="".join(f"{line}\n" for line in lines),
        cwd=place,
        env={**environment(), **also},
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=True,
    )
    return dict(zip(lines, done.stdout.splitlines(), strict=True))


def test_bash_offers_what_fits(place: Path) -> None:
    assert completed(OFFERED, place) == OFFERED


def test_bash_offers_installed_tests_of_the_phoronix_suite(place: Path) -> None:
    definitions, test = place / "suite/test-profiles/pts", "fs-mark-1.0.3"
    shutil.copytree(PHORONIX / test, definitions / test)
    installed = place / "suite/installed-tests/pts" / test
    installed.mkdir(parents=True)
    (installed / "pts-install.json").write_text("{}")
    offered = {
        "tiltyard workloads pts:fs": "fs-mark",
        "tiltyard compare ext4 xfs -w pts:fs": "fs-mark",
        "tiltyard compare ext4 xfs -w pts:fs-mark:": "test=",
    }
    assert completed(offered, place, PTS_USER_PATH_OVERRIDE=f"{place}/suite") == offered


def test_tab_in_a_real_bash_completes_the_line(place: Path) -> None:
    with terminal(place, 100, "bash", "--norc", "-i", **environment()) as shown:
        source = f"source {SHARE}/bash-completion/completions/tiltyard"
        shown.type(f"{source}; echo loaded", "Enter")
        wait_until(lambda: "\nloaded" in shown.screen, "it is not loaded", pause_s=0.1)
        shown.type("tiltyard workl", "Tab")
        wait_until(lambda: "tiltyard workloads" in shown.screen, "no verb", pause_s=0.1)
        shown.type(" postm", "Tab")
        wait_until(lambda: "workloads postmark" in shown.screen.replace("  ", " "), "no name", 0.1)


def test_fish_offers(place: Path) -> None:
    source = f"source {SHARE}/fish/vendor_completions.d/tiltyard.fish"
    script = f"{source}; complete -C 'tiltyard compare ext4 -w postm'"
    done = subprocess.run(
        ["fish", "--no-config", "-c", script],
        cwd=place,
        env={**environment(), "HOME": str(place)},
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=True,
    )
    assert done.stdout.startswith("postmark\t")


def test_tab_in_a_real_zsh_completes_the_line(place: Path) -> None:
    folder = SHARE / "zsh/site-functions"
    setup = (
        f"fpath=({folder} $fpath); autoload -Uz compinit; compinit -u -d {place}/dump; echo loaded"
    )
    with terminal(place, 100, "zsh", "-f", "-i", **environment()) as shown:
        shown.type(setup, "Enter")
        wait_until(lambda: "\nloaded" in shown.screen, "it is not loaded", pause_s=0.1)
        shown.type("tiltyard compare ext4 -w postm", "Tab")
        wait_until(lambda: "-w postmark" in shown.screen, "no workload", pause_s=0.1)
