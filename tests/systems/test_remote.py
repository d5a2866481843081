"""A directory on "another host": a real ssh to a server that the test starts on loopback."""

import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.hosts import needs_root
from support.networks import Make, left_behind, systems_of
from support.patience import wait_until
from support.places import behind
from support.sshd import Sshd, sshd
from tiltyard.address import Address
from tiltyard.errors import TiltyardError, UnreachableError
from tiltyard.host.facts import facts_of_another, host_facts
from tiltyard.host.ledger import Ledger
from tiltyard.host.place import Place
from tiltyard.run.host_record import host_record
from tiltyard.systems.directory import RemoteSettings
from tiltyard.systems.other_host import problems_of


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sshd]:
    with sshd(tmp_path_factory.mktemp("sshd") / "server") as server:
        yield server


@pytest.fixture
def there(server: Sshd) -> Iterator[Path]:
    """A directory of the other host; nothing of ours is left in it, nor in the home."""
    directory = server.home.with_name("there and back")
    directory.mkdir()
    yield directory
    assert not list(directory.iterdir())
    assert not list(server.home.iterdir())
    assert left_behind(str(directory)) == []
    directory.rmdir()


@pytest.fixture
def make(server: Sshd, there: Path, tmp_path: Path) -> Iterator[Make]:
    with systems_of("remote", tmp_path) as make:
        known = {"host": server.far, "ssh_options": server.options, "directory": str(there)}
        yield lambda **settings: make(**{**known, **settings})


def test_options_of_a_person_go_before_ours_but_where_we_rely_on_them() -> None:
    """As ssh itself understands them."""
    given = ("-F", "none", "-o", "ServerAliveInterval=60", "-o", "BatchMode=no", "-t")
    program, *words = Address("there", given).command
    said = subprocess.run((program, "-G", *words), capture_output=True, text=True, check=True)
    told = dict(each.split(" ", 1) for each in said.stdout.splitlines() if " " in each)
    names = ("serveraliveinterval", "connecttimeout", "batchmode", "requesttty")
    assert [told[name] for name in names] == ["60", "10", "yes", "false"]


def test_up_and_down(make: Make, server: Sshd, there: Path) -> None:
    system = make()
    assert system.problems() == []
    up = system.bring_up()
    (directory,) = there.iterdir()
    assert up.target == directory
    assert directory.stat().st_mode & 0o077 == 0
    assert not list(server.home.iterdir()), "the engine's file is removed when it runs"
    local = os.statvfs(there)
    assert up.facts["host"] == server.far
    assert up.facts["kernel"] == f"Linux {os.uname().release} {os.uname().machine}"
    own = host_facts(host_record(there, "0"))
    for name in ("CPU", "CPUs", "memory", "distribution", "clock source", "mitigations"):
        assert up.facts[name] == own[name]
    assert up.facts["block size"] == f"{local.f_bsize // 1024} KiB"
    assert Path(up.facts["mounted on"]) in (there, *there.parents)
    assert "rw" in up.facts["mount options"].split(",")
    assert str(up.place) == server.far
    said = subprocess.run((*up.engine, "describe"), capture_output=True, check=True).stdout
    assert b'"iozone"' in said
    system.take_down()
    assert not list(there.iterdir())
    system.take_down()


def test_a_relative_directory_begins_at_the_home(make: Make, server: Sshd) -> None:
    (server.home / "below").mkdir()
    system = make(directory="below")
    assert system.problems() == []
    target = system.bring_up().target
    assert isinstance(target, Path)
    assert target.parent == (server.home / "below").resolve()
    system.take_down()
    (server.home / "below").rmdir()


@pytest.mark.parametrize(
    ("directory", "text"),
    [
        ("/no/such/place", "/no/such/place does not exist"),
        ("/proc/version", "/proc/version is not a directory"),
    ],
)
def test_a_directory_that_will_not_do(make: Make, directory: str, text: str) -> None:
    system = make(directory=directory)
    (problem,) = system.problems()
    assert problem.severity == "error"
    assert text in problem.text
    assert problem.remedy is not None
    shown = subprocess.run(problem.remedy, shell=True, capture_output=True, text=True, check=False)
    assert directory in shown.stdout + shown.stderr
    with pytest.raises(TiltyardError, match=directory):
        system.bring_up()


def test_slurm_is_what_a_node_of_slurm_lacks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    (problem,) = problems_of(Place(Address("n1", by="slurm", job="1")))
    assert problem.text == "srun is not installed"
    assert "slurm-client" in str(problem.remedy)


@needs_root
def test_a_workload_there_has_the_priority_of_its_profile(make: Make, tmp_path: Path) -> None:
    profile = tmp_path / "p.toml"
    profile.write_text('about = "x"\n[priority]\nnice = -3\n')
    system = make(tuning=str(profile))
    assert system.problems() == []
    assert [step for step in system.steps_up() if "start the workload by" in step.line]
    *ssh, program = system.bring_up().engine
    asked = program.replace("/proc/", "nice #/proc/", 1)
    assert asked != program
    said = subprocess.run((*ssh, asked), capture_output=True, text=True, check=True).stdout
    system.take_down()
    assert said == "-3\n"


