"""Telemetry of this host while something known goes on, and of hosts that a shell stands for.

How each counter is read, of hosts that are made of files: ``engine/agent/src/watch``.
"""

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from support.hosts import needs_root
from support.places import behind
from tiltyard.host.devices.disks import stack_under
from tiltyard.host.host import here
from tiltyard.host.telemetry import FarWatch, Telemetry, Watch, Watches, watch_of

CLOCK_SOURCE = Path("/sys/devices/system/clocksource/clocksource0/current_clocksource")
MIB = 2**20
SOME_CPU = max(os.sched_getaffinity(0))
STRANGER = """
import os, sys
if sys.argv[1] == "stranger" and os.fork():
    os._exit(0)
os.setsid()
print(os.getpid(), flush=True)
"""
"""One that ends its tie to whoever started it, if it is to be one."""
BUSY = """
os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
os.sched_setaffinity(0, {int(sys.argv[2])})
while True: pass
"""
WRITES = """
sys.stdin.readline()
file = os.open(sys.argv[2], os.O_CREAT | os.O_WRONLY)
for _ in range(96):
    os.write(file, os.urandom(2 ** 20))
os.fsync(file)
print("written", flush=True)
sys.stdin.read()
"""


@contextmanager
def other(what: str, who: str, argument: object) -> Iterator[tuple[int, subprocess.Popen[str]]]:
    """A process that does something: a stranger, or one that this test has started."""
    argv = (sys.executable, "-c", STRANGER + what, who, str(argument))
    with subprocess.Popen(
        argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        pid = int(process.stdout.readline())
        try:
            yield pid, process
        finally:
            os.kill(pid, 9)


def test_a_watch_tells_of_its_own_time(tmp_path: Path) -> None:
    with Watch(tmp_path) as watch:
        time.sleep(0.05)
        seen = watch.telemetry()
        again = watch.telemetry()
    assert seen.elapsed_s >= 0.05
    assert again.elapsed_s < seen.elapsed_s + 5.0
    assert seen.clock_sources == (CLOCK_SOURCE.read_text().strip(),)
    assert abs(seen.clock_step_s) < 1e-3
    assert Telemetry.model_validate_json(seen.model_dump_json()) == seen


def test_without_a_directory_there_is_no_disk() -> None:
    with Watch(None) as watch:
        seen = watch.telemetry()
    assert (seen.own_bytes, seen.foreign_bytes) == (None, None)


def test_telemetry_tells_where_it_was_counted() -> None:
    with Watch(None) as watch:
        time.sleep(0.05)
        one, everywhere, unknown = (watch.telemetry(cpus) for cpus in ((SOME_CPU,), (), None))
    assert (one.cpus, everywhere.cpus, unknown.cpus) == ((SOME_CPU,), (), ())
    assert one.external_cpus == 1
    assert everywhere.external_cpus == os.sysconf("SC_NPROCESSORS_ONLN")
    assert unknown.external_cpus is None
    assert one.external_s is not None
    assert everywhere.external_s is not None
    assert unknown.external_s is unknown.external_steal_s is None


def test_what_a_stranger_uses_is_external_and_what_we_use_is_not() -> None:
    """Compared with each other, because others use this machine as well."""
    seen = {}
    for who in ("stranger", "ours"):
        with other(BUSY, who, SOME_CPU):
            time.sleep(0.2)
            with Watch(None) as watch:
                time.sleep(1.0)
                found = watch.telemetry((SOME_CPU,))
        assert found.external_s is not None
        seen[who] = found.external_s / found.elapsed_s
    assert seen["stranger"] > seen["ours"]


def test_servers_are_no_others_and_their_time_is_told() -> None:
    with other(BUSY, "stranger", SOME_CPU) as (pid, _):
        with Watch(None, servers=lambda: (pid,)) as watch:
            time.sleep(0.5)
            seen = watch.telemetry((SOME_CPU,))
        with Watch(None) as without:
            assert without.telemetry().servers_s is None
    assert seen.servers_s is not None
    assert seen.servers_s > 0
    assert seen.external_s is not None
    assert seen.external_s < seen.elapsed_s


@needs_root
@pytest.mark.parametrize("who", ["ours", "stranger"])
def test_what_another_process_writes_is_foreign_and_what_we_have_started_is_not(
    tmp_path: Path, who: str
) -> None:
    is_disk = stack_under(tmp_path) is not None
    with other(WRITES, who, tmp_path / "file") as (_, process), Watch(tmp_path) as watch:
        assert process.stdin is not None
        assert process.stdout is not None
        print("go", file=process.stdin, flush=True)
        assert process.stdout.readline() == "written\n"
        seen = watch.telemetry()
    if not is_disk:
        assert (seen.own_bytes, seen.foreign_bytes) == (None, None)
        return
    assert seen.own_bytes is not None
    assert seen.foreign_bytes is not None
    # Whatever else is written here meanwhile is others', too.
    assert (seen.foreign_bytes if who == "stranger" else seen.own_bytes) >= 30 * MIB


def test_a_watch_whose_agent_has_ended_knows_nothing_and_another_one_is_begun() -> None:
    watches = Watches()
    watch = watches.of(None)
    assert watches.of(None) is watch
    agent = here()._process
    agent.kill()
    agent.wait()
    with watch:
        seen = watch.telemetry(())
    assert (seen.external_s, seen.clock_sources, seen.swapped_pages) == (None, (), None)
    assert seen.elapsed_s > 0
    assert watch.is_lost
    assert watches.of(None) is not watch
    assert watches.of(None).telemetry(()).external_s is not None
    watches.close()


HERE_BY_SHELL = behind("sh", "-c")
"""A host that is reached by a command, as others are by ssh."""


def test_of_another_host_those_who_execute_a_program_are_ours(tmp_path: Path) -> None:
    program = tmp_path / "tiltyard-engine"
    program.write_bytes(Path(sys.executable).resolve().read_bytes())
    program.chmod(0o755)
    busy = (
        f"import os; os.sched_setaffinity(0, {{{SOME_CPU}}})\nprint(flush=True)\nwhile True: pass"
    )
    home = {"PYTHONHOME": sys.base_prefix}
    seen = {}
    with subprocess.Popen((program, "-c", busy), stdout=subprocess.PIPE, env=home) as process:
        assert process.stdout is not None
        process.stdout.readline()
        for of in (program, tmp_path / "gone"):
            with FarWatch(
                HERE_BY_SHELL, lambda of=of: {"who": {"serving": [str(of)]}}, [SOME_CPU]
            ) as watching:
                time.sleep(0.5)
                seen[of] = watching.telemetry(())
        process.kill()
    ours, strangers = seen.values()
    assert (ours.host, ours.clock_sources) == (
        str(HERE_BY_SHELL),
        (CLOCK_SOURCE.read_text().strip(),),
    )
    assert ours.servers_s is not None
    assert ours.servers_s > 0
    assert (strangers.servers_s, ours.own_bytes, ours.foreign_bytes) == (0.0, None, None)
    assert ours.external_s is not None
    assert strangers.external_s is not None
    assert strangers.external_s / strangers.elapsed_s > ours.external_s / ours.elapsed_s
    assert (ours.kernel_errors is None) == (not os.access("/dev/kmsg", os.R_OK))
    assert ours.swapped_pages is not None


def test_a_host_that_shares_this_kernel_is_watched_once() -> None:
    assert watch_of(HERE_BY_SHELL, {}) is None


def test_a_host_that_is_not_reached_tells_nothing() -> None:
    with FarWatch(behind("sh", "-c", "exit 255"), lambda: {"who": {}}) as watching:
        seen = watching.telemetry()
    assert (seen.swapped_pages, seen.clock_sources) == (None, ())
    assert seen.elapsed_s > 0
