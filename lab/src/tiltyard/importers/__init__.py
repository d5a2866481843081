"""Result files of other tools, read: one file a tool, and one line in the list below.

An importer is handed the bytes of one file and yields what it measured; which system that was, the
file mostly does not say: the person who imports it does.
"""

from tiltyard.importers import (
    aio_stress,
    bonnie,
    compilebench,
    csv_table,
    fdtree,
    fio,
    fs_mark,
    hyperfine,
    iozone,
    iperf3,
    netperf,
    phoronix,
    postmark,
    sockperf,
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
    phoronix.IMPORTER,
    csv_table.IMPORTER,
)
"""All importers; the first one that recognises a file reads it."""
