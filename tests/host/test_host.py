"""The pipe to a host: what is read through it, and what is no agent."""

import os
import shutil
import signal
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from support.patience import wait_until
from support.places import behind
from tiltyard.errors import (
    HostLacksError,
    InterruptedRunError,
    TiltyardError,
    UnreachableError,
    UsageError,
)
from tiltyard.executors.engine import Engine
from tiltyard.host import host
from tiltyard.host.host import Host, here, hosts
from tiltyard.host.place import HERE, Place

NOTHING = '{"files":{},"links":{},"programs":{},"space":{},"outputs":[],"cut":[]}'


def says(line: str) -> str:
    """The command of a shell that prints a line of an agent."""
    return f"printf '\\036%s\\n' '{line}'"


def hello(protocol: int) -> str:
    """The first line of one."""
    told = '"system":"linux","machine":"m","release":"6","pid":1,"uid":0,"cpus":[0],"boot":""'
    return says(f'{{"hello":{{"protocol":{protocol},"engine":"0",{told},"does":[]}}}}')


def stub(text: str) -> tuple[str, ...]:
    """What stands for an engine: a shell that says this, whatever its verb."""
    return ("sh", "-c", text, "sh")


def test_files_links_and_commands_in_one_exchange(tmp_path: Path) -> None:
    for name in ("one", "two", "other"):
        (tmp_path / name).write_text(f"{name}\n")
    (tmp_path / "to").symlink_to("one")
    (tmp_path / "sub").mkdir()
    found = here().read(
        files=[f"{tmp_path}/o*", f"{tmp_path}/gone", f"{tmp_path}/sub"],
        links=[f"{tmp_path}/t[ow]*"],
        outputs=[("echo", "a b"), ("sh", "-c", "echo bad >&2; exit 3"), ("no-such-program",)],
    )
    assert found.files == {f"{tmp_path}/{name}": f"{name}\n" for name in ("one", "other")}
    assert found.links == {
        f"{tmp_path}/to": f"{tmp_path}/one",
        f"{tmp_path}/two": f"{tmp_path}/two",
    }
    said, failed, lacks = found.outputs
    assert (said.argv, said.status, said.stdout) == (["echo", "a b"], 0, "a b\n")
    assert (failed.status, failed.stderr) == (3, "bad\n")
    assert lacks.status is None


def test_a_path_means_itself_whatever_is_in_its_name(tmp_path: Path) -> None:
    odd, other = tmp_path / "o[x]*?", tmp_path / "ox-"
    for path in (odd, other):
        path.mkdir()
        (path / "file").write_text(path.name)
    assert HERE.read(odd / "file") == odd.name
    assert dict(HERE.find_all([str(odd), f"{odd}/file/"])) == {str(odd): str(odd)}
    assert HERE.is_directory(odd)
    assert not HERE.is_directory(odd / "file")
    assert not HERE.is_directory(odd / "gone")


def test_what_is_looked_at_in_a_block_is_asked_for_once_and_by_its_thread_alone(
    tmp_path: Path,
) -> None:
    path = tmp_path / "deep" / "file"
    path.parent.mkdir()
    path.write_text("before")
    with HERE.looking(files=[f"{tmp_path}/*/file"], links=[f"{tmp_path}/*"]):
        path.write_text("after")
        assert HERE.read(path) == "before"
        assert HERE.find_all([str(path)]), "it was not asked for, and is not taken for gone"
        with HERE.looking(files=[str(path)]):
            assert HERE.read(path) == "after"
        assert HERE.read(path) == "before"
        with ThreadPoolExecutor(1) as other:
            assert other.submit(HERE.read, path).result() == "after"
    assert HERE.read(path) == "after"


def test_a_name_that_is_no_text_is_refused_and_the_agent_stays(tmp_path: Path) -> None:
    there = here()
    name = os.fsdecode(bytes(tmp_path) + b"/\xff")
    with pytest.raises(UsageError, match=r"^/.*/\ufffd: a name that is not UTF-8 .*another name$"):
        HERE.space(Path(name))
    assert here() is there
    assert HERE.space(tmp_path).free_bytes > 0


def test_it_reads_what_the_kernel_tells_now() -> None:
    told = here().read(files=["/proc/sys/kernel/osrelease", "/proc/self/comm"]).files
    assert told["/proc/sys/kernel/osrelease"].strip() == os.uname().release
    assert told["/proc/self/comm"].strip() == Engine.find().path.name


