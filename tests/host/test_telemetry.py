"""Telemetry of this host while something known goes on, and of hosts that are made of files."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from support.hosts import needs_root
from tiltyard.host import pressure, processor, telemetry
from tiltyard.host.devices import disk_watch, disks
from tiltyard.host.devices.disks import Traffic
from tiltyard.host.place import Place
from tiltyard.host.processor import FrequencyWatch, Sensors
from tiltyard.host.telemetry import KernelLog, Telemetry, Watch, watch

MIB = 2**20


def written(root: Path, **files: str) -> None:
    """Files with a text each; a double underscore is a slash."""
    for name, text in files.items():
        path = root / name.replace("__", "/")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def test_a_watch_tells_of_its_own_time(tmp_path: Path) -> None:
    with Watch(tmp_path) as watch:
        time.sleep(0.05)
        seen = watch.telemetry()
    assert seen.elapsed_s >= 0.05
    assert seen.clock_sources == (telemetry._CLOCK_SOURCE.read_text().strip(),)
    assert abs(seen.clock_step_s) < 1e-3
    assert Telemetry.model_validate_json(seen.model_dump_json()) == seen


def test_without_a_directory_there_is_no_disk() -> None:
    with Watch(None) as watch:
        seen = watch.telemetry()
    assert (seen.own_bytes, seen.foreign_bytes) == (None, None)


def test_what_the_clock_was_set_by(monkeypatch: pytest.MonkeyPatch) -> None:
    ahead = iter([1000.0, 1000.25])
    monkeypatch.setattr(telemetry, "_time_of_day_ahead_s", lambda: next(ahead))
    with Watch(None) as watch:
        assert watch.telemetry().clock_step_s == pytest.approx(0.25)


def test_a_process_that_had_to_wait_between_two_clocks_sees_no_step(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Each reading of a clock takes 40 ns; every seventh one, this process waits for 4 ms first."""
    now_ns, readings = 10**15, 0

    def read(clock: int) -> int:
        nonlocal now_ns, readings
        readings += 1
        now_ns += 4_000_000 if readings % 7 == 0 else 40
        return now_ns + (5 * 10**18 if clock == time.CLOCK_REALTIME else 0)

    monkeypatch.setattr(telemetry.time, "clock_gettime_ns", read)
    ahead_s = [telemetry._time_of_day_ahead_s() for _ in range(7)]
    assert max(ahead_s) - min(ahead_s) < 1e-6


