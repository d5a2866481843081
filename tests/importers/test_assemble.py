"""Many files of many systems made one collection, and what contradicts is refused."""

import itertools
from dataclasses import replace

import pytest

from tiltyard.collected.model import CollectedMetric, Reading
from tiltyard.errors import UsageError
from tiltyard.importers.assemble import ImportOptions, ReadFile, assemble
from tiltyard.importers.importer import Imported, ImportedWorkload, Measured
from tiltyard.importers.quantities import KIB_S, MIB_S, SECONDS, metric

NUMBERS = itertools.count()
WRITE = metric("write", KIB_S, 0)


def file(
    system: str | None,
    *measured: Measured,
    made: CollectedMetric = WRITE,
    parameters: dict[str, str] | None = None,
    facts: dict[str, str] | None = None,
    data: bytes | None = None,
) -> ReadFile:
    """A file of one workload; each has bytes of its own unless they are told."""
    number = next(NUMBERS)
    workload = ImportedWorkload("w", "tool", (made,), measured, parameters=parameters or {})
    return ReadFile(
        f"{number}.txt",
        str(number).encode() if data is None else data,
        system,
        "tool",
        Imported((workload,), facts=facts or {}, limits=("A limit.",)),
    )


def one(value: float, **at: int) -> Measured:
    return Measured("write", at, (value,))


def readings(*files: ReadFile, options: ImportOptions | None = None) -> dict[str, Reading]:
    collection = assemble(files, options or ImportOptions())
    return {reading.system: reading for reading in collection.workloads[0].readings}


def test_files_of_a_system_are_repetitions_in_the_order_given() -> None:
    found = readings(file("a", one(3)), file("b", one(9)), file("a", one(1)), file("a", one(2)))
    assert found["a"].values == (3, 1, 2)
    assert found["a"].blocks == ()
    assert found["b"].values == (9,)


def test_other_cells_are_no_repetitions() -> None:
    collection = assemble(
        [file("a", one(3, record=4)), file("a", one(5, record=8))], ImportOptions()
    )
    assert [reading.values for reading in collection.workloads[0].readings] == [(3,), (5,)]


def test_the_first_system_is_the_baseline_and_nothing_is_claimed_of_order() -> None:
    collection = assemble([file("b", one(3)), file("a", one(5))], ImportOptions())
    assert collection.baseline == "b"
    assert [system.name for system in collection.systems] == ["b", "a"]
    assert not collection.kept.order
    assert not collection.kept.interleaved
    assert collection.kept.limits == ("A limit.",)


def test_blocks_pair_the_files_of_all_systems() -> None:
    files = [file("a", one(1)), file("a", one(2)), file("b", one(3)), file("b", one(4))]
    options = ImportOptions(blocks=True, order_given=True)
    found = readings(*files, options=options)
    assert found["a"].blocks == found["b"].blocks == (1, 2)
    kept = assemble(files, options).kept
    assert kept.order
    assert kept.interleaved


def test_blocks_want_as_many_files_of_each_system() -> None:
    files = [file("a", one(1)), file("a", one(2)), file("b", one(3))]
    with pytest.raises(UsageError, match="a has 2 and b has 1"):
        assemble(files, ImportOptions(blocks=True))


def test_systems_that_take_turns_in_the_order_given_are_blocks() -> None:
    files = [file(name, one(1.0)) for name in "abba"]
    assert readings(*files)["a"].blocks == ()
    found = readings(*files, options=ImportOptions(order_given=True))
    assert found["a"].blocks == found["b"].blocks == (1, 2)
    in_heaps = [file(name, one(1.0)) for name in "aabb"]
    assert readings(*in_heaps, options=ImportOptions(order_given=True))["a"].blocks == ()


def test_what_a_file_repeats_is_one_value_however_it_is_told() -> None:
    at_once = file("a", Measured("write", values=(1, 2, 6)))
    again = file("a", one(2), one(4))
    found = readings(at_once, again, file("a", one(5)))["a"]
    assert (found.values, found.within) == ((3, 3, 5), ((1, 2, 6), (2, 4), (5,)))
    assert readings(file("a", one(3)), file("a", one(1)))["a"].within == ()


def test_what_a_file_repeats_is_one_value_of_a_round() -> None:
    files = [file("a", one(1), one(2)), file("b", one(3))]
    found = readings(*files, options=ImportOptions(blocks=True))
    assert (found["a"].values, found["a"].blocks) == ((1.5,), (1,))


def test_rows_that_a_person_explains_stay_apart() -> None:
    rows = file("a", one(1), one(2))
    rows = replace(rows, imported=replace(rows.imported, rows=True))
    assert readings(rows)["a"].values == (1, 2)
    with pytest.raises(UsageError, match=r"txt: write of a: is of a round that has a value"):
        assemble([rows, file("b", one(3))], ImportOptions(blocks=True))


