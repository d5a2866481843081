"""aio-stress and ours: every request of every io_submit, every wait, every fsync.

One thread, so that there is one order. Through the page cache requests are done when io_submit
returns, so that it is the same every time; what each io_getevents asks for is compared, and what
it is given.
"""

from pathlib import Path

import pytest

from support.originals import needs, ours, place
from support.strace import Call, trace

pytestmark = [pytest.mark.oracle, needs("strace", "aio-stress")]


def stages(calls: list[Call]) -> list[str]:
    """From the first request to the last fsync; files are opened before the clock starts."""
    requests = [index for index, call in enumerate(calls) if call.name.startswith("io_")]
    syncs = [index for index, call in enumerate(calls) if call.name == "fsync"]
    end = max([requests[-1], *syncs])
    return [str(call) for call in calls[requests[0] : end + 1]]


def compare(directory: Path, options: str, files: int, **parameters: object) -> None:
    names = [f"aio-stress.{index}" for index in range(files)]
    argv = ["aio-stress", *f"-s 4m -r 64k {options}".split(), *names]
    theirs = trace(argv, place(directory, "theirs"))
    mine = ours(
        "aio_stress",
        place(directory, "ours"),
        file="4M",
        record="64k",
        files=files,
        classic=True,
        **parameters,
    )
    assert stages(mine) == stages(theirs)


@pytest.mark.parametrize(
    ("options", "files", "parameters"),
    [
        ("", 1, {}),
        ("", 2, {}),
        ("-d 16 -i 4", 1, {"depth": 16, "batch": 4}),
        ("-d 16 -i 4 -b 6", 2, {"depth": 16, "batch": 4, "submit_max": 6}),
        ("-n", 2, {"fsync": False}),
        ("-o 2 -o 3", 2, {"stages": ["random-write", "random-read"]}),
        # -C also sets -b to its number, in the original alone.
        ("-c 2 -C 1", 1, {"contexts": 2, "context_offset": "1M", "submit_max": 1}),
    ],
)
def test_requests(memory: Path, options: str, files: int, parameters: dict[str, object]) -> None:
    compare(memory, options, files, **parameters)
