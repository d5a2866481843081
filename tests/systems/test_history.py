"""The history of a file system, without a file system."""

import random
from itertools import pairwise

import pytest

from tiltyard.systems.state.history import History
from tiltyard.systems.state.profiles import FILLING, PROFILES, Profile

MIB = 2**20
CAPACITY = 256 * MIB
ALL = pytest.mark.parametrize("profile", [*PROFILES, FILLING], ids=lambda p: p.name)


def happen(profile: Profile, seed: int, pieces: int = 2000) -> list[tuple[str, int]]:
    """Write, and delete whenever half of the capacity is taken."""
    history = History(profile, CAPACITY, seed)
    told = []
    for _ in range(pieces):
        piece = history.write()
        told.append((piece.path, piece.size_bytes))
        while history.held_bytes > CAPACITY / 2 and (gone := history.delete()):
            told += [(path, -1) for path in gone]
    return told


@ALL
def test_the_seed_decides_all(profile: Profile) -> None:
    assert happen(profile, 1) == happen(profile, 1)
    assert happen(profile, 1) != happen(profile, 2)


@ALL
def test_the_reckoning_agrees_with_what_happened(profile: Profile) -> None:
    history = History(profile, CAPACITY, 3)
    sizes: dict[str, int] = {}
    coin = random.Random(0)
    for _ in range(3000):
        if coin.random() < 0.3:
            for path in history.delete():
                del sizes[path]
        else:
            piece = history.write()
            assert 0 < piece.size_bytes <= max(profile.piece_bytes, 1)
            sizes[piece.path] = sizes.get(piece.path, 0) + piece.size_bytes
    assert history.held_bytes == sum(4096 * (-(-size // 4096) + 1) for size in sizes.values())


def test_several_files_grow_at_the_same_time() -> None:
    downloads = next(profile for profile in PROFILES if profile.name == "downloads")
    paths = [path for path, size in happen(downloads, 5) if size > 0]
    others = sum(one != other for one, other in pairwise(paths))
    assert others > 0.9 * len(paths)


def test_a_tree_goes_as_a_whole() -> None:
    trees = next(profile for profile in PROFILES if profile.name == "source-trees")
    history = History(trees, CAPACITY, 1)
    while not (gone := history.delete()):
        history.write()
    assert len(gone) == trees.together
    assert len({path.partition("/")[0] for path in gone}) == 1
