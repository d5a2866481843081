"""The kinds that mount: tmpfs, overlay, and anything that mount(8) can."""

import os
import secrets
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from support.far import Far, here_and_there
from support.hosts import assert_as_before, host_state, needs_root
from support.looks import find_program, mounts_at
from support.patience import wait_until
from tiltyard.address import Address
from tiltyard.errors import TiltyardError
from tiltyard.host.host import here
from tiltyard.host.ledger import Ledger, recover
from tiltyard.host.place import Place
from tiltyard.host.processes import named
from tiltyard.host.telemetry import FarWatch
from tiltyard.systems import kind
from tiltyard.systems.kind import Site, System

Make = Callable[..., System]

needs_bindfs = pytest.mark.skipif(
    find_program("bindfs") is None, reason="bindfs is not installed: apt-get install bindfs fuse3"
)
needs_fuse_overlayfs = pytest.mark.skipif(
    find_program("fuse-overlayfs") is None,
    reason="not installed: apt-get install fuse-overlayfs",
)


@pytest.fixture
def work(tmp_path: Path) -> Path:
    path = tmp_path / "work"
    path.mkdir()
    return path


@pytest.fixture
def make(tmp_path: Path, work: Path, far: Far) -> Iterator[Make]:
    """Makes systems of a kind; relative paths begin at ``tmp_path``."""
    with Ledger() as ledger:
        site = far.site(Site(root=tmp_path, work=work, ledger=ledger))

        def system(name: str, **settings: object) -> System:
            return far.made(kind(name).system(name, {**settings, **far.settings}, site))  # type: ignore[arg-type]

        yield system
    assert not list(work.iterdir())


def up_and_down(system: System, tmp_path: Path) -> dict[str, str]:
    """Facts of a system that was up; what a trial leaves outlives a refresh, and no longer."""
    assert [found for found in system.problems() if found.severity == "error"] == []
    before = host_state(tmp_path)
    up = system.bring_up()
    (up.target / "file").write_bytes(bytes(2**16))
    system.refresh()
    assert (up.target / "file").stat().st_size == 2**16
    assert [mount.type for mount in mounts_at(up.target.parent)] == [up.facts["file system"]]
    system.take_down()
    assert not up.target.exists()
    assert_as_before(before, tmp_path)
    system.take_down()
    return up.facts


@here_and_there
@needs_root
def test_tmpfs(make: Make, tmp_path: Path) -> None:
    system = make("tmpfs", size="8M", huge="always", mount=["noatime"])
    facts = up_and_down(system, tmp_path)
    assert facts["size"] == "8 MiB"
    assert {"noatime", "size=8192k", "huge=always"} <= set(facts["mount options"].split(","))
    assert "mount options in doubt" not in facts
    assert any("no disk is measured" in found.text for found in system.problems())


@needs_root
def test_a_default_that_is_asked_for_is_in_no_doubt(make: Make) -> None:
    up = make("tmpfs", size="8M", huge="never").bring_up()
    assert "mount options in doubt" not in up.facts


@needs_root
def test_a_tmpfs_that_is_full_is_as_large_as_it_was_asked_to_be(make: Make) -> None:
    up = make("tmpfs", size="1M").bring_up()
    with pytest.raises(OSError, match="No space left"):
        (up.target / "file").write_bytes(bytes(2**21))


@needs_root
@pytest.mark.parametrize(
    "driver", ["kernel", pytest.param("fuse-overlayfs", marks=needs_fuse_overlayfs)]
)
def test_overlay(make: Make, tmp_path: Path, driver: str) -> None:
    below = tmp_path / "below"
    below.mkdir()
    (below / "from below").write_text("x")
    facts = up_and_down(make("overlay", driver=driver, lower="below"), tmp_path)
    assert facts["lower layer"] == str(below)
    assert [path.name for path in below.iterdir()] == ["from below"]
    assert str(tmp_path) not in facts["mount options"].replace(str(below), "")


@needs_root
def test_an_overlay_shows_what_is_below(make: Make, tmp_path: Path) -> None:
    (tmp_path / "below").mkdir()
    (tmp_path / "below" / "old").write_text("x")
    up = make("overlay", lower="./below").bring_up()
    assert (up.target.parent / "old").read_text() == "x"
    (up.target.parent / "old").write_text("changed")
    assert (tmp_path / "below" / "old").read_text() == "x"


@here_and_there
@needs_root
@needs_bindfs
def test_anything_that_can_be_mounted(make: Make, tmp_path: Path, far: Far) -> None:
    below = tmp_path / "below"
    below.mkdir()
    (below / "theirs").touch()
    source = str(below) if far.settings else "./below"
    facts = up_and_down(make("mount", type="fuse.bindfs", source=source), tmp_path)
    assert facts["source"] == str(below)
    assert [path.name for path in below.iterdir()] == ["theirs"]


