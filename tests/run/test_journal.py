import io
from pathlib import Path

import pytest

from tiltyard.errors import UsageError
from tiltyard.run.history import History
from tiltyard.run.journal import Journal, Looked, Started, Stopped, read_journal


def started(number: int) -> Started:
    return Started(
        number=number, pid=1, token="", tiltyard="0", engine="0", plan_hash="", boot="", host={},
        record={}, recovered=(),
    )  # fmt: skip


def test_events_come_back_as_they_were_written(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    events = [started(1), Looked(blocks=7, done=True, reason="decided"), Stopped(reason="decided")]
    journal, torn = Journal.open(path)
    with journal:
        for event in events:
            journal.append(event)
    assert torn == 0
    assert [entry.event for entry in read_journal(path)] == events
    assert History(read_journal(path)).stopped == "decided"


@pytest.mark.parametrize("torn_line", [b'{"at": "2026', b"\0\0\0\0", b"\0\0\0\0}\n"])
def test_a_torn_last_line_is_cut_off(tmp_path: Path, torn_line: bytes) -> None:
    path = tmp_path / "journal.jsonl"
    journal, _ = Journal.open(path)
    with journal:
        journal.append(started(1))
    whole = path.read_bytes()
    path.write_bytes(whole + torn_line)
    assert len(read_journal(path)) == 1
    journal, torn = Journal.open(path)
    with journal:
        assert torn == len(torn_line)
        assert path.read_bytes() == whole
        journal.append(started(2))
    assert [start.number for start in History(read_journal(path)).starts] == [1, 2]


class HalfWritten(io.BytesIO):
    """A file that another process lengthens: a first look finds ``seen`` bytes, the next all."""

    def __init__(self, content: bytes, seen: int) -> None:
        super().__init__(content)
        self.seen = seen

    def __next__(self) -> bytes:
        line = self.readline(self.seen - self.tell() if self.tell() < self.seen else -1)
        if not line:
            raise StopIteration
        return line


def test_a_line_that_is_just_being_written_is_not_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "journal.jsonl"
    journal, _ = Journal.open(path)
    with journal:
        journal.append(started(1))
        journal.append(Stopped(reason="x"))
        journal.append(Stopped(reason="y"))
    content = path.read_bytes()
    for seen in range(1, len(content)):
        with monkeypatch.context() as patch:
            patch.setattr(Path, "open", lambda *_, seen=seen: HalfWritten(content, seen))
            read = len(read_journal(path))
        whole = content[:seen]
        assert read == (3 if whole.endswith(b"\n") else whole.count(b"\n")), seen


def test_a_damaged_line_in_the_middle_is_an_error_with_its_number(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    journal, _ = Journal.open(path)
    with journal:
        journal.append(started(1))
        journal.append(Stopped(reason="x"))
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(lines[0] + b"rubbish\n" + lines[1])
    with pytest.raises(UsageError, match=r"journal\.jsonl:2: not a line of a journal"):
        Journal.open(path)


def test_no_journal_is_an_empty_history(tmp_path: Path) -> None:
    history = History(read_journal(tmp_path / "journal.jsonl"))
    assert (history.starts, history.finished, history.stopped) == ([], {}, None)
    assert history.spent_s == 0


def test_time_spent_is_summed_over_all_starts(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    journal, _ = Journal.open(path)
    with journal:
        entries = [journal.append(event) for event in (started(1), started(2), started(3))]
    times = (0.0, 0.0, 5.0, 0.0, 2.5)
    spread = [entries[0], entries[1], entries[0], entries[1], entries[0]]
    events = [started(1), started(2), Stopped(reason=""), started(3), Stopped(reason="")]
    history = History(
        [
            entry.model_copy(update={"t_s": time, "event": event})
            for entry, time, event in zip(spread, times, events, strict=True)
        ]
    )
    assert history.spent_s == 7.5
