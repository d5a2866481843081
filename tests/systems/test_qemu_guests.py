"""Debian's kernels in QEMU emulation: booted, measured in, taken down.

Each boot takes some seconds; the file systems that only the newer kernel has share one study.
"""

import json
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from support.far import Far, here_and_there
from support.hosts import assert_as_before, host_state
from tiltyard.errors import InterruptedRunError, TiltyardError
from tiltyard.host.ledger import Ledger
from tiltyard.systems import kind
from tiltyard.systems.kind import Problem, Site, System, Up
from tiltyard.systems.vm.backends.qemu import Emulation
from tiltyard.systems.vm.kernels import UNPACK, kernel_of_series
from tiltyard.wire import PROTOCOL, EndEvent, Event, SampleEvent, read_events

Make = Callable[..., System]
SERIES = ("6.1", "6.12")
WITHOUT = {"mkfs.bcachefs": "Debian 12 and 13 have no package of bcachefs-tools; build it"}
RANDOM = {"file": "256k", "operations": 500}
ERRS_BY = 7_500
"""Instructions of the kernel that may fall into one trial and not into another: see the guide."""
"""More instructions than a tick of the timer has on these kernels; other work has 7,000 or more."""


def lacking() -> str:
    """What keeps these tests from running here, and what would change that."""
    if problems := Emulation().problems("instructions", 1):
        return f"{problems[0].text}; {problems[0].remedy}"
    gone = [name for name in SERIES if not (path := kernel_of_series(name)) or not path.exists()]
    return f"no kernel {' and '.join(gone)}; {UNPACK} unpacks them" if gone else ""


pytestmark = pytest.mark.skipif(bool(lacking()), reason=lacking())


@pytest.fixture
def make(tmp_path: Path, far: Far) -> Iterator[Make]:
    """Makes guests that share a scratch folder and a ledger."""
    work = tmp_path / "work"
    work.mkdir()
    before = host_state(tmp_path)
    with Ledger() as ledger:
        site = far.site(Site(root=tmp_path, work=work, ledger=ledger))

        def system(kernel: str, filesystem: str = "tmpfs", **settings: object) -> System:
            # Who logs in there has unpacked none.
            named = str(kernel_of_series(kernel)) if far.settings else kernel
            usual = {"kernel": named, "filesystem": filesystem, "memory": "512M"}
            asked: dict[str, Any] = {**usual, "backend": "qemu", **settings, **far.settings}
            return far.made(kind("vm").system(filesystem, asked, site))

        yield system
    assert_as_before(before, tmp_path)
    assert not list(work.iterdir())


