"""What is said on a terminal of 40 columns: no word that fits a line is cut in two."""

import io

import pytest
from rich.console import Console

from tiltyard.cli import _fail, console
from tiltyard.errors import ExitCode

WIDTH = 40
COMMAND = "tiltyard compare -c 'sort -S1M big, twice' -c 'sort -S1G big' --blocks 397"
TEXTS = [
    "Limit    with 6 blocks, a difference in a single cell of a grid can only be shown where no "
    "more than 1 cell is compared; more blocks lift that",
    "Note     block 5 is disturbed: other processes used 25.2 % of a core (limit 3 %)",
    "Question Which is faster in random: a or b?",
    "block 6/6",
    "",
]


@pytest.fixture
def screen(monkeypatch: pytest.MonkeyPatch) -> io.StringIO:
    """Both streams, as one terminal."""
    shown = io.StringIO()
    narrow = Console(file=shown, width=WIDTH, force_terminal=True, color_system=None)
    monkeypatch.setattr(console, "out", lambda: narrow)
    monkeypatch.setattr(console, "err", lambda: narrow)
    return shown


@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize("say", [console.remark, console.tell])
def test_lines_end_between_words(say, text: str, screen: io.StringIO) -> None:  # type: ignore[no-untyped-def]
    say(text)
    lines = screen.getvalue().splitlines()
    assert all(len(line) <= WIDTH for line in lines)
    assert " ".join(screen.getvalue().split()) == " ".join(text.split())
    assert all(line.startswith(" " * 9) for line in lines[1:])


def test_a_command_and_a_path_stay_in_one_piece(screen: io.StringIO) -> None:
    console.remark(f"Next     more blocks are needed to decide: {COMMAND}, or a wider margin")
    assert screen.getvalue().splitlines() == [
        "Next     more blocks are needed to",
        "         decide:",
        f"         {COMMAND},",
        "         or a wider margin",
    ]
    screen.truncate(0), screen.seek(0)
    console.remark(f"Report   {'long/' * 20}index.html")
    assert screen.getvalue() == f"Report   {'long/' * 20}index.html\n"


def test_an_error_ends_its_lines_between_words(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    narrow = Console(width=WIDTH, force_terminal=True, color_system=None)
    monkeypatch.setattr("tiltyard.cli.err", lambda: narrow)
    _fail('--budget: "soon" is not a duration. Write it like "90 s" or "2 h"', ExitCode.USAGE)
    assert capsys.readouterr().err.splitlines() == [
        'tiltyard: --budget: "soon" is not a',
        'duration. Write it like "90 s" or "2 h"',
    ]


def test_through_a_pipe_every_text_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    shown = io.StringIO()
    monkeypatch.setattr(console, "err", lambda: Console(file=shown, width=WIDTH))
    console.remark(TEXTS[0])
    assert shown.getvalue() == f"{TEXTS[0]}\n"
