"""Who was on the CPUs that measure: others are told from ourselves and from the kernel."""

import itertools
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tiltyard.host import external, processes
from tiltyard.host.external import External, ExternalWatch
from tiltyard.host.processes import CpuUse, OpenProcesses, cpu_uses
from tiltyard.host.telemetry import Watch

BUSY = "import os, sys; os.sched_setaffinity(0, {int(sys.argv[1])})\nwhile True: pass"
STRANGER = f"""
import os, sys
if os.fork():
    os._exit(0)
os.setsid()
print(os.getpid(), flush=True)
os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
{BUSY}
"""
"""It ends its tie to whoever started it."""


@contextmanager
def busy(cpu: int, *, stranger: bool) -> Iterator[None]:
    """A process that computes on a CPU."""
    argv = (sys.executable, "-c", STRANGER if stranger else BUSY, str(cpu))
    with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        pid = int(process.stdout.readline()) if stranger else process.pid
        try:
            yield
        finally:
            os.kill(pid, 9)


def test_what_a_stranger_uses_is_external_and_what_we_use_is_not() -> None:
    """Compared with each other, because others use this machine as well."""
    cpu = max(os.sched_getaffinity(0))
    seen = {}
    for stranger in (True, False):
        with busy(cpu, stranger=stranger):
            time.sleep(0.2)
            watch, began_s = ExternalWatch(), time.monotonic()
            time.sleep(1.0)
            found = watch.seen((cpu,))
            assert found is not None
            seen[stranger] = found.cpu_s / (time.monotonic() - began_s)
    assert seen[True] > seen[False]


def hosts(
    monkeypatch: pytest.MonkeyPatch,
    cpus: list[dict[int, list[int]]],
    processes: list[list[CpuUse]],
) -> None:
    """A host that is made of numbers: before, and from the next look on."""
    looks, times = iter(cpus), iter(processes)
    there: dict[int, CpuUse] = {}

    def numbers() -> list[int]:
        for uses in itertools.islice(times, 1):
            there.clear()
            there.update({use.pid: use for use in uses})
        return list(there)

    monkeypatch.setattr(external, "_cpus", lambda: next(looks))
    monkeypatch.setattr(external, "numbers", numbers)
    monkeypatch.setattr(external, "cpu_uses", lambda pids: [there[pid] for pid in pids])
    read_again = lambda _, pids: [there[pid] for pid in pids]  # noqa: E731
    monkeypatch.setattr(OpenProcesses, "cpu_uses", read_again)
    monkeypatch.setattr(external.os, "getpid", lambda: 50)
    monkeypatch.setattr(external, "_may_run", lambda pid, _: pid != 53)


def use(pid: int, used_s: float, *, parent: int = 1, cpu: int = 1, kernel: bool = False) -> CpuUse:
    return CpuUse(pid, parent, kernel, cpu, used_s)


def test_our_own_work_is_taken_off_and_what_is_on_other_cpus_is_not_counted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    hz = os.sysconf("SC_CLK_TCK")
    before = {0: [0, 0, 0, 9, 9, 9, 9, 0], 1: [hz, hz, hz, 0, 0, 0, 0, hz]}
    now = {0: [90 * hz, 0, 0, 9, 9, 9, 9, 0], 1: [3 * hz, 2 * hz, 2 * hz, 0, 0, 9, 9, 3 * hz]}
    processes = [
        use(50, 0.5, cpu=0),
        use(51, 1.0, parent=50),
        use(52, 0.25, parent=51),
        use(53, 8.0, parent=50),
        use(60, 0.125),
        use(70, 0.25, kernel=True),
        use(71, 9.0, kernel=True, cpu=0),
        use(80, 7.0),
    ]
    hosts(monkeypatch, [before, now], [[use(50, 0.25), use(70, 0.125, kernel=True)], processes])
    found = ExternalWatch(servers=lambda: (60,)).seen((1,))
    # Busy 4 s, less 0.25 + 1 + 0.25 of ours, 0.125 of the server, 0.125 of the kernel's thread.
    assert found == External(cpu_s=2.25, steal_s=2.0, cpus=1)


