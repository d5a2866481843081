"""What a virtual machine is made of, looked at without starting one."""

import gzip
import lzma
import shutil
import stat
import subprocess
from pathlib import Path

import pytest

from support.marked import MARK, marked
from tiltyard.elf import has_section, is_static
from tiltyard.errors import HostLacksError
from tiltyard.executors.engine import Engine
from tiltyard.host.ledger import Ledger
from tiltyard.host.packages import find_program
from tiltyard.systems import kind
from tiltyard.systems.kind import Site
from tiltyard.systems.vm import initramfs
from tiltyard.systems.vm.backends.uml import TOOL, UserModeLinux
from tiltyard.systems.vm.modules import Modules, directory_of

needs_uml = pytest.mark.skipif(
    find_program(TOOL.command) is None, reason=f"not installed: {TOOL.package}"
)


@pytest.fixture
def modules(tmp_path: Path) -> Path:
    """A directory of modules as depmod(8) leaves it: compressed, aliased, in need of each other."""
    directory = tmp_path / "lib/modules/6.1.0"
    (directory / "fs").mkdir(parents=True)
    (directory / "fs/f2fs.ko.xz").write_bytes(lzma.compress(b"f2fs"))
    (directory / "fs/crc32_generic.ko.gz").write_bytes(gzip.compress(b"crc32"))
    (directory / "fs/lib-base.ko").write_bytes(b"base")
    (directory / "fs/lib-top.ko").write_bytes(b"top")
    (directory / "modules.dep").write_text(
        "fs/f2fs.ko.xz: fs/lib-top.ko fs/lib-base.ko\n"
        "fs/lib-top.ko: fs/lib-base.ko\nfs/lib-base.ko:\nfs/crc32_generic.ko.gz:\n"
    )
    (directory / "modules.alias").write_text("alias fs-f2fs f2fs\nalias crc32 crc32_generic\n")
    (directory / "modules.softdep").write_text("softdep f2fs pre: crc32 post: other\n")
    (directory / "modules.builtin").write_text("kernel/fs/ext4/ext4.ko\n")
    modinfo = "ext4.license=GPL\0ext4.alias=fs-ext4\0ext4.alias=fs-ext3\0"
    (directory / "modules.builtin.modinfo").write_text(modinfo)
    return directory


def test_modules_come_after_all_that_they_need(modules: Path) -> None:
    order = Modules(modules).in_order(["fs-f2fs", "lib-base", "no-such"])
    names = [path.name for path in order]
    assert names == ["crc32_generic.ko.gz", "lib-base.ko", "lib-top.ko", "f2fs.ko.xz"]


def test_what_is_built_in_needs_no_module_and_what_is_nowhere_is_told(modules: Path) -> None:
    found = Modules(modules)
    assert found.find("fs-ext3") == []
    assert found.find("ext4") == []
    assert found.find("fs-reiserfs") is None


def test_modules_are_found_beside_their_kernel(modules: Path, tmp_path: Path) -> None:
    kernel = tmp_path / "vmlinuz"
    kernel.touch()
    assert directory_of(kernel, "6.1.0") == modules
    assert directory_of(kernel, "6.2.0") is None
    assert directory_of(kernel, None) is None


def test_modules_without_tables_are_refused(tmp_path: Path) -> None:
    with pytest.raises(HostLacksError, match=r"no modules\.dep .*depmod"):
        Modules(tmp_path)


def built(engine: Path, modules: list[Path], home: Path) -> bytes:
    """The bytes of an archive that is made in a directory of its own."""
    (home / "scratch").mkdir(parents=True)
    initramfs.build(engine, modules, home / "scratch", home / "archive")
    return (home / "archive").read_bytes()


@pytest.mark.skipif(shutil.which("cpio") is None, reason="no cpio: apt-get install cpio")
def test_the_archive_is_reproducible_and_has_all_that_a_guest_needs(
    modules: Path, tmp_path: Path
) -> None:
    engine = Engine.find().path
    order = Modules(modules).in_order(["f2fs"])
    archive = built(engine, order, tmp_path / "one")
    assert archive == built(engine, order, tmp_path / "other")
    listed = subprocess.run(
        ("cpio", "-itvn", "--quiet"), input=archive, capture_output=True, check=True
    )
    lines = [line.split() for line in listed.stdout.decode().splitlines()]
    assert {tuple(line[2:4]) for line in lines} == {("0", "0")}
    assert [line[-1] for line in lines if line[0].startswith("d")] == [
        "dev", "proc", "sys", "tmp", "modules",
    ]  # fmt: skip
    target = tmp_path / "unpacked"
    target.mkdir()
    wanted = ("init", "modules/*")
    subprocess.run(
        ("cpio", "-idm", "--quiet", *wanted), input=archive, cwd=target, capture_output=True,
        check=True,
    )  # fmt: skip
    init = target / "init"
    assert init.read_bytes() == engine.read_bytes()
    assert init.stat().st_mode & stat.S_IXUSR
    assert (target / "modules/f2fs.ko").read_bytes() == b"f2fs"
    assert (target / "modules/crc32_generic.ko").read_bytes() == b"crc32"
    names = (target / "modules/order").read_text().split()
    assert [name.rpartition("/")[2] for name in names] == [
        "crc32_generic.ko", "lib-base.ko", "lib-top.ko", "f2fs.ko",
    ]  # fmt: skip


def test_the_archives_name_changes_with_its_contents(modules: Path) -> None:
    engine = Engine.find().path
    order = Modules(modules).in_order(["f2fs"])
    assert initramfs.name_of(engine, order) == initramfs.name_of(engine, order)
    assert initramfs.name_of(engine, order) != initramfs.name_of(engine, [])


def test_an_engine_that_needs_libraries_is_refused(tmp_path: Path) -> None:
    """As the interpreter of this test does, or whatever shell is here."""
    shell = Path("/bin/sh").resolve()
    assert not is_static(shell)
    assert is_static(Engine.find().path)
    with pytest.raises(HostLacksError, match="needs libraries"):
        built(shell, [], tmp_path)


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


def test_a_program_without_a_kernels_release_has_no_modules() -> None:
    assert directory_of(Path("/bin/true"), UserModeLinux().release(Path("/bin/true"))) is None


@needs_uml
def test_a_kernel_is_known_by_its_mark_and_its_release_is_read() -> None:
    kernel = Path(str(find_program(TOOL.command)))
    assert UserModeLinux().boots(kernel)
    said = subprocess.run([kernel, "--version"], capture_output=True, text=True, check=True).stdout
    assert UserModeLinux().release(kernel) == said.strip()


@pytest.mark.parametrize("damage", [(40, 8), (58, 2), (60, 2), (62, 2), (0, 7)])
def test_a_damaged_program_is_no_kernel(tmp_path: Path, damage: tuple[int, int]) -> None:
    program = marked(Path("/bin/true"), tmp_path / "kernel")
    assert has_section(program, MARK)
    at, count = damage
    with program.open("r+b") as file:
        file.seek(at)
        file.write(b"\xfe" * count)
    assert not has_section(program, MARK)
    assert not has_section(program, MARK[:-1])
