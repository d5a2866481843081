"""The state of one volume: made once, kept, put back in each turn, by the host's agent."""

import json
import shlex
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final, Literal

from tiltyard.address import THIS_HOST, Address
from tiltyard.host.changes import KeptCopy, MadeByOp
from tiltyard.host.op import Mount
from tiltyard.host.steps import Op, Say, Step, Text
from tiltyard.systems.kind import Problem, Site
from tiltyard.systems.state.settings import State, StateSettings
from tiltyard.units import count_of, format_number, format_size
from tiltyard.wire import HostAged, HostDid

DIRECTORY = "state"
"""Where in the file system the files of its history lie."""
_HISTORY: Final = "{history}"
"""Output: the facts of a history that has been made."""
_MADE: Final = "{made}"
"""Output: the same in a few words."""
_DIGEST: Final = "{digest}"
"""Output: the SHA-256 of a copy that has been made."""


class Keeper:
    """Keeps the state that a volume is put back to; not of a fresh one."""

    def __init__(self, state: StateSettings, site: Site, copy: Path) -> None:
        """Nothing is touched yet.

        Args:
            state: what it is.
            site: where the copy is recorded.
            copy: the copy. Systems that name the same one share it.
        """
        self._state = state
        self._site = site
        self.copy = copy

    @property
    def _known(self) -> KeptCopy | None:
        """The copy, if it has been made since this run began."""
        address = self._site.place.address
        mine = (
            change
            for change in self._site.ledger.outstanding
            if isinstance(change, KeptCopy)
            and (change.path, change.address) == (self.copy, address)
        )
        return next(mine, None)

    @property
    def is_kept(self) -> bool:
        """Whether it has been made since this run began."""
        return self._known is not None

    def problems(self, needed_bytes: int) -> list[Problem]:
        """Why it could not be made there; looks only."""
        place = self._site.place
        if not place.is_root:
            text = f"only root can keep and put back the state of a file system ({self._state})"
            return [Problem("error", text, 'state = "fresh"')]
        there = place.find_all([*map(str, self.copy.parents)])
        home = next(path for path in self.copy.parents if str(path) in there)
        free_bytes = place.space(home).free_bytes
        if free_bytes < needed_bytes:
            text = f"{home} has {format_size(free_bytes)} free; the file system and the copy of "
            text += f"its state may need {format_size(needed_bytes)}"
            return [Problem("error", text, "a smaller file system")]
        return []

    def make(self, mounted: Path, renew: Iterable[Step]) -> Iterator[Step]:
        """Let the history happen on the file system that is mounted there.

        Args:
            mounted: where.
            renew: mounts it again. Where that is more than a mount, it stays mounted.
        """
        yield Say(text=f"making the state of a file system ({self._state}); this is done once")
        again = (step for step in renew if isinstance(step, Mount))
        yield Age(directory=mounted / DIRECTORY, state=self._state, renew=next(again, None))
        yield Say(text=f"made: {_MADE}")

    def keep(self, device: str) -> Step:
        """Copy the device, which is not mounted any more."""
        return KeepCopy(device=device, copy_to=self.copy, lasts="run")

    def put_back(self, device: str) -> Step:
        """Make the device what it was when the state was made, bit for bit; verified."""
        known = self._known
        sha256 = known.sha256 if known else _DIGEST
        return PutBack(device=device, copy_of=self.copy, sha256=sha256)

    @property
    def facts(self) -> dict[str, str]:
        """What a reader must know of the state."""
        known = self._known
        assert known, "it is put back only after it was kept"
        return {**json.loads(known.facts), "state: SHA-256": known.sha256}


class Age(Op):
    """Files that come and go on a file system, as a state says."""

    kind: Literal["age"] = "age"
    directory: Path
    state: State
    renew: Mount | None
    """What mounts the file system again, as it is mounted now."""

    def op(self, text: Text) -> dict[str, object]:
        """The profile, and what counts."""
        profile = self.state.profile
        figures = (
            "name",
            "median_bytes",
            "sigma",
            "piece_bytes",
            "writers",
            "together",
            "in_directory",
            "append",
            "full",
        )
        told: dict[str, object] = {
            "op": "age",
            "directory": text(self.directory),
            "profile": {name: getattr(profile, name) for name in figures},
            "seed": self.state.seed,
            "to": self.state.share,
            "turnover": self.state.capacities,
        }
        if self.renew:
            mount = self.renew.op(text)
            told["renew"] = {name: mount[name] for name in mount if name != "op"}
        return told

    @property
    def line(self) -> str:
        """In words."""
        return f"# write and delete files in {self.directory} ({self.state})"

    def yields(self, did: HostDid) -> dict[str, str]:
        """The facts, and a few words for who waits."""
        aged = did.aged
        assert aged, "whoever has heard the answer has looked"
        made = f"{count_of(aged.files, 'file')}, {_percent(aged.full)} full"
        return {_HISTORY: json.dumps(_facts(self.state, aged)), _MADE: made}


class KeepCopy(Op):
    """A copy of a device, and what is known of it."""

    kind: Literal["keep"] = "keep"
    device: str
    copy_to: Path
    sha256: str = _DIGEST
    facts: str = _HISTORY
    """Of the state, as JSON."""
    outlasts_boot = True

    def op(self, text: Text) -> dict[str, object]:
        """Of what, and where."""
        return {"op": "keep", "device": text(self.device), "copy": text(self.copy_to)}

    @property
    def line(self) -> str:
        """In words."""
        return f"# copy {self.device} to {self.copy_to}"

    @property
    def way_back(self) -> str:
        """It is removed."""
        return f"# remove {self.copy_to}"

    @property
    def back_script(self) -> str:
        """The command for it."""
        return shlex.join(("rm", "-f", str(self.copy_to)))

    def yields(self, did: HostDid) -> dict[str, str]:
        """The SHA-256."""
        assert did.digest, "whoever has heard the answer has looked"
        return {_DIGEST: did.digest}

    def made(self, address: Address = THIS_HOST) -> MadeByOp:
        """With what is known of it."""
        made = dict(super().made(address))
        del made["kind"]
        return KeptCopy(**made, path=self.copy_to, sha256=self.sha256, facts=self.facts)


class PutBack(Op):
    """A device as it was when it was copied."""

    kind: Literal["put-back"] = "put-back"
    device: str
    copy_of: Path
    sha256: str

    def op(self, text: Text) -> dict[str, object]:
        """Which, and what it is to be."""
        return {
            "op": "put_back",
            "device": text(self.device),
            "copy": text(self.copy_of),
            "sha256": self.sha256,
        }

    @property
    def line(self) -> str:
        """In words."""
        return f"# write what differs from {self.copy_of} to {self.device}, and compare all of it"


def _facts(state: StateSettings, aged: HostAged) -> dict[str, str]:
    """In names that a reader knows."""
    facts = {
        "state": str(state),
        "state: space in use": _percent(aged.full),
        "state: files": f"{aged.files} in {aged.directories} directories, "
        f"{format_size(aged.bytes)}",
        "state: written in all": f"{format_size(aged.written_bytes)}",
    }
    if aged.pieces is not None and aged.score is not None:
        facts["state: pieces of a file"] = format_number(aged.pieces / max(aged.files, 1), 3)
        facts["state: layout score"] = f"{aged.score:.3f}"
    return facts


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"
