"""Read and analyse one study folder, and print what it cost as one line of JSON.

python -m benchmarks.analysis.once FOLDER
"""

import json
import resource
import sys
import time
from pathlib import Path

from tiltyard.analysis.findings import analyse
from tiltyard.folder import StudyFolder
from tiltyard.plan.store import read_plan
from tiltyard.run.read import read_run


def main() -> None:
    """In a process of its own, so that its peak of memory is that of this study."""
    folder = StudyFolder(Path(sys.argv[1]))
    plan = read_plan(folder)
    begin = time.process_time(), time.perf_counter()
    run = read_run(folder, plan)
    read = time.process_time(), time.perf_counter()
    findings = analyse(plan, run)
    end = time.process_time(), time.perf_counter()
    findings.model_dump_json()
    written = time.process_time()
    cost = {
        "read_cpu_s": read[0] - begin[0],
        "read_s": read[1] - begin[1],
        "cpu_s": end[0] - read[0],
        "elapsed_s": end[1] - read[1],
        "write_cpu_s": written - end[0],
        "peak_memory_bytes": 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss,
        "comparisons": findings.family,
    }
    sys.stdout.write(json.dumps(cost))


if __name__ == "__main__":
    main()
