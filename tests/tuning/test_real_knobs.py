"""Knobs turned on this machine itself: swap, interrupts, steering, latency, priority, servers."""

import os
import shlex
import signal
import struct
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from support.devices import MIB, sh
from support.hosts import needs_root
from support.patience import PATIENCE_S, wait_until
from support.places import pretend
from support.snapshots import put_back_by_itself
from tiltyard.errors import BusyError, TiltyardError
from tiltyard.host import swaps
from tiltyard.host.ledger import Ledger
from tiltyard.host.op import MakeNetwork
from tiltyard.host.place import HERE, Place
from tiltyard.host.start import pids
from tiltyard.host.steps import Steps
from tiltyard.tuning.knobs import idle
from tiltyard.tuning.knobs.swap import Swap
from tiltyard.tuning.load import load_profiles
from tiltyard.tuning.setting import Outcome, Scene, apply, launched_by, look

pytestmark = needs_root

_LATENCY = Path("/dev/cpu_dma_latency")
_IRQS = "/proc/irq/[0-9]*/smp_affinity_list"
LAST = max(os.sched_getaffinity(0))


def outcomes(
    tmp_path: Path, text: str, steps: Steps | None = None, scene: Scene | None = None
) -> list[Outcome]:
    (tmp_path / "p.toml").write_text(f'about = "x"\n{text}')
    settings = load_profiles(["p.toml"], tmp_path).settings_of(scene or Scene())
    if steps is None:
        return [look(each) for each in settings]
    steps.place = (scene or Scene()).place
    return apply(settings, steps)


@contextmanager
def swapping(path: Path, priority: int = -1) -> Iterator[str]:
    """A swap file of 1 MiB that is in use; by default with the priority that the kernel gives."""
    path.write_bytes(bytes(2**20))
    path.chmod(0o600)
    subprocess.run(("mkswap", path), check=True, capture_output=True)
    subprocess.run(swaps.command(str(path), priority), check=True)
    try:
        yield str(path)
    finally:
        subprocess.run(("swapoff", path), check=False)


takes_latencies = pytest.mark.skipif(
    not _LATENCY.exists(), reason="this kernel takes no requests for short wake-ups (CPU_IDLE)"
)


def latency_us() -> int:
    with _LATENCY.open("rb") as file:
        return int(struct.unpack("i", file.read(4))[0])


def test_a_device_whose_queues_no_kernel_steers_says_so(tmp_path: Path) -> None:
    text = "[steering]\nreceive_cpus = [0]\ntransmit_cpus = [0]\nflows = 256"
    with pretend(tmp_path, trees={"/sys/class/net": {"eth9/queues/rx-0/none": ""}}) as place:
        found = outcomes(tmp_path, text, None, Scene(place, interfaces=("eth9",)))
    names = ("eth9 receive cpus", "eth9 transmit cpus", "eth9 flows")
    reason = "its driver has one queue, or none that this kernel steers"
    assert found == [Outcome(name, "skipped", reason=reason) for name in names]


@takes_latencies
def test_the_latency_of_waking_is_held_by_an_open_file(tmp_path: Path, steps: Steps) -> None:
    before = latency_us()
    (found,) = outcomes(tmp_path, "[idle]\nlatency_us = 17", steps)
    assert found.status == "set", found.reason
    assert latency_us() == 17
    (again,) = outcomes(tmp_path, "[idle]\nlatency_us = 20")
    assert again.status == "unchanged"
    recipe = steps.recipe
    steps.undo()
    assert latency_us() == before
    assert recipe.words == ()
    look = f"od -An -td4 -N4 {_LATENCY}"
    lines = ("set -eu", *recipe.up, look, *recipe.down, look)
    done = subprocess.run(("bash", "-c", "\n".join(lines)), capture_output=True, check=True)
    assert list(map(int, done.stdout.split())) == [17, before]


def test_a_latency_that_is_not_taken_leaves_no_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(idle, "_LATENCY", "/dev/full")
    with Ledger() as ledger:
        (steps := Steps(ledger)).begin()
        step = idle.HoldLatency.of(17)
        with pytest.raises(TiltyardError, match=r"wake-up latency: .*ended with status"):
            steps.take((step,))
        assert not pids((step.mark,))
        assert not steps


