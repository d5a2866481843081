"""Slurm with nodes on this host, without systemd and munge, for one test."""

import contextlib
import os
import signal
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from support.patience import wait_until

_CONFIG = """\
ClusterName=test
SlurmctldHost={host}(127.0.0.1)
SlurmUser=root
SlurmdUser=root
AuthType=auth/none
CredType=cred/none
SlurmctldPort={port}
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool-%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/%n.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
TaskProlog={folder}/prolog
JobAcctGatherType=jobacct_gather/none
SelectType=select/linear
SchedulerType=sched/builtin
SwitchType=switch/none
MpiDefault=none
ReturnToService=2
SlurmdParameters=config_overrides
KillWait=2
SlurmdTimeout=10
Licenses=nas:1
PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP
"""
_PROLOG = """\
#!/bin/sh
echo "export TILTYARD_STATE={folder}/of-$SLURMD_NODENAME"
"""
"""Nodes that were machines would have ledgers of their own."""
_NODE = "NodeName={name} NodeHostname={host} NodeAddr=127.0.0.1 Port={port} CPUs=1 RealMemory=100\n"


@dataclass
class Slurm:
    """A cluster; only processes with its ``SLURM_CONF`` see it."""

    folder: Path
    nodes: tuple[str, ...]
    daemons: dict[str, "subprocess.Popen[bytes]"] = field(default_factory=dict)

    def start(self, name: str) -> None:
        """A node's daemon, or the controller ("")."""
        config = str(self.folder / "slurm.conf")
        program = ("slurmd", "-N", name) if name else ("slurmctld",)
        argv = (*program, "-D", "-f", config)
        # A session of its own: Ctrl-C of a test must not end it.
        self.daemons[name] = subprocess.Popen(
            argv, start_new_session=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )

    def lose(self, name: str) -> None:
        """The node is gone: its daemon and all that runs on it die at once."""
        self.daemons[name].kill()
        self.daemons[name].wait()
        for pids in (_steps_of(name, self.folder), _tasks_of(name, self.folder)):
            for pid in pids:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)

    def states(self) -> dict[str, str]:
        """What Slurm says of each node."""
        told = subprocess.run(
            ("sinfo", "--noheader", "--Node", "-o", "%N %T"),
            capture_output=True,
            text=True,
            check=False,
        )
        return dict(line.split() for line in told.stdout.splitlines())

    def jobs(self) -> str:
        """What it has allocated."""
        return subprocess.check_output(("squeue", "--noheader"), text=True)


@contextmanager
def slurm(folder: Path, monkeypatch: pytest.MonkeyPatch, count: int = 4) -> Iterator[Slurm]:
    """Start one, wait until all nodes are idle, and end it."""
    found = Slurm(folder, tuple(f"n{number}" for number in range(count)))
    host, ports = socket.gethostname().partition(".")[0], _free_ports(1 + count)
    text = _CONFIG.format(host=host, port=ports[0], folder=folder)
    text += "".join(
        _NODE.format(name=name, host=host, port=port)
        for name, port in zip(found.nodes, ports[1:], strict=True)
    )
    for name in ("state", *(f"spool-{node}" for node in found.nodes)):
        (folder / name).mkdir(parents=True)
    (folder / "slurm.conf").write_text(text)
    (prolog := folder / "prolog").write_text(_PROLOG.format(folder=folder))
    prolog.chmod(0o755)
    monkeypatch.setenv("SLURM_CONF", str(folder / "slurm.conf"))
    try:
        for name in ("", *found.nodes):
            found.start(name)
        idle = ["idle"] * count
        wait_until(lambda: [*found.states().values()] == idle, "idle nodes", pause_s=0.1)
        yield found
    finally:
        # Told to end, a daemon would wait for what may never answer it.
        for name in found.daemons:
            found.lose(name)


def _steps_of(node: str, folder: Path) -> Iterator[int]:
    """Each slurmstepd of a node, also of a step that has no task yet: it writes to the node's log.

    One that outlived the daemon would make the next one wait for its answer for ever.
    """
    log = folder / f"{node}.log"
    for entry in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if str(log) in map(_link, (entry / "fd").iterdir()):
                yield int(entry.name)


def _link(file: Path) -> str:
    """Where it leads; empty if it was closed meanwhile."""
    try:
        return str(file.readlink())
    except OSError:
        return ""


def _tasks_of(node: str, folder: Path) -> Iterator[int]:
    """Tasks of steps on a node of this cluster."""
    marks = {f"SLURMD_NODENAME={node}".encode(), f"SLURM_CONF={folder}/slurm.conf".encode()}
    for entry in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if marks <= {*(entry / "environ").read_bytes().split(b"\0")}:
                yield int(entry.name)


def _free_ports(count: int) -> list[int]:
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return [one.getsockname()[1] for one in sockets]