def test_several_threads_ask_one_after_the_other(tmp_path: Path) -> None:
    paths = [tmp_path / f"{number}" for number in range(40)]
    for path in paths:
        path.write_text(path.name)
    with ThreadPoolExecutor(8) as pool:
        told = pool.map(lambda path: here().read(files=[f"{path}"]).files, paths)
    assert list(told) == [{f"{path}": path.name} for path in paths]


def test_another_one_is_started_where_it_has_ended() -> None:
    first = here()
    first._process.kill()
    first._process.wait()
    with pytest.raises(HostLacksError, match="on this host: it has ended"):
        first.read(files=["/proc/version"])
    assert here() is not first
    assert here().read(files=["/proc/version"]).files


def test_a_fork_has_an_agent_of_its_own() -> None:
    parent = here()
    with hosts._lock:  # As a thread that starts one has it.
        child = os.fork()
        if child == 0:
            signal.alarm(20)
            status = 1
            try:
                own = here()
                status = 0 if own is not parent and own.read(files=["/proc/version"]).files else 2
                own.close()
            finally:
                os._exit(status)
    assert os.waitpid(child, 0)[1] == 0
    assert here() is parent
    assert parent.read(files=["/proc/version"]).files


def test_it_ends_with_its_input() -> None:
    host = Host.here()
    pid = host._process.pid
    host.close()
    wait_until(lambda: not Path(f"/proc/{pid}").exists(), "it is still there")


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("exit 3", "it has ended"),
        ("echo words >&2; exit 3", "it has ended: words"),
        ("echo Welcome; cat > /dev/null", '"Welcome" is no answer'),
        ("printf 'Hi \\036{}\\n'; cat > /dev/null", "is no answer"),
        ("printf '\\036nonsense\\n'; cat > /dev/null", "is no answer"),
        (f"{hello(99)}; cat > /dev/null", "it does not speak protocol 1"),
        (says('{"id":1,"done":{}}') + "; cat > /dev/null", "it does not speak protocol 1"),
        ("head -c 20000000 /dev/zero; cat > /dev/null", "its answer does not end"),
    ],
)
def test_what_is_no_agent_is_told(text: str, why: str) -> None:
    with pytest.raises(HostLacksError, match="the engine's agent on sut: ") as raised:
        Host(stub(text), "sut")
    assert why in str(raised.value)


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        (f'{{"id":7,"done":{{"read":{NOTHING}}}}}', "something else than was asked"),
        ("""{"id":1,"done":{}}""", "something else than was asked"),
        ("""{"id":1}""", "something else than was asked"),
        ("""{"id":1,"done":{"read":{"files":{"/x":[]}}}}""", "is no answer"),
        ("""{"id":1,"failed":{"kind":"request","text":"not\\nso"}}""", "sut: not so"),
    ],
)
def test_an_answer_that_is_none_is_told(answer: str, why: str) -> None:
    host = Host(stub(f"{hello(1)}; read -r asked; {says(answer)}; cat > /dev/null"), "sut")
    try:
        with pytest.raises(HostLacksError, match="sut") as raised:
            host.read(files=["/x"])
        assert why in str(raised.value)
    finally:
        host.close()


@pytest.mark.parametrize(
    "ops",
    [
        '"changes":[{"at":1,"number":1}],"outputs":{},"started":[]',
        '"changes":[],"outputs":{"loop":"$(reboot)"},"started":[]',
        '"changes":[],"outputs":{"another":"loop0"},"started":[]',
        '"changes":[],"outputs":{},"started":[{"at":1,"pid":1,"line":"","elapsed_s":0.1}]',
        f'"changes":[],"outputs":{{}},"started":[{{"at":0,"pid":1,"line":"{"x" * 70_000}",'
        '"elapsed_s":0.1}]',
    ],
    ids=["change", "value", "name", "process", "line"],
)
def test_what_ops_have_not_yielded_is_no_answer_to_them(ops: str) -> None:
    """It would get into later ones, and into the script that does them again."""
    answer = f'{{"id":1,"done":{{"ops":{{"ledger":"1-a",{ops},"ran":[],"skipped":[]}}}}}}'
    host = Host(stub(f"{hello(1)}; read -r asked; {says(answer)}; cat > /dev/null"), "sut")
    try:
        with pytest.raises(HostLacksError, match="something else than was asked"):
            host.change([{"op": "loop", "file": "/x", "name": "loop"}])
    finally:
        host.close()


