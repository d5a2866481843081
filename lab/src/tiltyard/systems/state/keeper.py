"""The state of one volume: made once, kept, put back in each turn."""

import os
import time
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

    @property
    def is_kept(self) -> bool:
        """Whether it has been made since this run began."""
        return self._site.ledger.holds(MadeFile(path=self._known)) and self._known.exists()

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

    def make(self, mounted: Path) -> Aged:
        """Let the history happen on the file system that is mounted there."""
        state = self._state
        self._site.note(f"making the state of a file system ({state}); this is done once")
        directory = mounted / DIRECTORY
        directory.mkdir()
        began = time.monotonic()
        aged = age(
            directory,
            state.profile,
            state.seed,
            self._site.check,
            to=state.share,
            turnover=state.capacities,
        )
        took = format_duration(time.monotonic() - began)
        self._site.note(f"made in {took}: {aged.layout.files} files, {_percent(aged.full)} full")
        return aged

    def keep(self, device: str, aged: Aged) -> None:
        """Copy the device, which is not mounted any more.

        Raises:
            HostLacksError: if there is no room for the copy.
        """
        ledger = self._site.ledger
        made = [ledger.record(MadeFile(path=path)) for path in (self.copy, self._known)]
        try:
            sha256 = keep(device, self.copy, self._site.check)
            known = Known(sha256=sha256, facts=_facts(self._state, aged))
            write_whole(self._known, known.model_dump_json().encode())
        except BaseException as error:
            for change in made:
                ledger.undo(change)
            if isinstance(error, OSError):
                raise HostLacksError(f"{self.copy}: {error.strerror}") from error
            raise

    def put_back(self, device: str) -> None:
        """Make the device what it was when the state was made, bit for bit; verified."""
        put_back(device, self.copy, self._read().sha256, self._site.check)

    @property
    def facts(self) -> dict[str, str]:
        """What a reader must know of the state."""
        known = self._read()
        return {**known.facts, "state: SHA-256": known.sha256}

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
