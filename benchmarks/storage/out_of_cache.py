"""Is a small file behind a bounded page cache read as fast as a file of twice the memory?

python -m benchmarks.storage.out_of_cache --directory DIR [--rounds 6] [--lock 16G]

Three ways to read out of cache, in a random order in each round:

bounded   the engine on a file of 1 GiB whose page cache a memory group bounds
honest    the engine on a file of twice the memory that is free; nothing bounds the cache
advice    fio on the same large file as the classic advice has it, which nobody evicts first

--lock takes memory away from the whole machine for as long as this runs, so that the large file
need not be enormous. At least 6 GiB are left. The rates are compared as paired ratios with exact
signed-rank intervals; the share of bytes that the device delivered stands beside them.
"""

import argparse
import ctypes
import json
import mmap
import os
import random
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from tiltyard.stats.signed_rank import largest_c, signed_rank
from tiltyard.units import format_size, parse_size
from tiltyard.wire import PROTOCOL

from ..engine import engine

RECORD_BYTES = 64 * 1024
BOUNDED_BYTES = 2**30
LEFT_BYTES = 6 * 2**30
ADVICE_RANDOM_BYTES = 4 * 2**30
METRICS = ("read", "reread", "stride_read")
SEED = 20261121

Rates = dict[str, float]


@contextmanager
def locked(size_bytes: int) -> Iterator[None]:
    """So much less memory for everybody; the kernel frees it however this process ends."""
    if size_bytes == 0:
        yield
        return
    if free_memory_bytes() - size_bytes < LEFT_BYTES:
        sys.exit(f"--lock would leave less than {format_size(LEFT_BYTES)}")
    with mmap.mmap(-1, size_bytes, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS) as memory:
        libc = ctypes.CDLL(None, use_errno=True)
        view = ctypes.c_char.from_buffer(memory)
        if libc.mlock(ctypes.byref(view), ctypes.c_size_t(size_bytes)) != 0:
            sys.exit(f"cannot lock memory: {os.strerror(ctypes.get_errno())}")
        try:
            yield
        finally:
            del view


def free_memory_bytes() -> int:
    """What could become page cache."""
    lines = Path("/proc/meminfo").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable:"))


def device_read_bytes(directory: Path) -> int:
    """What the device under a directory has delivered so far."""
    number = directory.stat().st_dev
    stat = Path(f"/sys/dev/block/{os.major(number)}:{os.minor(number)}/stat")
    return int(stat.read_text().split()[2]) * 512


def iozone(directory: Path, parameters: dict[str, object]) -> list[dict[str, Any]]:
    """The events of a trial with these parameters."""
    job = {
        "protocol": PROTOCOL,
        "workload": "iozone",
        "parameters": {
            "record": RECORD_BYTES,
            **parameters,
        },
        "target": {"directory": str(directory)},
    }
    argv = [str(engine()), "run"]
    done = subprocess.run(argv, input=json.dumps(job), text=True, capture_output=True, check=False)
    if done.returncode != 0:
        sys.exit(done.stderr)
    return [json.loads(line) for line in done.stdout.splitlines()]


def read(directory: Path, parameters: dict[str, object]) -> tuple[Rates, float]:
    """Rates in B/s by metric, and the smallest share that the device delivered."""
    common = {"access": "out-of-cache", "tests": ["read", "stride"], "stride_order": "whole-file"}
    events = iozone(directory, {**common, **parameters})
    samples = [event["data"] for event in events if event["type"] == "sample"]
    rates = {sample["metric"]: sample["value"] for sample in samples}
    return rates, events[-1]["data"]["access"]["delivered"]


