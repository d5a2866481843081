"""Numbers worked out by hand from the tools' own pages, not by the code that reads them."""

import json

import pytest

from support.imports import Genuine, collected, golden
from tiltyard.charts.figures import with_unit
from tiltyard.collected.model import CollectedMetric
from tiltyard.errors import UsageError
from tiltyard.importers import IMPORTERS
from tiltyard.importers.assemble import ImportOptions, ReadFile, assemble
from tiltyard.importers.importer import Measured
from tiltyard.importers.sniff import read_with

GO = IMPORTERS.named("go-test")

BANNER = "\tIozone: Performance Test of File I/O\n\t        Version $Revision: {} $\n"
HEAD = (
    "              KB  reclen   write rewrite    read    reread    read   write    read  rewrite"
    "     read   fwrite frewrite   fread  freread\n"
)
ABUTTING = (
    3110479, 17402221, 21823389, 11018226, 11132462, 9946527, 10557785, 14422045, 15516181,
    4767917, 8822754, 14422045, 18291580,
)  # fmt: skip
"""Of a row of version 3.414 in which seven figures touch their neighbours."""


def genuine(name: str) -> Genuine:
    return Genuine(golden(name))


def read(name: str, text: str | None = None) -> dict[str, Measured]:
    """The first measurement of each metric."""
    first: dict[str, Measured] = {}
    for workload in genuine(name).read(None if text is None else text.encode()).workloads:
        for one in workload.measured:
            first.setdefault(one.metric, one)
    return first


def metric(name: str, wanted: str) -> CollectedMetric:
    found = genuine(name).read()
    return next(one for w in found.workloads for one in w.metrics if one.name == wanted)


def test_a_kilobyte_of_iozone_is_1024_bytes() -> None:
    found = read("iozone/auto-3.489.txt")["write"]
    assert found.values == (969761 * 1024,)
    assert found.at == {"file": 64 * 1024, "record": 16 * 1024}


def test_figures_of_iozone_that_touch_are_told_apart() -> None:
    found = read("iozone/abutting-3.414.txt")
    assert tuple(one.values[0] / 1024 for one in found.values()) == ABUTTING


def test_a_row_of_iozone_that_can_be_read_in_two_ways_is_refused() -> None:
    row = "            1024      64" + "1" * 150 + "\n"
    text = BANNER.format("3.414") + HEAD + row + "\n"
    with pytest.raises(UsageError, match=r"abutting-3\.414\.txt:4: figures run together"):
        read("iozone/abutting-3.414.txt", text)


def test_a_row_of_iozone_that_is_not_whole_is_told_so() -> None:
    text = BANNER.format("3.414") + HEAD + "            1024      64  1172909  1796451\n\n"
    with pytest.raises(UsageError, match=r":4: 2 figures where IOzone prints 13: it stopped in"):
        read("iozone/abutting-3.414.txt", text)


def test_a_sum_of_iozone_that_lacks_children_is_told() -> None:
    """Twice the least is more than the sum, in one test of the four."""
    (told,) = (one for one in genuine("iozone/children-cpu.txt").read().limits if "missing" in one)
    assert told.startswith("children-cpu.txt: in 1 of the tests the sum of children is less than")


def test_a_row_without_banner_is_read_if_nothing_touches() -> None:
    row = "            1024      64  1 2 3 4 5 6 7 8 9 10 11 12 13\n"
    found = read("iozone/auto-3.489.txt", HEAD + row + "\n")
    assert [one.values[0] / 1024 for one in found.values()] == list(range(1, 14))


def test_a_zero_of_iozone_is_no_result() -> None:
    text = genuine("iozone/operations.txt").data.decode().replace(" 138139", "      0")
    found = read("iozone/operations.txt", text)
    assert "rewrite" not in found
    assert found["read"].values == (173495.0,)
    assert metric("iozone/operations.txt", "read").unit == "1/s"


def test_records_that_iozone_skipped_are_missing_in_its_matrices() -> None:
    text = (
        'Excel output is below:\n\n"Writer report"\n        "4"  "64"\n"32768"   0  512 \n'
        '"65536"   0  256 \n\n"Re-writer report"\n        "4"  "64"\n"32768"   0  1024 \n'
    )
    found = genuine("iozone/engine.txt").read(text.encode()).workloads[0]
    assert [(one.metric, one.at["record"], one.values) for one in found.measured] == [
        ("write", 65536, (512 * 1024.0,)),
        ("write", 65536, (256 * 1024.0,)),
        ("rewrite", 65536, (1024 * 1024.0,)),
    ]


