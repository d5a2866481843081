"""fio: files that fio 3.33 wrote on a small machine, numbers copied from them by hand."""

import json

import pytest

from support.imported import data_of, imported, measured, values
from tiltyard.errors import UsageError
from tiltyard.importers.fio import disproved

MIB = 2**20


def test_two_jobs_are_two_points() -> None:
    found = imported("fio/two-jobs.json")
    (workload,) = found.workloads
    assert (workload.name, workload.lineage, workload.grid) == ("fio", "fio-3.33", ("job",))
    assert workload.parameters == {
        "size": "4M",
        "rw": "read4k: randread; write64k: write",
        "bs": "read4k: 4k; write64k: 64k",
        "direct": "write64k: 0",
    }
    assert values(found) == pytest.approx(
        {
            ("read", "read4k"): 77672296,
            ("read_operations", "read4k"): 18962.962963,
            ("read_completion_latency", "read4k"): 51492.607422e-9,
            ("read_latency", "read4k"): 51570.024414e-9,
            ("write", "write64k"): 2097152000,
            ("write_operations", "write64k"): 32000,
            ("write_completion_latency", "write64k"): 14975.140625e-9,
            ("write_latency", "write64k"): 15511.421875e-9,
        },
        rel=1e-12,
    )
    tail = measured(found)["read_completion_latency", "read4k"].percentiles
    assert tail["p50"] == 43776e-9
    assert tail["p99"] == 123392e-9
    assert tail["p999"] == 774144e-9
    assert tail["p9999"] == 2211840e-9


def test_what_was_not_done_is_missing() -> None:
    """fio writes zeros of reads that a write job did not do."""
    found = values(imported("fio/two-jobs.json"))
    assert {metric for metric, job in found if job == "write64k"} == {
        "write", "write_operations", "write_completion_latency", "write_latency",
    }  # fmt: skip


def test_operations_that_move_nothing_are_none() -> None:
    """As of ioengine=cpuio, which counts its loops as reads."""
    report = json.loads(data_of("fio/plus-grouped.json"))
    report["jobs"][0]["read"].update(io_bytes=0, io_kbytes=0, bw=0, bw_bytes=0)
    found = values(imported("fio/x.json", json.dumps(report).encode()))
    assert not [metric for metric, _ in found if metric.startswith("read")]
    assert found["write", "mix"] > 0


def test_fsyncs_are_timed() -> None:
    found = values(imported("fio/fsync.json"))
    assert found["sync_latency", "trimmed"] == pytest.approx(698107.8e-9)
    assert ("sync", "trimmed") not in found


@pytest.mark.parametrize(
    ("missing", "unit_bytes"), [(("bw_bytes",), 1), (("bw_bytes", "io_kbytes"), 1024)]
)
def test_bytes_of_threads_are_in_the_unit_of_their_version(
    missing: tuple[str, ...], unit_bytes: int
) -> None:
    """Of fio 3.0 in bytes, though its rates are in KiB/s; of fio 2 in KiB."""
    report = json.loads(data_of("fio/plus-two-threads.json"))
    reads = [thread["read"] for thread in report["jobs"]]
    for one in reads:
        for key in missing:
            del one[key]
    longest_s = max(one["runtime"] for one in reads) / 1000
    found = values(imported("fio/x.json", json.dumps(report).encode()))["read", "mix"]
    assert found == pytest.approx(unit_bytes * sum(one["io_bytes"] for one in reads) / longest_s)


def test_threads_are_put_together_as_fio_does_it() -> None:
    found = imported("fio/plus-two-threads.json")
    threads = json.loads(data_of("fio/plus-two-threads.json"))["jobs"]
    reads = [thread["read"] for thread in threads]
    longest_s = max(one["runtime"] for one in reads) / 1000
    total = sum(one["total_ios"] for one in reads)
    assert len(threads) == 2
    assert values(found)["read", "mix"] == sum(one["io_bytes"] for one in reads) / longest_s
    assert values(found)["read_operations", "mix"] == pytest.approx(total / longest_s)
    assert values(found)["read_latency", "mix"] == pytest.approx(
        sum(one["total_ios"] * one["lat_ns"]["mean"] for one in reads) / total / 1e9
    )


