"""Long runs: what going on with one, its status and one more trial cost the lab.

python -m benchmarks.analysis.long [--trials 1000 10000 100000] [--directory DIR]
"""

import argparse
import json
import sys
import tempfile
from pathlib import Path

from benchmarks.harness import CPU, WHOLE
from benchmarks.processes import timed
from tiltyard.folder import StudyFolder

from .run import write_run

SIZES = (1_000, 10_000, 100_000)
TRIALS = 20
"""As many are run after each resumption."""


def main() -> None:
    """Print one line a size: times are those of whole processes, start included."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trials", type=int, nargs="+", default=SIZES, help="finished ones")
    parser.add_argument("--directory", type=Path, help="to write the studies in")
    options = parser.parse_args()
    _say("  trials   journal       status (CPU)      resume (CPU)   CPU a trial   peak memory")
    for trials in sorted(options.trials):
        with tempfile.TemporaryDirectory(dir=options.directory) as place:
            root = Path(place) / "study"
            journal_bytes = write_run(StudyFolder(root), trials)
            status, _ = timed([sys.executable, "-m", "tiltyard", "status", str(root)], Path())
            command = [sys.executable, "-m", "benchmarks.analysis.run", str(root), str(TRIALS)]
            cost = json.loads(timed(command, Path())[1])
        _say(
            f"{trials:8,}  {journal_bytes / 2**20:4.0f} MiB"
            f"  {status[WHOLE]:6.1f} s ({status[CPU]:4.1f} s)"
            f"  {cost['resume_s']:7.1f} s ({cost['resume_cpu_s']:4.1f} s)"
            f"  {1e3 * cost['trial_cpu_s']:8.0f} ms  {cost['peak_memory_bytes'] / 2**20:8.0f} MiB"
        )


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
