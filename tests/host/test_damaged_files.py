"""A file of ours that is damaged in any byte concerns its own study, and that in one line."""

import contextlib
import fcntl
import io
import shutil
import sys
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from random import Random
from unittest.mock import patch

import pytest

from support.chained import chained, unchained
from support.kills import left_by_a_killed_agent
from tiltyard import cli
from tiltyard.app.freeze import planned
from tiltyard.errors import ExitCode
from tiltyard.executors.engine import Engine
from tiltyard.folder import StudyFolder
from tiltyard.host.changes import PREFIX
from tiltyard.host.op import MakeDirectory, PutText

GENUINE = Path(__file__).parents[1] / "run/fixtures/recorded/finished"
READ = (("report", "--json"), ("status",), ("plan",), ("check",))
"""The first one writes what the others tell of."""
SELDOM = 20
"""One of so many is a verb that takes a while."""
FEW, MANY = 150, 3000
BRINGS = """\
question = "q"
[factors]
number = [1, 2]
[[workload]]
use = "program"
command = ["true", "{number}"]
"""


def answer(*words: str) -> tuple[int, str, list[str]]:
    """Code, output and lines of errors of the command line; only what it catches is caught."""
    out, err = (io.TextIOWrapper(io.BytesIO(), "utf-8") for _ in range(2))
    with (
        patch.object(sys, "argv", ["tiltyard", *words]),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
        warnings.catch_warnings(action="ignore"),
        pytest.raises(SystemExit) as ended,
    ):
        cli.main()
    for stream in (out, err):
        stream.seek(0)
    told = err.read()
    assert "Traceback" not in told
    assert isinstance(ended.value.code, int)
    lines = [line for line in told.splitlines() if line.startswith("tiltyard: ")]
    # What an earlier run has left, whichever it was.
    said = [line for line in out.read().splitlines() if not line.startswith("Restored  ")]
    return ended.value.code, "\n".join(said), lines


def damaged(random: Random, data: bytes) -> bytes:
    """Changed, cut off or longer at one place."""
    at = random.randrange(len(data) + 1)
    rest, some = data[at:], random.randbytes(random.choice((1, 1, 4, 300)))
    changed = bytes([data[at] ^ 1 << random.randrange(8)]) if rest else b""
    return data[:at] + random.choice(
        (
            *(changed + rest[1:], some + rest, b"", bytes(min(len(rest), 64)) + rest[64:]),
            *(rest[random.randrange(40) :], rest[:40] + rest, rest.replace(b":1", b":1e999", 1)),
            rest.replace(b":", b":" + b"[" * random.choice((90, 9000)), 1),
        )
    )


def a_verb(random: Random) -> tuple[str, ...]:
    return ("status",) if random.randrange(SELDOM) else random.choice(READ)


@dataclass(frozen=True)
class Studies:
    """One that is damaged, one that brings a program, and one that nothing happens to."""

    one: StudyFolder
    brings: StudyFolder
    other: StudyFolder
    state: Path
    sound: dict[tuple[str, ...], tuple[int, str, list[str]]]
    """What verbs answer about the other one."""

    def ledger(self) -> Path:
        """Of an agent that was killed and left all that it had made."""
        names = (self.one.root / f"{PREFIX}{name}" for name in ("directory", "file"))
        directory, file = names
        did = left_by_a_killed_agent(MakeDirectory(path=directory), PutText(path=file, text=""))
        return self.state / f"{did.ledger}.ops"

    def nothing_is_made(self) -> None:
        """What a damaged ledger cannot name any more is removed by hand."""
        for path in self.one.root.glob(f"{PREFIX}*"):
            path.rmdir() if path.is_dir() else path.unlink()

    def verbs_answer(self, random: Random) -> None:
        """On the one in one line at most; on the other as if nothing had happened."""
        for folder in (self.one, self.brings):
            code, _, lines = answer(*a_verb(random), str(folder.root))
            assert ExitCode(code) is not ExitCode.INTERNAL
            assert len(lines) <= 1
        verb = a_verb(random)
        assert answer(*verb, str(self.other.root)) == self.sound[verb]


@pytest.fixture
def studies(tmp_path: Path, state: Path) -> Iterator[Studies]:
    folders = [StudyFolder(tmp_path / name) for name in ("one", "brings", "other")]
    for folder in (folders[0], folders[2]):
        shutil.copytree(GENUINE, folder.root)
    folders[1].root.mkdir()
    folders[1].study.write_text(BRINGS)
    planned(folders[1], Engine.find(), trust=True)
    sound = {verb: answer(*verb, str(folders[2].root)) for verb in READ}
    yield Studies(*folders, state, sound)
    shutil.rmtree(state / "trusted", ignore_errors=True)


def concerns_its_own_study(seeds: range, studies: Studies) -> None:
    for seed in seeds:
        random = Random(seed)
        try:
            one_case(random, studies)
        except BaseException as error:
            error.add_note(f"seed {seed}")
            raise


def one_case(random: Random, studies: Studies) -> None:
    sort = random.choice(("ledger", "ledger", "lock", "plan", "journal", "trust"))
    one = studies.one
    files = {"lock": one.lock, "plan": one.plan, "journal": one.journal}
    if sort == "ledger":
        files[sort] = studies.ledger()
    if sort == "trust":
        (files[sort],) = (studies.state / "trusted").iterdir()
    path = files[sort]
    with contextlib.ExitStack() as held:
        if sort == "lock":
            path.write_bytes(b"4711")
            file = held.enter_context(path.open("rb"))
            fcntl.flock(file, fcntl.LOCK_EX)
        before = path.read_bytes()
        if sort == "journal" and random.randrange(2):  # Its chain hides the rest of it.
            path.write_bytes(chained(damaged(random, b"".join(unchained(path))).splitlines()))
        else:
            path.write_bytes(damaged(random, before))
        studies.verbs_answer(random)
        if sort == "lock":
            code, _, lines = answer("run", str(one.root))
            assert (code, len(lines)) == (ExitCode.REFUSED, 1)
    code, _, lines = answer("restore")
    assert code in (ExitCode.DONE, ExitCode.NOT_RESTORED)
    if code == ExitCode.NOT_RESTORED:
        assert sort == "ledger"
    assert code or not studies.state.joinpath(path.name).exists()
    studies.verbs_answer(random)
    if sort == "ledger":
        path.unlink(missing_ok=True)
        studies.nothing_is_made()
    else:
        path.write_bytes(before)


def test_a_damaged_file_concerns_its_own_study(studies: Studies) -> None:
    concerns_its_own_study(range(FEW), studies)


@pytest.mark.conformance
def test_many_damaged_files_concern_their_own_studies(studies: Studies) -> None:
    concerns_its_own_study(range(FEW, FEW + MANY), studies)
