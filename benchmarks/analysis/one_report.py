"""Report one study folder in one format as the command does, and print the cost as a line of JSON.

python -m benchmarks.analysis.one_report FOLDER FORMAT

FORMAT may be ``all``.
"""

import json
import resource
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from tiltyard.app.report import concluded, write_report
from tiltyard.report.formats import FORMATS

FINDINGS = "findings.json"
ALL = "all"


def main() -> None:
    """In a process of its own, so that its time and its peak of memory are those of one report."""
    place, name = Path(sys.argv[1]), sys.argv[2]
    forms = [form for form in FORMATS if name in (form.name, ALL)]
    found = concluded(place, None, place / f"report-{name}")
    begin_s = time.process_time()
    write_report(found, forms)
    cost = {
        "reporting_s": time.process_time() - begin_s,
        "peak_memory_bytes": 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss,
        "size_bytes": sum(path.stat().st_size for path in _files(found.folder)),
    }
    sys.stdout.write(json.dumps(cost))


def _files(report: Path) -> Iterator[Path]:
    """What the format wrote: the findings lie beside it."""
    return (path for path in report.rglob("*.*") if path.name != FINDINGS)


if __name__ == "__main__":
    main()
