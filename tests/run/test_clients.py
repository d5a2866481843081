"""Several clients of one target: real runners that begin together, and what becomes of theirs."""

import contextlib
import os
import signal
import subprocess
import sys
from collections import Counter
from math import ceil
from pathlib import Path
from threading import Thread

import pytest

from support.patience import LATEST_S, wait_until
from support.runs import NOISE_LIMITS, Watcher, directory_system, go_on, place, plan_of
from support.said import said_in
from support.sshd import sshd
from tiltyard.analysis.findings import analyse
from tiltyard.errors import UsageError
from tiltyard.executors.barrier import Reading, Start
from tiltyard.executors.engine import Engine, JobRefused
from tiltyard.folder import StudyFolder
from tiltyard.plan.model import Plan
from tiltyard.run.clients import SKEW_MAX_S, SKEW_MAX_SHARE, to_pool
from tiltyard.run.read import read_run
from tiltyard.run.record import RunRecord, TrialRecord
from tiltyard.run.runner import run_study
from tiltyard.run.stream import Stream, read_stream
from tiltyard.study.clients import with_stonewalls
from tiltyard.study.model import ClientSpec, NoiseLimits, WorkloadSpec
from tiltyard.wire import Latency, Sample, SampleEvent

HERE = ClientSpec()
pytestmark = pytest.mark.usefixtures("patience_with_clients")


def mixed(*clients: ClientSpec, runtime_s: float = 0.3) -> WorkloadSpec:
    """Random reads and writes for so long, of a file of each client's own."""
    parameters = {"file": "1M", "block": "4k", "read_percent": 50, "runtime_s": runtime_s}
    return WorkloadSpec(name="random", use="random", parameters=parameters, clients=clients)


def run(
    root: Path, engine: Engine, workload: WorkloadSpec, noise_limits: NoiseLimits | None = None
) -> tuple[Plan, RunRecord, TrialRecord]:
    """A study of one trial; nothing of it is left in the directory."""
    plan = plan_of(
        (directory_system("d", root / "d"),),
        workloads=(workload,),
        blocks=1,
        noise_limits=noise_limits,
    )
    card = engine.describe().workload(workload.use)
    assert card is not None
    metrics = tuple(with_stonewalls(card.metrics))
    planned = plan.workloads[0].model_copy(update={"metrics": metrics, "grid": tuple(card.grid)})
    plan = plan.model_copy(update={"workloads": (planned,)})
    folder = place(root / "study", plan)
    run_study(folder, plan, engine, go_on, Watcher())
    record = read_run(folder, plan)
    (trial,) = record.trials
    assert not list((root / "d").iterdir())
    return plan, record, trial


def streams(root: Path, trial: TrialRecord) -> list[Stream]:
    """The clients' verbatim ones."""
    return [read_stream((root / "study" / one.file).read_bytes()) for one in trial.clients]


def samples(stream: Stream) -> dict[str, Sample]:
    return {e.data.metric: e.data for e in stream.events if isinstance(e, SampleEvent)}


def percentile(found: list[Latency], share: float) -> int:
    """Of all operations of all clients, written out one by one: the upper edge of its bucket."""
    lows = sorted(
        low for one in found for low, count in one.buckets for _ in range(count)
    )  # fmt: skip
    low = lows[ceil(share * len(lows)) - 1]
    return min(low + 2 ** max(0, low.bit_length() - 7) - 1, max(one.max for one in found))


def test_clients_begin_together_and_their_amounts_and_histograms_are_added_up(
    tmp_path: Path, engine: Engine
) -> None:
    plan, _, trial = run(tmp_path, engine, mixed(HERE, HERE, HERE))
    assert (trial.outcome, trial.reason) == ("done", None)
    assert [one.name for one in trial.clients] == ["1", "2", "3"]
    starts_s = [one.regions[0].began_s for one in trial.clients]
    assert min(starts_s) == 0
    assert max(starts_s) <= LATEST_S
    own = streams(tmp_path, trial)
    pooled = samples(read_stream((tmp_path / "study" / trial.file).read_bytes()))
    span_s = max(one.regions[0].began_s + one.regions[0].elapsed_s for one in trial.clients)
    timed, rated = 0, list[Sample]()
    for metric, first in samples(own[0]).items():
        mine, both = [samples(stream)[metric] for stream in own], pooled[metric]
        assert both.operations == sum(each.operations for each in mine)
        assert both.bytes == sum(each.bytes for each in mine)
        if first.unit in ("B/s", "1/s"):
            assert both.elapsed_s == pytest.approx(span_s)
            assert pooled[f"{metric}_stonewall"].elapsed_s <= span_s
        if first.metric.endswith("_latency_p99"):
            assert (
                both.value
                == percentile([one.latency_ns for one in rated if one.latency_ns], 0.99) / 1e9
            )
        if first.latency_ns:
            rated = mine
        latencies = [each.latency_ns for each in mine if each.latency_ns]
        if both.latency_ns:
            timed += 1
            assert both.latency_ns.p50 == percentile(latencies, 0.5)
            assert both.latency_ns.p99 == percentile(latencies, 0.99)
            counts: Counter[int] = Counter()
            for one in latencies:
                counts.update(dict(one.buckets))
            assert dict(both.latency_ns.buckets) == counts
    assert timed
    assert trial.end is not None
    assert trial.end.operations == sum(stream.end.operations for stream in own if stream.end)
    assert trial.end.operations == sum(slice.operations for slice in trial.intervals)
    changed = tmp_path / "study" / trial.clients[1].file
    changed.write_bytes(changed.read_bytes() + b"\n")
    with pytest.raises(UsageError, match=r"client-2\.jsonl\.gz: was changed after the trial"):
        read_run(StudyFolder(tmp_path / "study"), plan)


