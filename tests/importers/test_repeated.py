"""What one file repeats is one value in every reader: no winner comes of a single sequence."""

from collections.abc import Sequence

import numpy as np
import pytest

from support.imports import GENUINE, Genuine, collected
from tiltyard.analysis.collected import analyse_collection
from tiltyard.analysis.model import Comparison
from tiltyard.errors import UsageError
from tiltyard.importers import IMPORTERS
from tiltyard.importers.assemble import ImportOptions, ReadFile, assemble
from tiltyard.importers.names import told_apart
from tiltyard.importers.sniff import read_with
from tiltyard.stats.types import FloatArray


def go(times_ns: Sequence[float]) -> str:
    """What ``go test -bench . -count N`` prints."""
    return "".join(f"BenchmarkSort-8  1000  {one:.0f} ns/op\n" for one in times_ns)


def google(times_ns: Sequence[float]) -> str:
    """What ``--benchmark_repetitions=N --benchmark_format=json`` prints."""
    entries = ",".join(
        f'{{"name": "sort", "real_time": {one}, "cpu_time": {one}, "time_unit": "ns"}}'
        for one in times_ns
    )
    return f'{{"benchmarks": [{entries}]}}\n'


def google_means(times_ns: Sequence[float]) -> str:
    """The same with ``--benchmark_report_aggregates_only``."""
    mean, sd = float(np.mean(times_ns)), float(np.std(times_ns, ddof=1))
    entries = ",".join(
        f'{{"name": "sort_{kind}", "run_name": "sort", "aggregate_name": "{kind}", '
        f'"repetitions": {len(times_ns)}, "real_time": {one}, "cpu_time": {one}, '
        '"time_unit": "ns"}'
        for kind, one in (("mean", mean), ("stddev", sd))
    )
    return f'{{"benchmarks": [{entries}]}}\n'


def hyperfine(times_ns: Sequence[float]) -> str:
    """What ``--export-json`` writes of one command."""
    times = [one * 1e-6 for one in times_ns]
    return (
        f'{{"results": [{{"command": "sort", "mean": {np.mean(times)}, "median": 1, '
        f'"times": {times}}}]}}\n'
    )


def pyperf(times_ns: Sequence[float]) -> str:
    """A worker process for each."""
    runs = ",".join(f'{{"values": [{one * 1e-9}]}}' for one in times_ns)
    return f'{{"benchmarks": [{{"metadata": {{"name": "sort"}}, "runs": [{runs}]}}]}}\n'


def jmh(times_ns: Sequence[float]) -> str:
    """A fork for each."""
    raw = [[one] for one in times_ns]
    return (
        f'[{{"jmhVersion": "1.37", "benchmark": "a.Sort.sort", "mode": "avgt", "threads": 1, '
        f'"forks": {len(raw)}, "primaryMetric": {{"score": 1, "scoreUnit": "ns/op", '
        f'"scorePercentiles": {{}}, "rawData": {raw}}}}}]\n'
    )


def perf_stat(times_ns: Sequence[float]) -> str:
    """What ``perf stat -r N`` prints of its runs."""
    mean, sd = float(np.mean(times_ns)) * 1e-6, float(np.std(times_ns, ddof=1)) * 1e-6
    share = 100 * sd / mean / len(times_ns) ** 0.5
    return (
        f" Performance counter stats for 'sort' ({len(times_ns)} runs):\n\n"
        f"  {mean:.6f} +- {sd:.6f} seconds time elapsed  ( +-  {share:.2f}% )\n"
    )


WRITERS = {
    "go-test": go,
    "google-benchmark": google,
    "google-benchmark, means": google_means,
    "hyperfine": hyperfine,
    "pyperf": pyperf,
    "jmh": jmh,
    "perf-stat, means": perf_stat,
}