def test_a_swap_area_is_taken_off_and_comes_back_with_its_priority(
    tmp_path: Path, steps: Steps
) -> None:
    with swapping(tmp_path / "swap here", 7) as path:
        before = swaps.areas(HERE)
        found = outcomes(tmp_path, "[swap]\noff = true", steps)
        assert Outcome(f"swap on {path}", "set", "off", "on, priority 7") in found
        assert path not in swaps.areas(HERE)
        with Ledger() as other, pytest.raises(BusyError, match="swap is taken by another run"):
            outcomes(tmp_path, "[swap]", Steps(other))
        steps.undo()
        assert swaps.areas(HERE) == before


def test_a_swap_area_that_could_not_come_back_stays_on(tmp_path: Path, steps: Steps) -> None:
    """A loop device that somebody has detached while it is swapped to goes when it is off."""
    (image := tmp_path / "image").write_bytes(bytes(2 * MIB))
    device = sh("losetup", "--find", "--show", str(image))
    sh("mkswap", device)
    sh("swapon", device)
    sh("losetup", "--detach", device)
    before = swaps.areas(HERE)
    try:
        found = outcomes(tmp_path, "[swap]", steps)
        reason = "it stays on (it would be detached, and could not come back)"
        assert Outcome(f"swap on {device}", "skipped", reason=reason) in found
        assert device in swaps.areas(HERE)
        steps.undo()
        assert swaps.areas(HERE) == before
    finally:
        sh("swapoff", device)


def test_swap_areas_come_back_in_their_order(tmp_path: Path, steps: Steps) -> None:
    with swapping(tmp_path / "first"), swapping(tmp_path / "second"):
        before = swaps.areas(HERE)
        outcomes(tmp_path, "[swap]", steps)
        assert swaps.areas(HERE) == {}
        steps.undo()
        assert list(swaps.areas(HERE).items()) == list(before.items())


def test_the_way_back_of_swap_is_the_command_for_its_host() -> None:
    off = Swap(Place(("ssh", "host")), "/swap here").step("on, priority 7", "off")
    assert off.way_back == shlex.join(("ssh", "host", "swapon --priority 7 '/swap here'"))


def test_packets_are_steered_as_the_kernel_prints_it(tmp_path: Path, steps: Steps) -> None:
    """A virtual device with four queues, in a network namespace that goes with it."""
    namespace = steps.ledger.name("steer")
    steps.take([MakeNetwork(name=namespace)])
    queues = ("numtxqueues", "4", "numrxqueues", "4")
    pair = ("near", *queues, "type", "veth", "peer", "name", "far", *queues)
    steps.run(("ip", "-n", namespace, "link", "add", *pair))
    inside = Steps(Ledger())
    place = Place(("ip", "netns", "exec", namespace, "sh", "-c"))
    text = f"[steering]\nreceive_cpus = [{LAST}]\ntransmit_cpus = [0]\nflows = 256"
    scene = Scene(place, interfaces=("near",))
    found = outcomes(tmp_path, text, inside, scene)
    assert [one.status for one in found] == ["set"] * 12, found
    own = "/sys/class/net/near/queues"
    masks = place.read_all(place.find(f"{own}/rx-*/rps_cpus")).values()
    assert {int(mask.replace(",", ""), 16) for mask in masks} == {1 << LAST}
    assert place.read(f"{own}/rx-3/rps_flow_cnt") == "256"
    too_far = outcomes(tmp_path, "[steering]\nreceive_cpus = [4000]", None, scene)
    assert {one.reason for one in too_far} == {"there is no CPU 4000"}
    inside.undo()
    masks = place.read_all(place.find(f"{own}/*/?ps_cpus")).values()
    assert {mask.strip("0,") for mask in masks} == {""}
    inside.ledger.close()
    steps.undo()


def test_after_a_kill_the_latency_is_gone_and_the_rest_is_put_back(
    tmp_path: Path, state: Path
) -> None:
    """Killed with swap off, all interrupts on one CPU and the latency held."""
    text = f'about = "x"\n[swap]\n[idle]\nlatency_us = 13\n[interrupts]\ncpus = [{LAST}]\n'
    takes_latency = _LATENCY.exists()
    (tmp_path / "kill.toml").write_text(text)
    call = "from tiltyard.cli import main; main()"
    held = (sys.executable, "-c", call, "tuning", "hold", "kill.toml", "--")
    latency = latency_us() if takes_latency else 0
    irqs = HERE.read_all(HERE.find(_IRQS))
    there = sum(cpus == str(LAST) for cpus in irqs.values())
    with swapping(tmp_path / "swap", 5) as path:
        areas = swaps.areas(HERE)
        (tmp_path / "wait").touch()
        argv = (*held, "sh", "-c", "echo up; while [ -e wait ]; do sleep 0.05; done")
        with subprocess.Popen(argv, cwd=tmp_path, stdout=subprocess.PIPE) as process:
            assert process.stdout is not None
            assert process.stdout.readline() == b"up\n"
            assert path not in swaps.areas(HERE)
            assert not takes_latency or latency_us() == 13
            set_now = HERE.read_all(HERE.find(_IRQS))
            assert sum(cpus == str(LAST) for cpus in set_now.values()) > there
            process.send_signal(signal.SIGKILL)
            (tmp_path / "wait").unlink()
            process.wait(PATIENCE_S)
        put_back_by_itself(state)
        assert not takes_latency or latency_us() == latency
        assert swaps.areas(HERE) == areas
    assert HERE.read_all(HERE.find(_IRQS)) == irqs


