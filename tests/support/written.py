"""Every sort of file that the lab writes, written on a disk that may fail, and read back.

Each writer prepares in peace, works while the disk fails as scheduled, and then checks in peace:
what it reads is whole, what was acknowledged is there, and the next write works.
"""

import contextlib
import gzip
import hashlib
import io
import os
import re
import signal
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from support.faulty_fs import READ_ONLY, Fault, schedule
from support.runners import stand_in
from support.runs import directory_system, plan_of
from tiltyard.errors import TiltyardError
from tiltyard.executors.runner import Runners, Trial
from tiltyard.folder import (
    StudyFolder,
    sha256,
    sync_directory,
    write_together,
)
from tiltyard.host import calibrations
from tiltyard.host.changes import PREFIX
from tiltyard.host.host import here, hosts
from tiltyard.host.ledger import restore
from tiltyard.host.op import PutText
from tiltyard.plan.store import read_plan, write_plan
from tiltyard.run.journal import Journal, Stopped, read_journal
from tiltyard.run.lock import hold_lock, running_pid
from tiltyard.run.stream import keep_stream
from tiltyard.wire import HostDid


@dataclass
class Disk:
    """A directory on the disk that fails, and the same directory as it really is."""

    mounted: Path
    shows: Path
    inside: str
    """The directory of this writer."""
    faults: Sequence[Fault]
    device: str
    """A block device to be copied."""
    refused: list[Exception] = field(default_factory=list)
    told: str = ""
    """Faults that were injected so far."""

    @property
    def place(self) -> Path:
        """Where to write."""
        return self.mounted / self.inside

    @property
    def real(self) -> Path:
        """The same past the disk that fails; for looking only."""
        return self.shows / self.inside

    @contextlib.contextmanager
    def failing(self) -> Iterator[None]:
        """The disk fails in here; nothing but an error that a person understands comes out."""
        schedule(self.shows, self.faults)
        try:
            with self.refusing():
                yield
        finally:
            self.told += self.shows.with_name(f"{self.shows.name}.faults").read_text()
            schedule(self.shows, ())

    @contextlib.contextmanager
    def refusing(self) -> Iterator[None]:
        """What is refused in here is kept, and the work goes on."""
        try:
            yield
        except (OSError, TiltyardError) as error:
            self.refused.append(error)

    def met(self, *words: str) -> bool:
        """Whether a fault was injected that has one of these words."""
        return any(word in self.told for word in words)


Writer = Callable[[Disk], None]


def a_journal(disk: Disk) -> None:
    """Lines that were acknowledged are there in order; others may be, once and whole."""
    path = disk.place / "journal.jsonl"
    asked: list[str] = []
    taken: list[str] = []

    def append(journal: Journal, count: int) -> None:
        for _ in range(count):
            asked.append(f"{len(asked)} " + "x" * (37 * len(asked) ** 2))
            with disk.refusing():
                journal.append(Stopped(reason=asked[-1]))
                taken.append(asked[-1])

    with Journal.open(path)[0] as journal:
        append(journal, 2)
        with disk.failing():
            append(journal, 6)
        append(journal, 1)
        assert taken[-1] == asked[-1], "the next line is not taken"
        in_order(path, taken, asked, disk)
    with disk.failing(), Journal.open(path)[0] as journal:
        append(journal, 3)
    with Journal.open(path)[0] as journal:
        append(journal, 1)
        assert taken[-1] == asked[-1], "the next line is not taken after opening it again"
    in_order(path, taken, asked, disk)


def in_order(path: Path, taken: Sequence[str], asked: Sequence[str], disk: Disk) -> None:
    """What is read is what was taken, and beyond it only what nobody could cut off again."""
    found = [entry.event.reason for entry in read_journal(path) if isinstance(entry.event, Stopped)]
    assert set(taken) <= set(found), "a line that was taken is lost"
    assert found == [one for one in asked if one in found], "a line is there twice, or misplaced"
    if not disk.met("truncate", READ_ONLY):
        assert found == list(taken), "a line that was refused is there"


def a_ledger(disk: Disk) -> None:
    """Every change that an agent has made is put back, by it or after its death."""
    (state := disk.place / "state").mkdir(mode=0o700)
    made = Path(os.environ["TILTYARD_STATE"]).with_name("made")
    made.mkdir(exist_ok=True)
    files = [made / f"{PREFIX}{name}" for name in "abcdef"]
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("TILTYARD_STATE", str(state))
        hosts.close()
        with disk.failing():
            for file in files:
                with disk.refusing():
                    _changed_and_undone(file, is_undone=file in files[::2])
            if not disk.inside.endswith("closed"):
                os.kill(here().pid, signal.SIGKILL)
            hosts.close()
        with disk.failing():
            restore()
        hosts.close()
        left = restore().left
        hosts.close()
    assert not left, left
    assert not list(made.iterdir()), "not put back"
    assert not list(state.iterdir())


