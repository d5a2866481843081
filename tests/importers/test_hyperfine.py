"""hyperfine: it is not installed where these tests were written, so the files were made after the
structure that its sources (1.19, ``benchmark_result.rs``) serialise.
"""

import json

import pytest

from support.imported import data_of, imported
from tiltyard.errors import UsageError


def test_commands_are_systems_and_times_keep_their_order() -> None:
    (workload,) = imported("hyperfine/two-commands.json").workloads
    times = {one.system: one.values for one in workload.measured if one.metric == "time"}
    assert times == {
        "gzip -k": (0.4181, 0.4041, 0.4087, 0.4077, 0.4124),
        "zstd -k": (0.0509, 0.0519, 0.0535),
    }
    assert workload.commands == ("gzip -k", "zstd -k")
    user = {one.system: one.values for one in workload.measured if one.metric == "user"}
    assert user == {"gzip -k": (0.3921,), "zstd -k": (0.0431,)}


def test_failed_runs_are_told() -> None:
    limits = imported("hyperfine/two-commands.json").limits
    assert "2 of 3 runs of zstd -k ended with an error and were timed all the same." in limits
    assert not any("gzip" in limit for limit in limits)


def test_without_times_the_mean_is_read() -> None:
    found = imported("hyperfine/only-means.json")
    times = [one for one in found.workloads[0].measured if one.metric == "time"]
    assert [one.values for one in times] == [(0.1021,), (0.2024,)]


def test_a_value_that_is_none_is_named() -> None:
    report = json.loads(data_of("hyperfine/two-commands.json"))
    report["results"][1]["times"][2] = "fast"
    with pytest.raises(UsageError, match=r'^x.json: results\[1\].times\[2\]: "fast" should be'):
        imported("hyperfine/x.json", json.dumps(report).encode())
