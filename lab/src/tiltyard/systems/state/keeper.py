"""The state of one volume: made once, kept, put back in each turn."""

import os
import time
from collections.abc import Callable
from pathlib import Path

from pydantic import BaseModel

from tiltyard.errors import HostLacksError
from tiltyard.folder import write_whole
from tiltyard.host.changes import MadeFile
from tiltyard.systems.kind import Problem, Site
from tiltyard.systems.state.ageing import Aged, age
from tiltyard.systems.state.kept import keep, put_back
from tiltyard.systems.state.settings import StateSettings
from tiltyard.units import format_duration, format_number, format_size

DIRECTORY = "state"
"""Where in the file system the files of its history lie."""


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
        self._aged: Aged
        """What the history came to, once it has happened."""

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

    def make(self, mounted: Path, renew: Callable[[], object]) -> None:
        """Let the history happen on the file system that is mounted there.

        Args:
            mounted: where.
            renew: mounts it anew.
        """
        directory = mounted / DIRECTORY
        self._site.ledger.act(
            f"write and delete files in {directory} ({self._state})",
            lambda: self._happen(directory, renew),
        )

    def keep(self, device: str) -> None:
        """Copy the device, which is not mounted any more.

        Raises:
            HostLacksError: if there is no room for the copy.
        """
        ledger = self._site.ledger
        made = [ledger.record(MadeFile(path=path)) for path in (self.copy, self._known)]
        try:
            ledger.act(f"copy {device} to {self.copy}", lambda: self._copy(device))
        except BaseException as error:
            for change in made:
                ledger.undo(change)
            if isinstance(error, OSError):
                raise HostLacksError(f"{self.copy}: {error.strerror}") from error
            raise

    def put_back(self, device: str) -> None:
        """Make the device what it was when the state was made, bit for bit; verified."""
        self._site.ledger.act(
            f"write what differs from {self.copy} to {device}, and compare all of it",
            lambda: put_back(device, self.copy, self._read().sha256, self._site.check),
        )

    @property
    def facts(self) -> dict[str, str]:
        """What a reader must know of the state."""
        known = self._read()
        return {**known.facts, "state: SHA-256": known.sha256}

    def _happen(self, directory: Path, renew: Callable[[], object]) -> None:
        """The history, and what it came to."""
        state = self._state
        self._site.note(f"making the state of a file system ({state}); this is done once")
        directory.mkdir()
        began = time.monotonic()
        self._aged = age(
            directory,
            state.profile,
            state.seed,
            self._site.check,
            renew,
            to=state.share,
            turnover=state.capacities,
        )
        took = format_duration(time.monotonic() - began)
        found = f"{self._aged.layout.files} files, {_percent(self._aged.full)} full"
        self._site.note(f"made in {took}: {found}")

    def _copy(self, device: str) -> None:
        """The copy, and then what is known of it."""
        sha256 = keep(device, self.copy, self._site.check)
        known = Known(sha256=sha256, facts=_facts(self._state, self._aged))
        write_whole(self._known, known.model_dump_json().encode())

    def _read(self) -> Known:
        return Known.model_validate_json(self._known.read_bytes())


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
