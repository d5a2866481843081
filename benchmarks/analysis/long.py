"""Long runs: what going on with one, its status, its report and one more trial cost the lab.

python -m benchmarks.analysis.long [--trials 1000 10000 100000] [--directory DIR]
"""

import json
import sys
import tempfile
from pathlib import Path

from benchmarks.harness import CPU, WHOLE
from benchmarks.processes import timed
from benchmarks.table import machine, say
from tiltyard.folder import StudyFolder

from .run import write_run
from .sizes import asked

SIZES = (1_000, 10_000, 100_000)
TRIALS = 20
"""As many are run after each resumption."""


def main() -> None:
    """Print one line a size: CPU time of whole processes, start included, and elapsed time."""
    sizes, directory = asked(__doc__, "--trials", SIZES, "finished ones")
    say(machine())
    say("  trials   journal          status          resume          report  CPU a trial    memory")
    for trials in sizes:
        with tempfile.TemporaryDirectory(dir=directory) as place:
            root = Path(place) / "study"
            journal_bytes = write_run(StudyFolder(root), trials)
            status, report = (
                timed([sys.executable, "-m", "tiltyard", verb, root], Path())[0]
                for verb in ("status", "report")
            )
            command = (sys.executable, "-m", "benchmarks.analysis.run", root, str(TRIALS))
            cost = json.loads(timed(command, Path())[1])
        resume = {CPU: cost["resume_cpu_s"], WHOLE: cost["resume_s"]}
        times = (f"{own[CPU]:5.1f} s ({own[WHOLE]:5.1f})" for own in (status, resume, report))
        say(
            f"{trials:8,}  {journal_bytes / 2**20:4.0f} MiB  {'  '.join(times)}"
            f"  {1e3 * cost['trial_cpu_s']:8.0f} ms  {cost['peak_memory_bytes'] / 2**20:4.0f} MiB"
        )
    say(machine())


if __name__ == "__main__":
    main()