def test_swapping_and_stalls_are_differences(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "vmstat"
    monkeypatch.setattr(telemetry, "_VMSTAT", file)
    others = "compact_stall 9\nthp_fault_fallback_charge 1\nzone_pswpin 1\n"
    file.write_text(f"pswpin 5\npswpout 7\nallocstall_dma 1\nallocstall_normal 2\n{others}")
    with Watch(None) as watch:
        others = others.replace(" 1", " 8")
        file.write_text(f"pswpin 6\npswpout 9\nallocstall_dma 2\nallocstall_normal 4\n{others}")
        seen = watch.telemetry()
    assert (seen.swapped_pages, seen.allocation_stalls, seen.compaction_stalls) == (3, 3, 0)
    assert seen.huge_page_fallbacks is None, "this kernel does not count them"


HERE_BY_SHELL = Place(("sh", "-c"))
"""A host that is reached by a command, as others are by ssh."""


def test_another_host_is_watched_by_its_files() -> None:
    with watch(HERE_BY_SHELL, None) as watching:
        seen = watching.telemetry()
    assert (seen.host, seen.clock_sources) == (
        str(HERE_BY_SHELL),
        (telemetry._CLOCK_SOURCE.read_text().strip(),),
    )
    assert seen.swapped_pages is not None
    assert (seen.kernel_errors, seen.foreign_bytes, seen.throttled) == (None, None, None)


def test_a_host_that_is_not_reached_tells_nothing() -> None:
    with watch(Place(("sh", "-c", "exit 255")), None) as watching:
        seen = watching.telemetry()
    assert (seen.swapped_pages, seen.clock_sources) == (None, ())
    assert seen.elapsed_s > 0


DD = """
import os, sys
file = os.open(sys.argv[1], os.O_CREAT | os.O_WRONLY)
for _ in range(32):
    os.write(file, bytes(2 ** 20))
os.fsync(file)
print("written", flush=True)
sys.stdin.read()
"""


@pytest.fixture
def children_are_others(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a test starts is taken for a stranger."""
    monkeypatch.setattr(disk_watch, "descendants", lambda pid: {pid})


@needs_root
def test_what_we_have_started_writes_for_us(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    watch = disk_watch.DiskWatch(tmp_path)
    with subprocess.Popen(
        (sys.executable, "-c", DD, tmp_path / "ours"),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as runner:
        assert runner.stdout is not None
        runner.stdout.readline()
        # Only whether it is one of the others is asked, not what these write meanwhile.
        path, moved = f"/proc/{runner.pid}", disk_watch._moved_bytes
        monkeypatch.setattr(disk_watch, "_moved_bytes", lambda one: moved(one) * (one == path))
        own, _ = watch.seen()
    assert own is None or own >= 30 * MIB


@needs_root
@pytest.mark.usefixtures("children_are_others")
def test_what_another_process_writes_is_foreign(tmp_path: Path) -> None:
    if disks.stack_under(tmp_path) is None:
        assert disk_watch.DiskWatch(tmp_path).seen() == (None, None)
        return
    watch = disk_watch.DiskWatch(tmp_path)
    other = subprocess.Popen(
        (sys.executable, "-c", DD, tmp_path / "others"),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert other.stdout is not None
    other.stdout.readline()
    _, foreign = watch.seen()
    other.communicate()
    assert foreign is not None
    assert foreign >= 30 * MIB


class Disks:
    """A disk with a loop device on it, as counters that a test moves."""

    def __init__(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, below: str) -> None:
        self.disk, self.loop = tmp_path / "vda", tmp_path / "loop0"
        self.move(0, 0)
        stack = disks.Stack(self.disk, self.loop, below)
        monkeypatch.setattr(disk_watch, "stack_under", lambda _: stack)

    def move(self, disk_bytes: int, loop_bytes: int) -> None:
        for device, moved in ((self.disk, disk_bytes), (self.loop, loop_bytes)):
            device.mkdir(exist_ok=True)
            (device / "stat").write_text(f"1 0 {moved // 512} 0 1 0 0 0 0 0 0\n")


def test_what_a_disk_moves_beyond_our_loop_device_is_foreign(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    host = Disks(tmp_path, monkeypatch, "ext4")
    watch = disk_watch.DiskWatch(tmp_path)
    host.move(12 * MIB, 10 * MIB)
    own, foreign = watch.seen()
    assert own == 10 * MIB
    assert foreign == pytest.approx(2 * MIB, abs=MIB // 4), "less what this process wrote"


def test_copying_on_write_is_not_mistaken_for_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    host = Disks(tmp_path, monkeypatch, "btrfs")
    moved = iter([{"11": 7 * MIB}, {"11": 7 * MIB}])
    monkeypatch.setattr(disk_watch, "_moved_by_others", lambda _: next(moved))
    watch = disk_watch.DiskWatch(tmp_path)
    host.move(30 * MIB, 10 * MIB)
    assert watch.seen() == (10 * MIB, 0)


def test_a_disk_that_we_share_without_root_cannot_be_told_apart(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    host = Disks(tmp_path, monkeypatch, "btrfs")
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    watch = disk_watch.DiskWatch(tmp_path)
    host.move(30 * MIB, 10 * MIB)
    assert watch.seen() == (10 * MIB, None)


DESCENDANT = """
import subprocess, sys
print("begun", flush=True)
sys.stdin.readline()
subprocess.run((sys.executable, "-c", sys.argv[1], sys.argv[2]), stdin=subprocess.DEVNULL)
print("ended", flush=True)
sys.stdin.read()
"""


@needs_root
@pytest.mark.usefixtures("children_are_others")
def test_what_has_ended_is_in_the_figure_of_who_waited_for_it(tmp_path: Path) -> None:
    parent = subprocess.Popen(
        (sys.executable, "-c", DESCENDANT, DD, tmp_path / "others"),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert parent.stdin is not None
    assert parent.stdout is not None
    assert parent.stdout.readline() == b"begun\n"
    before = disk_watch._moved_by_others()
    parent.stdin.write(b"\n")
    parent.stdin.flush()
    assert parent.stdout.readline() == b"written\n"
    assert parent.stdout.readline() == b"ended\n"
    now = disk_watch._moved_by_others()
    parent.communicate()
    assert before is not None
    assert now is not None
    on_disk = disks.stack_under(tmp_path) is not None
    assert disk_watch._growth(before, now) >= (30 * MIB if on_disk else 0)


def test_kernel_threads_work_for_everybody(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(disk_watch, "_PROC", tmp_path)
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    stat = "{} (a) b) S 1 1 1 0 -1 {} 0 0"
    for pid, flags in ((11, 0x400000), (12, 0x208040)):
        written(
            tmp_path / str(pid), stat=stat.format(pid, flags), io="read_bytes: 0\nwrite_bytes: 0\n"
        )
    assert disk_watch._moved_by_others() == {}
    for pid in (11, 12):
        written(tmp_path / str(pid), io="rchar: 9\nread_bytes: 4096\nwrite_bytes: 512\n")
    assert disk_watch._moved_by_others() == {"11": 4608}


def test_a_process_that_has_gone_takes_nothing_away() -> None:
    before = {"11": 8 * MIB, "12": 3 * MIB}
    assert disk_watch._growth(before, {"12": 4 * MIB, "13": 32 * MIB}) == 33 * MIB


def test_sectors_become_bytes(tmp_path: Path) -> None:
    written(tmp_path, stat="10 1 80 4 20 2 160 8 0 12 12 0 0 0 0 0 0\n")
    assert Traffic.of(tmp_path) == Traffic(40_960, 81_920)
    assert Traffic.of(tmp_path / "gone") is None


PSI = "some avg10=0.00 avg60=0.00 avg300=0.00 total={}\nfull avg10=0.00 total=9\n"


def test_the_groups_beside_ours_are_those_of_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    groups = tmp_path / "cgroup"
    written(groups, **{"cgroup.controllers": "cpu"})
    for group in ("system.slice", "user.slice/user-1.slice", "user.slice/user-0.slice/ours"):
        written(groups / group, **{"io.pressure": PSI.format(1_000_000)})
    written(tmp_path, proc__self__cgroup="3:cpu:/\n0::/user.slice/user-0.slice/ours\n")
    monkeypatch.setattr(pressure, "_CGROUPS", (groups,))
    monkeypatch.setattr(pressure, "_PROC", tmp_path / "proc")
    names = [str(group.relative_to(groups)) for group in pressure.groups_of_others()]
    assert names == ["system.slice", "user.slice/user-1.slice"]
    before = pressure.others_waited_s()
    written(groups / "system.slice", **{"io.pressure": PSI.format(1_300_000)})
    written(groups / "user.slice/user-0.slice/ours", **{"io.pressure": PSI.format(9_000_000)})
    waits = pressure.longest_waits_s(before, pressure.others_waited_s())
    assert waits == pytest.approx({"cpu": 0.0, "io": 0.3, "memory": 0.0})


def test_where_all_share_one_group_nothing_can_be_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    written(tmp_path, **{"cgroup.controllers": "cpu"}, proc__self__cgroup="0::/\n")
    monkeypatch.setattr(pressure, "_CGROUPS", (tmp_path,))
    monkeypatch.setattr(pressure, "_PROC", tmp_path / "proc")
    assert pressure.longest_waits_s({}, pressure.others_waited_s()) is None


def test_mean_frequency_of_busy_cpus(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processor, "_REGISTERS", tmp_path)
    written(tmp_path, **{"0__msr": "", "1__msr": ""})
    counts = iter([0, 0, 0, 0, 30, 60, 20, 40])
    watch = FrequencyWatch(lambda _, __: next(counts))
    assert watch.ratio() == pytest.approx(90 / 60)


def test_mean_frequency_from_the_time_in_states(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(processor, "_REGISTERS", tmp_path / "none")
    monkeypatch.setattr(processor, "_CPUS", tmp_path)
    written(tmp_path, cpufreq__policy0__stats__time_in_state="3000 100\n1500 100\n")
    watch = FrequencyWatch()
    written(tmp_path, cpufreq__policy0__stats__time_in_state="3000 200\n1500 200\n")
    assert watch.ratio() == pytest.approx(0.75)


def test_a_host_that_tells_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("_REGISTERS", "_CPUS", "_ZONES", "_MONITORS"):
        monkeypatch.setattr(processor, name, tmp_path)
    assert FrequencyWatch().ratio() is None
    assert Sensors().throttled() is None
    assert Sensors().temperatures_c() == {}


def test_heat(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("_CPUS", "_ZONES", "_MONITORS"):
        monkeypatch.setattr(processor, name, tmp_path)
    written(
        tmp_path,
        cpu0__thermal_throttle__core_throttle_count="3\n",
        cpu0__thermal_throttle__package_throttle_count="2\n",
        thermal_zone0__type="x86_pkg_temp\n",
        thermal_zone0__temp="51500\n",
        hwmon1__name="nvme\n",
        hwmon1__temp1_input="40000\n",
        hwmon2__name="coretemp\n",
        hwmon2__temp1_input="70000\n",
    )
    assert Sensors().throttled() == 5
    assert Sensors().temperatures_c() == {
        "nvme (hwmon1)": 40.0,
        "x86_pkg_temp (thermal_zone0)": 51.5,
    }


def test_only_errors_of_the_kernel_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    records = [
        b"6,1,100,-;EXT4-fs (loop0): mounted filesystem\n",
        b"3,2,110,-;I/O error, dev vda, sector 5\n SUBSYSTEM=block\n",
        b"27,3,120,-;daemon[7]: error of a program\n",
        BrokenPipeError(),
        b"3,4,125,-;operation not supported error, dev loop0, sector 8 op 0x9:(WRITE_ZEROES)\n",
        b"2,5,130,-;mce: hardware error\n",
    ]

    def read(_: int, __: int) -> bytes:
        if not records:
            raise BlockingIOError
        found = records.pop(0)
        if isinstance(found, Exception):
            raise found
        return found

    log = KernelLog()
    log.close()
    assert log.errors() is None
    log._file = 99
    monkeypatch.setattr(os, "read", read)
    assert log.errors() == ("I/O error, dev vda, sector 5", "mce: hardware error")
