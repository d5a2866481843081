"""sockperf: files that sockperf 3.7 printed over loopback, numbers copied from them by hand."""

import re

import pytest

from support.imported import REFUSED, data_of, imported, measured, values
from tiltyard.errors import UsageError


def test_ping_pong() -> None:
    found = imported("sockperf/ping-pong.txt")
    (workload,) = found.workloads
    assert (workload.name, workload.lineage) == ("sockperf UDP", "sockperf 3.7-no.git")
    latency = measured(found)["latency",]
    assert latency.values == (6.572e-6,)
    assert latency.percentiles == pytest.approx(
        {
            "p99999": 3095.024e-6,
            "p9999": 1781.477e-6,
            "p999": 755.682e-6,
            "p99": 12.990e-6,
            "p90": 5.949e-6,
            "p75": 5.261e-6,
            "p50": 4.888e-6,
            "p25": 4.287e-6,
        }
    )


def test_bursts_and_ranges_of_sizes_are_told() -> None:
    bursts = data_of("sockperf/ping-pong.txt").replace(
        b"Summary: Latency is", b"Summary: Latency of burst of 4 messages is"
    )
    (workload,) = imported("sockperf/x.txt", bursts).workloads
    assert workload.parameters == {"messages in a burst": "4"}
    sizes = re.sub(
        rb"msg-size=\d+", b"average msg-size=1000 (+/-50)", data_of("sockperf/throughput.txt")
    )
    (workload,) = imported("sockperf/x.txt", sizes).workloads
    assert workload.parameters == {"message size": "1000 (+/-50)"}


def test_a_full_round_trip_is_another_metric() -> None:
    found = imported("sockperf/tcp-full-rtt.txt")
    assert found.workloads[0].name == "sockperf TCP"
    assert values(found) == {("round_trip",): pytest.approx(7.757e-6)}


@pytest.mark.parametrize(
    ("file", "messages", "printed_as", "rel"),
    [
        ("throughput", 336407, 320.823 * 2**20, 1e-12),
        ("throughput-giga", 200692, 0.191 * 1000 * 2**20, 1e-12),
    ],
)
def test_units_are_what_the_numbers_say(
    file: str, messages: int, printed_as: float, rel: float
) -> None:
    """Messages of 1000 B: only with 1024² B in a MBps do both lines agree."""
    found = imported(f"sockperf/{file}.txt")
    assert found.workloads[0].parameters == {"message size": "1000"}
    assert values(found)["messages",] == messages
    assert values(found)["throughput",] == pytest.approx(printed_as, rel=rel)
    assert values(found)["throughput",] == pytest.approx(messages * 1000, rel=3e-3)
    assert any("what its client sent" in limit for limit in found.limits)


def test_messages_that_were_lost_are_told() -> None:
    text = data_of("sockperf/under-load.txt").replace(
        b"dropped messages = 0", b"dropped messages = 12"
    )
    assert not any("dropped" in limit for limit in imported("sockperf/under-load.txt").limits)
    found = imported("sockperf/x.txt", text)
    assert any("12 messages were dropped" in limit for limit in found.limits)


def test_no_answer_is_no_result() -> None:
    with pytest.raises(UsageError, match=r"^no-server.txt:9: sockperf says: .*Is the server down"):
        imported("no-server.txt", (REFUSED / "sockperf-no-server.txt").read_bytes())


def test_without_a_summary_it_is_cut_off() -> None:
    text = data_of("sockperf/ping-pong.txt").partition(b"sockperf: Summary")[0]
    with pytest.raises(UsageError, match=r"^x.txt: no summary of sockperf"):
        imported("sockperf/x.txt", text)


def test_an_unknown_unit_is_refused() -> None:
    text = data_of("sockperf/throughput.txt").replace(b" MBps (", b" XBps (")
    with pytest.raises(UsageError, match=r'^x.txt:12: "XBps" should be one of MBps, GBps'):
        imported("sockperf/x.txt", text)