def test_clients_of_other_hosts_and_a_straggler_that_is_named(
    tmp_path: Path, engine: Engine
) -> None:
    with sshd(tmp_path / "server") as server:
        options = tuple(server.options)
        own = tmp_path / "mount-of-3"
        own.mkdir()
        slow = ClientSpec(host=server.far, ssh_options=options, directory=str(own), inject_ns=10**6)
        plan, record, trial = run(tmp_path, engine, mixed(HERE, HERE, slow, runtime_s=1.0))
        assert not list(server.home.iterdir())
        assert not list(own.iterdir())
    assert (trial.outcome, trial.reason) == ("done", None)
    findings = analyse(plan, record)
    lines = {line.client: line for line in findings.workloads[0].clients}
    third = f"3 ({server.far})"
    assert list(lines) == ["1", "2", third]
    assert lines[third].straggled == 1
    assert lines[third].uncertainty_s > 0
    told = [one.text for one in findings.notices if "stragglers" in one.text]
    assert len(told) == 1
    assert f"client {third} on d" in told[0]


def children(pid: int) -> list[int]:
    """Of all threads of a process; none of one that has ended."""
    found = []
    for path in Path(f"/proc/{pid}/task").glob("*/children"):
        with contextlib.suppress(OSError):
            found += [int(word) for word in path.read_text().split()]
    return found


def opened(pid: int) -> list[str]:
    """What the files of all threads of a process lead to, each by its own table."""
    found = []
    for link in Path(f"/proc/{pid}/task").glob("*/fd/*"):
        with contextlib.suppress(OSError):
            found.append(str(link.readlink()))
    return found


def is_runner(pid: int) -> bool:
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/cmdline").read_bytes().endswith(b"\0runner\0")
    return False


def test_a_block_is_disturbed_by_what_others_do_on_the_host_of_a_client(
    tmp_path: Path, engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """That host is this kernel behind ssh; engines of two clients are no strangers there."""
    monkeypatch.setattr("tiltyard.host.telemetry.boot_id", lambda: "another boot")
    noise_limits = NOISE_LIMITS.model_copy(update={"disturbed": "keep", "reference_run": 0.0})
    compute = [sys.executable, "-c", "while True: pass"]
    with sshd(tmp_path / "server") as server, subprocess.Popen(compute) as other:
        there = ClientSpec(host=server.far, ssh_options=tuple(server.options))
        workload = mixed(HERE, there, there, runtime_s=1.0)
        _, record, trial = run(tmp_path, engine, workload, noise_limits)
        other.kill()
        assert not list(server.home.iterdir())
    assert (trial.outcome, trial.reason) == ("done", None)
    assert trial.telemetry is not None
    (seen,) = trial.telemetry.others
    assert (trial.telemetry.host, seen.host) == ("", server.far)
    assert seen.servers_s is not None
    assert seen.servers_s > 0.1, "the engines are at work, and are no strangers"
    texts = [one.text for one in record.disturbed[1] if one.signal == "foreign_cpu" and one.host]
    assert [text.partition(" used ")[0] for text in texts] == [f"{server.far}: other processes"]


def test_a_client_that_is_killed_makes_the_trial_fail_and_the_others_stop(
    tmp_path: Path, engine: Engine
) -> None:
    def at_work() -> list[int]:
        """The forks of our runners that have opened their file, in the order of their numbers."""
        runners = filter(is_runner, sorted(children(os.getpid())))
        forks = [trial for runner in runners for trial in children(runner)]
        return [fork for fork in forks if any(f"{tmp_path}/d/" in name for name in opened(fork))]

    def kill() -> None:
        wait_until(lambda: len(at_work()) == 3, "the clients do not work")
        os.kill(at_work()[1], signal.SIGKILL)

    killer = Thread(target=kill)
    killer.start()
    _, _, trial = run(tmp_path, engine, mixed(HERE, HERE, HERE, runtime_s=8.0))
    killer.join()
    assert (trial.outcome, trial.reason) == (
        "failed",
        "client 2: the engine was killed by SIGKILL",
    )
    assert not trial.samples
    assert len(list((tmp_path / "study" / "trials").glob("*.client-*.jsonl.gz"))) == 3


def test_a_client_that_cannot_be_had_is_named_with_a_fix(tmp_path: Path, engine: Engine) -> None:
    nowhere = ClientSpec(directory=str(tmp_path / "nowhere"))
    _, _, trial = run(tmp_path, engine, mixed(HERE, nowhere))
    assert trial.outcome == "failed"
    assert trial.reason is not None
    assert trial.reason.startswith("client 2: ")
    assert "No such file" in trial.reason
    assert 'Fix: mount the target there, or name its path: { host = "…"' in trial.reason


def test_clients_that_do_not_begin_together_are_not_added_up(
    tmp_path: Path, engine: Engine
) -> None:
    _, _, trial = run(tmp_path, engine, mixed(HERE, HERE))
    told = []
    for one, late_ns in zip(trial.clients, (0, 60 * 10**9), strict=True):
        (raw := tmp_path / one.name).write_bytes(said_in(tmp_path / "study" / one.file))
        started = [Start(0, Reading(-late_ns, 1000))]
        told.append(to_pool(one.name, raw, raw, one.sha256, started))
    text = r"client 2 began \d+\.\d ms after the first one \(limit 25 ms\)"
    with pytest.raises(JobRefused, match=text):
        engine.pool({"clients": told, "late_s": SKEW_MAX_S, "late_share": SKEW_MAX_SHARE})
