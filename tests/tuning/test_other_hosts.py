"""Hosts that have what this machine has not, reached as any other host is: by a command."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from support.hosts import needs_root
from support.patience import wait_until
from support.places import behind, pretend
from support.snapshots import processes_of
from tiltyard.host import ethtool, sysctls
from tiltyard.host.host import Host
from tiltyard.host.ledger import Ledger, recover
from tiltyard.host.op import MakeNetwork
from tiltyard.host.place import Place
from tiltyard.host.steps import Steps
from tiltyard.ownership import state_directory
from tiltyard.tuning import defaults
from tiltyard.tuning.defaults import sysctls_at_boot
from tiltyard.tuning.knobs.idle import HeldLatency
from tiltyard.tuning.load import load_profiles
from tiltyard.tuning.setting import Outcome, Scene, apply, grouped, told

pytestmark = needs_root

CPUS = "/sys/devices/system/cpu"
GOVERNORS = {
    f"cpu{number}/{file}": text
    for number in range(2)
    for file, text in {
        "cpufreq/scaling_governor": "schedutil\n",
        "cpufreq/scaling_min_freq": "800000\n",
        "cpufreq/scaling_max_freq": "3600000\n",
        "cpufreq/cpuinfo_min_freq": "800000\n",
        "cpufreq/cpuinfo_max_freq": "3600000\n",
        "cpuidle/state0/latency": "0\n",
        "cpuidle/state1/latency": "2\n",
        "cpuidle/state2/latency": "130\n",
        "cpuidle/state2/disable": "0\n",
    }.items()
} | {"intel_pstate/min_perf_pct": "22\n"}


def set_there(tmp_path: Path, text: str, scene: Scene, steps: Steps) -> dict[str, list[Outcome]]:
    """What becomes of a profile at a place."""
    (tmp_path / "p.toml").write_text(f'about = "x"\n{text}')
    settings = load_profiles(["p.toml"], tmp_path).settings_of(scene)
    steps.place = scene.place
    return grouped(apply(settings, steps))


def test_governor_frequency_and_idle_states(tmp_path: Path, steps: Steps) -> None:
    text = (
        '[cpu]\ngovernor = "performance"\nmin_khz = "highest"\nmin_percent = 100\nboost = 0\n'
        "[idle]\ndisable_above_us = 10"
    )
    with pretend(tmp_path, trees={CPUS: GOVERNORS}) as place:
        found = set_there(tmp_path, text, Scene(place), steps)
        assert told(("p",), [each for group in found.values() for each in group]) == {
            "tuning": "p: 4 set, 0 as they were, 1 skipped",
            "tuning CPU governor": "performance (was schedutil), 2 times",
            "tuning CPU min khz": "3600000 (was 800000), 2 times",
            "tuning CPU boost": "skipped: no driver of this host has it (cpufreq/boost)",
            "tuning CPU min percent": "100 (was 22)",
            "tuning idle states above 10 µs": "1 (was 0), 2 times",
        }
        for cpu in ("cpu0", "cpu1"):
            assert place.read(f"{CPUS}/{cpu}/cpufreq/scaling_governor") == "performance"
            assert place.read(f"{CPUS}/{cpu}/cpuidle/state2/disable") == "1"
        steps.undo()
        assert place.read(f"{CPUS}/cpu1/cpufreq/scaling_governor") == "schedutil"
        assert place.read(f"{CPUS}/cpu1/cpufreq/scaling_min_freq") == "800000"
        assert place.read(f"{CPUS}/intel_pstate/min_perf_pct") == "22"
        assert place.read(f"{CPUS}/cpu0/cpuidle/state2/disable") == "0"


ETHTOOL = r"""
state=$(dirname "$0")/../ring; test -e "$state" || echo 256 > "$state"
case $1 in
-g) printf 'Ring parameters for eth9:\nPre-set maximums:\nRX:\t\t4096\nTX:\t\tn/a\n'
    printf 'Current hardware settings:\nRX:\t\t%s\nTX:\t\tn/a\n' "$(cat "$state")";;