def trial(up: Up, parameters: dict[str, object], conditions: dict[str, object]) -> list[Event]:
    """What one trial says on a system that is up."""
    job = {
        "protocol": PROTOCOL,
        "workload": "random",
        "parameters": parameters,
        "target": {"directory": str(up.target)},
        "conditions": conditions,
    }
    done = subprocess.run(
        (*up.engine, "run"), input=json.dumps(job), capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return list(read_events(done.stdout.splitlines()))


def measure(system: System) -> list[Event]:
    """What one trial says on a system, brought up for it and taken down."""
    up = system.bring_up()
    try:
        return trial(up, RANDOM, {})
    finally:
        system.take_down()


def instructions(events: list[Event]) -> float:
    """Of all random reads of a trial."""
    (sample,) = [e.data for e in events if isinstance(e, SampleEvent) and e.data.unit == "1/s"]
    return sample.elapsed_s * 1e9


def path_length(events: list[Event]) -> float:
    """Instructions per random read."""
    return instructions(events) / RANDOM["operations"]


def is_done(events: list[Event]) -> bool:
    """Whether the engine says so, with all sums that add up."""
    last = events[-1]
    return isinstance(last, EndEvent) and last.data.outcome == "done"


@here_and_there
def test_path_lengths_are_the_same_from_boot_to_boot(make: Make) -> None:
    found = [path_length(measure(make("6.12", clock="instructions"))) for _ in range(2)]
    assert found[0] == pytest.approx(found[1], rel=0.01)
    # A 4 KiB copy alone is 4096 of them: the emulator counts each byte of a repeated string move.
    assert 1_000 < found[0] < 20_000


@pytest.mark.parametrize("kernel", SERIES)
def test_a_settled_path_length_is_that_of_an_operation_however_many_there_are(
    make: Make, kernel: str
) -> None:
    system = make(kernel, clock="instructions")
    up = system.bring_up()
    try:
        counts = {
            count: instructions(trial(up, {"file": "2M", "operations": count}, {"settle": True}))
            for count in (500, 1_000, 5_000, 10_000)
        }
    finally:
        system.take_down()
    few = (counts[1_000] - counts[500]) / 500
    many = (counts[10_000] - counts[5_000]) / 5_000
    # Two of the totals may err by so many, one more and one less.
    assert abs(few - many) < 2 * ERRS_BY / 500, counts


@pytest.mark.parametrize(
    ("kernel", "filesystem", "image", "mkfs"),
    [
        ("6.1", "ext4", "64M", "mkfs.ext4"),
        ("6.12", "bcachefs", "256M", "mkfs.bcachefs"),
        ("6.12", "ntfs3", "64M", "mkntfs"),
    ],
)
def test_a_trial_runs_on_a_file_system_of_the_guests_kernel(
    make: Make, kernel: str, filesystem: str, image: str, mkfs: str
) -> None:
    if shutil.which(mkfs, path="/usr/sbin:/sbin:/usr/bin") is None:
        pytest.skip(f"{mkfs} is not installed: {WITHOUT.get(mkfs, 'make setup-dev installs it')}")
    system = make(kernel, filesystem, backing={"image": image})
    assert [p for p in system.problems() if p.severity == "error"] == []
    assert is_done(measure(system))


def error_of(system: System) -> str:
    with pytest.raises(TiltyardError) as caught:
        system.bring_up()
    system.take_down()
    return str(caught.value)


def test_a_kernel_that_is_garbage_does_not_boot(
    make: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Emulation, "boot_limit_s", 3.0)
    garbage = tmp_path / "vmlinuz"
    garbage.write_bytes(bytes(0x202) + b"HdrS" + bytes(1 << 20))
    assert "the guest did not boot" in error_of(make(str(garbage)))
    garbage.write_bytes(b"this is no kernel")
    assert "is no kernel that can be booted here" in error_of(make(str(garbage)))


def test_a_boot_ends_when_a_person_asks_to_stop(tmp_path: Path) -> None:
    """It is waited for no longer, and nothing of it is left."""
    (tmp_path / "vmlinuz").write_bytes(bytes(0x202) + b"HdrS" + bytes(1 << 20))
    looked: list[bool] = []

    def check() -> None:
        (console,) = [*tmp_path.glob("consoles/*")] or [None]
        looked.append(console is not None)
        if console is not None:
            raise InterruptedRunError("a person")

    given: Any = {"kernel": "./vmlinuz", "filesystem": "tmpfs", "backend": "qemu"}
    with Ledger() as ledger:
        site = Site(root=tmp_path, work=tmp_path / "work", ledger=ledger, check=check)
        site.work.mkdir()
        with pytest.raises(InterruptedRunError):
            kind("vm").system("stuck", given, site).bring_up()
    assert looked[-1]
    assert not list(site.work.iterdir())


def test_a_guest_that_says_nothing_is_given_up(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Emulation, "boot_limit_s", 0.3)
    assert "the guest did not boot: it says nothing for 0.3 s" in error_of(make("6.12"))


def test_a_kernel_without_the_driver_is_refused_before_anything_runs(make: Make) -> None:
    found: list[Problem] = make("6.1", "bcachefs").problems()
    assert "has no driver for bcachefs" in " ".join(problem.text for problem in found)