def _changed_and_undone(file: Path, *, is_undone: bool) -> None:
    did = here().change([PutText(path=file, text="x").op(str)])
    assert file.exists()
    if is_undone:
        here().undo(did.ledger, [did.changes[0].number])


def files_together(disk: Disk) -> None:
    """Findings and report: each is the old or the new one; before a renaming all are old."""
    names = ("findings.json", "report/index.html", "report/tables/values.csv")
    old = {name: f"old {name}\n".encode() * 9000 for name in names}
    new = {name: f"new {name}\n".encode() * 9000 for name in names}
    write_together(disk.place, old)
    with disk.failing():
        write_together(disk.place, new)
    found = {name: (disk.place / name).read_bytes() for name in names}
    assert all(found[name] in (old[name], new[name]) for name in names)
    assert disk.refused or found == new
    if disk.refused and not disk.met("rename", "fsyncdir", READ_ONLY):
        assert found == old
    if not disk.met("unlink", READ_ONLY):
        assert not list(disk.real.rglob("*.partial"))
    write_together(disk.place, new)
    assert not list(disk.real.rglob("*.partial")), "what was left half written stays"


def a_trial(disk: Disk) -> None:
    """A file under its own name has all that the engine said."""
    source, path = Path(__file__), disk.place / "trials" / "a"
    path.parent.mkdir()

    def run() -> None:
        with contextlib.closing(Runners()) as runners:
            runner = runners.of(stand_in(disk.shows.parent / "cat", f"cat {source}"))
            trial = Trial(runner, b"{}", keep := io.BytesIO())
            for _ in trial.lines():
                pass
        keep_stream(path, keep.getvalue(), sync=True)
        sync_directory(path.parent)

    with disk.failing():
        run()
    assert path.exists() or disk.refused
    assert not path.exists() or gzip.decompress(path.read_bytes()) == source.read_bytes()
    run()
    assert gzip.decompress(path.read_bytes()) == source.read_bytes()


def a_plan(disk: Disk) -> None:
    """It is there whole, or not at all; a lock taken meanwhile names its holder or nobody."""
    folder = StudyFolder(disk.place)
    folder.study.write_text('question = "Which?"\n')
    system = directory_system("a", Path(os.environ["TILTYARD_STATE"]).with_name("a"))
    plan = plan_of((system,)).model_copy(update={"study_sha256": sha256(folder.study.read_bytes())})
    with disk.failing(), hold_lock(folder):
        write_plan(folder, plan)
    assert folder.plan.exists() or disk.refused
    with hold_lock(folder):
        assert running_pid(folder) == os.getpid()
        if not folder.plan.exists():
            write_plan(folder, plan)
    assert read_plan(folder) == plan


def a_calibration(disk: Disk) -> None:
    """The one in force is the old one or the new one."""
    of_here = {"machine": calibrations.machine(), "kernel": calibrations.kernel()}
    older, newer = (
        calibrations.KeptCalibration(
            id=f"c{year}", date=f"{year}-01-01", resolution_percent={"iozone": 1.0}, **of_here
        )
        for year in (2025, 2026)
    )
    disk.place.chmod(0o700)
    calibrations.keep(older, disk.place)
    with disk.failing():
        calibrations.keep(newer, disk.place)
        assert calibrations.in_force(disk.place) == newer
    assert calibrations.in_force(disk.place) in (older, newer)
    calibrations.keep(newer, disk.place)
    assert calibrations.in_force(disk.place) == newer


def a_kept_device(disk: Disk) -> None:
    """A copy that was made is the device's every byte; otherwise making it says so."""
    copy = disk.place / f"{PREFIX}kept.img"
    keep = {"op": "keep", "device": disk.device, "copy": str(copy)}
    made: list[HostDid] = []
    with disk.failing():
        made.append(here().change([keep]))
    if not made:
        _put_back_all()
        made.append(here().change([keep]))
    with copy.open("rb") as file:
        assert hashlib.file_digest(file, "sha256").hexdigest() == made[0].digest
    put_back = {**keep, "op": "put_back", "sha256": made[0].digest}
    with disk.failing():
        here().change([put_back])
    judged = re.compile("SHA-256|does not keep|has not the size")
    assert not any(judged.search(str(error)) for error in disk.refused), disk.refused
    here().change([put_back])
    _put_back_all()
    assert not copy.exists()


def _put_back_all() -> None:
    """What an agent has made and still knows of, which is then at its end."""
    hosts.close()
    assert restore().left == ()


WRITERS: tuple[Writer, ...] = (
    a_journal, a_ledger, files_together, a_trial, a_plan, a_calibration, a_kept_device,
)  # fmt: skip