@pytest.mark.parametrize(
    ("text", "value", "shown"),
    [
        ("nice = -7", "nice -7", ["cat", "/proc/self/stat"]),
        ("fifo = 3", "fifo 3", ["chrt", "-p", "0"]),
    ],
)
def test_the_workload_is_started_with_its_priority(
    tmp_path: Path, text: str, value: str, shown: list[str]
) -> None:
    (tmp_path / "p.toml").write_text(f'about = "x"\n[priority]\n{text}')
    profile = load_profiles(["p.toml"], tmp_path)
    (outcome,), command = launched_by(profile.settings("engine", Scene()))
    assert (outcome.status, outcome.value) == ("set", value)
    done = subprocess.run((*command, *shown), capture_output=True, text=True, check=True).stdout
    found = done.split()[18] if text.startswith("nice") else done
    assert found == "-7" or "SCHED_FIFO\n" in found


def test_nothing_is_real_time_where_it_could_have_all_cpus(tmp_path: Path) -> None:
    with pretend(tmp_path, files={"/proc/sys/kernel/sched_rt_runtime_us": "-1\n"}) as place:
        (found,) = outcomes(tmp_path, "[priority]\nfifo = 3", None, Scene(place))
    assert found.reason.startswith("real-time programs may take all CPU time here. Fix: sysctl")


def test_servers_are_pinned_and_their_threads_too(tmp_path: Path, steps: Steps) -> None:
    with subprocess.Popen(("sleep", "60")) as server:
        scene = Scene(servers=lambda: (server.pid,))
        (found,) = outcomes(tmp_path, f"[servers]\ncpus = [{LAST}]", steps, scene)
        assert found.status == ("set" if LAST else "unchanged"), found
        assert os.sched_getaffinity(server.pid) == {LAST}
        (found,) = outcomes(tmp_path, "[servers]\ncpus = [4000]", steps, scene)
        assert found.reason == "there is no CPU 4000"
        server.kill()
    (found,) = outcomes(tmp_path, "[servers]\ncpus = [0]")
    assert found.reason == "the system has no server here; that of a network test has server_cpus"


def test_selinux_where_the_kernel_has_it(tmp_path: Path, steps: Steps) -> None:
    text = '[security]\nselinux = "permissive"'
    with pretend(tmp_path, trees={"/sys/fs": {"selinux/enforce": "1"}}) as place:
        (found,) = outcomes(tmp_path, text, steps, Scene(place))
        assert (found.status, found.value, found.before) == ("set", "0", "1")
        steps.undo()
        assert place.read("/sys/fs/selinux/enforce") == "1"
    if not Path("/sys/fs/selinux/enforce").exists():
        (found,) = outcomes(tmp_path, text)
        assert found.reason.startswith("SELinux is not on in this kernel")


@pytest.mark.skipif(HERE.read("/proc/1/comm") == "systemd", reason="systemd manages services here")
def test_a_service_that_nobody_manages_here_is_not_taken_for_stopped(tmp_path: Path) -> None:
    own = tmp_path / "tyard-spooler"
    own.symlink_to("/bin/sleep")
    with subprocess.Popen((own, "60")) as process:
        comm = Path(f"/proc/{process.pid}/comm")
        wait_until(lambda: comm.read_text().strip() == own.name, "the program's own name")
        (found,) = outcomes(tmp_path, '[services]\nstop = ["tyard-spooler"]')
        process.kill()
    assert found.reason == "it runs, and nothing manages services here that could start it again"
    (found,) = outcomes(tmp_path, '[services]\nstop = ["tyard-spooler"]')
    assert found.status == "unchanged"
