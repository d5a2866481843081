"""What one file repeats is one value in every reader: no winner comes of a single sequence."""

from collections.abc import Sequence

import numpy as np
import pytest

from support.imports import GENUINE, Genuine, collected
from tiltyard.analysis.collected import analyse_collection
from tiltyard.analysis.model import Comparison
from tiltyard.importers import IMPORTERS
from tiltyard.importers.assemble import ImportOptions, ReadFile, assemble
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


WRITERS = {
    "go-test": go,
    "google-benchmark": google,
    "google-benchmark, means": google_means,
    "hyperfine": hyperfine,
    "pyperf": pyperf,
    "jmh": jmh,
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
    """But for CSV, of which a person says what a row is."""
    for workload in collected(file.read()).workloads:
        for reading in workload.readings:
            if file.path.parent.name != "csv":
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
