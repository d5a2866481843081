import io
import json
import os
import signal
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import BinaryIO

import pytest

from support.patience import wait_until
from support.runners import ENDED, HELLO, stand_in
from tiltyard.executors import runner as executors
from tiltyard.executors import stderr_tail
from tiltyard.executors.engine import Engine, Job
from tiltyard.executors.runner import Runners, Trial
from tiltyard.executors.stderr_tail import without
from tiltyard.wire import (
    EndEvent,
    HelloEvent,
    HostSettled,
    RunnerBeat,
    RunnerClock,
    RunnerEnded,
    RunnerHello,
    RunnerReady,
    RunnerRefused,
    RunnerReply,
    read_event,
)

ROOT = Path(__file__).parents[2]


@pytest.fixture
def runners() -> Iterator[Runners]:
    """Afterwards none of them runs."""
    with closing(Runners()) as runners:
        yield runners


@pytest.fixture
def start(tmp_path: Path, runners: Runners) -> "Start":
    return Start(tmp_path, runners)


class Start:
    """Starts trials of runners that misbehave."""

    def __init__(self, place: Path, runners: Runners) -> None:
        self._place, self._runners = place, runners

    def __call__(
        self,
        text: str,
        keep: BinaryIO | None = None,
        limit_s: float | None = None,
        *,
        is_of_silence: bool = False,
        greets: bool = True,
        ends: bool = True,
        is_far: bool = False,
    ) -> Trial:
        argv = stand_in(self._place / "engine", text, greets=greets, ends=ends)
        runner = self._runners.of(argv, is_far=is_far)
        kept = keep or io.BytesIO()
        return Trial(runner, b'{"job": 1}', kept, limit_s=limit_s, is_of_silence=is_of_silence)


def smoke(engine: Engine, directory: Path) -> bytes:
    """A job that is over soon."""
    card = engine.describe().workload("iozone")
    assert card is not None
    return Job(workload="iozone", parameters=card.smoke, target=directory).message()


def test_beside_a_trial_it_sleeps_and_is_small(tmp_path: Path, runners: Runners) -> None:
    """On another host it is what stays beside the trial: at most 5 MiB, and no wake-up."""
    runner = runners.of((str(Engine.find().path),))
    status = Path(f"/proc/{runner._process.pid}/status")
    parameters = {"file": "1M", "operations": 100_000_000, "runtime_s": 2}
    job = Job(workload="random", parameters=parameters, target=tmp_path)
    seen = []
    for line in Trial(runner, job.message(), io.BytesIO()).lines():
        if isinstance(read_event(line), HelloEvent):
            for pause_s in (0.5, 1):  # It has gone to sleep; the trial goes on.
                time.sleep(pause_s)
                lines = status.read_text().splitlines()
                seen.append(dict(each.split()[:2] for each in lines if each[:2] in ("Vm", "vo")))
    before, after = seen
    assert before["voluntary_ctxt_switches:"] == after["voluntary_ctxt_switches:"]
    assert int(after["VmHWM:"]) <= 5 * 1024


def test_the_real_engine_speaks_from_hello_to_end_again_and_again(
    tmp_path: Path, runners: Runners
) -> None:
    engine = Engine.find()
    found = set()
    for _ in range(3):
        keep, runner = io.BytesIO(), runners.of((str(engine.path),))
        trial = Trial(runner, smoke(engine, tmp_path), keep)
        events = [read_event(line) for line in trial.lines()]
        assert isinstance(events[0], HelloEvent)
        assert isinstance(events[-1], EndEvent)
        assert events[-1].data.outcome == "done"
        assert (trial.exit_status, trial.is_told, trial.last_words()) == (0, True, "")
        assert len(keep.getvalue().splitlines()) == len(events)
        assert not list(tmp_path.iterdir())
        found.add(runner)
    assert len(found) == 1


def test_a_runner_that_was_killed_is_replaced(tmp_path: Path, runners: Runners) -> None:
    engine = Engine.find()
    first = runners.of((str(engine.path),))
    os.kill(first._process.pid, signal.SIGKILL)
    lost = Trial(first, smoke(engine, tmp_path), io.BytesIO())
    assert (list(lost.lines()), lost.is_told, lost.exit_status) == ([], False, -9)
    trial = Trial(runners.of((str(engine.path),)), smoke(engine, tmp_path), io.BytesIO())
    assert len(list(trial.lines())) > 2


def test_words_of_a_trial_are_its_own(tmp_path: Path, runners: Runners) -> None:
    """Those of one before are not told of the next one."""
    engine = Engine.find()
    for job, words_, status in (
        (b"{}", "job: missing field", 2),
        (smoke(engine, tmp_path), "", 0),
    ):
        trial = Trial(runners.of((str(engine.path),)), job, io.BytesIO())
        assert list(trial.lines())
        assert words_ in trial.last_words()
        assert trial.exit_status == status