-G) echo "$4" > "$state";;
-c) printf 'Coalesce parameters for eth9:\nAdaptive RX: off  TX: n/a\n\nrx-usecs:\t3\n';;
-C) echo "netlink error: Operation not supported" >&2; exit 95;;
*) echo "no such thing" >&2; exit 1;;
esac
"""


def test_rings_and_coalescing_of_a_network_device(tmp_path: Path, steps: Steps) -> None:
    text = (
        '[network]\nring = { rx = "most", tx = 512 }\nchannels = { combined = 2 }\n'
        "coalescing = { rx-usecs = 0, adaptive-rx = false }"
    )
    with pretend(tmp_path, programs={"ethtool": ETHTOOL}) as place:
        found = set_there(tmp_path, text, Scene(place, interfaces=("eth9",)), steps)
        assert found == {
            "eth9 ring rx": [Outcome("eth9 ring rx", "set", "4096", "256")],
            "eth9 ring tx": [
                Outcome("eth9 ring tx", "skipped", reason="eth9 has no tx; it has rx")
            ],
            "eth9 coalescing rx-usecs": [
                Outcome("eth9 coalescing rx-usecs", "skipped", "0", "3",
                        "Operation not supported"),
            ],
            "eth9 coalescing adaptive-rx": [
                Outcome("eth9 coalescing adaptive-rx", "unchanged", "off", "off")
            ],
            "eth9 channels combined": [
                Outcome("eth9 channels combined", "skipped",
                        reason="the driver of eth9 has no channels to set"),
            ],
        }  # fmt: skip
        assert (tmp_path / "ring").read_text() == "4096\n"
        steps.undo()
        assert (tmp_path / "ring").read_text() == "256\n"


def test_the_queues_of_a_real_device(tmp_path: Path, steps: Steps) -> None:
    """Two virtual devices with four queues each, in a network namespace that goes with them."""
    namespace = steps.ledger.name("queues")
    steps.take([MakeNetwork(name=namespace)])
    queues = ("numtxqueues", "4", "numrxqueues", "4")
    pair = ("near", *queues, "type", "veth", "peer", "name", "far", *queues)
    steps.run(("ip", "-n", namespace, "link", "add", *pair))
    inside = Steps(Ledger())
    place = behind("ip", "netns", "exec", namespace, "sh", "-c")
    text = (
        "[network]\nchannels = { rx = 2, tx = 3 }\noffloads = { tso = false }\n"
        'ring = { rx = "most" }\nmtu = 9000\ntx_queue_len = 123'
    )
    found = set_there(tmp_path, text, Scene(place, interfaces=("near",)), inside)
    statuses = {name: group[0].status for name, group in found.items()}
    assert statuses == {
        "near ring rx": "skipped", "near channels rx": "set", "near channels tx": "set",
        "near offloads tso": "set", "near mtu": "set", "near tx_queue_len": "set",
    }  # fmt: skip
    assert ethtool.read(place, "near", "channels") == {"rx": "2", "tx": "3"}
    assert ethtool.read(place, "near", "offloads")["tcp-segmentation-offload"] == "off"
    assert place.read("/sys/class/net/near/mtu") == "9000"
    inside.undo()
    assert ethtool.read(place, "near", "channels") == {"rx": "4", "tx": "4"}
    assert ethtool.read(place, "near", "offloads")["tso"] == "on"
    assert place.read("/sys/class/net/near/mtu") == "1500"
    inside.ledger.close()
    steps.undo()


def test_interrupts_of_the_host_and_of_a_device(tmp_path: Path, steps: Steps) -> None:
    irqs = {f"{number}/smp_affinity_list": "0-1\n" for number in (24, 25, 26)}
    trees = {"/proc/irq": irqs, "/sys/class/net": {"eth9/device/msi_irqs/25": "msi"}}
    with pretend(tmp_path, trees=trees) as place:
        scene = Scene(place, interfaces=("eth9",))
        found = set_there(tmp_path, '[interrupts]\ncpus = [1]\nof = "devices"', scene, steps)
        assert found == {"interrupts": [Outcome("interrupts", "set", "1", "0-1")]}
        assert place.read("/proc/irq/25/smp_affinity_list") == "1"
        found = set_there(tmp_path, "[interrupts]\ncpus = [3, 0, 1]", scene, steps)
        assert [each.value for each in found["interrupts"]] == ["0-1,3"] * 3
        steps.undo()
        for number in (24, 25, 26):
            assert place.read(f"/proc/irq/{number}/smp_affinity_list") == "0-1"


SCRIPT = """#!/bin/sh
pid={home}/pid
case $1 in
start) setsid sleep 1000 & echo $! > $pid; echo started >> {home}/log;;
stop) kill "$(cat $pid)"; rm $pid; echo stopped >> {home}/log;;
status) test -e $pid && kill -0 "$(cat $pid)";;
esac
"""


def test_a_service_of_system_v_is_stopped_and_started_again(tmp_path: Path, steps: Steps) -> None:
    script = SCRIPT.format(home=tmp_path)
    with pretend(tmp_path, trees={"/etc/init.d": {"spooler": script}}) as place:
        again = ("sh", "-c", "/etc/init.d/spooler start >/dev/null 2>&1")
        subprocess.run(place.address.argv(again), check=True)
        try:
            found = set_there(
                tmp_path, '[services]\nstop = ["spooler", "crond"]', Scene(place), steps
            )
            assert told(("p",), [each for group in found.values() for each in group]) == {
                "tuning": "p: 1 set, 1 as they were, 0 skipped",
                "tuning service spooler": "stopped (was running)",
                "tuning, not on this host": "service crond",
            }
            assert not (tmp_path / "pid").exists()
            steps.undo()
            assert (tmp_path / "log").read_text() == "started\nstopped\nstarted\n"
        finally:
            place.run(("sh", "-c", "/etc/init.d/spooler stop >/dev/null 2>&1; true"))


SYSTEMCTL = """
unit=$(dirname "$0")/../active
for last; do :; done
case $1 in
cat) test "$last" = irqbalance || test "$last" = stubborn;;
is-active) test "$last" = stubborn || test -e "$unit";;
stop) test "$last" = stubborn && { echo "Operation refused, unit stubborn" >&2; exit 4; }
      rm "$unit";;