def test_a_table_of_iozone_that_contradicts_its_matrix_is_refused() -> None:
    text = genuine("iozone/selected-3.430.txt").data.decode().replace('"64"   1679761', '"64"   7')
    with pytest.raises(UsageError, match="the table says 1679761 of write, the matrix below 7"):
        genuine("iozone/selected-3.430.txt").read(text.encode())


def test_modes_of_iozone_are_workloads_of_their_own() -> None:
    text = genuine("iozone/operations.txt").data.decode()
    text = text.replace("-O\n", "-O -Ie\n").replace("\tOPS", "\tO_DIRECT feature enabled\n\tOPS")
    names = [one.name for one in genuine("iozone/operations.txt").read(text.encode()).workloads]
    assert names == ["iozone, direct, fsync timed"]


@pytest.mark.parametrize(
    ("file", "wanted", "value"),
    [
        ("netperf/stream.txt", "throughput", 24997.71 * 1e6 / 8),
        ("netperf/maerts.txt", "throughput", 25031638.11 * 1e3 / 8),
        ("netperf/stream-cpu.txt", "throughput", 3263.83 * 2**20),
        ("netperf/stream-cpu.txt", "cpu_near", 0.8831),
        ("netperf/stream-cpu.txt", "service_demand_far", 0.528e-6 / 1024),
        ("netperf/udp.txt", "throughput", 3233.72 * 1e6 / 8),
        ("netperf/udp.txt", "throughput_sent", 3283.75 * 1e6 / 8),
        ("netperf/udp-cpu.txt", "service_demand_near", 5.990e-6 / 1024),
        ("netperf/rr.txt", "transactions", 36289.53),
        ("netperf/rr-cpu.txt", "service_demand_near", 23.836e-6),
        ("netperf/udprr.txt", "throughput", 693.00 * 1e3 / 8),
        ("netperf/keyval2.txt", "latency", 12.081e-6),
        ("postmark/verbose.txt", "transactions", 3000.0),
        ("postmark/verbose.txt", "data_read", 19.27 * 2**20),
        ("postmark/terse.txt", "data_read", 20204910.0),
        ("fs_mark/loops.txt", "files", 759.4),
        ("fs_mark/verbose.txt", "fsync", 1413e-6),
        ("tiotest/head.txt", "write", 354.014 * 2**20),
        ("tiotest/head.txt", "write_latency_max", 0.133e-3),
        ("tiotest/terse.txt", "read", 4 * 2**20 / 0.01574),
        ("compilebench/makej-in-a-log.txt", "initial_create", 151.21 * 2**20),
        ("compilebench/makej-in-a-log.txt", "delete_compiled_tree_time", 5.04),
        ("aio-stress/latencies.txt", "random_write", 1004.02 * 2**20),
        ("aio-stress/latencies.txt", "random_write_before_fsync", 1600.64 * 2**20),
        ("aio-stress/two-threads.txt", "write", 1012.53 * 2**20),
        ("fdtree/1.0.2.txt", "files_created", 212.0),
        ("fdtree/1.0.2.txt", "data_written", 1700 * 1024.0),
        ("bonnie/format-1.97.csv", "write", 117094 * 1024.0),
        ("bonnie/format-1.97.csv", "write_latency", 0.512),
        ("bonnie/format-1.97.csv", "random_delete", 19870.0),
        ("csv/wide.csv", "write", 1204.5e6),
    ],
)
def test_units_are_exact(file: str, wanted: str, value: float) -> None:
    assert read(file)[wanted].values[0] == pytest.approx(value, rel=1e-14)


def test_values_are_printed_again_as_the_tool_printed_them() -> None:
    printed = metric("netperf/stream.txt", "throughput").printed
    value = read("netperf/stream.txt")["throughput"].values[0]
    assert printed is not None
    assert f"{value / printed.factor:.{printed.decimals}f} {printed.unit}" == "24997.71 Mbit/s"


