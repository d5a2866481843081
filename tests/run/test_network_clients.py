"""Several clients of one server: real sockets between namespaces, over links of a known rate."""

from pathlib import Path

import pytest

from support.hosts import needs_root
from support.patience import LATEST_S
from support.runs import Watcher, go_on, place, plan_of
from support.star import ETHERNET, MTU, SEGMENT, star
from tiltyard.executors.engine import Engine
from tiltyard.run.read import read_run
from tiltyard.run.record import TrialRecord
from tiltyard.run.runner import run_study
from tiltyard.run.stream import read_stream
from tiltyard.study.clients import with_stonewalls
from tiltyard.study.model import ClientSpec, SystemSpec, WorkloadSpec
from tiltyard.wire import Sample, SampleEvent

pytestmark = pytest.mark.usefixtures("patience_with_clients")
BITS_PER_S = 40_000_000
SUM = 4 * BITS_PER_S / 8 * SEGMENT / (MTU + ETHERNET)
"""What four such links carry of the bytes of a connection, in B/s."""


def run(root: Path, system: SystemSpec, *workloads: WorkloadSpec) -> dict[str, TrialRecord]:
    """A trial of each workload, all of them done."""
    engine = Engine.find()
    plan = plan_of((system,), workloads=workloads, blocks=1)
    planned = []
    for workload in plan.workloads:
        card = engine.describe().workload(workload.spec.use)
        assert card is not None
        update = {"metrics": tuple(with_stonewalls(card.metrics)), "grid": tuple(card.grid)}
        planned.append(workload.model_copy(update=update))
    plan = plan.model_copy(update={"workloads": tuple(planned)})
    folder = place(root, plan)
    run_study(folder, plan, engine, go_on, Watcher())
    trials = {trial.key.workload: trial for trial in read_run(folder, plan).trials}
    assert {name: trial.reason for name, trial in trials.items()} == dict.fromkeys(trials)
    return trials


def workload(use: str, clients: tuple[ClientSpec, ...], **parameters: object) -> WorkloadSpec:
    """One of those clients."""
    return WorkloadSpec.model_validate(
        {"name": use, "use": use, "parameters": parameters, "clients": clients}
    )


def samples(root: Path, trial: TrialRecord) -> dict[str, Sample]:
    """Those of the common stream."""
    events = read_stream((root / "study" / trial.file).read_bytes()).events
    return {one.data.metric: one.data for one in events if isinstance(one, SampleEvent)}


@needs_root
def test_four_links_carry_their_sum_to_one_server_and_from_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = ("c1", "c2", "c3", "c4")
    clients = tuple(ClientSpec(host=name) for name in names)
    with star(tmp_path, ("server", *names), dict.fromkeys(names, BITS_PER_S)) as hosts:
        monkeypatch.setenv("PATH", str(hosts.programs), prepend=":")
        settings = {"server": "server", "address": hosts.addresses["server"]}
        system = SystemSpec(name="s", levels={"s": "s"}, kind="hosts", settings=settings)
        # What a large buffer of the sender holds would be sent by fewer and fewer of them.
        short = {"message": "16k", "send_buffer": "256k", "seconds": 3}
        found = run(
            tmp_path / "study",
            system,
            workload("tcp_stream", clients, **short),
            workload("tcp_maerts", clients, **short),
        )
        assert not list(hosts.home.iterdir())
    for trial in found.values():
        assert [one.name for one in trial.clients] == [f"{n} (c{n})" for n in range(1, 5)]
        # A busy machine does not fill every link; what three of them carry is less than this.
        for metric in ("throughput", "throughput_stonewall"):
            assert 0.85 * SUM < samples(tmp_path, trial)[metric].value < 1.02 * SUM


def test_transactions_of_several_clients_are_pooled(tmp_path: Path) -> None:
    here = (ClientSpec(),) * 3
    system = SystemSpec(name="s", levels={"s": "s"}, kind="loopback", settings={})
    found = run(
        tmp_path / "study",
        system,
        workload("tcp_rr", here, transactions=500),
        workload("udp_stream", here, message="1k", bytes="256k"),
    )
    rr = found["tcp_rr"]
    assert rr.end is not None
    assert rr.end.network is not None
    assert samples(tmp_path, rr)["transactions"].operations == 3 * 500
    latency = samples(tmp_path, rr)["latency"].latency_ns
    assert latency is not None
    assert latency.count == 3 * 500
    starts = [one.regions[0].began_s for one in rr.clients]
    assert 0 == min(starts) <= max(starts) <= LATEST_S
    assert rr.end.network.far.receives == 3 * 500
    udp = samples(tmp_path, found["udp_stream"])
    sent = udp["throughput_sent"].bytes
    received = udp["throughput"].bytes
    assert sent == 3 * 256 * 2**10
    assert udp["loss"].value == pytest.approx(1 - received / sent)
