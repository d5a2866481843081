"""iperf3: files that iperf 3.12 wrote over loopback, numbers copied from them by hand."""

import json

import pytest

from support.imported import REFUSED, data_of, imported, values
from tiltyard.errors import UsageError

UP, DOWN = "client to server", "server to client"


def test_tcp() -> None:
    found = imported("iperf3/tcp.json")
    (workload,) = found.workloads
    assert (workload.name, workload.lineage) == ("iperf3 TCP", "iperf 3.12")
    assert workload.parameters == {
        "num_streams": "1",
        "blksize": "131072",
        "duration": "1",
        "tcp_mss_default": "32768",
        "sender_tcp_congestion": "bbr",
        "receiver_tcp_congestion": "bbr",
    }
    assert values(found) == pytest.approx(
        {
            ("throughput", UP): 25488672138.9707 / 8,
            ("sent", UP): 25571853448.70685 / 8,
            ("retransmits", UP): 0,
            ("round_trip", UP): 138e-6,
            ("cpu_client",): 0.2769318530870157,
            ("cpu_server",): 0.673205824742577,
        },
        rel=1e-12,
    )


def test_reverse_comes_from_the_server() -> None:
    found = values(imported("iperf3/reverse.json"))
    assert found["throughput", DOWN] == pytest.approx(14572903646.751007 / 8)
    assert found["retransmits", DOWN] == pytest.approx(18 / 1.002178)
    assert not any(at == [UP] for _, *at in found)
    assert ("round_trip", DOWN) not in found


def test_both_directions_are_told_apart() -> None:
    found = values(imported("iperf3/bidir.json"))
    assert found["throughput", UP] == pytest.approx(5223911975.616537 / 8)
    assert found["throughput", DOWN] == pytest.approx(4554206460.342497 / 8)
    assert found["round_trip", UP] == 1001e-6
    assert ("round_trip", DOWN) not in found


@pytest.mark.parametrize(
    ("file", "direction", "bits_s", "jitter_ms"),
    [
        ("udp", UP, 20138427.264029246, 0.015621706008202636),
        ("udp-reverse", DOWN, 20182827.52331739, 0.013446160322712527),
    ],
)
def test_udp(file: str, direction: str, bits_s: float, jitter_ms: float) -> None:
    found = values(imported(f"iperf3/{file}.json"))
    assert found["throughput", direction] == pytest.approx(bits_s / 8)
    assert found["jitter", direction] == pytest.approx(jitter_ms / 1e3)
    assert found["lost", direction] == 0


def test_older_versions_state_of_udp_only_what_was_sent() -> None:
    report = json.loads(data_of("iperf3/udp.json"))
    del report["end"]["sum_sent"], report["end"]["sum_received"]
    report["end"]["sum"].update(lost_packets=7, lost_percent=9.0909)
    found = imported("iperf3/x.json", json.dumps(report).encode())
    assert values(found)["lost", UP] == pytest.approx(0.090909)
    assert values(found)["sent", UP] == pytest.approx(20183271.5055645 / 8)
    assert ("throughput", UP) not in values(found)
    assert any("only how much was sent" in limit for limit in found.limits)


def test_a_server_that_does_not_know_what_was_sent() -> None:
    report = json.loads(data_of("iperf3/tcp.json"))
    del report["start"]["connecting_to"]
    report["end"]["sum_sent"].update(bytes=0, bits_per_second=0)
    found = values(imported("iperf3/x.json", json.dumps(report).encode()))
    assert ("sent", UP) not in found
    assert found["cpu_server",] == pytest.approx(0.2769318530870157)


def test_an_error_is_no_result() -> None:
    with pytest.raises(UsageError, match="error: iperf3 ended with: unable to connect to server"):
        imported("x", (REFUSED / "iperf3-error.json").read_bytes())
