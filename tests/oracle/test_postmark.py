"""PostMark and ours: every file system call, from the first file created to the last deleted."""

from pathlib import Path

import pytest

from support.originals import needs, ours, place
from support.strace import Call, trace

pytestmark = [pytest.mark.oracle, needs("strace", "postmark")]


def transactions(calls: list[Call]) -> list[str]:
    """From the first file created to the last deleted; making directories is untimed in both."""
    made = [index for index, call in enumerate(calls) if "O_CREAT" in call.detail]
    deleted = [index for index, call in enumerate(calls) if call.name == "unlink"]
    return [str(call) for call in calls[made[0] : deleted[-1] + 1]]


def compare(directory: Path, script: str, parameters: dict[str, object]) -> None:
    """The original works in the directory itself, or in locations that are there already."""
    original = place(directory, "theirs")
    for location in ("x", "y"):
        (original / location).mkdir()
    script = f"set number 20\nset transactions 60\n{script}run\nquit\n"
    theirs = trace(["postmark"], original, standard_input=script)
    mine = ours("postmark", place(directory, "ours"), files=20, transactions=60, **parameters)
    assert transactions(mine) == transactions(theirs)


@pytest.mark.parametrize("buffering", [True, False])
@pytest.mark.parametrize(
    ("script", "parameters"),
    [
        ("", {}),
        ("set size 3000 30000\n", {"size": "3000..30000"}),
        ("set size 8192 8192\n", {"size": 8192}),
        (
            "set read 4096\nset write 5000\nset size 1 20000\n",
            {"read_block": 4096, "write_block": 5000, "size": "1..20000"},
        ),
        ("set subdirectories 3\nset seed 7\n", {"subdirectories": 3, "seed": 7}),
        (
            "set location x 1\nset location +y 2\nset subdirectories 2\n",
            {"locations": [{"name": "x"}, {"name": "y", "weight": 2}], "subdirectories": 2},
        ),
        (
            "set bias read 8\nset bias create -1\n",
            {"bias_read": 8, "bias_create": -1},
        ),
    ],
    ids=["default", "larger", "one-size", "blocks", "subdirectories", "locations", "bias"],
)
def test_transactions(
    memory: Path, script: str, parameters: dict[str, object], buffering: bool
) -> None:
    script = f"set buffering {str(buffering).lower()}\n{script}"
    compare(memory, script, {"buffering": buffering, **parameters})