@here_and_there
@needs_root
@needs_bindfs
def test_who_serves_it_too_is_known_by_name(make: Make, tmp_path: Path, far: Far) -> None:
    name = f"served-too-{secrets.token_hex(4)}"
    assert len(name) > 15, "the kernel cuts it"
    below, program = tmp_path / "below", tmp_path / name
    below.mkdir()
    shutil.copy("/bin/sh", program)
    system = make("mount", type="fuse.bindfs", source=str(below), servers=[name, "nobody"])
    place = Place(Address.in_settings(far.settings))
    with subprocess.Popen((program, "-c", "while :; do :; done")) as process:
        try:
            # It is told that a program is executed a moment before it has its name.
            own = (process.pid,)
            wait_until(lambda: named((name, "nobody"), place) == own, "it has no name")
            up = system.bring_up()
            if up.watched:
                with FarWatch(up.place, up.watched) as watch:
                    wait_until(lambda: (watch.telemetry().servers_s or 0) > 0, "nothing is told")
            else:
                assert {process.pid} < {*up.servers()}
        finally:
            process.kill()
        wait_until(lambda: named((name,), place) == (), "one that nobody waits for is none")
    assert not up.lost(), "that one is not ours"
    system.take_down()


@needs_root
@needs_bindfs
def test_after_a_kill_the_server_is_ended_and_its_directory_removed(tmp_path: Path) -> None:
    """Also where its agent was killed with the lab: by the next one."""
    (tmp_path / "below").mkdir()
    child = os.fork()
    if child == 0:
        site = Site(root=tmp_path, work=tmp_path, ledger=Ledger())
        kind("mount").system("m", {"type": "fuse.bindfs", "source": "./below"}, site).bring_up()
        os.kill(here().pid, 9)
        os.kill(os.getpid(), 9)
    os.waitpid(child, 0)
    assert str(tmp_path) in host_state(tmp_path)
    said = recover()
    assert any(line.startswith("an earlier run was killed: unmounted") for line in said), said
    assert [path.name for path in tmp_path.iterdir()] == ["below"]
    assert not list((tmp_path / "below").iterdir())


@needs_root
@pytest.mark.parametrize(
    ("name", "settings", "message"),
    [
        ("tmpfs", {"mount": ["nonesuch"]}, "^mount -t tmpfs -o nonesuch .*bad option"),
        ("tmpfs", {"mpol": "bind:4096"}, "^mount -t tmpfs -o mpol=bind:4096 .*"),
        ("overlay", {"mount": ["nonesuch"]}, "^mount -t overlay .*bad option"),
        ("mount", {"type": "ext4", "source": "./nothing"}, "^mount -t ext4 .*(special|fsconfig)"),
        pytest.param(
            "mount",
            {"type": "fuse.bindfs", "source": "./nothing"},
            "^mount -t fuse.bindfs .*nothing",
            marks=needs_bindfs,
        ),
    ],
)
def test_a_mount_that_fails_leaves_nothing(
    make: Make, tmp_path: Path, name: str, settings: dict[str, object], message: str
) -> None:
    before = host_state(tmp_path)
    with pytest.raises(TiltyardError, match=message):
        make(name, **settings).bring_up()
    assert_as_before(before, tmp_path)


@pytest.mark.parametrize(
    ("name", "settings", "text"),
    [
        ("mount", {"type": "nonesuch", "source": "x"}, "neither this kernel nor a program mount."),
        ("mount", {"type": "fuse.nonesuch", "source": "x"}, "nonesuch is not installed"),
        ("overlay", {"lower": "nowhere"}, "nowhere is no directory"),
        ("overlay", {"base": "nowhere"}, "nowhere is no directory"),
    ],
)
def test_problems_are_seen_beforehand(
    make: Make, name: str, settings: dict[str, object], text: str
) -> None:
    found = make(name, **settings).problems()
    assert any(one.severity == "error" and text in one.text and one.remedy for one in found), found


def test_a_source_is_never_an_option() -> None:
    with pytest.raises(ValueError, match="source"):
        kind("mount").Settings.model_validate({"type": "nfs4", "source": "--bind"})


def test_without_namespaces_a_user_is_told(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Place, "is_root", False)
    monkeypatch.setattr("tiltyard.systems.mount.checks._why_not", lambda: "not permitted")
    (problem,) = (one for one in make("tmpfs").problems() if one.severity == "error")
    assert problem.text.startswith("only root can mount here: users have no namespaces")
    assert "user.max_user_namespaces" in (problem.remedy or "")