@pytest.mark.parametrize("way", ["read", "write"])
def test_percentiles_of_threads_come_from_their_histograms(way: str) -> None:
    """Of one thread, the histogram gives what fio states; two threads lie between both."""
    report = json.loads(data_of("fio/plus-two-threads.json"))
    stated = [thread[way]["clat_ns"]["percentile"]["99.000000"] for thread in report["jobs"]]
    together = measured(imported("fio/plus-two-threads.json"))[f"{way}_completion_latency", "mix"]
    assert min(stated) * 1e-9 <= together.percentiles["p99"] <= max(stated) * 1e-9

    single = json.loads(data_of("fio/plus-grouped.json"))
    silent = json.loads(data_of("fio/plus-grouped.json"))["jobs"][0]
    for other in ("read", "write", "trim"):
        silent[other].update(total_ios=0, io_bytes=0)
    silent[way].update(total_ios=1, io_bytes=1)
    silent[way]["clat_ns"].update(N=1, mean=1, bins={})
    single["jobs"].append(silent)
    joined = measured(imported("fio/x.json", json.dumps(single).encode()))
    percentiles = single["jobs"][0][way]["clat_ns"]["percentile"]
    assert joined[f"{way}_completion_latency", "mix"].percentiles == {
        name: pytest.approx(percentiles[share] * 1e-9)
        for name, share in {
            "p1": "1.000000", "p5": "5.000000", "p10": "10.000000", "p20": "20.000000",
            "p30": "30.000000", "p40": "40.000000", "p50": "50.000000", "p60": "60.000000",
            "p70": "70.000000", "p80": "80.000000", "p90": "90.000000", "p95": "95.000000",
            "p99": "99.000000", "p995": "99.500000", "p999": "99.900000", "p9995": "99.950000",
            "p9999": "99.990000",
        }.items()
    }  # fmt: skip


def test_without_histograms_percentiles_of_threads_are_left_out_and_that_is_said() -> None:
    report = json.loads(data_of("fio/plus-two-threads.json"))
    for thread in report["jobs"]:
        for way in ("read", "write"):
            del thread[way]["clat_ns"]["bins"], thread[way]["lat_ns"]["bins"]
    found = imported("fio/x.json", json.dumps(report).encode())
    assert not measured(found)["read_completion_latency", "mix"].percentiles
    assert any("--group_reporting or --output-format=json+" in limit for limit in found.limits)


def test_a_note_before_the_report_is_skipped() -> None:
    assert data_of("fio/with-note.json").startswith(b"note: both iodepth >= 1")
    assert values(imported("fio/with-note.json"))["read", "note"] == 524288000


def test_text_after_the_report_is_skipped() -> None:
    """As of ``--output-format=json,normal``: the same figures again, rounded."""
    assert b"}\n\na: (groupid=0, jobs=1)" in data_of("fio/with-text-after.json")
    assert values(imported("fio/with-text-after.json"))["read", "a"] == 31804235


def test_jobs_of_one_name_with_other_options_are_other_points() -> None:
    found = values(imported("fio/same-name.json"))
    assert found["read", "a"] == 61680941
    assert found["write", "a (2)"] == 524288000


def test_a_job_that_is_repeated_as_it_is_is_a_repetition() -> None:
    report = json.loads(data_of("fio/same-name.json"))
    report["jobs"][2]["job options"]["rw"] = "read"
    report["jobs"][2]["read"] = report["jobs"][0]["read"]
    (workload,) = imported("fio/x.json", json.dumps(report).encode()).workloads
    own = [one.values for one in workload.measured if (one.metric, one.at["job"]) == ("read", "a")]
    assert own == [(61680941.0,), (61680941.0,)]


def test_several_jobs_in_one_are_told_since_their_options_are_not() -> None:
    found = imported("fio/several-as-one.json")
    assert {job for _, job in values(found)} == {"a"}
    assert any("Job a is several jobs that fio reports as one" in one for one in found.limits)


def test_reads_of_verifying_are_told() -> None:
    assert "Job a read only to verify what it had written (verify)." in (
        imported("fio/verified.json").limits
    )


def test_directions_that_were_reported_together() -> None:
    found = values(imported("fio/unified.json"))
    assert found["mixed", "a"] == 80659692
    assert not any(metric.startswith(("read", "write")) for metric, _ in found)


def test_an_error_below_a_note_names_its_true_line() -> None:
    broken = data_of("fio/with-note.json").replace(b'"jobs" : [', b'"jobs" : [[')
    with pytest.raises(UsageError, match=r"x.json:\d+: not JSON"):
        imported("fio/x.json", broken)
    lines = broken.decode().splitlines()
    assert lines[0].startswith("note:")


def test_a_job_that_failed_is_left_out_and_that_is_said() -> None:
    found = imported("fio/error.json")
    assert {job for _, job in values(found)} == {"ok"}
    assert (
        "Job full ended with error 28 (No space left on device); what it did is left out."
        in found.limits
    )


def test_servers_of_a_client() -> None:
    assert values(imported("fio/client.json"))["read", "seq"] == 524288000