start) touch "$unit";;
esac
"""


def test_services_where_process_1_is_systemd(tmp_path: Path, steps: Steps) -> None:
    (tmp_path / "active").touch()
    there = {"files": {"/proc/1/comm": "systemd\n"}, "programs": {"systemctl": SYSTEMCTL}}
    with pretend(tmp_path, **there) as place:
        text = '[services]\nstop = ["irqbalance", "stubborn", "absent"]'
        found = set_there(tmp_path, text, Scene(place), steps)
        assert [group[0].status for group in found.values()] == ["set", "skipped", "unchanged"]
        reason = "it does not stop (Operation refused, unit stubborn)"
        assert found["service stubborn"][0].reason == reason
        assert not (tmp_path / "active").exists()
        steps.undo()
        assert (tmp_path / "active").exists()


TUNED = """
now=$(dirname "$0")/../profile
case $1 in
active) test -e "$now" && echo "Current active profile: $(cat "$now")" || {
        echo "No current active profile."; exit 1; };;
profile) test "$2" = gone && { echo "Requested profile 'gone' doesn't exist." >&2; exit 1; }
         echo "$2" > "$now";;
off) rm -f "$now";;
esac
"""


def test_a_profile_of_tuned(tmp_path: Path, steps: Steps) -> None:
    now = tmp_path / "profile"
    with pretend(tmp_path, programs={"tuned-adm": TUNED}) as place:
        set_there(tmp_path, '[tuned]\nprofile = "balanced"', Scene(place), steps)
        assert now.read_text() == "balanced\n"
        set_there(tmp_path, '[tuned]\nprofile = "powersave"', Scene(place), steps)
        found = set_there(tmp_path, '[tuned]\nprofile = "gone"', Scene(place), steps)
        assert found["profile of tuned-adm"][0].reason == "Requested profile 'gone' doesn't exist."
        assert now.read_text() == "powersave\n"
        steps.undo()
        assert not now.exists()


def test_the_agent_of_another_host_puts_back_what_a_killed_run_has_set(tmp_path: Path) -> None:
    (tmp_path / "p.toml").write_text('about = "x"\n[cpu]\ngovernor = "performance"')
    path = f"{CPUS}/cpu0/cpufreq/scaling_governor"
    with pretend(tmp_path, trees={CPUS: GOVERNORS}) as place:
        set_and_die(tmp_path, place)
        wait_until(lambda: place.read(path) == "schedutil", "it stays set")
        assert recover() == []


@pytest.mark.skipif(
    not Path("/dev/cpu_dma_latency").exists(),
    reason="this kernel takes no requests for short wake-up times (CONFIG_CPU_IDLE)",
)
def test_there_a_process_holds_the_latency_and_ends_with_us(tmp_path: Path, steps: Steps) -> None:
    place = behind("sh", "-c")
    latency = HeldLatency(place, 17)
    before = latency.read()
    found = set_there(tmp_path, "[idle]\nlatency_us = 17", Scene(place), steps)
    assert (found["wake-up latency"][0].status, latency.read()) == ("set", "17 µs")
    steps.undo()
    assert latency.read() == before
    set_and_die(tmp_path, place)
    recover()
    assert latency.read() == before


def set_and_die(tmp_path: Path, place: Place) -> None:
    """A process that applies a profile, and is killed."""
    text = DIE.format(words=place.address.command, home=str(tmp_path))
    (tmp_path / "die.py").write_text(text)
    own = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run((sys.executable, str(tmp_path / "die.py")), env=own, check=False)
    assert done.returncode == -9
    processes_of(state_directory())  # waits for its agent, which takes back what it has changed


DIE = """
import os
from pathlib import Path
from support.places import behind
from tiltyard.host.ledger import Ledger
from tiltyard.host.steps import Steps
from tiltyard.tuning.load import load_profiles
from tiltyard.tuning.setting import Scene
from tiltyard.tuning.setting import apply
place = behind(*{words!r})
profile = load_profiles(["p.toml"], Path({home!r}))
apply(profile.settings_of(Scene(place)), Steps(Ledger(), place=place))
os.kill(os.getpid(), 9)
"""


@pytest.mark.parametrize(
    ("release", "memory_kib", "rmem", "wmem", "somaxconn"),
    [
        ("6.18.44", 24_000_000, "4096 131072 33554432", "4096 16384 4194304", "4096"),
        ("6.1.0-56", 24_000_000, "4096 131072 6291456", "4096 16384 4194304", "4096"),
        ("3.10.0", 262_144, "4096 131072 2097152", "4096 16384 2097152", "128"),
    ],
)
def test_computed_defaults(
    tmp_path: Path, release: str, memory_kib: int, rmem: str, wmem: str, somaxconn: str
) -> None:
    files = {
        "/proc/sys/kernel/osrelease": f"{release}\n",
        "/proc/meminfo": f"MemTotal: {memory_kib} kB\n",
    }
    with pretend(tmp_path, files=files) as place:
        assert defaults.tcp_rmem(place) == rmem
        assert defaults.tcp_wmem(place) == wmem
        assert defaults.somaxconn(place) == somaxconn


def test_a_profile_is_looked_at_in_one_exchange_and_set_in_another(
    tmp_path: Path, steps: Steps, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before, the machine is held; afterwards all is taken back, and it is let go."""
    keys = ("vm.stat_interval", "vm.extfrag_threshold", "vm.user_reserve_kbytes")
    before = [sysctls.read(key) for key in keys]
    told = list[str]()
    tell = Host._tell

    def telling(host: Host, line: bytes) -> None:
        told.extend(json.loads(line).keys() - {"id"} if host is there else ())
        tell(host, line)

    place = behind("sh", "-c")
    there = place.host
    monkeypatch.setattr(Host, "_tell", telling)
    text = "[sysctl]\n" + "\n".join(f"{key} = 7{at}" for at, key in enumerate(keys))
    found = set_there(tmp_path, text, Scene(place), steps)
    assert [group[0].status for group in found.values()] == ["set"] * 3
    assert [sysctls.read(key) for key in keys] == ["70", "71", "72"]
    steps.undo()
    assert told == ["hold", "read", "ops", "undo", "let_go"]
    assert [sysctls.read(key) for key in keys] == before


