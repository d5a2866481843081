"""Studies of a network that were never run: streams and request/response over message sizes."""

from collections.abc import Mapping, Sequence
from functools import partial

from support.shapes import Shape, card
from support.synthetic import Effects, synthetic_study
from tiltyard.plan.model import Plan
from tiltyard.run.record import RunRecord, TrialRecord
from tiltyard.wire import Connection, MetricCard, Network, Side

MESSAGES = (32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384, 32768, 65507)
REQUESTS = (1, 4, 16, 64, 256, 1024)
LINK_RATE = 1.18e9
"""Bytes per second that the longest messages approach."""


def _ends(demand_unit: str) -> tuple[MetricCard, ...]:
    """What is measured at both ends of every network workload."""
    return (
        card("cpu_near", "CPU use, client", "1", "lower", "detail"),
        card("cpu_far", "CPU use, server", "1", "lower", "detail"),
        card("service_demand_near", "service demand, client", demand_unit, "lower", "detail"),
        card("service_demand_far", "service demand, server", demand_unit, "lower", "detail"),
    )


_BUSY = {"cpu_near": 0.41, "cpu_far": 0.47}


def _rising(lossy: bool, metric: str, point: dict[str, int | str]) -> float:
    """Short messages are bound by calls, long ones by the path; loss begins where both meet."""
    size = int(point["message"])
    if metric.startswith("service_demand"):
        return 1 + 900 / size
    if metric == "loss":
        return max(0.0, 1 - 400 / size) if lossy else 0.0
    if metric.startswith("throughput"):
        return (size / (size + 700)) * (1.2 if lossy and metric == "throughput_sent" else 1)
    return 1.0


def _stream(points: Sequence[dict[str, int | str]], *, lossy: bool) -> Shape:
    return Shape(
        metrics=(
            card("throughput", "throughput received", "B/s"),
            card("throughput_sent", "throughput sent", "B/s", role="detail"),
            *((card("loss", "loss", "1", "lower", "detail"),) if lossy else ()),
            card("connect_time", "connect", "s", "lower", "detail"),
            *_ends("s/B"),
        ),
        typical={
            "throughput": LINK_RATE,
            "throughput_sent": LINK_RATE,
            "loss": 0.12,
            "connect_time": 9.1e-5,
            "service_demand_near": 3.4e-10,
            "service_demand_far": 4.1e-10,
            **_BUSY,
        },
        grid=("message", "send_buffer", "receive_buffer", "flows"),
        points=tuple(points),
        parameters={"seconds": 2},
        target="far",
        along=partial(_rising, lossy),
        timed={"throughput_sent": 3e-6},
    )


def _exchange(sizes: Sequence[int]) -> Shape:
    return Shape(
        metrics=(
            card("transactions", "transactions", "1/s"),
            card("latency", "latency", "s", "lower", "detail"),
            *_ends("s"),
        ),
        typical={
            "transactions": 19_800.0,
            "latency": 50.4e-6,
            "service_demand_near": 1.9e-5,
            "service_demand_far": 2.2e-5,
            **_BUSY,
        },
        grid=("request", "response", "burst", "flows"),
        points=tuple({"request": s, "response": s, "burst": 1, "flows": 1} for s in sizes),
        parameters={"seconds": 1},
        target="far",
        along=lambda metric, point: (
            1 + int(point["request"]) / 40_000 * (1 if metric == "latency" else -1)
        ),
        timed={"latency": None},
    )


def messages(
    sizes: Sequence[int] = MESSAGES, receive: Sequence[int] = (0,), flows: Sequence[int] = (1,)
) -> list[dict[str, int | str]]:
    """Points of a stream's grid; a buffer of 0 is left to the kernel."""
    return [
        {"message": size, "send_buffer": 0, "receive_buffer": buffer, "flows": count}
        for size in sizes
        for buffer in receive
        for count in flows
    ]


SHAPES: dict[str, Shape] = {
    "tcp_stream": _stream(messages(), lossy=False),
    "udp_stream": _stream(messages(), lossy=True),
    "tcp_rr": _exchange(REQUESTS),
    "one_exchange": _exchange((64,)),
    "receive_socket": _stream(
        messages((4096,), (0, 8192, 32768, 131072, 524288, 2097152)), lossy=False
    ),
    "many_flows": _stream(messages((64, 1024, 16384), flows=(1, 8)), lossy=False),
}


def network_study(
    systems: Sequence[str] = ("out-of-box", "optimized"),
    workloads: Sequence[str] = ("tcp_stream", "udp_stream", "tcp_rr"),
    blocks: int = 10,
    effects: Effects | None = None,
    factors: Mapping[str, Sequence[str]] | None = None,
    noise: float = 0.02,
    seed: int = 1,
) -> tuple[Plan, RunRecord]:
    """A plan and its record.

    Args:
        systems: names; with several factors the levels in the order of the factors.
        workloads: names in ``SHAPES``.
        blocks: blocks that were executed.
        effects: as for any synthetic study.
        factors: factor → levels; one factor ``tuning`` if not given.
        noise: standard deviation of the log value of a cell.
        seed: of order and noise.
    """
    plan, run = synthetic_study(
        systems, workloads, blocks, effects, seed, noise=noise, shapes=SHAPES
    )
    names = list(factors) if factors else ["tuning"]
    plan = plan.model_copy(
        update={
            "question": "Does tuning buy throughput or latency between two hosts?",
            "systems": tuple(
                system.model_copy(
                    update={
                        "kind": "pair",
                        "levels": dict(zip(names, _levels(system.name, factors), strict=True)),
                        "settings": {"mtu": 1500},
                    }
                )
                for system in plan.systems
            ),
        }
    )
    return plan, run.model_copy(update={"trials": tuple(_with_ends(trial) for trial in run.trials)})


def _levels(system: str, factors: Mapping[str, Sequence[str]] | None) -> list[str]:
    if factors is None:
        return [system]
    return [
        next(level for level in levels if level in system.split()) for levels in factors.values()
    ]


def _with_ends(trial: TrialRecord) -> TrialRecord:
    """The same trial, over a network."""
    if trial.end is None:
        return trial
    lossy = trial.key.workload == "udp_stream"
    near = Side(
        cpus=2, busy=0.41, user_s=0.3, system_s=2.1,
        sent_bytes=9_400_000_000, received_bytes=0, sends=2_300_000, receives=0,
        granted={"send_buffer": 212_992, "nodelay": False},
    )  # fmt: skip
    far = near.model_copy(
        update={
            "sent_bytes": 0, "sends": 0, "busy": 0.47, "receives": 2_100_000,
            "received_bytes": 8_300_000_000 if lossy else 9_400_000_000,
            "granted": {"receive_buffer": 131_072},
            "counters": {"UdpRcvbufErrors": 107_320, "UdpInDatagrams": 2_100_000}
            if lossy
            else {"TcpRetransSegs": 3},
        }
    )  # fmt: skip
    connections = (
        ()
        if lossy
        else tuple(
            Connection(
                t_s=0.1 * tick, flow=0, end="near", rtt_s=4.1e-5, rtt_variance_s=3e-6,
                cwnd_segments=10 + tick, mss_bytes=1448, retransmits=0, delivery_rate=1.1e9,
            )
            for tick in range(1, 4)
        )
    )  # fmt: skip
    return trial.model_copy(
        update={
            "end": trial.end.model_copy(
                update={"access": None, "network": Network(near=near, far=far)}
            ),
            "connections": connections,
        }
    )
