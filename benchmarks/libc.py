"""``python -m benchmarks.libc``: the same calls of a static program, with glibc and with musl.

Both are executed in turns, in random order; a line gives the medians of CPU time, and the median of
the paired ratios with their sixth and sixteenth of 21 (96 % confidence, by the binomial law).
"""

import random
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

SOURCE = Path(__file__).with_suffix(".c")
COMPILERS = {"glibc": "gcc", "musl": "musl-gcc"}
ROUNDS, LOW, HIGH = 21, 5, 15


def main() -> None:
    """Build, run, print."""
    generator = random.Random(4711)
    times: dict[str, dict[str, list[float]]] = {}
    with tempfile.TemporaryDirectory() as scratch:
        for libc, compiler in COMPILERS.items():
            command = (compiler, "-O2", "-fno-builtin", "-static", str(SOURCE))
            subprocess.run((*command, "-o", f"{scratch}/{libc}"), check=True)
        for _ in range(ROUNDS):
            for libc in generator.sample(sorted(COMPILERS), len(COMPILERS)):
                done = subprocess.run(
                    (f"{scratch}/{libc}",), check=True, capture_output=True, text=True
                )
                for line in done.stdout.splitlines():
                    call, _, value = line.rpartition(" ")
                    times.setdefault(call, {name: [] for name in COMPILERS})[libc].append(
                        float(value)
                    )
    for call, by_libc in times.items():
        ratios = sorted(
            musl / glibc for glibc, musl in zip(by_libc["glibc"], by_libc["musl"], strict=True)
        )
        medians = " | ".join(f"{statistics.median(by_libc[libc]):.1f} ns" for libc in COMPILERS)
        spread = f"{statistics.median(ratios):.2f} [{ratios[LOW]:.2f} … {ratios[HIGH]:.2f}]"
        sys.stdout.write(f"| {call} | {medians} | {spread} |\n")


if __name__ == "__main__":
    main()
