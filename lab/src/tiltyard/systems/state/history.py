"""The history of a file system, drawn from a profile and a seed: pure, nothing is touched here."""

import random
from collections import deque
from dataclasses import dataclass
from math import ceil, exp, log

from tiltyard.systems.state.profiles import Profile

_LARGEST_SHARE = 1 / 16
"""No file is larger than this share of the capacity."""
_PIECE_SHARE = 1 / 256
"""And no piece than this one."""
_BLOCK_BYTES = 4096
"""What a file takes is reckoned in blocks of this size, and one more for all else about it."""


@dataclass(frozen=True)
class Piece:
    """What is added to a file, which is made if it is not there."""

    path: str
    """Relative: directories and a number."""
    size_bytes: int


class History:
    """Draws what happens next; whoever carries it out says when something must go."""

    def __init__(self, profile: Profile, capacity_bytes: int, seed: int) -> None:
        """Nothing has happened yet."""
        self._profile = profile
        self._random = random.Random(f"{profile.name} {seed}")
        self._largest_bytes = max(1, int(capacity_bytes * _LARGEST_SHARE))
        self._piece_bytes = min(profile.piece_bytes, ceil(capacity_bytes * _PIECE_SHARE))
        mean_bytes = profile.median_bytes * exp(profile.sigma**2 / 2)
        files = profile.full * capacity_bytes / min(mean_bytes, self._largest_bytes)
        self._directories = ceil(files / profile.in_directory)
        self._growing: deque[tuple[str, int]] = deque()
        """Path, and bytes that are still to come."""
        self._together: list[list[str]] = []
        """Files that are deleted together."""
        self._begun: list[str] = []
        """The next ones of them."""
        self._sizes: dict[str, int] = {}
        self._last = ""
        """What was written last."""
        self._made = 0
        self.written_bytes = 0
        self.held_bytes = 0
        """What the files take, reckoned in blocks."""

    def write(self) -> Piece:
        """The next piece: of the files that grow now, each in turn."""
        while len(self._growing) < self._profile.writers:
            self._growing.append(self._old() or self._new())
        path, left = self._growing.popleft()
        piece = min(left, self._piece_bytes)
        if left > piece:
            self._growing.append((path, left - piece))
        self._resize(path, self._sizes.get(path, 0) + piece)
        self.written_bytes += piece
        self._last = path
        return Piece(path, piece)

    def delete(self) -> list[str]:
        """The paths that go next, any that are not being written; empty if there are none."""
        growing = {self._last, *(path for path, _ in self._growing)}
        places = self._random.sample(
            range(len(self._together)), min(len(self._together), self._profile.writers + 2)
        )
        for place in places:
            paths = self._together[place]
            if growing.isdisjoint(paths):
                self._together[place] = self._together[-1]
                self._together.pop()
                for path in paths:
                    self._resize(path, 0)
                    del self._sizes[path]
                return paths
        return []

    def _old(self) -> tuple[str, int] | None:
        """Perhaps a file that is there already, and what is added to it."""
        if not self._together or self._random.random() >= self._profile.append:
            return None
        path = self._random.choice(self._random.choice(self._together))
        return path, min(self._size_bytes(), self._piece_bytes)

    def _new(self) -> tuple[str, int]:
        """A file, and its size."""
        profile = self._profile
        if profile.together == 1:
            directory = str(self._random.randrange(self._directories))
        else:
            tree, place = divmod(self._made, profile.together)
            directory = f"{tree}/{place // profile.in_directory}"
        path = f"{directory}/{self._made}"
        self._made += 1
        self._begun.append(path)
        if len(self._begun) == profile.together:
            self._together.append(self._begun)
            self._begun = []
        return path, self._size_bytes()

    def _size_bytes(self) -> int:
        """A size from the profile's distribution."""
        drawn = self._random.lognormvariate(log(self._profile.median_bytes), self._profile.sigma)
        return max(1, min(int(drawn), self._largest_bytes))

    def _resize(self, path: str, size_bytes: int) -> None:
        """Keep the reckoning: a file that is not there takes nothing."""
        before = self._sizes.get(path, 0)
        self._sizes[path] = size_bytes
        self.held_bytes += _taken(size_bytes) - _taken(before)


def _taken(size_bytes: int) -> int:
    """Bytes that a file of this size takes."""
    return _BLOCK_BYTES * (ceil(size_bytes / _BLOCK_BYTES) + 1) if size_bytes else 0
