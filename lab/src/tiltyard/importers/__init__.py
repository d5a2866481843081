"""Result files of other tools, read: one file a tool, and one line in the list below.

An importer is handed the bytes of one file and yields what it measured; which system that was, the
file mostly does not say: the person who imports it does.
"""

from typing import Final

from tiltyard.importers.importer import Importers

IMPORTERS: Final = Importers(
    {
        "iozone": "iozone",
        "netperf": "netperf",
        "postmark": "postmark",
        "fs_mark": "fs_mark",
        "tiotest": "tiotest",
        "compilebench": "compilebench",
        "aio-stress": "aio_stress",
        "fdtree": "fdtree",
        "fio": "fio",
        "iperf3": "iperf3",
        "sockperf": "sockperf",
        "sysbench": "sysbench",
        "hyperfine": "hyperfine",
        "bonnie": "bonnie",
        "pgbench": "pgbench",
        "redis-benchmark": "redis_benchmark",
        "stress-ng": "stress_ng",
        "dbench": "dbench",
        "criterion": "criterion",
        "go-test": "go_testing",
        "google-benchmark": "google_benchmark",
        "jmh": "jmh",
        "pytest-benchmark": "pytest_benchmark",
        "pyperf": "pyperf",
        "perf-stat": "perf_stat",
        "hackbench": "hackbench",
        "will-it-scale": "will_it_scale",
        "lkp": "lkp",
        "phoronix": "phoronix",
        "csv": "csv_table",
    }
)
"""All importers, name → module; the first one that recognises a file reads it."""
