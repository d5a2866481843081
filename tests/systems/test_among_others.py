"""Root works in a directory of another user, who exchanges whatever he may, as fast as he can."""

import contextlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from support.hosts import needs_root, open_directory
from support.looks import mounts_in
from support.patience import PATIENCE_S
from support.unprivileged import NOBODY
from tiltyard.errors import RefusedError, TiltyardError
from tiltyard.host.host import here
from tiltyard.host.ledger import Ledger, restore
from tiltyard.host.start import Ready
from tiltyard.host.steps import Steps
from tiltyard.ownership import held_open, make_directory
from tiltyard.systems import kind
from tiltyard.systems.kind import ServerEnd, Site, System, Up
from tiltyard.systems.service.steps import DRAWN, WriteFile

EXCHANGES = r"""
import ctypes, os, random, select, sys
place, trap = sys.argv[1:]
os.setgroups([]); os.setresgid(65534, 65534, 65534); os.setresuid(65534, 65534, 65534)
libc = ctypes.CDLL(None)
os.chdir(place)
print("ready", flush=True)
done = 0
while not select.select([sys.stdin], [], [], random.random() / 500)[0]:
    for name in os.listdir("."):
        if name.startswith("tiltyard-"):
            done += not libc.renameat2(-100, name.encode(), -100, trap.encode(), 2)
print(done)
"""
"""By renameat2(2) with RENAME_EXCHANGE, until it is told that it is enough; how often."""

PYTHON = "/usr/bin/python3"
TEXT = "x" * 2**22
"""Writing takes long enough for others to do something meanwhile."""

pytestmark = needs_root


@contextmanager
def exchanging(place: Path, trap: str) -> Iterator[list[int]]:
    """A process of user nobody exchanges what has a name of ours for the trap."""
    done: list[int] = []
    argv = (sys.executable, "-c", EXCHANGES, str(place), trap)
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout is not None
        try:
            assert other.stdout.readline() == "ready\n"
            yield done
        except BaseException:
            other.kill()
            raise
        said, _ = other.communicate("enough\n", timeout=PATIENCE_S)
        done.append(int(said))


def as_nobody(deed: Callable[[], object]) -> None:
    """Do something as user nobody, who may."""
    child = os.fork()
    if child == 0:
        try:
            os.setgroups([])
            os.setresgid(NOBODY, NOBODY, NOBODY)
            os.setresuid(NOBODY, NOBODY, NOBODY)
            deed()
            os._exit(0)
        finally:
            os._exit(1)
    assert os.waitpid(child, 0)[1] == 0


def content(root: Path) -> dict[str, object]:
    """All that a directory is and has in it."""
    found = [root, *sorted(root.rglob("*"))]
    return {
        str(one.relative_to(root)): (
            one.lstat().st_uid,
            one.lstat().st_mode,
            one.is_file() and one.read_text(),
        )
        for one in found
    }


@pytest.fixture
def tmp_path() -> Iterator[Path]:
    """Where he comes to: those of pytest let nobody in."""
    with open_directory() as path:
        yield path


@pytest.fixture
def victim(tmp_path: Path) -> Path:
    """A directory of root's; nothing in it, or of it, is to be another afterwards."""
    return precious_in(tmp_path / "victim")


def precious_in(directory: Path) -> Path:
    directory.mkdir()
    (directory / "out").write_text("precious")
    (directory / "tree").mkdir(mode=0o700)
    (directory / "tree/file").write_text("precious")
    return directory


@pytest.fixture
def given(tmp_path: Path) -> Path:
    """A directory of user nobody."""
    return of_nobody(tmp_path / "his")


def of_nobody(directory: Path) -> Path:
    directory.mkdir()
    os.chown(directory, NOBODY, NOBODY)
    return directory


@pytest.fixture
def opened(tmp_path: Path) -> Iterator[Callable[..., System]]:
    """Opens systems that are taken down when the test ends."""
    work = tmp_path / "work"
    work.mkdir()
    with Ledger() as ledger:

        def system(directory: Path, **settings: Any) -> System:
            site = Site(root=tmp_path, work=work, ledger=ledger)
            return kind("directory").system("one", {"directory": str(directory), **settings}, site)

        yield system
    assert not list(work.iterdir())