def test_of_each_process_that_is_asked_for_something_is_told() -> None:
    answer = '{"id":1,"done":{"servers":[]}}'
    host = Host(stub(f"{hello(1)}; read -r asked; {says(answer)}; cat > /dev/null"), "sut")
    try:
        with pytest.raises(HostLacksError, match="something else than was asked"):
            host.servers(["tiltyard-x"])
    finally:
        host.close()
    (told,) = here().servers(["tiltyard-x"])
    assert (told.pids, told.ended) == ([], "is not there any more")


def test_who_has_had_enough_is_heard_whatever_an_agent_says() -> None:
    """Ops are cancelled, and what has stopped them is told when they are over."""

    def stop() -> None:
        raise InterruptedRunError("Ctrl-C")

    tells = says('{"id":1,"progress":{"at":0,"done_bytes":0,"of_bytes":0}}')
    ends = says('{"id":1,"failed":{"kind":"interrupted","text":"it was cancelled"}}')
    waits = f"while ! read -r -t 0.01 asked; do {tells}; done"
    host = Host(
        ("bash", "-c", f"{hello(1)}; read -r asked; {waits}; {ends}; cat > /dev/null"), "sut"
    )
    try:
        with pytest.raises(InterruptedRunError, match="Ctrl-C"):
            host.change([], stop)
    finally:
        host.close()


def test_what_is_looked_at_together_is_asked_for_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = elsewhere(tmp_path / "home")
    with place.looking(files=["/proc/sys/kernel/os*"], links=["/proc/sys/*"], space=["/"]):
        with monkeypatch.context() as patched:
            patched.setattr(Host, "read", None)
            assert place.read("/proc/sys/kernel/ostype") == "Linux"
            assert place.read("/proc/sys/kernel/osnone") is None
            assert place.find_all(["/proc/sys/vm", "/proc/sys/none"]).keys() == {"/proc/sys/vm"}
            assert place.space(Path("/")).size_bytes > 0
        assert place.read("/proc/sys/kernel/hostname")
    monkeypatch.setattr(Host, "read", None)
    with pytest.raises(TypeError):
        place.read("/proc/sys/kernel/ostype")


OLD_KERNEL = (
    """cat > /dev/null; echo '#!/bin/sh'; echo "echo 'FATAL: kernel too old' >&2; exit 1" """
)
"""What unpacks the engine there makes a program that says so."""


def elsewhere(home: Path, **programs: str) -> Place:
    """A host that a shell of this one stands for.

    Args:
        home: is made.
        programs: scripts that it has in the place of programs; ``login`` comes before all else.
    """
    home.mkdir(exist_ok=True)
    (stubs := home.with_name("stubs")).mkdir()
    login = [f'{programs.pop("login")} eval "$0"'] if "login" in programs else []
    for name, text in programs.items():
        (stubs / name).write_text(f"#!/bin/sh\n{text}\n")
        (stubs / name).chmod(0o755)
    path = f"PATH={stubs}:{os.environ['PATH']}"
    return behind("env", "-C", f"{home}", path, "sh", "-c", *login)


def test_to_another_host_the_engine_is_sent_and_nothing_of_it_stays(tmp_path: Path) -> None:
    for name in ("tiltyard-old-agent", "tiltyard-new-agent", "tiltyard-old-engine"):
        (tmp_path / "home" / name).mkdir(parents=True)
    for name in ("tiltyard-old-agent", "tiltyard-old-engine"):
        os.utime(tmp_path / "home" / name, (0, 0))
    place = elsewhere(tmp_path / "home")
    assert place.read("/proc/self/comm") == "tiltyard-agent"
    left = sorted(path.name for path in (tmp_path / "home").iterdir())
    assert left == ["tiltyard-new-agent", "tiltyard-old-engine"], "another one may still come"
    assert place.host is place.host
    assert place.has("sh")
    assert not place.has("no-such-program")
    assert place.find("/proc/[0-9]*/nothing") == []
    assert place.run(("pwd",)).stdout == f"{tmp_path}/home", "as ssh begins"
    with pytest.raises(TiltyardError, match="sh: bad"):
        place.run(("sh", "-c", "echo bad >&2; exit 3"))
    with pytest.raises(HostLacksError, match="no-such-program"):
        place.run(("no-such-program",))