def judged(kind: str, sides: dict[str, FloatArray], options: ImportOptions) -> Comparison:
    """The comparison of time; each row of a side is a file."""
    reader = IMPORTERS.named(kind.partition(",")[0])
    texts = [
        (system, WRITERS[kind](row.tolist()).encode())
        for rows in zip(*sides.values(), strict=True)
        for system, row in zip(sides, rows, strict=True)
    ]
    files = [
        ReadFile(f"{place}", data, system, reader.name, read_with(reader, data, f"{place}"))
        for place, (system, data) in enumerate(texts)
    ]
    (workload,) = analyse_collection(assemble(files, options)).workloads
    return next(iter(workload.index.comparisons))


def sides(files: int, apart: float, between: float) -> dict[str, FloatArray]:
    """Ten times of each file: what a process shares, and a noise of a tenth of it."""
    rng = np.random.default_rng(1)
    return {
        name: 1e4 * np.exp(
            level + between * (rng.normal(0, 1, (files, 1)) + 0.1 * rng.normal(0, 1, (files, 10)))
        )
        for name, level in (("a", 0.0), ("b", apart))
    }  # fmt: skip


@pytest.mark.parametrize("file", GENUINE, ids=lambda file: file.name)
def test_a_file_has_one_value_of_each_cell(file: Genuine) -> None:
    """But for CSV, of which a person says what a row is, and LKP, which collects runs."""
    found = file.read()
    assert found.rows == (file.path.parent.name in ("csv", "lkp"))
    for workload in collected(found).workloads:
        for reading in workload.readings:
            if not found.rows:
                assert len(reading.values) == 1
                assert reading.sd is reading.se is reading.n is None


@pytest.mark.parametrize("kind", WRITERS)
def test_one_sequence_of_each_side_has_no_verdict_and_says_why(kind: str) -> None:
    """Ten repetitions that agree to 0.1 %, 2 % apart: what a layout in memory does."""
    found = judged(kind, sides(1, 0.02, 0.001), ImportOptions())
    assert (found.verdict, found.low) == ("undecided", None)
    assert found.sentence.endswith(
        "undecided, because repetitions of both were not kept."
        if kind.endswith("means")
        else "undecided, because each side is one sequence: what a file repeats shares its process "
        "or its hour, so it is one value; 3 files of each side that took turns are the fewest."
    )


@pytest.mark.parametrize("kind", WRITERS)
def test_files_are_what_is_replicated(kind: str) -> None:
    """Repetitions that agree make no file surer: its process shifts all of them."""
    assert judged(kind, sides(5, 0.0, 0.02), ImportOptions()).verdict == "undecided"
    found = judged(kind, sides(5, 0.1, 0.01), ImportOptions())
    assert (found.verdict, found.blocks, found.unpaired) == ("slower", 5, True)


@pytest.mark.parametrize("kind", WRITERS)
def test_means_of_files_that_alternate_are_blocks(kind: str) -> None:
    found = judged(kind, sides(7, 0.1, 0.01), ImportOptions(order_given=True))
    assert (found.verdict, found.blocks, found.unpaired) == ("slower", 7, False)


def test_digits_are_those_of_what_is_repeated_and_not_of_its_mean() -> None:
    """Whole numbers of 100 and 101 ns are not known to a tenth because ten of them are averaged."""
    ones = np.eye(5, 10)
    files = {"a": 100.0 + ones, "b": 101.0 - ones}
    files["a"][0, 1] = files["b"][0, 1] = 102.0
    found = judged("go-test", files, ImportOptions())
    assert found.verdict == "undecided"
    assert found.low is not None
    assert found.low < 1


def sides_named(kind: str, texts: dict[str, str]) -> dict[str, dict[str, float]]:
    """Benchmark → system → value, of a file a side."""
    reader = IMPORTERS.named(kind)
    files = [
        ReadFile(system, text.encode(), system, kind, read_with(reader, text.encode(), system))
        for system, text in texts.items()
    ]
    found: dict[str, dict[str, float]] = {}
    for reading in assemble(files, ImportOptions()).workloads[0].readings:
        found.setdefault(str(reading.at["benchmark"]), {})[reading.system] = reading.values[0]
    return found


