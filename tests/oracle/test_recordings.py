"""Ours beside what was recorded of the originals, and the recordings beside the originals."""

import difflib
import re
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from support.recordings import Original, Recording, missing, originals, ours, theirs
from support.sequences import compress, expand
from support.sockets import is_merged
from support.strace import Call
from tiltyard.executors.engine import Engine

pytestmark = pytest.mark.oracle
if lacking := missing("strace"):
    pytest.skip(lacking, allow_module_level=True)

ORIGINALS = originals()
INSTALLED = {original.program: original.is_installed() for original in ORIGINALS}
RECORDINGS = [recording for original in ORIGINALS for recording in original.recordings]


def name(recording: object) -> str:
    """What a test is called."""
    assert isinstance(recording, Recording)
    return " / ".join(filter(None, [recording.argv, *recording.input.splitlines()[2:-2]]))


@pytest.mark.parametrize("recording", RECORDINGS, ids=name)
def test_ours(recording: Recording) -> None:
    execution = ours(recording)
    assert execution.exit_code == recording.expected_exit, execution.stderr
    assert_same(recording.words(execution.calls), recording.expected_words)
    assert_same(recording.words(execution.server), recording.expected_server)
    assert recording.form(execution.stdout) == recording.expected_form
    for mutation in mutations(recording, recording.compared(execution.calls)):
        assert recording.words(mutation) != recording.expected_words


@pytest.mark.parametrize(
    "recording",
    [
        pytest.param(recording, id=name(recording))
        for recording in RECORDINGS
        if INSTALLED[recording.original.program]
    ],
)
def test_the_original(recording: Recording) -> None:
    """That what was recorded is true."""
    execution = theirs(recording)
    if recording.original.fails_by_chance_with in execution.stderr:
        pytest.skip(f"it failed: {recording.original.fails_by_chance_with}")
    assert execution.exit_code == recording.exit
    assert_same(recording.words(execution.calls), expand(recording.calls.splitlines()))
    assert_same(recording.words(execution.server), expand(recording.server.splitlines()))
    assert recording.form(recording.original.printed(execution)) == recording.prints


@pytest.mark.parametrize("original", ORIGINALS, ids=lambda original: original.program)
def test_the_recorded_version_is_installed(original: Original) -> None:
    if not INSTALLED[original.program]:
        pytest.skip(f"{original.facts['original']} {original.facts['version']} is not on PATH")


def test_before_each_phase_of_children_the_file_system_is_synced(tmp_path: Path) -> None:
    """Where IOzone calls sync(2), which is about all file systems of the machine."""
    log = tmp_path / "trace"
    tracer = ["strace", "-f", "-e", "trace=syncfs,sync", "-e", "signal=none", "-o", log]
    line = "iozone -t 2 -x -s 16k -r 4k -i 0 -i 1 -i 3"
    subprocess.run(
        [*tracer, Engine.find().path, "classic", *line.split()],
        cwd=tmp_path,
        check=True,
        stdout=subprocess.DEVNULL,
    )
    synced = [line for line in log.read_text().splitlines() if "sync" in line]
    assert len(synced) == 5
    assert all("syncfs(" in line for line in synced)


@pytest.mark.parametrize("original", ORIGINALS, ids=lambda original: original.program)
def test_a_recording_names_its_origin(original: Original) -> None:
    """The hash is of the source file, or of the package that Debian signs."""
    assert all(original.facts[name] for name in ("version", "source", "machine"))
    assert re.fullmatch("[0-9a-f]{64}", original.facts["sha256"])


@pytest.mark.parametrize("original", ORIGINALS, ids=lambda original: original.program)
def test_every_difference_is_one(original: Original) -> None:
    """A rule that changes no recording is out of date."""
    for index, difference in enumerate(original.differences):
        if difference.of == "paths":
            continue
        rules = original.facts["difference"][: index + 1]
        without = replace(original, facts={**original.facts, "difference": rules[:-1]})
        with_it = replace(original, facts={**original.facts, "difference": rules})
        assert any(
            (one.expected_words, one.expected_server, one.expected_form)
            != (two.expected_words, two.expected_server, two.expected_form)
            for one, two in zip(without.recordings, with_it.recordings, strict=True)
        ), rules[-1]


def assert_same(words: Sequence[str], expected: Sequence[str]) -> None:
    lines = difflib.unified_diff(compress(expected), compress(words), "expected", "is", n=1)
    assert words == expected, "\n".join(line.rstrip() for line in lines)


def mutations(recording: Recording, calls: Sequence[Call]) -> Iterator[list[Call]]:
    """Every kind of call changed in each way that a call can be wrong, once."""
    seen: set[tuple[str, str, bool, str]] = set()
    is_random = recording.original.random_offsets
    for index, call in enumerate(calls):
        kind = (call.name, call.detail.strip("0123456789"), call.offset is None, call.failed)
        if kind in seen:
            continue
        seen.add(kind)
        before, after = list(calls[:index]), list(calls[index + 1 :])
        yield [*before, replace(call, name=f"{call.name}2"), *after]
        if recording.original.server and is_merged(call):
            continue
        yield [*before, replace(call, detail=f"{call.detail}0"), *after]
        yield [*before, replace(call, failed="EIO"), *after]
        if call.offset is not None:
            yield [*before, replace(call, offset=call.offset + 1), *after]
        if recording.is_timed:
            continue
        yield [*before, *after]
        yield [*before, call, call, *after]
        other = after[0] if after else call
        is_elsewhere = recording.by_file and other.path != call.path
        is_left_to_chance = bool(recording.original.server) and is_merged(other)
        if not (is_elsewhere or is_left_to_chance) and word(other, is_random) != word(
            call, is_random
        ):
            yield [*before, other, call, *after[1:]]


def word(call: Call, is_random: bool) -> str:
    """The call as it is compared, if its offset is drawn."""
    return str(replace(call, offset=None) if is_random else call)
