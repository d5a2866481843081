"""CSV by a mapping: nothing is guessed."""

from pathlib import Path

import pytest

from support.imports import golden
from tiltyard.errors import UsageError
from tiltyard.importers import csv_table
from tiltyard.importers.importer import Imported

WIDE = golden("csv/wide.toml").read_text()
LONG = golden("csv/long.toml").read_text()


def read(mapping: str, text: str, place: Path) -> Imported:
    path = place / "map.toml"
    path.write_text(mapping)
    return csv_table.importer(path).read(text.encode(), "a.csv")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (('decimal   = "."\n', ""), ":1: decimal: is missing. Fix: decimal = "),
        (('decimal   = "."', 'decimal = ","'), "thousands and decimal are the same"),
        (('unit      = "MB/s"\n', ""), ':10: metrics.write.unit: is missing. Fix: unit = "MB/s"'),
        (('column    = "Write MB/s"\n', ""), "each metric needs its column"),
        (("[at]", "[att]"), ":7: att: there is no such key. One of: delimiter, decimal"),
        (('"Threads"', '"Threads", unit = "KB"'), 'at.threads: "KB" is not one of B, KiB'),
        (('delimiter = ","', 'delimiter = ","\nmetric = { column = "x" }'), "metric and value go"),
        (("[metrics.p99]", "[metrics.p99"), "Expected"),
        (('delimiter = ","', "delimiter = '\"'"), ':1: delimiter: "\\"" does not match'),
        (('unit      = "MB/s"', 'unit = ""'), "metrics.write.unit: is empty"),
    ],
)
def test_a_mapping_that_says_too_little_is_refused(
    change: tuple[str, str], message: str, tmp_path: Path
) -> None:
    with pytest.raises(UsageError, match=r"^\S*map\.toml:\d+: ") as refused:
        read(WIDE.replace(*change), "x\n", tmp_path)
    assert message in str(refused.value)


def test_all_that_a_mapping_lacks_is_said_at_once(tmp_path: Path) -> None:
    with pytest.raises(UsageError) as refused:
        read("[at]\n", "x\n", tmp_path)
    for fix in ('delimiter = ","', 'decimal = "."', 'workload = "NAME"', "[metrics.NAME] with"):
        assert f"is missing. Fix: {fix}" in str(refused.value)
    with pytest.raises(UsageError, match=r'^a\.csv:1: "Threads" is not.*; "p99 ms" is not a col'):
        read(WIDE, "System,Write MB/s\n", tmp_path)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("System,Threads,p99 ms\n", '1: "Write MB/s" is not a column; there are: System, Threads,'),
        ("System,Threads,Write MB/s,p99 ms,Threads\n", '1: "Threads" is the name of two columns'),
        ("System,Threads,Write MB/s,p99 ms\next4,1,5\n", "2: 3 fields under a head of 4"),
        ('System,Threads,Write MB/s,p99 ms\next4,1,"1,2",3\n', '2: "1,2" should be a number: ","'),
        ("System,Threads,Write MB/s,p99 ms\next4,1,-5,3\n", '2: "-5" should be a number: it is'),
        ("System,Threads,Write MB/s,p99 ms\n,1,5,3\n", "2: nothing stands in the column of"),
        ('System,Threads,Write MB/s,p99 ms\next4,"1,5,3\n', "2: not CSV: unexpected end of data"),
    ],
)
def test_a_row_that_is_otherwise_than_the_mapping_says_is_refused(
    text: str, message: str, tmp_path: Path
) -> None:
    with pytest.raises(UsageError) as refused:
        read(WIDE, text, tmp_path)
    assert str(refused.value).startswith(f"a.csv:{message}")


def test_a_decimal_comma_is_one_only_where_it_is_stated(tmp_path: Path) -> None:
    text = "test;fs;round;record;what;value\nmail;ext4;1;4;throughput;{}\n"
    found = read(LONG, text.format("1.234,5"), tmp_path).workloads[0].measured[0]
    assert found.values == (1234.5e6,)
    assert found.at == {"record": 4096}
    with pytest.raises(UsageError, match=r'a\.csv:2: "1234\.5" should be a number: "\." does not'):
        read(LONG, text.format("1234.5"), tmp_path)
    english = LONG.replace('decimal   = ","', 'decimal = "."').replace('thousands = "."\n', "")
    with pytest.raises(UsageError, match=r'it has a ",", and the mapping says decimal = "\."'):
        read(english, text.format("1234,5"), tmp_path)


def test_a_block_has_one_value_of_a_cell(tmp_path: Path) -> None:
    row = "mail;ext4;1;4;throughput;1,5\n"
    with pytest.raises(UsageError, match=r"a\.csv:3: a second value of throughput in block 1"):
        read(LONG, f"test;fs;round;record;what;value\n{row}{row}", tmp_path)


def test_blocks_may_be_numbered_from_0(tmp_path: Path) -> None:
    rows = "test;fs;round;record;what;value\nmail;ext4;{};4;throughput;1,5\n"
    found = read(LONG, rows.format(0), tmp_path).workloads[0].measured[0]
    assert found.blocks == (0,)
    with pytest.raises(UsageError, match=r"a\.csv:2: a block is a whole number from 0 on"):
        read(LONG, rows.format("0,5"), tmp_path)


def test_an_empty_field_is_missing(tmp_path: Path) -> None:
    found = read(WIDE, "System,Threads,Write MB/s,p99 ms\next4,1,,\nxfs,1,0,\n", tmp_path)
    assert [(one.system, one.values) for one in found.workloads[0].measured] == [("xfs", (0.0,))]


def test_columns_that_the_mapping_does_not_name_are_told(tmp_path: Path) -> None:
    head = "System,Threads,Write MB/s,p99 ms"
    assert not read(WIDE, f"{head}\next4,1,5,3\n", tmp_path).limits
    (told,) = read(WIDE, f"{head},CPU,Note\next4,1,5,3,7,x\n", tmp_path).limits
    assert told == "a.csv: left out, as the mapping does not name them: CPU, Note."


def test_a_mapping_is_a_plain_file() -> None:
    with pytest.raises(UsageError, match=r"^/dev/zero: not a plain file"):
        csv_table.importer(Path("/dev/zero"))


def test_a_csv_without_mapping_is_told_what_it_needs() -> None:
    with pytest.raises(UsageError, match=r"^a\.csv: a CSV needs --mapping FILE"):
        csv_table.IMPORTER.read(b"a,b\n", "a.csv")
