"""Nothing in a study, a message or a report is obeyed by a terminal: it is shown."""

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from rich.table import Table
from rich.text import Text

from support.documents import everything
from support.specimen import findings as specimen
from tiltyard.cli.check import check
from tiltyard.cli.console import emit_json, remark, say, show
from tiltyard.printable import one_line, visible, visible_in_json
from tiltyard.report.document import Paragraph
from tiltyard.report.formats import FORMATS

TITLE = "\x1b]0;owned\x1b\\"
OBEYED = [TITLE, "\x1b[31m", "\x9b31m", "a\rb", "\x08", "\x7f", "\u202egnp.exe", "\u2066", "\x00"]
TEXT_FORMATS = ("html", "markdown", "latex", "csv")
TILTYARD = Path(sys.executable).parent / "tiltyard"


def is_harmless(text: str) -> bool:
    return visible(text) == text


@pytest.mark.parametrize("text", OBEYED)
def test_what_is_printed_is_shown(text: str, capsys: pytest.CaptureFixture[str]) -> None:
    table = Table(title=Text(text))
    table.add_column(Text(text))
    table.add_row(Text(f"x{text}"))
    say(text)
    show(table)
    remark(text)
    said = capsys.readouterr()
    for stream in (said.out, said.err):
        assert is_harmless(stream)
        assert len(stream) > 1


def test_what_is_printed_otherwise_stays(capsys: pytest.CaptureFixture[str]) -> None:
    say("1\u00a0KiB, 2\u202fµs, größer → 🏇 x")
    assert capsys.readouterr().out == "1\u00a0KiB, 2\u202fµs, größer → 🏇 x\n"


def test_json_is_the_same_document(capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    document = json.dumps({"a": "\x9b31m\u202e\x7fb"}, ensure_ascii=False)
    emit_json(document)
    printed = capfdbinary.readouterr().out.decode()
    assert is_harmless(printed)
    assert json.loads(printed) == json.loads(document)
    assert visible_in_json('{"a": 1}\n') == '{"a": 1}\n'


def test_the_question_and_what_an_error_quotes_are_shown(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TILTYARD_STATE", str(tmp_path / "state"))
    study = tmp_path / "study.toml"
    head = 'question = "\\u001b[31mred\\u202e"\n[factors]\n'
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
    study.write_text(head + 'directory = ["a", "b"]\n')
    check(tmp_path, rehearse=False)
    assert r"Question  \x1b[31mred\u202e" in capsys.readouterr().out.splitlines()
    study.write_text(
        head + 'filesystem = ["ext4", "xfs"]\n[precision]\nbudget = "\\u001b[2J\\n1"\n'
    )
    done = subprocess.run(
        [TILTYARD, "check", tmp_path], capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert is_harmless(done.stderr)
    assert r"\x1b[2J" in done.stderr or r"\u001b[2J" in done.stderr
    assert len(done.stderr.splitlines()) == 1


@pytest.mark.parametrize("form", [form for form in FORMATS if form.name in TEXT_FORMATS],
                         ids=lambda form: form.name)  # fmt: skip
def test_no_report_that_is_text_holds_what_a_terminal_obeys(form) -> None:  # type: ignore[no-untyped-def]
    document = everything()
    evil = Paragraph(text="evil \x1b[31m \x9b \u202e")
    document = replace(document, front=(*document.front, evil), title=TITLE)
    for path, data in form.render(document, specimen(blocks=2)).items():
        text = data.decode().replace("\r\n", "\n")
        assert is_harmless(text), path


def test_a_message_is_one_line() -> None:
    assert one_line("a\nb\x1b") == r"a\nb\x1b"
