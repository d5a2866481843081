import io
import os
import signal
from pathlib import Path
from typing import BinaryIO

import pytest

from support.patience import wait_until
from tiltyard.executors import local, words
from tiltyard.executors.engine import Engine, Job
from tiltyard.executors.local import LocalTrial, without
from tiltyard.wire import EndEvent, HelloEvent, read_event


def start(tmp_path: Path, text: str, keep: BinaryIO, limit_s: float | None = None) -> LocalTrial:
    """An engine that misbehaves as a shell script says."""
    path = tmp_path / "engine"
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return LocalTrial((str(path),), b'{"job": 1}', keep, limit_s=limit_s)


def test_the_real_engine_speaks_from_hello_to_end(tmp_path: Path) -> None:
    engine = Engine.find()
    card = engine.describe().workload("iozone")
    assert card is not None
    job = Job(workload="iozone", parameters=card.smoke, target=tmp_path)
    keep = io.BytesIO()
    trial = LocalTrial((str(engine.path),), job.message(), keep)
    events = [read_event(line) for line in trial.lines()]
    assert isinstance(events[0], HelloEvent)
    assert isinstance(events[-1], EndEvent)
    assert events[-1].data.outcome == "done"
    assert trial.exit_status == 0
    assert len(keep.getvalue().splitlines()) == len(events)
    assert not list(tmp_path.iterdir())


def test_every_byte_is_kept_and_whole_lines_are_given(tmp_path: Path) -> None:
    keep = io.BytesIO()
    trial = start(tmp_path, r"printf 'one\ntw'; sleep 0.1; printf 'o\nthr'", keep)
    assert list(trial.lines()) == [b"one", b"two"]
    assert keep.getvalue() == b"one\ntwo\nthr"


def test_the_job_goes_to_standard_input(tmp_path: Path) -> None:
    assert list(start(tmp_path, "cat; echo", io.BytesIO()).lines()) == [b'{"job": 1}']


def test_an_engine_that_stops_with_its_input_has_it_until_it_is_stopped(tmp_path: Path) -> None:
    """No signal reaches it where it runs; this one does not heed any."""
    path = tmp_path / "engine"
    path.write_text("#!/bin/sh\ntrap '' TERM\necho $*\ncat\necho over\n")
    path.chmod(0o755)
    trial = LocalTrial((str(path),), b'{"job": 1}', io.BytesIO(), exit_on_stdin_eof=True)
    lines = trial.lines()
    assert [next(lines), next(lines)] == [b"run --exit-on-stdin-eof", b'{"job": 1}']
    trial.stop()
    assert list(lines) == [b"over"]
    assert trial.exit_status == 0


def test_an_engine_that_dies_at_once_is_no_surprise(tmp_path: Path) -> None:
    trial = start(tmp_path, "exec 0<&-; echo 'no luck' >&2; exit 7", io.BytesIO())
    assert list(trial.lines()) == []
    assert (trial.exit_status, trial.last_words()) == (7, "no luck")


def test_a_killed_engine_is_seen(tmp_path: Path) -> None:
    trial = start(tmp_path, "kill -9 $$", io.BytesIO())
    assert list(trial.lines()) == []
    assert trial.exit_status == -9


def test_stop_asks_politely(tmp_path: Path) -> None:
    trial = start(tmp_path, "trap 'echo bye; exit 130' TERM; echo hi; while :; do sleep 0.05; done",
                  io.BytesIO())  # fmt: skip
    said = []
    for line in trial.lines():
        said.append(line)
        trial.stop()
    assert said == [b"hi", b"bye"]
    assert trial.exit_status == 130


def test_what_does_not_stop_is_killed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(local, "_GRACE_S", 0.2)
    monkeypatch.setattr(local, "_TICK_S", 0.05)
    trial = start(tmp_path, "trap '' TERM; echo hi; while :; do :; done", io.BytesIO())
    for _ in trial.lines():
        trial.stop()
    assert trial.exit_status == -9