def test_bytes_that_netperf_prints_as_bits_are_refused() -> None:
    text = genuine("netperf/stream.txt").data.decode().replace("10^6bits", "10^0bits")
    with pytest.raises(UsageError, match=r"stream\.txt:5: no unit of a rate that is sure"):
        genuine("netperf/stream.txt").read(text.encode())


def test_an_end_that_netperf_did_not_measure_is_missing() -> None:
    text = genuine("netperf/rr-cpu.txt").data.decode()
    text = text.replace("47.67  47.67  23.836  23.836", "47.67  -1.00  23.836  -1.000")
    found = read("netperf/rr-cpu.txt", text)
    assert "cpu_near" in found
    assert not {"cpu_far", "service_demand_far"} & found.keys()


@pytest.mark.parametrize(
    ("file", "missing"),
    [
        ("fdtree/1.0.2.txt", "files_removed"),
        ("bonnie/format-1.97.csv", "sequential_stat"),
        ("fs_mark/verbose.txt", "sync"),
        ("aio-stress/latencies.txt", "write_latency_mean"),
        ("compilebench/makej-in-a-log.txt", "patch"),
    ],
)
def test_what_was_too_short_or_not_done_is_missing_and_not_zero(file: str, missing: str) -> None:
    assert missing not in read(file)


def test_repetitions_of_the_phoronix_test_suite_are_kept() -> None:
    found = genuine("phoronix/composite.xml").read()
    compile_, postmark, unpack = found.workloads
    assert [one.values for one in compile_.measured if one.system == "Linux 3.13: XFS"] == [
        (360.10 * 2**20, 365.20 * 2**20, 368.71 * 2**20)
    ]
    assert [one.system for one in postmark.measured] == ["Linux 3.13: XFS"]
    assert unpack.metrics[0].direction == "lower"
    assert found.system_facts["Linux 3.13: EXT4"]["file-system"] == "ext4"


@pytest.mark.parametrize("other", ["pts/somethingelse-1.0.0", "local/compilebench-1.0.1"])
def test_a_megabyte_that_nobody_explains_is_kept_as_it_is(other: str) -> None:
    text = genuine("phoronix/composite.xml").data.decode()
    text = text.replace("pts/compilebench-1.0.1", other)
    found = genuine("phoronix/composite.xml").read(text.encode()).workloads[0]
    assert found.metrics[0].unit == "MB/s"
    assert found.measured[0].values == (360.10, 365.20, 368.71)


OMNI = (
    "OMNI Send|Recv TEST from 0.0.0.0 (0.0.0.0) port 0 AF_INET to 127.0.0.1 () port 0 AF_INET\n"
    "Request Response Elapsed Throughput Throughput 50th       99th\n"
    "Size    Size     Time               Units      Percentile Percentile\n"
    "Bytes   Bytes    (sec)                         Latency    Latency\n"
    "                                               Microseconds Microseconds\n"
)


def test_a_table_of_omni_is_read_by_where_its_columns_begin() -> None:
    head = OMNI.replace("50th       99th", "50th         99th").replace(
        "Percentile P", "Percentile   P"
    )
    head = head.replace("Latency    L", "Latency      L")
    row = "1       1        10.00   36948.53   Trans/s    25           61\n"
    found = read("netperf/rr.txt", head + row)
    assert {name: one.values for name, one in found.items()} == {
        "transactions": (36948.53,),
        "latency_p50": (25e-6,),
        "latency_p99": (61e-6,),
    }
    assert dict(found["transactions"].at) == {"request": 1, "response": 1}


def test_a_table_of_omni_that_is_cut_off_or_not_told_is_refused() -> None:
    with pytest.raises(UsageError, match=r":2: no line of figures under this head"):
        read("netperf/rr.txt", OMNI)
    with pytest.raises(UsageError, match=r":1: a table of omni whose columns.*-o \(CSV\) or -k"):
        read("netperf/rr.txt", "Throughput Throughput\n           Units\n1 36948.53  Trans/s\n")


