"""What is seen on terminals of 40, 80 and 200 columns, and through a pipe."""

import subprocess
import sys
from pathlib import Path

import pytest

from support.patience import wait_until
from support.screens import LONG, SCREENS, screen_of, terminal

GOLDEN = Path(__file__).parent / "golden/screens"
WIDTHS = (40, 80, 200)


def printed(name: str, columns: int, place: Path) -> str:
    return screen_of(place, columns, sys.executable, "-m", "support.screens", name)


@pytest.mark.parametrize("name", SCREENS)
def test_screens_are_as_they_were(name: str, tmp_path: Path) -> None:
    """Whoever changes them removes the golden file, runs this once, and looks at the new one."""
    parts = [f"== {width}\n{printed(name, width, tmp_path)}" for width in WIDTHS]
    piped = subprocess.run(
        [sys.executable, "-m", "support.screens", name],
        capture_output=True,
        text=True,
        check=True,
        env={"PATH": "/usr/bin:/bin", "PYTHONPATH": "tests", "COLUMNS": ""},
    )
    assert "\x1b" not in piped.stdout
    shown = "".join((*parts, f"== piped\n{piped.stdout.rstrip()}\n"))
    golden = GOLDEN / f"{name}.txt"
    if not golden.exists():
        golden.write_text(shown)
        pytest.fail(f"{golden} was missing; it is written: look at it")
    assert shown == golden.read_text()


def test_forty_columns_keep_every_name_whole(tmp_path: Path) -> None:
    lines = printed("verdict", 40, tmp_path).splitlines()
    assert max(map(len, lines)) <= 40
    for name in ("ext4", "xfs", "btrfs"):
        assert any(line.strip().startswith(f"{name} ") for line in lines), name


def test_long_names_stand_once_in_a_legend(tmp_path: Path) -> None:
    text = printed("commands", 80, tmp_path)
    table = text[: text.index("Answer")]
    assert [table.count(name) for name in LONG] == [1, 1]
    assert "relative to A" in table


def test_no_color_is_heeded(tmp_path: Path) -> None:
    with terminal(
        tmp_path, 80, sys.executable, "-m", "support.screens", "verdict", NO_COLOR="1"
    ) as shown:
        wait_until(lambda: "\n-- 0" in shown.screen, "it does not end", pause_s=0.1)
        coloured = shown.tmux("capture-pane", "-p", "-e", "-S", "-")
    assert "\x1b[3" not in coloured.replace("\x1b[39m", "")


PHASE = """
import time
from pathlib import Path
from tiltyard.cli import PhaseLine
from tiltyard.phases import listening, phase
with listening(PhaseLine()), phase("writing the image", 4 * 2**30) as writing:
    writing.done_bytes = 1288490189
    while not Path("go-on").exists():
        time.sleep(0.05)
print("ended")
"""


def test_a_phase_is_shown_with_its_amount_and_leaves_nothing(tmp_path: Path) -> None:
    go_on = tmp_path / "go-on"
    code = PHASE.replace("go-on", str(go_on))
    with terminal(tmp_path, 60, sys.executable, "-c", code) as shown:
        wait_until(
            lambda: "writing the image, 1.2 of 4.00 GiB" in shown.screen, "no phase", pause_s=0.1
        )
        go_on.touch()
        wait_until(lambda: "\n-- 0" in shown.screen, "it does not end", pause_s=0.1)
        assert shown.screen.split("\n") == ["ended", "", "-- 0 --", ""]


def test_through_a_pipe_a_phase_is_one_line(tmp_path: Path) -> None:
    go_on = tmp_path / "go-on"
    running = subprocess.Popen(
        [sys.executable, "-c", PHASE.replace("go-on", str(go_on))],
        stderr=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert running.stderr is not None
    assert running.stderr.readline() == "Phase    writing the image, 1.2 of 4.00 GiB\n"
    go_on.touch()
    assert running.communicate() == ("ended\n", "")