def java(name: str, score: int) -> str:
    return jmh([score])[1:-2].replace("a.Sort.sort", name)


def rust(target: str, of_hash: str, time_ns: int) -> str:
    return (
        f"     Running benches/{target}.rs (target/release/deps/{target}-{of_hash * 16})\n"
        f"sort                    time:   [1.0 ns {time_ns}.0 ns 9.0 ns]\n"
    )


def test_benchmarks_of_one_name_in_two_packages_are_told_apart() -> None:
    """Classes of JMH, crates of Criterion; one file has one more than the other."""
    both = {
        "a": f"[{java('x.p.Sort.sort', 10)}]\n",
        "b": f"[{java('x.p.Sort.sort', 11)}, {java('x.q.Sort.sort', 90)}]\n",
    }
    assert sides_named("jmh", both) == {
        "Sort.sort (x.p)": {"a": 1e-8, "b": 1.1e-8},
        "Sort.sort (x.q)": {"b": 9e-8},
    }
    both = {
        "a": rust("one", "a", 2) + rust("two", "b", 3) + rust("two", "c", 4),
        "b": rust("one", "d", 5),
    }
    assert sides_named("criterion", both) == {
        "sort (one)": {"a": 2e-9, "b": 5e-9},
        "sort (two)": {"a": 3e-9},
        "sort (two 2)": {"a": 4e-9},
    }


def test_processors_are_no_part_of_a_name_but_where_a_file_varies_them() -> None:
    assert sides_named("go-test", {"a": go([1]), "b": go([2]).replace("-8", "-16")}) == {
        "Sort": {"a": 1e-9, "b": 2e-9}
    }
    varied = "".join(f"BenchmarkSort{n}  9  {t} ns/op\n" for n, t in (("", 4), ("-2", 2)))
    assert sides_named("go-test", {"a": varied, "b": varied.replace("4 ", "5 ")}) == {
        "Sort (GOMAXPROCS=1)": {"a": 4e-9, "b": 5e-9},
        "Sort (GOMAXPROCS=2)": {"a": 2e-9, "b": 2e-9},
    }


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("criterion", "sort                    time:   [1.0 ns 2.0 ns 3.0 ns]\n" * 2),
        ("jmh", f"[{java('x.Sort.sort', 10)}, {java('x.Sort.sort', 11)}]\n"),
        ("redis-benchmark", '"test","rps"\n"SET","10.0"\n"SET","11.0"\n'),
    ],
)
def test_what_no_tool_calls_a_repetition_is_refused(kind: str, text: str) -> None:
    with pytest.raises(UsageError, match="stands there twice, as nothing says that one repeats"):
        read_with(IMPORTERS.named(kind), text.encode(), "x")


def test_a_command_that_is_given_twice_is_two_systems() -> None:
    text = hyperfine([1e6]).replace("]}\n", "]}")
    (one,) = [text[text.index("[") + 1 : -2]]
    again = f'{{"results": [{one}, {one}]}}\n'
    found = told_apart([read_with(IMPORTERS.named("hyperfine"), again.encode(), "x")])
    systems = {measured.system for measured in found[0].workloads[0].measured}
    assert systems == {"sort (1)", "sort (2)"}


@pytest.mark.parametrize("options", ["-e -I", "-I -e", "-eI", "-Ie"])
def test_one_condition_is_one_workload_whatever_the_order_of_options(options: str) -> None:
    text = (
        "\tIozone: Performance Test of File I/O\n\t        Version $Revision: 3.489 $\n\n"
        f"\tCommand line used: iozone {options} -i 0 -i 1\n"
        "              kB  reclen    write  rewrite    read    reread\n"
        "            1024      64   100   110   120   130\n\niozone test complete.\n"
    )
    (workload,) = read_with(IMPORTERS.named("iozone"), text.encode(), "x").workloads
    assert workload.name == "iozone, direct, fsync timed"
