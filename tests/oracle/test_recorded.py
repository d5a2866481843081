"""What the originals were seen to do, for hosts that have none: written down from their calls."""

import subprocess
from pathlib import Path

import pytest

from support.originals import needs, place
from support.strace import Call, by_file, trace
from tiltyard.executors.engine import Engine

pytestmark = [pytest.mark.oracle, needs("strace")]

OFFSETS = (0, 4096, 8192, 12288)
# Of IOzone 3.471, but that ours may make the file when it writes it again.
PHASES = [
    ["open O_CREAT|O_RDWR", *4 * ["write 4096"]],
    ["open O_CREAT|O_RDWR", *4 * ["write 4096"]],
    ["open O_RDONLY", *4 * ["read 4096"]],
    ["open O_RDONLY", *4 * ["read 4096"]],
    ["open O_RDONLY", "lseek -4096 SEEK_END", *4 * ["read 4096", "lseek -8192 SEEK_CUR"]],
    ["open O_CREAT|O_RDWR", *[f"pwrite64 4096 {offset}" for offset in OFFSETS]],
    ["open O_RDONLY", *[f"pread64 4096 {offset}" for offset in OFFSETS]],
]
CHILDREN = "iozone -t 2 -x -s 16k -r 4k -i 0 -i 1 -i 3 -i 9 -i 10"


def classic(line: str, directory: Path) -> list[Call]:
    return trace([Engine.find().path, "classic", *line.split()], directory)


def test_children_of_iozone_do_nothing_between_open_and_the_first_record(memory: Path) -> None:
    files = by_file(classic(CHILDREN, place(memory, "ours")))
    expected = [word for phase in PHASES for word in [*phase, "fsync", "close"]]
    assert len(files) == 2
    for words in files.values():
        made, done = words[:2], words[2:-1]
        assert made == ["open O_CREAT|O_EXCL|O_WRONLY", "close"]
        # The last step back leads before the start of the file.
        assert [word.removesuffix(" EINVAL") for word in done] == expected


def test_before_each_phase_of_children_the_file_system_is_synced(memory: Path) -> None:
    """The original calls sync between two phases, which is not only about its own files."""
    log = memory / "trace"
    tracer = ["strace", "-f", "-e", "trace=syncfs,sync", "-e", "signal=none", "-o", log]
    argv = [*tracer, Engine.find().path, "classic", *CHILDREN.split()]
    subprocess.run(argv, cwd=memory, check=True, capture_output=True)
    synced = [line for line in log.read_text().splitlines() if "sync" in line]
    assert len(synced) == len(PHASES)
    assert all("syncfs(" in line for line in synced)


@pytest.mark.parametrize(("left_out", "written"), [("-k0 -k2 -k3", 20), ("-k0 -k2", 20 + 128)])
def test_random_writes_of_tiotest_allocate(memory: Path, left_out: str, written: int) -> None:
    """Only what is read is laid out before, and after the random writes."""
    calls = classic(f"tiotest -f 1 -t 1 -r 20 -b 8192 {left_out}", place(memory, "ours"))
    moved = [call for call in calls if call.name in ("pwrite64", "pread64")]
    assert [call.name for call in moved].count("pwrite64") == written
    assert {call.name for call in moved[:20]} == {"pwrite64"}
    first_sync = next(index for index, call in enumerate(calls) if call.name == "fsync")
    assert [call.name for call in calls[:first_sync]].count("pwrite64") == 20