@needs_root
def test_a_file_system_that_is_read_only(make: Make, server: Sshd, there: Path) -> None:
    with server.mounted(there, "ro"):
        (problem,) = make().problems()
        assert "is mounted read-only" in problem.text
        with pytest.raises(TiltyardError, match="Read-only file system"):
            make().bring_up()


def test_systems_of_one_host_share_its_agent_and_have_another_where_that_has_ended(
    make: Make, there: Path
) -> None:
    system, other = make(), make()
    first = system.bring_up()
    second = other.bring_up()
    assert len(list(there.iterdir())) == 2
    assert first.engine == second.engine
    os.kill(system.place.host.pid, signal.SIGKILL)
    wait_until(second.lost, "its agent does not end")
    other.take_down()
    system.take_down()
    up = system.bring_up()
    said = subprocess.run((*up.engine, "--version"), capture_output=True, check=True).stdout
    assert b"tiltyard-engine" in said
    assert up.lost() == ""


@needs_root
def test_no_room_for_the_engine_there(make: Make, server: Sshd) -> None:
    with (
        server.mounted(server.home, "size=1m"),
        pytest.raises(TiltyardError, match=rf"{server.far}: .*No space left on device"),
    ):
        make().bring_up()


@needs_root
def test_a_home_in_which_nothing_is_executed(make: Make, server: Sshd) -> None:
    with (
        server.mounted(server.home, "noexec"),
        pytest.raises(TiltyardError, match=rf"{server.far}: no program can .* Fix: mount -o rem"),
    ):
        make().bring_up()


@pytest.mark.parametrize(
    ("option", "message"),
    [
        (["-p", "1"], "Connection refused"),
        (["-o", "UserKnownHostsFile=/dev/null"], "Host key verification failed"),
        (["-o", "PreferredAuthentications=none"], "Permission denied"),
    ],
)
def test_a_host_that_is_not_reached(
    make: Make, server: Sshd, option: list[str], message: str
) -> None:
    (problem,) = make(ssh_options=[*option, *server.options]).problems()
    assert problem.text.startswith(f"cannot reach {server.far}: ")
    assert message in problem.text


def test_a_host_whose_key_has_changed(make: Make, server: Sshd, tmp_path: Path) -> None:
    known, other = tmp_path / "known", server.home.parent / "key.pub"
    known.write_text(f"[127.0.0.1]:{server.port} {other.read_text()}")
    (problem,) = make(ssh_options=["-o", f"UserKnownHostsFile={known}", *server.options]).problems()
    assert f"cannot reach {server.far}: Host key for [127.0.0.1]" in problem.text
    assert "has changed" in problem.text


def test_another_sort_of_host(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("platform.machine", lambda: "s390x")
    (problem,) = make().problems()
    assert "but the engine is for Linux s390x" in problem.text


def test_what_may_be_left_on_a_host_that_is_away_is_said_with_its_fix(
    server: Sshd, state: Path
) -> None:
    gone = Place(Address(server.far, ("-F", "none", "-p", "1")))
    ledger = Ledger()
    ledger.uses(gone)
    with pytest.raises(UnreachableError, match="is left there") as caught:
        ledger.close()
    said = str(caught.value)
    assert said.startswith(f"cannot reach {server.far}: ")
    fix = f"tiltyard restore --host {server.far} --ssh-options '-F none -p 1'"
    assert said.endswith(f"is left there. Fix: {fix}")
    assert not [*state.iterdir()]


def test_an_error_there_is_no_error_of_the_connection(server: Sshd) -> None:
    place = Place(server.address)
    with pytest.raises(TiltyardError, match=f"{server.far}: ls: ") as caught:
        place.run(("ls", "/no/such/file"))
    assert not isinstance(caught.value, UnreachableError)
    assert place.read_all(["/proc/sys/kernel/ostype", "/no/such/file"]) == {
        "/proc/sys/kernel/ostype": "Linux"
    }


@pytest.mark.parametrize(
    "settings",
    [
        {"host": "user@host"},
        {"directory": "/srv"},
        {"host": "-oProxyCommand=true", "directory": "/srv"},
        {"host": "user@host", "directory": ""},
    ],
)
def test_settings_that_are_none(settings: dict[str, object]) -> None:
    with pytest.raises(ValueError, match=r"host|directory"):
        RemoteSettings.model_validate(settings)


@needs_root
def test_the_facts_of_a_host_are_taken_anew_after_each_boot(tmp_path: Path) -> None:
    """It has this kernel, but in a mount namespace that says otherwise."""
    boot, release = tmp_path / "boot", tmp_path / "release"
    binds = "".join(
        f"mount --bind {file} /proc/sys/kernel/{name} && "
        for file, name in ((boot, "random/boot_id"), (release, "osrelease"))
    )
    place = behind("unshare", "--mount", "sh", "-c", f'{binds}exec sh -c "$1"', "there")
    told = []
    for number, version in (("1", "6.1.0-one"), ("1", "6.1.0-one"), ("2", "6.12.0-two")):
        boot.write_text(f"{number}\n")
        release.write_text(f"{version}\n")
        told.append(facts_of_another(place)["kernel"].split()[1])
    assert told == ["6.1.0-one", "6.1.0-one", "6.12.0-two"]
