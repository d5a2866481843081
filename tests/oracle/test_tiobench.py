"""tiotest and ours: the calls on the file of each thread, phase after phase.

Random offsets are left out: the original seeds them with the time of day. They are whole blocks
in both, and as many. What lies before the first thread opens its file (ours makes it, empty) is
untimed in both.
"""

import re
import subprocess
from pathlib import Path

import pytest

from support.originals import needs, ours, place
from support.strace import Call, by_file, trace

pytestmark = [pytest.mark.oracle, needs("strace", "tiotest")]

VERSIONS = ("0.3.3", "20170504", "20241028")


def version() -> str:
    """Which of the three behaviours the installed program has, by the options that it knows."""
    done = subprocess.run(["tiotest", "-h"], capture_output=True, text=True, check=False)
    known = set(re.findall(r"^\s+-([A-Z])", done.stdout + done.stderr, re.M))
    return VERSIONS[("F" in known) + ("X" in known)]


def phases(calls: list[Call]) -> list[list[list[str]]]:
    """For each file, the calls of each phase that it was opened for."""
    files = by_file([call for call in calls if "tiotest" in call.path and not is_untimed(call)])
    return [split(lines) for lines in files.values()]


def is_untimed(call: Call) -> bool:
    """Ours makes the files empty, and tries whether they can be opened for direct access."""
    return call.name == "open" and ("O_EXCL" in call.detail or call.detail == "O_DIRECT|O_RDONLY")


def split(lines: list[str]) -> list[list[str]]:
    """From each open to its close; every second phase, in the fixed order, is a random one."""
    result: list[list[str]] = []
    for line in lines:
        if line.startswith("open"):
            result.append([])
        if result and (not result[-1] or result[-1][-1] != "close"):
            is_random = len(result) % 2 == 0
            result[-1].append(without_offset(line) if is_random else line)
    return result


def without_offset(line: str) -> str:
    name, *words = line.split()
    if name == "lseek":
        return name
    return f"{name} {words[0]}" if name in ("pread64", "pwrite64") else line


def compare(directory: Path, options: str, **parameters: object) -> None:
    argv = f"tiotest -f 1 -b 65536 -t 3 -r 5 {options}".split()
    theirs = phases(trace(argv, place(directory, "theirs")))
    mine = ours(
        "tiobench",
        place(directory, "ours"),
        version=version(),
        file="1M",
        block="64k",
        threads=3,
        random_operations=5,
        **parameters,
    )
    assert phases(mine) == theirs
    assert [len(file) for file in theirs] == 3 * [4]


@pytest.mark.parametrize(
    ("options", "parameters"),
    [("", {}), ("-S", {"sync": True}), ("-W", {"in_turn": True})],
    ids=["default", "synchronous", "in-turn"],
)
def test_phases(memory: Path, options: str, parameters: dict[str, object]) -> None:
    compare(memory, options, **parameters)


def test_direct(tmp_path: Path) -> None:
    if version() != "20241028":
        pytest.skip(
            "the installed tiotest has no direct access (-X); the repository has, since 2017"
        )
    compare(tmp_path, "-X", access="direct")