def test_fio_2_counts_in_KiB_and_microseconds() -> None:  # noqa: N802
    """Made of a genuine file by the keys of fio 2: it had ``bw`` in KiB/s and ``clat`` in µs."""
    report = json.loads(data_of("fio/two-jobs.json"))
    read = report["jobs"][0]["read"]
    del read["bw_bytes"], read["clat_ns"], read["lat_ns"], read["total_ios"], report["jobs"][1]
    read.update(io_bytes=4096, bw=75851, clat={"mean": 51.49, "percentile": {"99.000000": 123}})
    found = imported("fio/x.json", json.dumps(report).encode())
    assert values(found)["read", "read4k"] == 75851 * 1024
    assert values(found)["read_completion_latency", "read4k"] == pytest.approx(51.49e-6)
    assert measured(found)["read_completion_latency", "read4k"].percentiles == {"p99": 123e-6}


def test_where_the_rate_was_given_latency_is_compared() -> None:
    report = json.loads(data_of("fio/two-jobs.json"))
    report["jobs"][0]["job options"]["rate_iops"] = "1000"
    (workload,) = imported("fio/x.json", json.dumps(report).encode()).workloads
    compared = {one.name for one in workload.metrics if one.headline}
    assert {"read_completion_latency", "write_completion_latency"} <= compared
    assert not {"read", "write", "read_latency"} & compared


def test_two_reports_are_refused() -> None:
    both = data_of("fio/fsync.json") + data_of("fio/two-jobs.json")
    with pytest.raises(UsageError, match=r"^x.json:\d+: a second result begins here"):
        imported("fio/x.json", both)


@pytest.mark.parametrize(
    ("options", "read", "device", "found"),
    [
        ({}, 1, 4, None),
        ({}, 1, 3, ("read4k: invalidate=1, as by default, and of 4,194,304 B", False)),
        ({"invalidate": "1"}, 1, 3, ("read4k: invalidate=1, and of 4,194,304 B", True)),
        ({"invalidate": ""}, 1, 3, ("read4k: invalidate=1, and of 4,194,304 B", True)),
        ({"time_based": "", "runtime": "4"}, 5, 4, None),
        ({"time_based": "", "runtime": "4"}, 5, 3, ("read4k: invalidate=1, as by default", False)),
        ({"direct": "1"}, 5, 20, None),
        ({"direct": "1"}, 5, 4, ("read4k: direct=1, and of 20,971,520 B", True)),
        ({"invalidate": "0"}, 1, 0, None),
        ({"pre_read": "1"}, 1, 0, None),
        ({"norandommap": ""}, 1, 0, None),
        ({"ioengine": "null"}, 1, 0, None),
        ({"rw": "write"}, 1, 0, None),
        ({"size": "10%"}, 1, 0, None),
        ({"size": "8m"}, 1, 3, ("read4k: invalidate=1, as by default, and of 4,194,304 B", False)),
    ],
    ids=str,
)
def test_what_a_job_claims_of_the_cache_is_held_against_the_counters(
    options: dict[str, str], read: int, device: int, found: tuple[str, bool] | None
) -> None:
    """Of what was read ``read`` times over, ``device`` MiB came from there."""
    report = json.loads(data_of("fio/two-jobs.json"))
    del report["global options"]["filename"]
    report["jobs"][0]["job options"] |= options
    report["jobs"][0]["read"]["io_bytes"] *= read
    doubt = disproved(json.dumps(report, indent=1).encode(), "a", device * MIB)
    assert (doubt is None) == (found is None), doubt
    if doubt and found:
        assert doubt.message.startswith(found[0])
        assert doubt.stated == found[1]


def test_files_that_jobs_share_are_read_from_the_device_once() -> None:
    report = json.loads(data_of("fio/two-jobs.json"))
    del report["global options"]["filename"]
    first, second = report["jobs"]
    second["job options"] = {**first["job options"], "rw": "read", "bs": "64k"}
    second["read"], second["write"] = first["read"], first["write"] | {"io_bytes": 0}
    own = disproved(json.dumps(report, indent=1).encode(), "a", 4 * MIB)
    assert own is not None
    assert own.message.startswith("read4k, write64k: ")
    for job in report["jobs"]:
        job["job options"]["filename"] = "shared"
    assert disproved(json.dumps(report, indent=1).encode(), "a", 4 * MIB) is None


@pytest.mark.parametrize(("options", "told"), [({}, False), ({"stonewall": ""}, True)])
def test_what_another_job_writes_meanwhile_may_be_read_from_memory(
    options: dict[str, str], told: bool
) -> None:
    """After it, it must have reached the disk: what is dirty is not dropped."""
    report = json.loads(data_of("fio/two-jobs.json"))
    report["jobs"][0]["job options"] |= options
    doubt = disproved(json.dumps(report, indent=1).encode(), "a", 0)
    assert (doubt is not None) == told
