"""IOzone and ours on one file: the same calls, sizes and offsets in the same order.

Everything from the first open of the first pass to the last close is compared: what lies before
(the original makes, empties and removes the file before it makes it; ours makes it once and never
opens a file that is there) and the removal after it is untimed in both.
"""

import re
import subprocess
from pathlib import Path

import pytest

from support.originals import needs, ours, place
from support.strace import Call, trace
from tiltyard.executors.engine import Engine

pytestmark = [pytest.mark.oracle, needs("strace", "iozone")]

TESTS = {
    "write": "0",
    "read": "1",
    "random": "2",
    "backward": "3",
    "record-rewrite": "4",
    "stride": "5",
    "fwrite": "6",
    "fread": "7",
}
PLACED = {"write": "0", "pwrite": "9", "pread": "10"}


def random_order() -> str:
    """Which of the two the installed revision has."""
    done = subprocess.run(["iozone", "-v"], capture_output=True, text=True, check=False)
    revision = re.search(r"Revision: (\d+)\.(\d+)", done.stdout)
    assert revision is not None, done.stdout
    return "3.488" if (int(revision[1]), int(revision[2])) >= (3, 488) else "3.487"


def passes(calls: list[Call]) -> list[str]:
    """From the first pass, which writes, to the last."""
    opened = [
        index for index, call in enumerate(calls) if call.name == "open" and "O_RDWR" in call.detail
    ]
    closed = [index for index, call in enumerate(calls) if call.name == "close"]
    return [str(call) for call in calls[opened[0] : closed[-1] + 1]]


def compare(
    directory: Path,
    tests: dict[str, str],
    sizes: tuple[str, str],
    options: str,
    **parameters: object,
) -> None:
    theirs, mine = both(directory, tests, sizes, options, **parameters)
    assert passes(mine) == passes(theirs)


def both(
    directory: Path,
    tests: dict[str, str],
    sizes: tuple[str, str],
    options: str,
    **parameters: object,
) -> tuple[list[Call], list[Call]]:
    """The calls of the original, and ours."""
    file, record = sizes
    numbers = [word for number in tests.values() for word in ("-i", number)]
    argv = ["iozone", *numbers, "-s", file, "-r", record, "-f", "iozone.tmp", *options.split()]
    theirs = trace(argv, place(directory, "theirs"))
    mine = ours(
        "iozone",
        place(directory, "ours"),
        file=file,
        record=record,
        tests=list(tests),
        classic=True,
        random_order=random_order(),
        **parameters,
    )
    return theirs, mine


@pytest.mark.parametrize("test", [test for test in TESTS if test != "write"])
def test_each_test(memory: Path, test: str) -> None:
    compare(memory, {"write": "0", test: TESTS[test]}, ("128k", "4k"), "")


@pytest.mark.parametrize(
    ("sizes", "records"), [(("100k", "32k"), 3), (("72k", "4k"), 18), (("64k", "64k"), 1)]
)
def test_all_tests_on_odd_numbers_of_records(
    memory: Path, sizes: tuple[str, str], records: int
) -> None:
    compare(memory, TESTS, sizes, "")


@pytest.mark.parametrize(
    ("options", "parameters"),
    [
        ("-c", {"include_close": True}),
        ("-e", {"include_fsync": True}),
        ("-c -e", {"include_close": True, "include_fsync": True}),
        ("-o", {"open_sync": "sync"}),
        ("-+D", {"open_sync": "dsync"}),
        ("-+r", {"open_sync": "rsync"}),
        ("-+n", {"retest": False}),
        ("-j 5", {"stride": 5}),
    ],
)
def test_options(memory: Path, options: str, parameters: dict[str, object]) -> None:
    compare(memory, TESTS, ("96k", "4k"), options, **parameters)


def test_direct(tmp_path: Path) -> None:
    """Without the streams, which the original opens without O_DIRECT and ours leaves out."""
    placed = {test: number for test, number in TESTS.items() if test not in ("fwrite", "fread")}
    compare(tmp_path, placed, ("96k", "4k"), "-I", access="direct")


def test_the_command_line_with_direct_access(tmp_path: Path) -> None:
    """All tests: the streams too, which both open without O_DIRECT.

    Its random order is that of recent revisions.
    """
    is_recent = random_order() == "3.488"
    tests = [number for test, number in TESTS.items() if is_recent or test != "random"]
    numbers = [word for number in tests for word in ("-i", number)]
    words = [*numbers, "-I", "-s", "96k", "-r", "4k", "-f", "iozone.tmp"]
    theirs = trace(["iozone", *words], place(tmp_path, "theirs"))
    engine = Engine.find().path
    mine = trace([engine, "classic", "iozone", *words], place(tmp_path, "ours"))
    assert passes(mine) == passes(theirs)


def test_placed_records(memory: Path) -> None:
    compare(memory, PLACED, ("96k", "4k"), "-E")


MAPPED = {test: number for test, number in TESTS.items() if test not in ("fwrite", "fread")}


def opens(call: Call) -> bool:
    """Whether a pass begins; who makes the file does not map it."""
    return call.name == "open" and "O_RDWR" in call.detail and "O_EXCL" not in call.detail


def mapped(calls: list[Call], record: int) -> list[str]:
    """How each pass opens and maps the file, and which records it syncs in which order.

    What surrounds them is untimed and differs: the original gives the file its size by writing the
    last record, ours by ftruncate; it reads record 0 by a call, and maps what it reads privately.
    """
    words = []
    first = next(index for index, call in enumerate(calls) if opens(call))
    for call in calls[first:]:
        detail = call.detail.split()
        if call.name == "open":
            words.append(str(call))
        elif call.name == "mmap":
            words.append(f"mmap {detail[0]} {detail[1]}")
        elif call.name == "msync" and detail[1] == str(record):
            words.append(str(call))
    return words


@pytest.mark.parametrize(("options", "msync"), [("-B", "none"), ("-D", "async"), ("-B -G", "sync")])
def test_mapped_files(memory: Path, options: str, msync: str) -> None:
    theirs, mine = both(memory, MAPPED, ("96k", "4k"), options, backend="mmap", msync=msync)
    words = mapped(mine, 4096)
    assert words == mapped(theirs, 4096)
    # Write and rewrite, random write, and the first record over and over.
    synced = [word for word in words if word.startswith("msync")]
    assert len(synced) == (0 if msync == "none" else 4 * 24)
