"""Direct random reads with many in flight: io_uring on both sides, with all that it can register.

Where the device is slower than either side, both wait for it and their times are the same. So the
time for which they keep a CPU busy is compared too: what a side spares there, it has for a faster
device. Ours is that of the whole process, which makes the file as well; fio's that of the reads.
"""

import json
from pathlib import Path

from ..harness import CPU, Comparison, Pair, Times
from ..processes import timed
from .sides import Trial

INNER = "per operation"
BLOCK = 4_096
DEPTH = 32
FILE_BYTES = 64 << 20
PASSES = 12
OPERATIONS = PASSES * FILE_BYTES // BLOCK


def comparisons() -> list[Comparison]:
    """With a clock around all reads."""
    needs = ("fio",)
    return [
        Pair(
            "direct random read, 32 deep",
            "fio io_uring",
            _ours,
            _fio,
            needs,
            {INNER: 1.05},
            on_device=True,
        )
    ]


def _ours(directory: Path) -> Times:
    many = {"file": FILE_BYTES, "block": BLOCK, "depth": DEPTH, "operations": OPERATIONS}
    how = {"backend": "uring", "access": "direct", "offsets": "permutation", "timing": "pass"}
    trial = Trial(directory, "random", {**many, **how})
    return {INNER: trial.operation_s("random_read"), CPU: trial.spent[CPU] / OPERATIONS}


def _fio(directory: Path) -> Times:
    many = [f"--size={FILE_BYTES}", f"--bs={BLOCK}", f"--iodepth={DEPTH}", f"--loops={PASSES}"]
    how = ["--ioengine=io_uring", "--rw=randread", "--direct=1", "--gtod_reduce=1"]
    registered = ["--fixedbufs=1", "--registerfiles=1", "--output-format=json"]
    argv = ["fio", "--name=peer", f"--directory={directory}", *many, *how, *registered]
    _, answer = timed(argv, directory)
    job = json.loads(answer)["jobs"][0]
    elapsed_s = job["read"]["runtime"] / 1e3 / job["read"]["total_ios"]
    return {INNER: elapsed_s, CPU: elapsed_s * (job["usr_cpu"] + job["sys_cpu"]) / 100}