def test_what_hangs_is_stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(local, "_TICK_S", 0.05)
    trial = start(tmp_path, "exec sleep 600", io.BytesIO(), limit_s=0.2)
    assert list(trial.lines()) == []
    assert trial.timed_out
    assert trial.exit_status == -signal.SIGTERM


def test_ctrl_c_in_the_terminal_does_not_reach_it(tmp_path: Path) -> None:
    trial = start(tmp_path, "cut -d' ' -f6 /proc/$$/stat", io.BytesIO())
    (session,) = trial.lines()
    assert int(session) != os.getsid(0)


def test_an_error_while_reading_stops_it(tmp_path: Path) -> None:
    trial = start(tmp_path, "echo hi; exec sleep 60", io.BytesIO())
    lines = trial.lines()
    next(lines)
    with pytest.raises(RuntimeError):
        lines.throw(RuntimeError("the reader has failed"))  # type: ignore[attr-defined]
    assert trial.exit_status == -15


FLOODS = {
    "a line without end": ("exec head -c 314572800 /dev/zero", "a line of its output is longer"),
    "short lines": ("yes progress | head -c 400000000", "its output has more than 1000000 lines"),
    "long lines": (
        "yes $(head -c 60000 /dev/zero | tr '\\0' x) | head -c 400000000",
        "its output is longer than 256 MiB",
    ),
}


@pytest.mark.parametrize("flood", FLOODS)
def test_a_flood_is_stopped_and_its_beginning_is_kept(tmp_path: Path, flood: str) -> None:
    text, excess = FLOODS[flood]
    with (tmp_path / "kept").open("wb") as keep:
        trial = start(tmp_path, f"echo hi; {text}", keep)
        heard = [len(line) for line in trial.lines()]
    assert trial.excess is not None
    assert trial.excess.startswith(excess)
    assert heard[0] == len("hi")
    assert sum(heard) + len(heard) <= local.STREAM_BYTES
    kept = (tmp_path / "kept").read_bytes()
    assert kept.startswith(b"hi\n")
    assert len(kept) <= local.KEPT_BYTES


def test_a_line_in_many_parts_is_whole(tmp_path: Path) -> None:
    parts = "for i in 1 2 3 4; do head -c 200000 /dev/zero | tr '\\0' $i; done; echo; echo end"
    keep = io.BytesIO()
    line, end = start(tmp_path, parts, keep).lines()
    assert (len(line), line[::200_000], end) == (800_000, b"1234", b"end")
    assert keep.getvalue() == line + b"\nend\n"


def test_of_many_words_the_first_and_the_last_are_kept(tmp_path: Path) -> None:
    """They fill no disk, nobody waits for them, and what they say at last is told."""
    text = "echo first >&2; head -c 500000000 /dev/zero >&2; echo >&2; echo last >&2; exit 3"
    trial = start(tmp_path, text, io.BytesIO())
    assert list(trial.lines()) == []
    assert (trial.exit_status, trial.last_words()) == (3, "last")
    kept = trial._words.heard(0)
    assert kept.startswith("first\n")
    assert len(kept) < words.HEAD_BYTES + words.TAIL_BYTES + 100
    assert "bytes …" in kept


def test_who_holds_its_error_output_open_is_not_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(local, "_WORDS_S", 0.1)
    trial = start(tmp_path, "sleep 60 >/dev/null & echo $!; echo why >&2; exit 1", io.BytesIO())
    (pid,) = trial.lines()
    try:
        wait_until(lambda: trial.last_words() == "why", "it is waited for")
    finally:
        os.kill(int(pid), signal.SIGKILL)


@pytest.mark.parametrize("size", [1, 3, 7, 1000])
def test_a_secret_is_masked_wherever_two_chunks_meet(size: int) -> None:
    text = b"a 0af3 0af30af3 0a 0af 0af 0af3\n00af3 0af"
    chunks = [text[at : at + size] for at in range(0, len(text), size)]
    found = b"".join(without("0af3", chunks))
    assert found == text.replace(b"0af3", b"{secret}")
    assert b"".join(without("", chunks)) == text
