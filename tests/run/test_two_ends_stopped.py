"""A run over a network is stopped, or killed, while data flow: both ends are gone at once."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from support.hosts import needs_root
from support.kills import token_of
from support.networks import left_behind, parameters
from support.runs import place, plan_of, wait_for_trial
from support.snapshots import put_back_by_itself
from tiltyard.study.model import SystemSpec, WorkloadSpec

FLOWS = WorkloadSpec(name="flows", use="tcp_stream", parameters={"seconds": 600.0})
"""Longer than any test waits: it must be stopped."""
SETTINGS = {
    "pair": {"sysctl": {"net.core.netdev_max_backlog": 4444}, "congestion_control": "cubic"},
    "loopback": {"sysctl": {"net.core.netdev_max_backlog": 4445}},
}


@needs_root
@pytest.mark.parametrize("kind", SETTINGS)
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL], ids=lambda n: n.name)
def test_while_data_flow(tmp_path: Path, state: Path, kind: str, number: signal.Signals) -> None:
    spec = {"name": kind, "levels": {"kind": kind}, "kind": kind, "settings": SETTINGS[kind]}
    plan = plan_of((SystemSpec.model_validate(spec),), workloads=(FLOWS,), blocks=1)
    folder = place(tmp_path / "study", plan)
    before = parameters()
    with subprocess.Popen(
        (sys.executable, "-m", "support.runs", str(folder.root)),
        cwd=Path(__file__).resolve().parents[1],
        stderr=subprocess.DEVNULL,
    ) as process:
        wait_for_trial(folder, "flows")
        token = token_of(state)
        assert parameters() != before
        assert left_behind(token)
        process.send_signal(number)
    put_back_by_itself(state)
    assert left_behind(token) == []
    assert parameters() == before
    assert not list(state.iterdir())
