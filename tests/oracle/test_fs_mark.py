"""fs_mark and ours, with its defects switched on: the calls of each thread in each directory.

Names are random in both, so that they are compared by what they are used for. What is known to
differ is put the same here: a file is made with O_EXCL where the original would truncate one that
has the same name.
"""

from dataclasses import replace
from itertools import zip_longest
from pathlib import Path

import pytest

from support.originals import needs, ours, place
from support.strace import Call, renamed, trace

pytestmark = [pytest.mark.oracle, needs("strace", "fs_mark")]

METHODS = ("none", "inband", "sync-first", "post-reverse", "sync-post-reverse", "post", "sync-post")


def loop(calls: list[Call]) -> list[str]:
    """From the directory of the first file to the last file removed, without what is untimed.

    That is the directory made once more before each loop, by the original, and the directories
    removed at the end, by ours.
    """
    made = next(index for index, call in enumerate(calls) if "O_CREAT" in call.detail)
    kept = [
        replace(call, detail=call.detail.replace("O_EXCL|O_RDWR", "O_RDWR|O_TRUNC"))
        for call, following in zip_longest(calls[made - 1 :], calls[made:])
        if call.name != "rmdir" and not (call.name == "mkdir" and call == following)
    ]
    return renamed(kept)


def their_calls(memory: Path, options: str) -> list[Call]:
    """The calls on the files of the test; the original's own log lies beside the directory."""
    argv = ["fs_mark", *options.split(), "-l", memory / "log"]
    return trace(argv, place(memory, "theirs"))


def compare(directory: Path, options: str, **parameters: object) -> None:
    theirs = their_calls(directory, f"-d . {options}")
    mine = ours("fs_mark", place(directory, "ours"), classic=True, **parameters)
    assert loop(mine) == loop(theirs)


@pytest.mark.parametrize("number", range(7))
def test_sync_methods(memory: Path, number: int) -> None:
    options = f"-n 4 -s 10000 -w 4096 -S {number}"
    parameters = {"files": 4, "size": 10_000, "write_block": 4096, "sync": METHODS[number]}
    compare(memory, options, **parameters)


def test_empty_files(memory: Path) -> None:
    compare(memory, "-n 4 -s 0 -S 0", files=4, size=0, sync="none")


def test_round_robin_over_subdirectories(memory: Path) -> None:
    parameters = {"subdirectories": 3, "files_per_subdirectory": 2}
    compare(memory, "-n 9 -s 100 -D 3 -N 2", files=9, size=100, **parameters)


def test_kept_files_in_loops(memory: Path) -> None:
    theirs = their_calls(memory, "-d . -n 3 -s 100 -L 2")
    mine = ours(
        "fs_mark", place(memory, "ours"), classic=True, files=3, size=100, loops=2, keep="for-good"
    )
    assert loop(mine) == loop(theirs)


def test_a_thread_for_each_directory(memory: Path) -> None:
    theirs = their_calls(memory, "-d a -d b -t 2 -n 4 -s 9000")
    mine = ours(
        "fs_mark",
        place(memory, "ours"),
        classic=True,
        directories=["a", "b"],
        threads=2,
        files=4,
        size=9_000,
    )
    for name in ("a", "b"):
        of_theirs, of_mine = (
            [call for call in calls if call.path.split("/")[0] == name] for calls in (theirs, mine)
        )
        assert loop(of_mine) == loop(of_theirs)
