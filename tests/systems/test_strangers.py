"""Another host answers whatever it likes: one line, in bounded time, and this host is unharmed."""

import time
from pathlib import Path
from typing import Final

import pytest

from support.hosts import host_state, needs_root
from support.strangers import ANSWERS, ASKED, HOST, stranger, verb
from tiltyard.errors import ExitCode

pytestmark = needs_root
KINDS: Final = {
    "directory": """
directory = ["{folder}/a", "{folder}/b"]
[systems]
kind = "remote"
""",
    "image": """
filesystem = ["ext2", "ext4"]
[systems]
kind = "loop-image"
backing = {{ image = "16M" }}
""",
}
STUDY: Final = """\
question = "q"
[factors]{kind}host = "{host}"
[[workload]]
use = "iozone"
file = "128k"
record = "32k"
tests = ["write"]
"""
LINES: Final = {
    "check": ("check", "{folder}/study.toml"),
    "record": ("record", "--host", HOST),
    "run": (
        "run",
        "{folder}/study.toml",
        "--trust",
        "--blocks",
        "6",
        "--wait",
        "0 s",
        "--folder",
        "{folder}/run",
    ),
    "restore": ("restore", "--host", HOST),
}
LIMIT_S: Final = 120.0
"""Far more than its limits here add up to, and less than one without a limit takes."""
OF_RUNNERS: Final = [
    *("a mark and endless lines", "broken JSON", "deep JSON", "an unknown runner", "silence"),
    *("status 200", "what does not end"),
]
OF_AGENTS: Final = [
    *("nothing", "a banner", "an endless line", "what does not end", "deep JSON"),
    *("status 200", "status 130", "killed", "a failure of builtins", "an interrupt", "a boot"),
    "a failure that does not end",
]
CASES: Final = [
    *(("check", "directory", "everything", how) for how in ANSWERS),
    *(("run", "directory", "engine", how) for how in OF_RUNNERS),
    *(("run", "image", "agent", how) for how in OF_AGENTS),
    *(("run", "image", "engine", how) for how in ("silence", "a mark and endless lines")),
    *(("record", "directory", "agent", how) for how in ("noise", "a mark and noise", "silence")),
    *(("run", "image", asked, "noise") for asked in ("agent", "way back")),
    *(("restore", "image", "agent", how) for how in OF_RUNNERS),
]
ALL: Final = [
    (verb, kind, asked, how)
    for verb in LINES
    for kind in KINDS
    for asked in ASKED
    for how in ANSWERS
    if (verb, kind, asked, how) not in CASES
]


def answered(
    case: tuple[str, str, str, str],
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    """Such a host is asked, and what comes of it is looked at."""
    typed, kind, asked, how = case
    for name in "ab":
        (folder / name).mkdir()
    study = STUDY.format(kind=KINDS[kind].format(folder=folder), host=HOST)
    (folder / "study.toml").write_text(study)
    monkeypatch.setenv("TILTYARD_STATE", str(folder / "own"))
    began = time.monotonic()
    with stranger(folder / "far", monkeypatch, ASKED[asked], ANSWERS[how]):
        code = verb(monkeypatch, *(word.format(folder=folder) for word in LINES[typed]))
    said = capfd.readouterr()
    assert time.monotonic() - began < LIMIT_S
    assert "Traceback" not in said.out + said.err
    assert code in set(ExitCode) - {ExitCode.INTERNAL, ExitCode.BOOTING, ExitCode.INTERRUPTED}
    assert not any(len(line) > 3000 for line in (said.out + said.err).splitlines())
    assert "\x1b" not in said.out + said.err
    assert str(folder) not in host_state(folder)


@pytest.mark.parametrize("case", CASES, ids=" | ".join)
def test_a_host_answers_as_it_likes(
    case: tuple[str, str, str, str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    answered(case, tmp_path, monkeypatch, capfd)


@pytest.mark.conformance
@pytest.mark.parametrize("case", ALL, ids=" | ".join)
def test_every_answer_to_every_question(
    case: tuple[str, str, str, str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    answered(case, tmp_path, monkeypatch, capfd)
