"""Tiny studies over a network: on a pair of namespaces, on loopback, and by ssh."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from support.hosts import needs_root
from support.networks import left_behind
from support.runs import NOISE_LIMITS, Watcher, go_on, place, plan_of
from support.sshd import sshd
from tiltyard.executors.engine import Engine
from tiltyard.plan.model import Plan
from tiltyard.run.read import read_run
from tiltyard.run.record import RunRecord
from tiltyard.run.runner import run_study
from tiltyard.study.model import SystemSpec, WorkloadSpec

BYTES = 2**20
CPU = min(os.sched_getaffinity(0))
STREAM = WorkloadSpec(
    name="tcp_stream", use="tcp_stream", parameters={"message": "4k", "bytes": BYTES}
)


def system(name: str, kind: str, **settings: object) -> SystemSpec:
    """A system of two ends."""
    return SystemSpec.model_validate(
        {"name": name, "levels": {"which": name}, "kind": kind, "settings": settings}
    )


def carry_out(root: Path, *systems: SystemSpec) -> tuple[Plan, RunRecord]:
    """Two blocks of one tiny workload; every trial of it is done."""
    plan = plan_of(systems, workloads=(STREAM,), blocks=2)
    folder = place(root, plan)
    run_study(folder, plan, Engine.find(), go_on, Watcher())
    record = read_run(folder, plan)
    assert [trial.reason for trial in record.trials] == [None] * 2 * len(systems)
    for trial in record.trials:
        assert trial.end is not None
        assert trial.end.network is not None
        near, far = trial.end.network.near, trial.end.network.far
        assert near.sent_bytes == far.received_bytes == BYTES
    return plan, record


@needs_root
def test_each_block_has_a_fresh_pair(tmp_path: Path) -> None:
    _, record = carry_out(
        tmp_path,
        system("1500", "pair", mtu=1500),
        system("9000", "pair", mtu=9000, client_cpus=[CPU], server_cpus=[CPU]),
    )
    for prepared in record.prepared:
        made = [command.argv[1:3] for command in prepared.commands]
        assert made.count(("netns", "add")) == 2
        assert prepared.facts["MTU"] == prepared.system
    segments = {
        trial.key.system: {connection.mss_bytes for connection in trial.connections}
        for trial in record.trials
    }
    assert all(mss <= int(name) for name, seen in segments.items() for mss in seen)
    placed = [trial.hello for trial in record.trials if trial.key.system == "9000"]
    assert all(hello is not None and hello.conditions.cpus == [CPU] for hello in placed)
    assert left_behind(str(tmp_path)) == []


def test_loopback_needs_no_root(tmp_path: Path) -> None:
    _, record = carry_out(
        tmp_path, system("IPv4", "loopback"), system("IPv6", "loopback", family="ipv6")
    )
    protocols = {
        prepared.system: prepared.facts["Internet Protocol"] for prepared in record.prepared
    }
    assert protocols == {"IPv4": "IPv4", "IPv6": "IPv6"}


def test_a_pair_in_a_users_own_namespaces(tmp_path: Path) -> None:
    plan = plan_of((system("a", "pair"),), workloads=(STREAM,), blocks=1)
    folder = place(tmp_path, plan)
    run = f"mount -t tmpfs tmpfs /run && exec {sys.executable} -m support.runs {tmp_path}"
    subprocess.run(
        ("unshare", "--map-root-user", "--net", "--mount", "sh", "-c", run),
        check=True,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[1])},
    )
    (trial,) = read_run(folder, plan).trials
    assert trial.outcome == "done", trial.reason


def test_a_far_end_by_ssh(tmp_path: Path) -> None:
    with sshd(tmp_path / "server") as server:
        options = {"ssh_options": server.options, "data_ports": "23100-23110"}
        there = system("there", "hosts", server=server.far, **options)
        _, run = carry_out(tmp_path / "study", there)
        assert not list(server.home.iterdir())
    assert run.other_hosts[server.far]["kernel"]["release"] == os.uname().release


def test_a_block_is_disturbed_by_what_others_do_on_the_host_of_the_server(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """That host is this kernel behind ssh: there the client is one of the others."""
    monkeypatch.setattr("tiltyard.host.telemetry.boot_id", lambda: "another boot")
    noise_limits = NOISE_LIMITS.model_copy(update={"disturbed": "keep", "reference_run": 0.0})
    brief = STREAM.model_copy(update={"parameters": {"message": "64", "seconds": 4}})
    with sshd(tmp_path / "server") as server:
        there = system("there", "hosts", server=server.far, ssh_options=server.options)
        plan = plan_of((there,), workloads=(brief,), blocks=1, noise_limits=noise_limits)
        folder = place(tmp_path / "study", plan)
        run_study(folder, plan, Engine.find(), go_on, Watcher())
    run = read_run(folder, plan)
    (trial,) = run.trials
    assert trial.telemetry is not None
    (other,) = trial.telemetry.others
    assert (trial.telemetry.host, other.host) == ("", server.far)
    assert other.servers_s is not None
    assert other.servers_s > 0.1, "the server is at work, and is no stranger"
    texts = [one.text for one in run.disturbed[1] if one.signal == "foreign_cpu" and one.host]
    assert [text.partition(" used ")[0] for text in texts] == [f"{server.far}: other processes"]


@needs_root
def test_a_pair_that_cannot_come_up_fails_its_trials_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    good = system("good", "pair")
    bad = system("bad", "pair", offloads={"tx-checksum-ipv4": True})
    plan = plan_of((good, bad), workloads=(STREAM,), blocks=1)
    folder = place(tmp_path, plan)
    run_study(folder, plan, Engine.find(), go_on, Watcher())
    outcomes = {trial.key.system: trial for trial in read_run(folder, plan).trials}
    assert outcomes["good"].outcome == "done"
    assert outcomes["bad"].reason is not None
    assert outcomes["bad"].reason.startswith("bad did not come up: ")
    assert "tx-checksum-ipv4" in outcomes["bad"].reason
