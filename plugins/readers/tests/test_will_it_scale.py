"""will-it-scale: which test a table is of, and rates that were not measured."""

import pytest

from support.imports import collected
from tiltyard.errors import UsageError
from tiltyard.importers import IMPORTERS
from tiltyard.importers.importer import Imported
from tiltyard.importers.sniff import importer_of, read_with

HEAD = "tasks,processes,processes_idle,threads,threads_idle,linear\n0,0,100,0,100,0\n"
TABLE = f"{HEAD}1,500,50.0,400,50.0,500\n2,900,0.0,-1,0.0,1000\n"


def read(text: str, name: str) -> Imported:
    data = text.encode()
    assert importer_of(data, name, IMPORTERS).name == "will-it-scale"
    return read_with(IMPORTERS.named("will-it-scale"), data, name)


@pytest.mark.parametrize(
    ("before", "name", "workload"),
    [
        ("", "brk1.csv", "will-it-scale brk1"),
        ("", "results/6.8-page_fault3-2.csv", "will-it-scale page_fault3"),
        ("", "brk1/sched_yield.csv", "will-it-scale sched_yield"),
        ("#./runtest.py pread2\n", "a.txt", "will-it-scale pread2"),
        ("Running dup1\n", "a.txt", "will-it-scale dup1"),
        ("", "a.csv", "will-it-scale"),
        ("", "unread10.csv", "will-it-scale"),
    ],
)
def test_the_test_is_that_of_the_line_before_or_of_the_file(
    before: str, name: str, workload: str
) -> None:
    found = read(before + TABLE, name)
    assert [one.name for one in found.workloads] == [workload]
    unnamed = any("neither the file nor its name says" in limit for limit in found.limits)
    assert unnamed == (workload == "will-it-scale")


def test_a_rate_that_was_not_measured_is_missing() -> None:
    found = read(TABLE, "brk1.csv")
    assert [(one.metric, one.at["tasks"], one.values) for one in found.workloads[0].measured] == [
        ("processes", 1, (500.0,)),
        ("threads", 1, (400.0,)),
        ("processes", 2, (900.0,)),
    ]
    assert found.limits == ("brk1.csv: threads of brk1 left out in 1 row: not run, or failed.",)


def test_tables_of_one_test_are_repetitions_and_those_of_another_are_its_own() -> None:
    text = (
        f"Running brk1\n{TABLE}Running brk1\n{TABLE.replace('500,5', '510,5')}Running dup1\n{TABLE}"
    )
    workloads = {one.name: one for one in collected(read(text, "a")).workloads}
    assert workloads.keys() == {"will-it-scale brk1", "will-it-scale dup1"}
    first = workloads["will-it-scale brk1"].readings[0]
    assert (first.values, first.within) == ((505.0,), ((500.0, 510.0),))


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (TABLE * 2, "a.csv:5: a second table, and nothing says of which test"),
        (f"{HEAD}1,500,50.0,400\n", "a.csv:3: 4 fields under a head of 6"),
    ],
)
def test_what_is_not_known_is_refused(text: str, why: str) -> None:
    with pytest.raises(UsageError, match=why):
        read(text, "a.csv")