def path_of(up: Up) -> Path:
    assert isinstance(up.target, Path)
    return up.target


def made_in(given: Path) -> Path:
    """The directory of the turn, by its own path."""
    (made,) = given.glob("tiltyard-*")
    return made


@pytest.mark.parametrize("trap", ["link", "directory"])
def test_a_trial_directory_that_is_exchanged_all_the_time_leads_nowhere_else(
    opened: Callable[..., System], tmp_path: Path, victim: Path, trap: str
) -> None:
    turns = rounds = 0
    while rounds < 10 or turns < 2:
        given = of_nobody(tmp_path / f"his-{rounds}")
        rounds += 1
        precious = victim if trap == "link" else precious_in(given / "trap")
        if trap == "link":
            (given / "trap").symlink_to(victim)
        before = content(precious)
        one = opened(given)
        with exchanging(given, "trap"), contextlib.suppress(RefusedError, OSError):
            up = one.bring_up()
            for name in ("out", "new"):
                (path_of(up) / name).write_text("measured")
            turns += 1
            one.take_down()
        if trap == "directory":
            precious = next(at for at in given.iterdir() if (at / "tree").exists())
        assert content(precious) == before


def test_what_is_exchanged_between_trials_is_not_what_they_work_in(
    opened: Callable[..., System], given: Path, victim: Path
) -> None:
    before = content(victim)
    one = opened(given)
    target = path_of(one.bring_up())
    made = made_in(given)

    def exchange() -> None:
        made.rename(given / "away")
        made.symlink_to(victim)

    as_nobody(exchange)
    (target / "out").write_text("measured")
    assert (given / "away/out").read_text() == "measured"
    one.take_down()
    assert content(victim) == before
    assert made.is_symlink()


def test_what_he_puts_in_its_place_is_not_removed(
    opened: Callable[..., System], given: Path, victim: Path
) -> None:
    """Also a directory of root's, which he may rename where it lies in one of his."""
    precious = given / "precious"
    victim.rename(precious)
    one = opened(given)
    path_of(one.bring_up())
    made = made_in(given)

    def exchange() -> None:
        made.rename(given / "away")
        precious.rename(made)

    as_nobody(exchange)
    one.take_down()
    assert (made / "tree/file").read_text() == "precious"


def test_a_directory_that_became_a_link_gets_nothing(
    opened: Callable[..., System], tmp_path: Path, victim: Path
) -> None:
    before = content(victim)
    above = tmp_path / "above"
    given = above / "his"
    given.mkdir(parents=True)
    for one in (above, given):
        os.chown(one, NOBODY, NOBODY)
    system = opened(given)
    assert [one for one in system.problems() if one.severity == "error"] == []

    def exchange() -> None:
        given.rename(above / "away")
        given.symlink_to(victim)

    as_nobody(exchange)
    with pytest.raises(RefusedError, match=r"his is a link, or no directory, by now\. Fix: "):
        system.bring_up()
    (problem,) = system.problems()
    assert problem.severity == "error"
    assert content(victim) == before


def test_a_link_of_another_user_is_refused_and_one_of_roots_is_not(
    opened: Callable[..., System], tmp_path: Path, victim: Path, given: Path
) -> None:
    his, ours = given / "link", tmp_path / "link"
    his.symlink_to(victim)
    os.chown(his, NOBODY, NOBODY, follow_symlinks=False)
    ours.symlink_to(given)
    (problem,) = opened(his).problems()
    assert problem.severity == "error"
    assert "link is a link" in problem.text
    assert [one for one in opened(ours).problems() if one.severity == "error"] == []
    opened(ours).bring_up()
    assert made_in(given).owner() == "root"


def test_a_directory_of_roots_is_worked_in_where_it_is(
    opened: Callable[..., System], victim: Path
) -> None:
    up = opened(victim).bring_up()
    assert path_of(up).parent == victim
    assert "worked in" not in up.facts