def test_every_byte_is_kept_and_whole_lines_are_given(start: Start) -> None:
    keep = io.BytesIO()
    trial = start(r"printf 'one\ntw'; sleep 0.1; printf 'o\nthr'", keep)
    assert list(trial.lines()) == [b"one", b"two"]
    assert keep.getvalue() == b"one\ntwo\nthr"
    assert trial.exit_status == 0


def test_the_job_is_a_part_of_the_request(start: Start) -> None:
    (line,) = start("printf '%s\\n' \"$request\"").lines()
    assert json.loads(line) == {"run": {"job": '{"job": 1}'}}


def test_a_runner_that_dies_at_once_is_no_surprise(start: Start) -> None:
    trial = start("exec 0<&-; echo 'no luck' >&2; exit 7", greets=False, ends=False)
    assert list(trial.lines()) == []
    assert (trial.exit_status, trial.last_words()) == (7, "no luck")
    assert not trial.is_told


def test_a_killed_runner_is_seen(start: Start) -> None:
    trial = start("kill -9 $$", ends=False)
    assert list(trial.lines()) == []
    assert trial.exit_status == -9


def test_what_else_speaks_first_is_named(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(executors, "_WORDS_S", 0.2)
    text = f"printf 'Welcome to host7!\\nmotd\\n'; {HELLO}; {ENDED} 0 ''; sleep 60"
    trial = start(text, greets=False, ends=False)
    assert list(trial.lines()) == []
    assert trial.flaw == '"Welcome to host7!" is printed before the engine says anything'


@pytest.mark.parametrize(
    ("line", "flaw"),
    [
        ('{"hello":{"protocol":9,"engine":"0"}}', "speaks protocol 9, this lab speaks 1"),
        ('{"refused":{"message":"no process"}}', "the engine refuses: no process"),
        ('"nonsense"', 'this lab does not know {"runner":"nonsense"}'),
    ],
)
def test_another_runner_is_not_listened_to(
    start: Start, monkeypatch: pytest.MonkeyPatch, line: str, flaw: str
) -> None:
    monkeypatch.setattr(executors, "_WORDS_S", 0.2)
    text = f"""printf '\\036%s\\n' '{{"runner":{line}}}'; exec sleep 60"""
    trial = start(text, greets=False, ends=False)
    assert list(trial.lines()) == []
    assert flaw in str(trial.flaw)


BEATS = """while read -r asked; do printf '\\036{"runner":{"beat":{}}}\\n'; done"""


@pytest.mark.parametrize(
    ("text", "is_far", "flaw"),
    [
        ("exec sleep 60", True, "it has not answered for 0.8 s"),
        ("exec sleep 1.5", False, None),
        (f"( sleep 1.5; kill $$ ) & {BEATS}", True, None),
    ],
    ids=["lost", "here", "silent and there"],
)
def test_a_runner_on_another_host_is_asked_and_given_up(
    start: Start, monkeypatch: pytest.MonkeyPatch, text: str, is_far: bool, flaw: str | None
) -> None:
    for name, seconds in (("_BEAT_S", 0.2), ("_LOST_S", 0.8), ("_TICK_S", 0.05)):
        monkeypatch.setattr(executors, name, seconds)
    monkeypatch.setattr(executors, "_GRACE_S", 0.2)
    trial = start(text, ends=False, is_far=is_far)
    assert list(trial.lines()) == []
    assert trial.flaw == flaw


@pytest.mark.parametrize(("is_far", "words"), [(True, b"runner --lease 900"), (False, b"runner")])
def test_only_a_runner_on_another_host_has_a_lease(
    start: Start, is_far: bool, words: bytes
) -> None:
    assert [*start('echo "$*"', is_far=is_far).lines()] == [words]


def test_the_lab_knows_every_reply_of_the_wire() -> None:
    """They are written by hand: what tells them apart is their only key."""
    wire = json.loads((ROOT / "schema/wire.schema.json").read_text())["$defs"]
    named = {"Settled": wire["HostSettled"]}
    sent = {
        name: set((data if "$ref" not in data else named[name.title()]).get("properties", {}))
        for variant in wire["RunnerReply"]["oneOf"]
        for name, data in variant["properties"].items()
    }
    assert sent == {
        "hello": set(RunnerHello.model_fields),
        "ended": set(RunnerEnded.model_fields),
        "beat": set(RunnerBeat.model_fields),
        "ready": set(RunnerReady.model_fields),
        "clock": set(RunnerClock.model_fields),
        "refused": set(RunnerRefused.model_fields),
        "settled": set(HostSettled.model_fields),
    }
    assert set(sent) == set(RunnerReply.model_fields)


def test_stop_asks_politely_and_once(start: Start) -> None:
    trial = start("echo hi; read -r asked; echo $asked; exit 130")
    said = []
    for line in trial.lines():
        said.append(line)
        trial.stop()
    assert said == [b"hi", b'{"stop":{}}']
    assert trial.exit_status == 130


def test_a_runner_that_does_not_stop_is_killed(
    start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(executors, "_GRACE_S", 0.2)
    monkeypatch.setattr(executors, "_TICK_S", 0.05)
    trial = start("trap '' TERM; echo hi; while :; do :; done", ends=False)
    for _ in trial.lines():
        trial.stop()
    assert trial.exit_status == -9


@pytest.mark.parametrize("is_of_silence", [False, True])
def test_what_hangs_is_stopped(
    start: Start, monkeypatch: pytest.MonkeyPatch, *, is_of_silence: bool
) -> None:
    monkeypatch.setattr(executors, "_TICK_S", 0.05)
    trial = start("read -r asked; exit 130", limit_s=0.2, is_of_silence=is_of_silence)
    assert list(trial.lines()) == []
    assert trial.timed_out
    assert trial.exit_status == 130


@pytest.mark.parametrize("is_of_silence", [False, True])
def test_what_goes_on_is_stopped_unless_only_its_silence_is_limited(
    start: Start, monkeypatch: pytest.MonkeyPatch, *, is_of_silence: bool
) -> None:
    """It talks longer than it may be silent, each time shortly."""
    monkeypatch.setattr(executors, "_TICK_S", 0.05)
    talks = "for n in 1 2 3 4 5 6 7 8 9 10; do echo $n; sleep 0.5; done"
    trial = start(talks, limit_s=3.0, is_of_silence=is_of_silence)
    assert list(trial.lines())
    assert trial.timed_out != is_of_silence


def test_ctrl_c_in_the_terminal_does_not_reach_it(start: Start) -> None:
    trial = start("cut -d' ' -f6 /proc/$$/stat")
    (session,) = trial.lines()
    assert int(session) != os.getsid(0)


def test_an_error_while_reading_stops_the_trial_and_not_the_runner(start: Start) -> None:
    trial = start("echo hi; read -r asked; echo over; exit 130")
    lines = trial.lines()
    next(lines)
    with pytest.raises(RuntimeError):
        lines.throw(RuntimeError("the reader has failed"))  # type: ignore[attr-defined]
    assert (trial.exit_status, trial.is_told) == (130, True)


FLOODS = {
    "a line without end": ("head -c 314572800 /dev/zero", "a line of its output is longer"),
    "short lines": ("yes progress | head -c 400000000", "its output has more than 1000000 lines"),
    "long lines": (
        "yes $(head -c 60000 /dev/zero | tr '\\0' x) | head -c 400000000",
        "its output is longer than 256 MiB",
    ),
}


@pytest.mark.parametrize("flood", FLOODS)
def test_a_flood_is_stopped_and_its_beginning_is_kept(
    tmp_path: Path, start: Start, flood: str
) -> None:
    text, excess = FLOODS[flood]
    with (tmp_path / "kept").open("wb") as keep:
        trial = start(f"echo hi; {text}", keep)
        heard = [len(line) for line in trial.lines()]
    assert trial.excess is not None
    assert trial.excess.startswith(excess)
    assert heard[0] == len("hi")
    assert sum(heard) + len(heard) <= executors.STREAM_BYTES
    kept = (tmp_path / "kept").read_bytes()
    assert kept.startswith(b"hi\n")
    assert len(kept) <= executors.KEPT_BYTES


def test_a_line_in_many_parts_is_whole(start: Start) -> None:
    parts = "for i in 1 2 3 4; do head -c 200000 /dev/zero | tr '\\0' $i; done; echo; echo end"
    keep = io.BytesIO()
    line, end = start(parts, keep).lines()
    assert (len(line), line[::200_000], end) == (800_000, b"1234", b"end")
    assert keep.getvalue() == line + b"\nend\n"


def test_of_many_words_the_first_and_the_last_are_kept(start: Start) -> None:
    """They fill no disk, nobody waits for them, and what they say at last is told."""
    text = "echo first >&2; head -c 500000000 /dev/zero >&2; echo >&2; echo last >&2; exit 3"
    trial = start(text, ends=False)
    assert list(trial.lines()) == []
    assert (trial.exit_status, trial.last_words()) == (3, "last")
    kept = trial._runner._words.heard(0)
    assert kept.startswith("first\n")
    assert len(kept) < stderr_tail.HEAD_BYTES + stderr_tail.TAIL_BYTES + 100
    assert "bytes …" in kept


def test_who_holds_its_error_output_open_is_not_waited_for(
    start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(executors, "_WORDS_S", 0.1)
    trial = start("sleep 60 >/dev/null & echo $!; echo why >&2; exit 1", ends=False)
    (pid,) = trial.lines()
    try:
        wait_until(lambda: trial.last_words() == "why", "it is waited for")
    finally:
        os.kill(int(pid), signal.SIGKILL)


@pytest.mark.parametrize("size", [1, 3, 7, 1000])
def test_a_secret_is_masked_wherever_two_chunks_meet(size: int) -> None:
    text = b"a 0af3 0af30af3 0a 0af 0af 0af3\n00af3 0af"
    chunks = [text[at : at + size] for at in range(0, len(text), size)]
    found = b"".join(without({"0af3": "{secret}"}, chunks))
    assert found == text.replace(b"0af3", b"{secret}")
    assert b"".join(without({}, chunks)) == text