def test_of_two_that_are_both_0_neither_is_touched(tmp_path: Path, steps: Steps) -> None:
    files = {"/proc/sys/vm/dirty_bytes": "0\n", "/proc/sys/vm/dirty_ratio": "0\n"}
    with pretend(tmp_path, files=files) as place:
        text = "[sysctl]\nvm.dirty_bytes = 100000000"
        ((found,),) = set_there(tmp_path, text, Scene(place), steps).values()
        assert found.reason == "vm.dirty_ratio is 0 as well, and could not be put back"
        assert place.read("/proc/sys/vm/dirty_bytes") == "0"


def test_what_a_distribution_sets_at_boot(tmp_path: Path) -> None:
    folders = {
        "/usr/lib/sysctl.d": {"10-a.conf": "vm.a = 1\nvm.b = 1\n", "50-b.conf": "vm.b = 2\n"},
        "/etc/sysctl.d": {
            "10-a.conf": "# hides that of the same name\n-vm/c = 3  4\nnet.*.x = 1\n",
            "99-sysctl.conf": "vm.b=5\n; a remark\n",
        },
    }
    files = {"/etc/sysctl.conf": "vm.d = 6\n"}
    with pretend(tmp_path, trees=folders, files=files) as place:
        assert sysctls_at_boot(place) == {"vm.c": "3 4", "vm.b": "5", "vm.d": "6"}


def test_a_place_finds_what_a_pattern_means(tmp_path: Path) -> None:
    for name in ("b", "a"):
        (tmp_path / name).touch()
    for place in (Place(), behind("sh", "-c")):
        assert place.find(f"{tmp_path}/[ab]") == [f"{tmp_path}/a", f"{tmp_path}/b"]
        assert place.find(f"{tmp_path}/c*") == []