def test_what_a_killed_run_left_there_is_put_back_and_nothing_else(
    given: Path, victim: Path, tmp_path: Path
) -> None:
    before = content(victim)
    work = tmp_path / "work"
    work.mkdir()
    for is_exchanged in (False, True):
        child = os.fork()
        if child == 0:
            site = Site(root=tmp_path, work=work, ledger=Ledger())
            up = kind("directory").system("one", {"directory": str(given)}, site).bring_up()
            (path_of(up) / "deep").mkdir()
            (path_of(up) / "deep/file").write_text("measured")
            os.kill(here().pid, signal.SIGKILL)
            os.kill(os.getpid(), signal.SIGKILL)
        os.waitpid(child, 0)
        made = made_in(given)
        assert mounts_in(work)
        if is_exchanged:
            made.rename(given / "away")
            made.symlink_to(victim)
        found = restore()
        assert found.left == ()
        assert any(f"left {made} alone: another user" in one for one in found.done) == is_exchanged
        assert not mounts_in(work)
        assert not list(work.iterdir())
        if not is_exchanged:
            assert not list(given.iterdir())
    assert content(victim) == before


def test_a_service_is_up_in_a_directory_of_another_user(
    opened: Callable[..., System], given: Path
) -> None:
    start = (PYTHON, "-m", "http.server", "{port}", "--bind", "127.0.0.1", "--directory", "{dir}")
    system = opened(given, service={"start": start, "files": {"deep/one.conf": "one = 1"}})
    up = system.bring_up()
    written = Path(up.variables["service_dir"]) / "deep/one.conf"
    assert (written.read_text(), written.owner()) == ("one = 1", "nobody")
    assert written.parent.owner() == "nobody"
    system.take_down()
    assert not list(given.iterdir())


def test_a_file_of_a_service_is_written_by_its_user(given: Path, victim: Path) -> None:
    """Where he has laid a link he comes no further than he would himself."""
    before = content(victim)
    (given / "conf").symlink_to(victim)
    with Ledger() as ledger:
        steps = Steps(ledger)
        steps.outputs[DRAWN] = json.dumps({"port": "1", "secret": "s"})
        own = {"home": given, "user": "nobody", "directory": str(given), "end": ServerEnd()}
        own |= {"login": "nobody"}
        for name, is_let in (("conf/new", False), ("deep/new", True)):
            mark = ledger.name("service-command")
            write = WriteFile(
                argv=(),
                name=name,
                stdin="one = 1",
                mark=mark,
                ready=Ready(),
                env={},
                **own,
            )
            with contextlib.nullcontext() if is_let else pytest.raises(TiltyardError, match="conf"):
                steps.take([write])
    assert content(victim) == before
    assert (given / "deep" / "new").read_text() == "one = 1"
    assert (given / "deep" / "new").owner() == "nobody"


@pytest.mark.parametrize("name", ["loop-image", "overlay"])
def test_no_image_and_no_layer_lies_where_another_user_could_exchange_it(
    given: Path, tmp_path: Path, name: str
) -> None:
    settings: dict[str, Any] = {
        "loop-image": {"filesystem": "ext4", "backing": {"image": "64M", "at": str(given)}},
        "overlay": {"base": str(given)},
    }[name]
    with Ledger() as ledger:
        site = Site(root=tmp_path, work=tmp_path / "work", ledger=ledger)
        problems = kind(name).system("one", settings, site).problems()
    (found,) = (one for one in problems if "exchange" in one.text)
    assert found.severity == "error"
    assert f"{given} belongs to user nobody" in found.text
    assert found.remedy


def test_nothing_is_made_behind_a_link_of_others(given: Path, victim: Path) -> None:
    (given / "sub").symlink_to(victim)
    os.chown(given / "sub", NOBODY, NOBODY, follow_symlinks=False)
    with pytest.raises(RefusedError, match="a link"):
        make_directory(given / "sub/new")


def test_a_circle_of_links_ends(tmp_path: Path) -> None:
    (tmp_path / "a").symlink_to("b")
    (tmp_path / "b").symlink_to("a")
    with pytest.raises(OSError, match="Too many levels"), held_open(tmp_path / "a"):
        pass
