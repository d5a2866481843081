"""What a folder of ``published/`` may say, and what it is told when it says something else."""

from pathlib import Path

import pytest

from tiltyard.errors import UsageError
from tiltyard_published.read import read_publication


def change(path: Path, old: str, new: str) -> None:
    text = path.read_text()
    assert text.count(old) == 1
    path.write_text(text.replace(old, new))


def test_values_have_base_units_and_their_place(folder: Path) -> None:
    study = read_publication(folder)
    (workload,) = study.collection.workloads
    assert [(r.system, r.at, r.mean, r.se, r.n) for r in workload.readings] == [
        ("a", {"record": 4096, "order": "random"}, 3e-7, 1e-7, 3),
        ("b", {"record": 4096, "order": "random"}, 1e-7, None, 3),
        ("a", {"record": 8192, "order": "random"}, 1.7e-6, None, 3),
    ]
    assert 1.7 * 1e-6 != 1.7e-6  # which is why the product is made of decimal digits


@pytest.mark.parametrize("count", ["0", "2.5", "-3", "9" * 5000])
def test_what_is_no_count(folder: Path, count: str) -> None:
    change(folder / "published.toml", "n = 3\n", "")
    change(folder / "table.csv", "4,se,0.1", f"4,n,{count}")
    with pytest.raises(UsageError, match=r'table\.csv:4: column "a": ".* is not a count'):
        read_publication(folder)


def test_the_mark_that_spreadsheets_put_before_utf_8_is_not_part_of_a_table(folder: Path) -> None:
    before = read_publication(folder).collection.workloads
    table = folder / "table.csv"
    table.write_bytes(b"\xef\xbb\xbf" + table.read_bytes().partition(b"\n")[2])
    assert read_publication(folder).collection.workloads == before


def test_derived_numbers_are_kept_apart(folder: Path) -> None:
    ahead, mean = read_publication(folder).derived
    assert (ahead.id, ahead.kind, ahead.of) == ("table-4-mean-b-ahead", "advantage", None)
    assert (ahead.value, ahead.text) == (0.667, "66.7")
    assert ahead.at == {"record": 4096, "order": "random"}
    assert (mean.id, mean.kind, mean.at, mean.value) == ("table-mean-a", "mean", {}, 5e-7)


def test_files_are_known_by_their_hashes(folder: Path) -> None:
    before = read_publication(folder).collection
    assert [file.name for file in before.origin.files] == ["published.toml", "table.csv"]
    change(folder / "table.csv", "# Table 1", "# Table 1, page 2")
    assert read_publication(folder).collection.hash != before.hash


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("4,mean,0.3", "4,mean,O.3", 'table.csv:3: column "a": "O.3" is not a number'),
        ("4,mean,0.3", "4,mean,1e3", 'table.csv:3: column "a": "1e3" is not a number'),
        ("4,mean,0.3", '4,mean,"0.3', "table.csv:3: this is not CSV"),
        ("8,mean,1.7,,", "8,mean,1.7,", "table.csv:5: 4 cells under 5 headings"),
        ("8,mean", "4,mean", 'table.csv:5: column "a": there is already a mean'),
        ("8,mean", "8 KB,mean", 'table.csv:5: column "a": record "8 KB" is not a whole number'),
        ("4,se", "4,sem", 'table.csv:4: column "a": "sem" is not a statistic. One of: mean'),
        (",a,b,b ahead", ",a,c,b ahead", 'table.csv:3: column "c": "c" is not a system. One of: a'),
        (",a,b,b ahead", ",a,b,ahead", 'table.csv:2: there is no column "b ahead"'),
        ("record,what", "what,record", "table.csv:2: the first columns are to be record, what"),
        (",a,b,b ahead", ",a,a,b ahead", "table.csv:2: two columns have the same heading"),
        ("record,what,a,b,", "record;what;a;b,", 'record, what; here is "record;what;a;b,b ahead"'),
        ("4,mean,0.3", "4,mean,0.3\0", 'table.csv:3: column "a": "0.3\\u0000" is not a number'),
        ("4,mean,0.3", f"4,mean,{'9' * 400}", "… is too large for a number"),
        ("4,se,0.1", "4,se,-0.1", 'table.csv:4: column "a": "-0.1" is not a spread'),
        ("8,mean", f"{'9' * 5000},mean", "… is not a whole number of at most 15 digits"),
    ],
)
def test_an_error_of_a_table_names_line_and_column(
    folder: Path, old: str, new: str, message: str
) -> None:
    change(folder / "table.csv", old, new)
    with pytest.raises(UsageError) as caught:
        read_publication(folder)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('baseline = "a"', 'baseline = "c"', 'published.toml:3: baseline: "c" is not a system'),
        ('system = "b", against', 'system = "d", against', 'advantages."b ahead": "d" is not a s'),
        ("n = 3", "n = 0", "published.toml:29: table.n: 0 is too small"),
        ("where =", "were =", "published.toml:26: table.where: is missing"),
        ("n = 3", "N = 3", "published.toml:29: table.N: there is no such key"),
        ("decimals = 1", "digits = 1", ":24: workload.metric.printed.decimals: is missing"),
        ('columns = "system"', 'columns = "systems"', "nothing says of which system this is"),
        (', order = "random"', "", "nothing says at which order this is"),
        ('workload = "reads"', 'workload = "writes"', '"writes" is not a workload. One of: reads'),
        ('file = "table.csv"', 'file = "../table.csv"', "27: table.file: a table is a file beside"),
        ('file = "table.csv"', 'file = "table\\u0000.csv"', "27: table.file: a table is a file"),
        ('name = "b"', 'name = "a"', ':11: system.name: another system has the name "a"'),
        ('{ system = "b" }', '{ kernel = "b" }', ":12: system.levels: every system has a level of"),
        ('against = "a"', 'against = "b"', '"b ahead": "b" is compared with itself'),
        ('file = "table.csv"', 'file = "tabel.csv"', "tabel.csv: No such file or directory"),
        ("[table.advantages]", "[table.advantages", "published.toml:35: this is not TOML"),
    ],
)
def test_an_error_of_the_file_names_line_and_key(
    folder: Path, old: str, new: str, message: str
) -> None:
    change(folder / "published.toml", old, new)
    with pytest.raises(UsageError) as caught:
        read_publication(folder)
    assert message in str(caught.value)


def test_a_table_in_another_encoding_is_told(folder: Path) -> None:
    (folder / "table.csv").write_bytes("# Größe\n".encode("latin-1"))
    with pytest.raises(UsageError, match=r"table\.csv: not a text file in UTF-8"):
        read_publication(folder)