def test_below_zero_is_chance(monkeypatch: pytest.MonkeyPatch) -> None:
    cpus = {1: [5, 0, 0, 0]}
    hosts(monkeypatch, [cpus, cpus], [[use(50, 0.0)], [use(50, 0.5)]])
    assert ExternalWatch().seen((1,)) == External(cpu_s=0.0, steal_s=None, cpus=1)


def test_threads_of_the_kernel_are_read_where_something_is_left(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Of what they used before that nothing is lost: it is taken off then."""
    hz = os.sysconf("SC_CLK_TCK")
    cpus = [{1: [seconds * hz, 0, 0, 0]} for seconds in (0, 1, 4)]
    thread = [use(70, used_s, kernel=True) for used_s in (5.0, 5.5, 6.0)]
    processes = [[use(50, used_s), one] for used_s, one in zip((0, 1, 2), thread, strict=True)]
    hosts(monkeypatch, cpus, processes)
    watch = ExternalWatch()
    assert watch.seen((1,)) == External(cpu_s=0.0, steal_s=None, cpus=1)
    assert watch._kernel == {70: thread[0]}
    # Busy 3 s, less 1 of ours and the thread's 1 since it was read.
    assert watch.seen((1,)) == External(cpu_s=1.0, steal_s=None, cpus=1)
    assert watch._kernel == {70: thread[2]}


def test_cpus_that_are_not_there_are_not_known(monkeypatch: pytest.MonkeyPatch) -> None:
    cpus = {1: [5, 0, 0, 0]}
    hosts(monkeypatch, [cpus, cpus], [[], []])
    assert ExternalWatch().seen((2,)) is None


def test_telemetry_tells_where_it_was_counted() -> None:
    cpu = max(os.sched_getaffinity(0))
    with Watch(None) as watch:
        time.sleep(0.05)
        here, everywhere, unknown = (watch.telemetry(cpus) for cpus in ((cpu,), (), None))
    assert (here.cpus, everywhere.cpus, unknown.cpus) == ((cpu,), (), ())
    assert here.external_cpus == 1
    assert everywhere.external_cpus == os.sysconf("SC_NPROCESSORS_ONLN")
    assert unknown.external_cpus is None
    assert here.external_s is not None
    assert everywhere.external_s is not None
    assert unknown.external_s is unknown.external_steal_s is None


def test_a_stranger_is_read_once_and_its_number_may_come_again() -> None:
    never = 2**22 + 1
    with busy(max(os.sched_getaffinity(0)), stranger=True):
        watch = ExternalWatch()
        strangers = watch._strangers
        known = set(strangers)
        strangers.add(never)
        watch.seen(None)
        assert known
        assert not known & watch._ours.keys()
        assert os.getpid() in watch._ours
    assert never not in strangers


@pytest.mark.parametrize("most", [0, 1, 256])
def test_what_stays_open_is_read_anew_until_it_has_gone(
    most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(processes, "_MOST_OPEN", most)
    files, own = Path("/proc/self/fd"), os.getpid()
    before = len([*files.iterdir()])
    watched = OpenProcesses()
    with subprocess.Popen(["sleep", "60"]) as child:
        pids = [own, child.pid]
        first = {use.pid: use for use in watched.cpu_uses(pids)}
        assert [*first] == pids
        sum(range(3_000_000))
        assert [use.pid for use in watched.cpu_uses(pids)] == pids
        (now,) = (use for use in watched.cpu_uses(pids) if use.pid == own)
        assert now.used_s > first[own].used_s
        assert now.used_s == pytest.approx(next(cpu_uses([own])).used_s, abs=0.5)
        child.kill()
    assert [use.pid for use in watched.cpu_uses(pids)] == [own]
    assert [*watched.cpu_uses([])] == []
    assert len([*files.iterdir()]) == before
    assert len([*watched.cpu_uses([own])]) == 1
    watched.close()
    assert len([*files.iterdir()]) == before