@pytest.mark.parametrize(
    ("program", "does", "says"),
    [
        ("login", "exit 255;", "cannot reach "),
        ("login", "echo Welcome;", '"Welcome" is printed where an answer should be. Fix: a login '),
        ("uname", "echo Plan9 mips", "is Plan9 mips, but the engine is for Linux "),
        ("uname", "echo Linux ../x", r"is Linux ../x, but the engine is for Linux \w+$"),
        ("uname", "echo Linux riscv64", "Fix: that of the wheel for riscv64, as /.*-riscv64$"),
        ("gzip", OLD_KERNEL, ": FATAL: kernel too old$"),
        ("gzip", "echo 'No space left on device' >&2; exit 1", ": No space left on device$"),
    ],
)
def test_a_host_that_will_not_do_is_told_in_a_line(
    tmp_path: Path, program: str, does: str, says: str
) -> None:
    with pytest.raises(HostLacksError, match=says) as raised:
        elsewhere(tmp_path / "home", **{program: does}).read("/proc/version")
    assert "\n" not in str(raised.value)
    assert not [*(tmp_path / "home").iterdir()]


def test_to_another_machine_the_engine_for_it_is_sent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It lies beside ours, which is not executed there."""
    own = tmp_path / "engine"
    shutil.copy(Engine.find().path, tmp_path / "engine-riscv64")
    own.write_text("#!/bin/sh\nexit 1\n")
    own.chmod(0o755)
    monkeypatch.setenv("TILTYARD_ENGINE", str(own))
    place = elsewhere(tmp_path / "home", uname="echo Linux riscv64")
    assert place.read("/proc/self/comm") == "tiltyard-agent"


def test_an_engine_of_a_package_is_there_beside_ours(tmp_path: Path) -> None:
    """It is executed as long as its agent is; both end with the host."""
    other = tmp_path / "another"
    other.write_bytes(Engine.find().path.read_bytes() + b"another")
    other.chmod(0o755)
    address = elsewhere(tmp_path / "home").address
    ours, its = host.hosts.of(address), host.hosts.of(address, other)
    assert Path(its.engine).read_bytes() == other.read_bytes()
    assert Path(ours.engine).read_bytes() == Engine.find().path.read_bytes()
    assert host.hosts.of(address, other) is its
    assert {*host.hosts.engines(address)} == {ours.engine, its.engine}
    host.hosts.end(address)
    assert not ours.is_there
    assert not its.is_there


def test_a_copy_that_is_cut_off_is_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = host.packed(Engine.find().path)
    monkeypatch.setattr(host, "packed", lambda _: whole[: len(whole) // 2])
    with pytest.raises(HostLacksError, match="unexpected end of file"):
        elsewhere(tmp_path / "home").read("/proc/version")
    assert not [*(tmp_path / "home").iterdir()]


def test_a_connection_that_is_lost_is_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = elsewhere(tmp_path / "home")
    assert place.read("/proc/version")
    there = place.host
    os.killpg(there._process.pid, signal.SIGKILL)
    with pytest.raises(UnreachableError, match="cannot reach"):
        there.read(files=["/proc/version"])
    assert place.read("/proc/version")
    os.killpg(place.host._process.pid, signal.SIGSTOP)  # As after a boot: nobody has said so yet.
    monkeypatch.setattr(host, "_ANSWER_S", 3.0)
    with pytest.raises(UnreachableError, match="lost the connection"):
        place.host.read(files=["/proc/version"])
    os.killpg(place.host._process.pid, signal.SIGSTOP)
    assert place.read("/proc/version"), "another one is asked"


def test_one_that_is_ended_on_another_host_is_lost(tmp_path: Path) -> None:
    """And not a host that lacks something: another one is asked, which knows what was put back."""
    place = elsewhere(tmp_path / "home")
    there = place.host
    os.kill(int(Path(there.engine).parent.name), signal.SIGTERM)
    with pytest.raises(UnreachableError, match="has ended") as raised:  # noqa: PT012  when it has
        while True:
            there.read(files=["/proc/version"])
    assert "\n" not in str(raised.value)
    assert place.host is not there
    assert place.read("/proc/version")


def test_one_on_another_host_is_told_that_we_are_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A trial may be longer than its lease."""
    monkeypatch.setattr(host, "_LEASE", "2")
    monkeypatch.setattr(host, "_BEAT_S", 0.3)
    there = elsewhere(tmp_path / "home").host
    time.sleep(4)
    assert there.is_there
    monkeypatch.setattr(host, "_BEAT_S", 600)
    wait_until(lambda: not there.is_there, "its lease has not ended")
