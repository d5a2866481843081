"""Result files of other tools, read: one file a tool, and one line in the list below.

An importer is handed the bytes of one file and yields what it measured; which system that was, the
file mostly does not say: the person who imports it does.
"""

from tiltyard.importers import (
    aio_stress,
    bonnie,
    compilebench,
    criterion,
    csv_table,
    dbench,
    fdtree,
    fio,
    fs_mark,
    go_testing,
    google_benchmark,
    hyperfine,
    iozone,
    iperf3,
    jmh,
    netperf,
    pgbench,
    phoronix,
    postmark,
    pyperf,
    pytest_benchmark,
    redis_benchmark,
    sockperf,
    stress_ng,
    sysbench,
    tiotest,
)
from tiltyard.importers.importer import Importer

IMPORTERS: tuple[Importer, ...] = (
    iozone.IMPORTER,
    netperf.IMPORTER,
    postmark.IMPORTER,
    fs_mark.IMPORTER,
    tiotest.IMPORTER,
    compilebench.IMPORTER,
    aio_stress.IMPORTER,
    fdtree.IMPORTER,
    fio.IMPORTER,
    iperf3.IMPORTER,
    sockperf.IMPORTER,
    sysbench.IMPORTER,
    hyperfine.IMPORTER,
    bonnie.IMPORTER,
    pgbench.IMPORTER,
    redis_benchmark.IMPORTER,
    stress_ng.IMPORTER,
    dbench.IMPORTER,
    criterion.IMPORTER,
    go_testing.IMPORTER,
    google_benchmark.IMPORTER,
    jmh.IMPORTER,
    pytest_benchmark.IMPORTER,
    pyperf.IMPORTER,
    phoronix.IMPORTER,
    csv_table.IMPORTER,
)
"""All importers; the first one that recognises a file reads it."""
