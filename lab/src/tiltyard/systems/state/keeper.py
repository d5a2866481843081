"""The state of one volume: made once, kept, put back in each turn."""

import json
import os
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final, Literal

from pydantic import BaseModel

from tiltyard.errors import HostLacksError
from tiltyard.folder import write_whole
from tiltyard.host.changes import Change, MadeFile
from tiltyard.host.steps import AnyStep, Step, Steps
from tiltyard.systems.kind import Problem, Site
from tiltyard.systems.state.ageing import Aged, age
from tiltyard.systems.state.kept import keep, put_back
from tiltyard.systems.state.settings import State, StateSettings
from tiltyard.units import count_of, format_duration, format_number, format_size

DIRECTORY = "state"
"""Where in the file system the files of its history lie."""
HISTORY: Final = "{history}"
"""Output: the facts of a history that has been made."""


class Known(BaseModel):
    """What is known of a copy."""

    sha256: str
    facts: dict[str, str]


class Keeper:
    """Keeps the state that a volume is put back to; not of a fresh one."""

    def __init__(self, state: StateSettings, site: Site, copy: Path) -> None:
        """Nothing is touched yet.

        Args:
            state: what it is.
            site: where the copy's file is recorded.
            copy: the copy; what is known of it lies beside it. Systems that name the same copy
                share it.
        """
        self._state = state
        self._site = site
        self.copy = copy
        self._known = copy.with_suffix(".json")

    @property
    def is_kept(self) -> bool:
        """Whether it has been made since this run began."""
        return self._site.ledger.holds(MadeFile(path=self._known))

    def problems(self, needed_bytes: int) -> list[Problem]:
        """Why it could not be made here; looks only."""
        if os.geteuid() != 0:
            text = f"only root can keep and put back the state of a file system ({self._state})"
            return [Problem("error", text, 'state = "fresh"')]
        home = next(path for path in self.copy.parents if path.exists())
        status = os.statvfs(home)
        free_bytes = status.f_bavail * status.f_frsize
        if free_bytes < needed_bytes:
            text = f"{home} has {format_size(free_bytes)} free; the file system and the copy of "
            text += f"its state may need {format_size(needed_bytes)}"
            return [Problem("error", text, "a smaller file system")]
        return []

    def make(self, mounted: Path, renew: Iterable[Step]) -> Step:
        """Let the history happen on the file system that is mounted there.

        Args:
            mounted: where.
            renew: mounts it again.
        """
        return MakeHistory(
            directory=mounted / DIRECTORY, state=self._state, renew=tuple(renew), output=HISTORY
        )

    def keep(self, device: str) -> Step:
        """Copy the device, which is not mounted any more."""
        return KeepCopy(
            device=device, copy_to=self.copy, known=self._known, facts=HISTORY, lasts="run"
        )

    def put_back(self, device: str) -> "PutBack":
        """Make the device what it was when the state was made, bit for bit; verified."""
        return PutBack(device=device, copy_of=self.copy, known=self._known)

    @property
    def facts(self) -> dict[str, str]:
        """What a reader must know of the state."""
        known = _read(self._known)
        return {**known.facts, "state: SHA-256": known.sha256}


class MakeHistory(Step):
    """Files that come and go on a file system, as a state says; it yields the facts."""

    kind: Literal["make-history"] = "make-history"
    directory: Path
    state: State
    renew: tuple[AnyStep, ...]
    """What mounts the file system again."""

    @property
    def line(self) -> str:
        """In words."""
        return f"# write and delete files in {self.directory} ({self.state})"

    def execute(self, host: Steps) -> str:
        """The history, and what it came to."""
        state = self.state
        host.note(f"making the state of a file system ({state}); this is done once")
        self.directory.mkdir()
        began = time.monotonic()
        aged = age(
            self.directory,
            state.profile,
            state.seed,
            host.check,
            lambda: host.take(self.renew),
            to=state.share,
            turnover=state.capacities,
        )
        took = format_duration(time.monotonic() - began)
        host.note(
            f"made in {took}: {count_of(aged.layout.files, 'file')}, {_percent(aged.full)} full"
        )
        return json.dumps(_facts(state, aged))


class KeepCopy(Step):
    """A copy of a device, and what is known of it."""

    kind: Literal["keep-copy"] = "keep-copy"
    device: str
    copy_to: Path
    known: Path
    facts: str
    """Of the state, as JSON."""

    @property
    def line(self) -> str:
        """In words."""
        return f"# copy {self.device} to {self.copy_to}"

    def changes(self) -> Sequence[Change]:
        """Both files."""
        return MadeFile(path=self.copy_to), MadeFile(path=self.known)

    def execute(self, host: Steps) -> str:
        """The copy, and then what is known of it; a part of it is removed at once.

        Raises:
            HostLacksError: if there is no room for the copy.
        """
        try:
            digest = keep(self.device, self.copy_to, host.check)
            known = Known(sha256=digest, facts=json.loads(self.facts))
            write_whole(self.known, known.model_dump_json().encode())
        except BaseException as error:
            for change in self.changes():
                host.ledger.undo(change)
            if isinstance(error, OSError):
                raise HostLacksError(f"{self.copy_to}: {error.strerror}") from error
            raise
        return ""


class PutBack(Step):
    """A device as it was when it was copied."""

    kind: Literal["put-back"] = "put-back"
    device: str
    copy_of: Path
    known: Path

    @property
    def line(self) -> str:
        """In words."""
        return f"# write what differs from {self.copy_of} to {self.device}, and compare all of it"

    def execute(self, host: Steps) -> str:
        """Write, and compare."""
        put_back(self.device, self.copy_of, _read(self.known).sha256, host.check)
        return ""


def _read(known: Path) -> Known:
    return Known.model_validate_json(known.read_bytes())


def _facts(state: StateSettings, aged: Aged) -> dict[str, str]:
    """In names that a reader knows."""
    layout = aged.layout
    facts = {
        "state": str(state),
        "state: space in use": _percent(aged.full),
        "state: files": f"{layout.files} in {layout.directories} directories, "
        f"{format_size(layout.bytes)}",
        "state: written in all": f"{format_size(aged.written_bytes)}",
    }
    if layout.pieces is not None and layout.score is not None:
        facts["state: pieces of a file"] = format_number(layout.pieces / max(layout.files, 1), 3)
        facts["state: layout score"] = f"{layout.score:.3f}"
    return facts


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"