def test_percentiles_without_a_mean_are_figures_of_their_own() -> None:
    text = genuine("netperf/keyval2.txt").data.decode()
    found = read("netperf/keyval2.txt", text.replace("RT_LATENCY=12.081\n", ""))
    assert "latency" not in found
    assert found["latency_p99"].values == (29e-6,)
    assert read("netperf/keyval2.txt")["latency"].percentiles["p99"] == 29e-6


def test_the_interval_of_netperf_is_told() -> None:
    width = "!!! Confidence intervals: Throughput      : 78.298%"
    text = genuine("netperf/stream.txt").data.decode()
    found = genuine("netperf/stream.txt").read(f"{text}{width}\n".encode())
    assert found.limits == ("stream.txt: its interval for throughput is 78.298 % wide.",)


def test_a_percentile_in_the_last_bin_of_a_histogram_is_left_out() -> None:
    """fio's has everything from 16.7 s on: what it prints there is "at least"."""
    text = genuine("fio/two-jobs.json").data.decode()
    report = json.loads(text)
    ways = [job[way]["clat_ns"] for job in report["jobs"] for way in ("read", "write")]
    timed = next(one for one in ways if one.get("percentile"))
    key = next(key for key in timed["percentile"] if key.startswith("99.0"))
    timed["percentile"][key] = 17112760320
    found = genuine("fio/two-jobs.json").read(json.dumps(report, indent=1).encode())
    told = [one.percentiles for w in found.workloads for one in w.measured if one.percentiles]
    assert sum("p99" in one for one in told) == len(told) - 1
    assert any("in the last bin of fio's histogram" in limit for limit in found.limits)


def test_what_is_left_out_of_several_files_is_said_once() -> None:
    files = [
        ReadFile(f"{n}.txt", bytes([n]), f"s{n}", "go-test", read_with(GO, data, f"in/{n}.txt"))
        for n in range(5)
        for data in (f"BenchmarkA 1 {n}.5 ns/op +Inf MB/s 3 widgets/op\n".encode(),)
    ]
    limits = assemble(files, ImportOptions()).kept.limits
    assert [limit for limit in limits if "left out" in limit] == [
        "0.txt, 1.txt, 2.txt and 2 more: A: MB/s left out, as that is not a finite number.",
        "0.txt, 1.txt, 2.txt and 2 more: left out, a metric of the program: widgets/op.",
    ]


OLD_SUITE = """<PhoronixTestSuite>
  <System><AssociatedIdentifiers>a, b</AssociatedIdentifiers></System>
  <Benchmark>
    <Name>PostMark</Name><Version>1.51</Version><Attributes>Disk Transactions</Attributes>
    <Scale>TPS</Scale><Proportion>HIB</Proportion><ResultFormat>BAR_GRAPH</ResultFormat>
    <TestName>postmark</TestName><TestArguments></TestArguments>
    <Results><Group>
      <Entry><Identifier>a</Identifier><Value>1000</Value><RawString>990:1010</RawString></Entry>
      <Entry><Identifier>b</Identifier><Value>1200</Value><RawString></RawString></Entry>
    </Group></Results>
  </Benchmark>
</PhoronixTestSuite>
"""


def test_results_of_old_versions_of_the_suite_are_read() -> None:
    (workload,) = genuine("phoronix/composite.xml").read(OLD_SUITE.encode()).workloads
    assert (workload.name, workload.metrics[0].label) == ("PostMark", "Disk Transactions")
    assert [(one.system, one.values) for one in workload.measured] == [
        ("a", (990.0, 1010.0)),
        ("b", (1200.0,)),
    ]


def test_the_mean_is_the_one_that_the_source_states() -> None:
    """The suite leaves values out of it as it sees fit."""
    text = OLD_SUITE.replace("990:1010", "500:990:1010")
    (reading, _) = (
        collected(genuine("phoronix/composite.xml").read(text.encode())).workloads[0].readings
    )
    assert (reading.values, reading.mean, reading.within) == (
        (1000.0,), 1000.0, ((500.0, 990.0, 1010.0),),
    )  # fmt: skip


def test_a_label_of_the_suite_keeps_its_words() -> None:
    assert with_unit("1000 Files, 1MB Size", "/s") == "1000 Files, 1MB Size, 1/s"
    assert with_unit("Clients: 50", "/s") == "Clients: 50, 1/s"
    assert with_unit("files, loop 2", "/s") == "files/s, loop 2"