def fio(directory: Path, mode: str, moved_bytes: int) -> tuple[float, float]:
    """Rate in B/s and the share that the device delivered; nothing is evicted."""
    before = device_read_bytes(directory)
    argv = ["fio", "--name=advice", f"--filename={directory}/large", "--invalidate=0"]
    argv += [f"--rw={mode}", f"--bs={RECORD_BYTES}", f"--io_size={moved_bytes}", "--readonly"]
    argv += ["--randrepeat=0", "--output-format=json"]
    done = subprocess.run(argv, text=True, capture_output=True, check=True)
    read = json.loads(done.stdout)["jobs"][0]["read"]
    delivered = device_read_bytes(directory) - before
    return read["bw_bytes"], min(1.0, delivered / read["io_bytes"])


def sides(directory: Path, large_bytes: int) -> dict[str, Callable[[], tuple[Rates, float]]]:
    """What is done in each round."""
    ways: dict[str, Callable[[], tuple[Rates, float]]] = {
        "bounded": lambda: read(
            directory, {"file": BOUNDED_BYTES, "name": "small", "existing": "read"}
        ),
        "honest": lambda: read(
            directory,
            {"file": large_bytes, "name": "large", "existing": "read", "cache_limit": "1T"},
        ),
    }
    if shutil.which("fio"):

        def advice() -> tuple[Rates, float]:
            sequential, delivered = fio(directory, "read", large_bytes)
            rate, delivered_at_random = fio(directory, "randread", ADVICE_RANDOM_BYTES)
            told = f"sequential {delivered:.0%}, random {delivered_at_random:.0%}"
            sys.stdout.write(f"  advice: the device delivered {told}\n")
            return {"read": sequential, "random_read": rate}, delivered

        ways["advice"] = advice
    return ways


def measure(directory: Path, large_bytes: int, rounds: int) -> dict[str, list[Rates]]:
    """All rounds: the rates of each way."""
    for name, size_bytes in (("small", BOUNDED_BYTES), ("large", large_bytes)):
        layout = {"file": size_bytes, "name": name, "keep": True}
        iozone(directory, {**layout, "tests": ["write"], "retest": False})
    rng = random.Random(SEED)
    found: dict[str, list[Rates]] = {}
    for number in range(rounds):
        ways = list(sides(directory, large_bytes).items())
        rng.shuffle(ways)
        for way, work in ways:
            rates, delivered = work()
            found.setdefault(way, []).append(rates)
            told = ", ".join(f"{name} {rate / 1e6:.0f} MB/s" for name, rate in rates.items())
            sys.stdout.write(f"{number + 1} {way}: {told}; delivered {delivered:.1%}\n")
            sys.stdout.flush()
    return found


def compare(found: dict[str, list[Rates]], way: str, other: str, metric: str) -> str:
    """One line: the ratio of two ways with its interval."""
    pairs = zip(found[way], found[other], strict=True)
    ratios = np.log([ours[metric] / theirs[metric] for ours, theirs in pairs])
    result = signed_rank(ratios, largest_c(len(ratios), 0.05))
    estimate, low, high = np.exp([result.estimate, result.low, result.high])
    return f"{metric}: {way} / {other} = {estimate:.2f} (95 % {low:.2f} … {high:.2f})\n"


def main() -> None:
    """Print every round, then one line a comparison."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=6)
    parser.add_argument("--directory", type=Path, required=True, help="on a device, with room")
    parser.add_argument("--lock", type=parse_size, default=0, help="memory to take away")
    options = parser.parse_args()
    with (
        locked(options.lock),
        tempfile.TemporaryDirectory(dir=options.directory) as place,
    ):
        large_bytes = 2 * free_memory_bytes() // RECORD_BYTES * RECORD_BYTES
        sys.stdout.write(f"large file: {format_size(large_bytes)}\n")
        if shutil.disk_usage(place).free < large_bytes + 2 * BOUNDED_BYTES:
            sys.exit(f"{options.directory} has no room for it; use --lock or another directory")
        found = measure(Path(place), large_bytes, options.rounds)
    for metric in METRICS:
        sys.stdout.write(compare(found, "bounded", "honest", metric))
    if "advice" in found:
        sys.stdout.write(compare(found, "bounded", "advice", "read"))


if __name__ == "__main__":
    main()