def test_levels_are_the_parts_of_a_name() -> None:
    files = [file("ext4/3.12", one(1)), file("ext4/3.13", one(2))]
    found = assemble(files, ImportOptions(factors=("filesystem", "kernel"))).systems
    assert [system.levels for system in found] == [
        {"filesystem": "ext4", "kernel": "3.12"},
        {"filesystem": "ext4", "kernel": "3.13"},
    ]
    with pytest.raises(UsageError, match="should have 2 parts, one for each factor"):
        assemble([file("ext4", one(1))], ImportOptions(factors=("filesystem", "kernel")))


def test_the_same_bytes_count_once() -> None:
    with pytest.raises(UsageError, match=r"the same bytes as .*; a result counts once"):
        assemble([file("a", one(1), data=b"x"), file("b", one(2), data=b"x")], ImportOptions())


def test_a_file_that_does_not_name_its_system_wants_a_name() -> None:
    with pytest.raises(UsageError, match="does not say which system it is of; write NAME="):
        assemble([file(None, one(1))], ImportOptions())


def test_a_file_with_several_systems_takes_no_name() -> None:
    own = [Measured("write", values=(1,), system=name) for name in ("x", "y")]
    assert set(readings(file(None, *own))) == {"x", "y"}
    with pytest.raises(UsageError, match=r'names its systems itself \("x" and "y"\); give it with'):
        assemble([file("a", *own)], ImportOptions())


def test_a_name_that_is_given_takes_the_place_of_the_files_own() -> None:
    assert set(readings(file("a", Measured("write", values=(1,), system="host")))) == {"a"}


@pytest.mark.parametrize("name", ["", " a", "a\nb", "x" * 81, "\x1b[2J"])
def test_names_that_no_report_can_print_are_refused(name: str) -> None:
    with pytest.raises(UsageError, match="cannot name a system"):
        assemble([file(name, one(1))], ImportOptions())


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        (" a", "a"),
        ("a\nb", "a b"),
        ("\x1b[2J", "�[2J"),
        ("x" * 100, f"{'x' * 39}…{'x' * 40}"),
    ],
)
def test_names_of_a_file_are_made_one_line_that_has_room(given: str, shown: str) -> None:
    own = Measured("write", values=(1,), system=given)
    assert set(readings(file(None, own))) == {shown}


def test_names_that_differ_in_the_middle_only_are_numbered() -> None:
    own = [Measured("write", values=(1,), system=f"{'x' * 50}{n}{'x' * 50}") for n in (1, 2)]
    (first, second) = readings(file(None, *own))
    assert second == f"{first[:75]} (2)"


def test_too_many_systems_are_refused() -> None:
    own = [Measured("write", values=(1,), system=f"s{number}") for number in range(65)]
    with pytest.raises(UsageError, match="65 systems; at most 64"):
        assemble([file(None, *own)], ImportOptions())


def test_other_units_of_the_same_metric_are_refused() -> None:
    files = [file("a", one(1)), file("b", one(2), made=metric("write", SECONDS, 0))]
    with pytest.raises(UsageError, match=r"w write is in s, lower is better; in .* in B/s, higher"):
        assemble(files, ImportOptions())


def test_the_same_unit_printed_otherwise_is_joined() -> None:
    files = [file("a", one(1)), file("b", one(2), made=metric("write", MIB_S, 2))]
    assert assemble(files, ImportOptions()).workloads[0].metrics[0].printed is None


def test_values_over_other_dimensions_are_refused() -> None:
    files = [file("a", one(1, record=4)), file("b", one(2))]
    with pytest.raises(UsageError, match=r"stands over nothing, in .* over record; import them"):
        assemble(files, ImportOptions())


def test_means_are_not_repetitions() -> None:
    summary = Measured("write", mean=5.0, sd=1.0, n=3)
    assert readings(file("a", summary))["a"].n == 3
    with pytest.raises(UsageError, match="means are not repetitions"):
        assemble([file("a", summary), file("a", one(1))], ImportOptions())


def test_percentiles_of_several_files_are_left_out_and_that_is_said() -> None:
    own = Measured("write", values=(1.0,), percentiles={"p99": 2.0})
    assert readings(file("a", own))["a"].percentiles == {"p99": 2.0}
    collection = assemble([file("a", own), file("a", own)], ImportOptions())
    assert collection.workloads[0].readings[0].percentiles == {}
    assert any("percentiles of several executions" in limit for limit in collection.kept.limits)


def test_parameters_that_differ_are_said() -> None:
    files = [
        file("a", one(1), parameters={"size": "4k", "seed": "1"}),
        file("b", one(2), parameters={"size": "8k", "seed": "1"}),
    ]
    collection = assemble(files, ImportOptions())
    assert collection.workloads[0].parameters == {"size": "4k; 8k", "seed": "1"}
    assert collection.kept.limits[-1] == (
        "w: size is not the same everywhere (4k: a; 8k: b), so a difference between systems may "
        "come of that."
    )


def test_what_all_systems_share_is_the_hosts() -> None:
    files = [
        file("a", one(1), facts={"kernel": "6.1", "fs": "ext4"}),
        file("b", one(2), facts={"kernel": "6.1", "fs": "xfs"}),
    ]
    collection = assemble(files, ImportOptions())
    assert collection.host == {"kernel": "6.1"}
    assert [system.facts for system in collection.systems] == [{"fs": "ext4"}, {"fs": "xfs"}]
