"""What is kept of a trial: its output, compressed, whole or refused."""

import gzip
from pathlib import Path

import pytest

from tiltyard.run import stream
from tiltyard.run.stream import keep_stream, kept, read_stream, stream_of

SAID = (
    b'{"type":"progress","data":{"done":0.5,"what":"half"}}\n'
    b'{"type":"progress","data":{"done":1.0,"what":"all"}}\n'
)


def test_what_is_kept_is_what_was_said_and_always_the_same_bytes(tmp_path: Path) -> None:
    path = tmp_path / "trials" / "a.jsonl.gz"
    assert keep_stream(path, SAID, sync=True) == path.read_bytes() == kept(SAID)
    assert gzip.decompress(path.read_bytes()) == SAID
    assert [*path.parent.iterdir()] == [path]
    assert read_stream(path.read_bytes()) == stream_of(SAID)


@pytest.mark.parametrize(
    ("data", "flaw"),
    [
        (SAID, "it is no gzip file: Error -3 while decompressing data: incorrect header check"),
        (b"", "it is cut off"),
        (kept(SAID)[:-1], "it is cut off"),
        (kept(SAID)[:30], "it is cut off"),
        (kept(SAID) + b"more", "something follows its end"),
        (kept(SAID) + kept(SAID), "something follows its end"),
        (kept(SAID)[:-5] + b"\0" + kept(SAID)[-4:], "it is no gzip file: Error -3 while "),
    ],
)
def test_a_file_of_a_stranger_has_a_flaw(data: bytes, flaw: str) -> None:
    found = read_stream(data)
    assert found.events == ()
    assert found.flaw is not None
    assert found.flaw.startswith(flaw)


def test_one_that_unpacks_to_more_than_a_trial_may_say_is_not_unpacked(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(stream, "_LONGEST_BYTES", 2**20)
    whole = b"\n" * 2**20
    assert read_stream(kept(whole)).flaw == stream_of(whole).flaw
    assert read_stream(kept(whole + b"\n")).flaw == "it holds more than 1 MiB"
