"""The tables are those that were printed: all of them, and every digit."""

import csv
from collections import Counter
from decimal import Decimal

from support.publications import PUBLISHED, STUDIES
from tiltyard.collected.model import CollectedMetric, Reading
from tiltyard_published.read import Publication

TABLES = {
    "iozone-magazine/table-1": (6, "32372.18"),
    "iozone-magazine/table-2": (36, "10704693.61"),
    "iozone-magazine/table-3": (42, "1642722.57"),
    "iozone-magazine/table-4": (36, "9253615.15"),
    "iozone-magazine/table-5": (42, "1921526.95"),
    "iozone-magazine/table-6": (36, "6861034.09"),
    "iozone-magazine/table-7": (42, "1994708.75"),
    "iozone-magazine/table-8": (36, "6663426.68"),
    "iozone-magazine/table-9": (42, "2039229.90"),
    "iozone-rhel6/figure-1-ext4-ntfs": (18, "23242997.3"),
    "iozone-rhel6/figure-1-xfs-refs": (18, "22630136.9"),
    "iozone-rhel6/figure-23": (384, "1894295708"),
    "iozone-rhel6/figure-24": (384, "1335624203"),
    "iozone-rhel6/figure-25": (384, "479939364"),
    "iozone-rhel6/figure-26": (384, "437965249"),
    "iozone-rhel6/figure-27": (8, "5399908"),
    "iozone-rhel6/figure-28": (8, "4906936"),
    "linux-3.13/aio-stress": (18, "8838.76"),
    "linux-3.13/compilebench": (54, "20454.74"),
    "linux-3.13/fs-mark": (54, "800.75"),
    "linux-3.13/iozone": (18, "781.17"),
    "linux-3.13/postmark": (18, "36281.49"),
    "linux-3.13/tiobench": (72, "100.47"),
    "netperf-rhel6/figure-10": (72, "3222.05"),
    "netperf-rhel6/figure-2": (72, "229475.29"),
    "netperf-rhel6/figure-4": (72, "175987.49"),
    "netperf-rhel6/figure-9": (72, "3493.84"),
}
"""Numbers in each table and their sum, added up from the prints by other means than our reader."""

LEADING = {"system", "file size (KB)", "I/O method", "message size (B)", "file system"} | {
    "statistic",
    "test",
    "size per thread (MB)",
}


def numbers(name: str) -> list[str]:
    """The numbers of a table as they are typed, without the reader of ours."""
    lines = (PUBLISHED / f"{name}.csv").read_text().splitlines()
    heads, *rows = csv.reader(line for line in lines if not line.startswith("#"))
    first = next(place for place, head in enumerate(heads) if head not in LEADING)
    return [text for row in rows for text in row[first:]]


def test_every_table_is_there_with_all_its_numbers() -> None:
    tables = sorted(str(path.relative_to(PUBLISHED))[:-4] for path in PUBLISHED.glob("*/*.csv"))
    found = {name: numbers(name) for name in tables}
    assert {
        name: (len(texts), str(sum(map(Decimal, texts)))) for name, texts in found.items()
    } == TABLES


def test_every_table_says_where_it_is_printed() -> None:
    for path in PUBLISHED.glob("*/*.csv"):
        assert path.read_text().startswith("# "), path


def test_studies_have_what_was_printed(publications: dict[str, Publication]) -> None:
    counts = {
        name: (
            len(one.collection.systems),
            [len(workload.readings) for workload in one.collection.workloads],
            len(one.derived),
        )
        for name, one in publications.items()
    }
    assert counts == {
        "iozone-magazine": (3, [3, 72, 84], 0),
        "iozone-rhel6": (8, [768, 16, 768], 24 + 12),
        "linux-3.13": (6, [18, 24, 18, 6, 6, 6], 0),
        "netperf-rhel6": (4, [48, 48, 44, 44], 2 * 24 + 2 * (22 + 4 + 2)),
        "postmark-systems": (8, [0], 0),
    }


def test_every_number_is_printed_again_as_it_was(publications: dict[str, Publication]) -> None:
    for study in STUDIES:
        one = publications[study]
        again = Counter(derived_text(number.value, number) for number in one.derived)
        for workload in one.collection.workloads:
            metrics = {metric.name: metric for metric in workload.metrics}
            for reading in workload.readings:
                again.update(texts(reading, metrics[reading.metric]))
        printed = Counter(
            text for name in TABLES if name.startswith(f"{study}/") for text in numbers(name)
        )
        counted = Counter(  # where the text tells N of a whole table, it is in no cell of it
            str(reading.n)
            for workload in one.collection.workloads
            for reading in workload.readings
            if reading.n is not None and study == "iozone-magazine"
        )
        assert again == printed + counted, study


def derived_text(value: float, number: object) -> str:
    printed = number.printed  # type: ignore[attr-defined]
    return f"{value / printed.factor:.{printed.decimals}f}"


def texts(reading: Reading, metric: CollectedMetric) -> list[str]:
    """A reading as its source prints it; a spread has two digits everywhere."""
    assert metric.printed is not None
    assert reading.mean is not None
    factor = metric.printed.factor
    found = [f"{reading.mean / factor:.{metric.printed.decimals}f}"]
    found += [f"{s / factor:.2f}" for s in (reading.sd, reading.se) if s is not None]
    return [*found, *([] if reading.n is None else [str(reading.n)])]
