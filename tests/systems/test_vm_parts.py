"""What a virtual machine is made of, looked at without starting one."""

import gzip
import hashlib
import os
import shutil
import stat
import subprocess
from pathlib import Path
from types import SimpleNamespace

import pytest

from support.looks import find_program
from support.marked import marked
from tiltyard.elf import is_static
from tiltyard.errors import HostLacksError, TiltyardError
from tiltyard.executors.engine import Engine
from tiltyard.host.ledger import Ledger
from tiltyard.host.place import HERE
from tiltyard.systems import kind
from tiltyard.systems.kind import Site
from tiltyard.systems.vm.kernels import look_at, sums, wanted_of
from tiltyard.systems.vm.software import carried_engine
from tiltyard.systems.vm.tools import UML as TOOL

needs_uml = pytest.mark.skipif(
    find_program(TOOL.command) is None, reason=f"not installed: {TOOL.package}"
)


def test_modules_without_tables_are_refused(tmp_path: Path) -> None:
    with pytest.raises(TiltyardError, match=r"modules\.dep: no table .*depmod"):
        wanted_of(tmp_path, ["ext4"])


@pytest.mark.skipif(shutil.which("cpio") is None, reason="no cpio: apt-get install cpio")
def test_cpio_reads_the_archive_that_the_engine_writes(tmp_path: Path) -> None:
    engine = Engine.find().path
    module = tmp_path / "f2fs.ko.gz"
    module.write_bytes(gzip.compress(b"f2fs"))
    archive = tmp_path / "archive"
    HERE.run((str(engine), "initramfs", str(archive), str(module)))
    with archive.open("rb") as stdin:
        listed = subprocess.run(
            ("cpio", "-itvn", "--quiet"), stdin=stdin, capture_output=True, check=True
        )
    lines = [line.split() for line in listed.stdout.decode().splitlines()]
    assert {tuple(line[2:4]) for line in lines} == {("0", "0")}
    assert [line[-1] for line in lines if line[0].startswith("d")] == [
        "dev", "proc", "sys", "tmp", "modules",
    ]  # fmt: skip
    target = tmp_path / "unpacked"
    target.mkdir()
    with archive.open("rb") as stdin:
        wanted = ("init", "modules/*")
        unpack = ("cpio", "-idm", "--quiet", *wanted)
        subprocess.run(unpack, stdin=stdin, cwd=target, capture_output=True, check=True)
    init = target / "init"
    assert init.read_bytes() == engine.read_bytes()
    assert init.stat().st_mode & stat.S_IXUSR
    assert (target / "modules/f2fs.ko").read_bytes() == b"f2fs"
    assert (target / "modules/order").read_text() == "/modules/f2fs.ko\n"


def test_an_engine_that_needs_libraries_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """As the interpreter of this test does, or whatever shell is here."""
    shell = Path("/bin/sh").resolve()
    assert not is_static(shell)
    assert is_static(Engine.find().path)
    monkeypatch.setattr(Engine, "find", lambda: SimpleNamespace(path=shell))
    with pytest.raises(HostLacksError, match="needs libraries"):
        carried_engine()


def test_a_hash_is_that_of_the_file_as_it_is_now(tmp_path: Path) -> None:
    file, other = tmp_path / "file \\ of\tours", tmp_path / "other"
    file.write_bytes(b"one")
    other.write_bytes(b"other")
    of = {text: hashlib.sha256(text.encode()).hexdigest() for text in ("one", "two", "other")}
    assert sums((file, other)) == [of["one"], of["other"]]
    file.unlink()
    file.write_bytes(b"two")
    os.utime(file, (1, 1))
    assert sums((other, file)) == [of["other"], of["two"]]


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"kernel": "no-such-kernel"}, 'there is no kernel "no-such-kernel"'),
        ({"kernel": "./study.toml"}, "is no kernel that can be booted here"),
        ({"kernel": "/bin/true"}, "is no kernel that can be booted here"),
        ({"kernel": "true"}, "is no kernel that can be booted here"),
        ({"kernel": "./kernel", "vcpus": 2}, "has one CPU, and 2 are wanted"),
        ({"kernel": "./kernel", "clock": "instructions"}, "cannot count instructions"),
        ({"kernel": "./kernel", "host_cpus": [4095]}, "there is no CPU 4095"),
        ({"kernel": "./kernel", "filesystem": "xfs"}, "xfs needs an image of 300 MiB"),
    ],
)
def test_what_cannot_be_is_a_problem_before_anything_runs(
    tmp_path: Path, settings: dict[str, object], said: str
) -> None:
    (tmp_path / "study.toml").write_text("no kernel")
    marked(Path("/bin/true"), tmp_path / "kernel")
    with Ledger() as ledger:
        site = Site(root=tmp_path, work=tmp_path / "work", ledger=ledger)
        document = {"backing": {"image": "16M"}, "backend": "uml", **settings}
        found = kind("vm").system("one", document, site).problems()  # type: ignore[arg-type]
    errors = [problem.text for problem in found if problem.severity == "error"]
    assert any(said in error for error in errors), errors


@needs_uml
def test_a_kernel_is_known_by_its_mark_and_its_release_is_read() -> None:
    kernel = Path(str(find_program(TOOL.command)))
    found = look_at(kernel)
    assert found.boots_as == "uml"
    said = subprocess.run([kernel, "--version"], capture_output=True, text=True, check=True).stdout
    assert found.release == said.strip()


def test_a_program_with_the_mark_and_no_release_has_no_modules(tmp_path: Path) -> None:
    found = look_at(marked(Path("/bin/true"), tmp_path / "kernel"))
    assert (found.boots_as, found.release, found.modules) == ("uml", None, None)
    assert look_at(Path("/bin/true")).boots_as is None
