"""What boots from a disk image, looked at without booting; tests/conformance boots a real one."""

import hashlib
import itertools
import json
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest.mock import MagicMock

import pytest
from pydantic import ValidationError

from support.far import Far
from support.looks import find_program
from support.sshd import Sshd
from tiltyard.errors import HostLacksError
from tiltyard.executors.engine import Engine
from tiltyard.host.ledger import Ledger
from tiltyard.host.steps import Steps
from tiltyard.systems import kind
from tiltyard.systems.kind import Site, System
from tiltyard.systems.vm.backends import Machine, SystemDisks
from tiltyard.systems.vm.backends.qemu import Emulation
from tiltyard.systems.vm.choice import Choice, choose
from tiltyard.systems.vm.operating_system import operating_system, way_in
from tiltyard.systems.vm.settings import VmSettings
from tiltyard.systems.vm.software import Software
from tiltyard.systems.vm.tools import OF_IMAGES as TOOLS

LACKING = [tool.package for tool in TOOLS if find_program(tool.command) is None]
needs_tools = pytest.mark.skipif(
    bool(LACKING), reason=f"not installed: {' '.join(LACKING)}; make setup-dev installs them"
)
UUID = "11111111-2222-3333-4444-555555555555"


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    """A scratch folder with a ledger, which has nothing left in it afterwards."""
    work = tmp_path / "work"
    work.mkdir()
    with Ledger() as ledger:
        yield Site(root=tmp_path, work=work, ledger=ledger)
    assert not list(work.iterdir())


HEAD = Path("/proc/self/exe").read_bytes()[:64]
"""Of a program for this machine."""


def root_image(
    path: Path,
    *releases: str,
    is_root: bool = True,
    has_systemd: bool = True,
    head: bytes = HEAD,
    init: str | None = "../lib/systemd/systemd",
) -> Path:
    """An image of one ext4, with kernels that say their release and no more."""
    tree = path.with_suffix(".tree")
    (tree / "boot").mkdir(parents=True)
    for release in releases:
        (tree / f"boot/vmlinuz-{release}").write_text(f"kernel {release}")
        (tree / f"boot/initrd.img-{release}").write_text(f"initramfs {release}")
    if is_root:
        (tree / "etc").mkdir()
        (tree / "etc/os-release").write_text('PRETTY_NAME="None Such"\n')
    if has_systemd:
        (tree / "usr/lib/systemd").mkdir(parents=True)
        (tree / "usr/lib/systemd/systemd").write_bytes(head)
    (tree / "usr/sbin").mkdir(parents=True)
    (tree / "sbin").symlink_to("usr/sbin")
    if init is not None:
        (tree / "usr/sbin/init").symlink_to(init)
    make = (str(find_program("mkfs.ext4")), "-q", "-U", UUID, "-d", str(tree), str(path), "4M")
    subprocess.run(make, check=True, capture_output=True)
    shutil.rmtree(tree)
    return path


def on_a_partition(volume: Path, path: Path) -> Path:
    """The same behind a partition table."""
    with path.open("wb") as disk:
        disk.truncate(8 * 2**20)
        disk.seek(2**20)
        disk.write(volume.read_bytes())
    sfdisk = (str(find_program("sfdisk")), "--quiet", str(path))
    subprocess.run(sfdisk, input=b"label: gpt\nstart=2048, size=8192\n", check=True)
    return path


def as_qcow2(disk: Path, path: Path) -> Path:
    """The same, stored in QEMU's way."""
    subprocess.run(("qemu-img", "convert", "-O", "qcow2", disk, path), check=True)
    return path


def ready(site: Site, image: Path) -> tuple[Software, Steps]:
    """What a turn makes of an image."""
    directory = site.work / "turn"
    directory.mkdir(exist_ok=True)
    steps = Steps(site.ledger)
    choice = Choice(boots=image, backend=Emulation())
    return operating_system(choice, site, steps, directory), steps


def clean(site: Site) -> None:
    """Take back what the ledger has; what a turn made goes with its directory."""
    for change in reversed(site.ledger.outstanding):
        site.ledger.undo(change)
    shutil.rmtree(site.work / "turn")


@needs_tools
@pytest.mark.parametrize("how", ["-b other.img -F raw", "-o data_file=other.img", "-f vmdk"])
def test_an_image_that_has_the_guest_read_another_file_is_refused(
    site: Site, tmp_path: Path, how: str
) -> None:
    root_image(tmp_path / "other.img", "6.9.0-1-amd64")
    form = ("-f", "qcow2", *how.split())
    if "vmdk" in how:
        form = (*how.split(), "-o", "subformat=monolithicFlat")
    image = tmp_path / "disk.img"
    create = ("qemu-img", "create", "-q", *form, image, "4M")
    subprocess.run(create, check=True, cwd=tmp_path, capture_output=True)
    with pytest.raises(HostLacksError, match=r"disk.img is no image by itself: .*(other|-flat)"):
        ready(site, image)
    clean(site)


@needs_tools
@pytest.mark.parametrize("form", ["whole", "partition", "qcow2"])
def test_the_newest_kernel_is_read_out_of_an_image_that_stays_as_it_is(
    site: Site, tmp_path: Path, form: str
) -> None:
    image = root_image(tmp_path / "whole.img", "6.9.0-1-amd64", "6.10.0-1-amd64")
    if form != "whole":
        image = on_a_partition(image, tmp_path / "disk.img")
    if form == "qcow2":
        image = as_qcow2(image, tmp_path / "disk.qcow2")
    before = hashlib.sha256(image.read_bytes()).digest()
    software, steps = ready(site, image)
    assert software.kernel.read_text() == "kernel 6.10.0-1-amd64"
    assert software.initramfs.read_text() == "initramfs 6.10.0-1-amd64"
    assert software.words[:2] == (f"root=UUID={UUID}", "ro")
    assert [command.argv[:2] for command in steps.executed] == [("qemu-img", "create")]
    assert software.disks is not None
    overlay = ("qemu-img", "info", "--output=json", software.disks.system)
    told = json.loads(subprocess.run(overlay, capture_output=True, check=True).stdout)
    assert told["backing-filename"] == str(image)
    assert told["backing-filename-format"] == ("qcow2" if form == "qcow2" else "raw")
    assert hashlib.sha256(image.read_bytes()).digest() == before
    clean(site)


@needs_tools
def test_what_boots_is_taken_out_once_for_all_turns_and_carries_the_engine(
    site: Site, tmp_path: Path
) -> None:
    image = root_image(tmp_path / "disk.img", "6.1")
    first, _ = ready(site, image)
    shutil.rmtree(site.work / "turn")
    made = first.kernel.stat()
    second, _ = ready(site, image)
    assert (second.kernel, second.kernel.stat().st_ino) == (first.kernel, made.st_ino)
    assert second.disks is not None
    carried = tmp_path / "engine"
    ask = (str(find_program("debugfs")), "-R", f"dump /tiltyard-engine {carried}")
    subprocess.run((*ask, second.disks.engine), check=True, capture_output=True)
    assert carried.read_bytes() == Engine.find().path.read_bytes()
    clean(site)


@needs_tools
@pytest.mark.parametrize(
    ("releases", "is_root", "said"),
    [
        ((), True, r"disk\.img: no ext4 of it has /boot/vmlinuz-VERSION"),
        (("6.1",), False, r"disk\.img: no ext4 of it has /etc/os-release"),
    ],
)
def test_an_image_without_a_system_says_so_and_leaves_nothing(
    site: Site, tmp_path: Path, releases: tuple[str, ...], is_root: bool, said: str
) -> None:
    image = root_image(tmp_path / "disk.img", *releases, is_root=is_root)
    with pytest.raises(HostLacksError, match=said):
        ready(site, image)
    assert site.ledger.outstanding == ()
    shutil.rmtree(site.work / "turn")


@needs_tools
def test_an_image_without_systemd_is_refused_before_it_is_booted(
    site: Site, tmp_path: Path
) -> None:
    image = root_image(tmp_path / "disk.img", "6.1", has_systemd=False)
    with pytest.raises(HostLacksError, match=r"disk\.img: no ext4 of it has /usr/lib/systemd"):
        ready(site, image)
    assert site.ledger.outstanding == ()
    shutil.rmtree(site.work / "turn")


@needs_tools
@pytest.mark.parametrize("far", [True], indirect=True)
def test_an_image_of_another_host_is_looked_at_there(
    tmp_path: Path, far: Far, far_server: Sshd
) -> None:
    """A relative path begins at the home there; that it boots there, tests/conformance shows."""
    site = far.site(Site(root=tmp_path, work=tmp_path, ledger=MagicMock()))

    def guest(disk: str) -> System:
        settings = {"disk": disk, "backend": "qemu", "filesystem": "tmpfs", **far.settings}
        return far.made(kind("vm").system(f"on {disk}", settings, site))

    image = root_image(far_server.home / "there.img", "6.1", has_systemd=False)
    try:
        with pytest.raises(HostLacksError, match=rf"{far_server.far}: {image}: no ext4 of it has"):
            guest("there.img").bring_up()
    finally:
        image.unlink()
    (problem,) = guest("there.img").problems()
    assert problem.text == f'{far_server.far}: there is no disk image "there.img"'


@needs_tools
@pytest.mark.parametrize(
    ("made", "said"),
    [
        ({"init": "/bin/busybox"}, r"its init is /bin/busybox, and systemd would not start the"),
        ({"init": None}, r"it has no /sbin/init, and systemd would not start the engine\. Fix: "),
        ({"head": b""}, r"/usr/lib/systemd/systemd of it is no program: it is damaged\. Fix: "),
        (
            {"head": HEAD[:18] + b"\xb7\x00" + HEAD[20:]},
            r"its programs are for aarch64, and the engine is for x86_64\. Fix: an image ",
        ),
    ],
)
def test_an_image_in_which_nothing_would_start_the_engine(
    site: Site, tmp_path: Path, made: dict[str, Any], said: str
) -> None:
    image = root_image(tmp_path / "disk.img", "6.1", **made)
    with pytest.raises(HostLacksError, match=rf"disk\.img: {said}"):
        ready(site, image)
    assert site.ledger.outstanding == ()
    shutil.rmtree(site.work / "turn")


@needs_tools
@pytest.mark.parametrize("partition", [False, True])
def test_a_raw_image_that_was_cut_off_is_refused(
    site: Site, tmp_path: Path, *, partition: bool
) -> None:
    whole = tmp_path / ("whole.img" if partition else "disk.img")
    image = root_image(whole, "6.1")
    image = on_a_partition(image, tmp_path / "disk.img") if partition else image
    with image.open("r+b") as file:
        file.truncate(3 * 2**20)
    with pytest.raises(HostLacksError, match=r"disk\.img: it is cut off: .*Fix: copy"):
        ready(site, image)
    shutil.rmtree(site.work / "turn")


@needs_tools
def test_an_image_that_was_cut_off_is_refused_with_the_reason(site: Site, tmp_path: Path) -> None:
    image = as_qcow2(root_image(tmp_path / "disk.img", "6.1"), tmp_path / "disk.qcow2")
    with image.open("r+b") as file:
        file.truncate(image.stat().st_size - 2**17)
    with pytest.raises(HostLacksError, match=r"disk\.qcow2 is damaged or cut off: .*Fix:"):
        ready(site, image)
    assert site.ledger.outstanding == ()
    shutil.rmtree(site.work / "turn")


def test_the_machine_has_overlay_engine_and_image_and_a_channel_that_is_no_console(
    tmp_path: Path,
) -> None:
    disks = SystemDisks(system=tmp_path / "system.qcow2", engine=tmp_path / "engine.img")
    machine = Machine(
        kernel=tmp_path / "vmlinuz",
        command_line=way_in(),
        initramfs=tmp_path / "initramfs",
        memory_bytes=2**30,
        vcpus=1,
        image=tmp_path / "image.img",
        clock="time",
        directory=tmp_path,
        disks=disks,
    )
    command = Emulation().command(machine, 3, 4)
    drives = [word for before, word in itertools.pairwise(command) if before == "-drive"]
    assert [drive.partition(",")[0] for drive in drives] == [
        f"file={disks.system}", f"file={disks.engine}", f"file={machine.image}"
    ]  # fmt: skip
    assert "readonly=on" in drives[1]
    assert "virtserialport,chardev=channel,name=tiltyard" in command
    assert not [word for word in command if "virtconsole" in word]


def test_systemd_starts_the_engine_beside_what_it_starts_anyway() -> None:
    words = way_in()
    assert {"systemd.unit=multi-user.target", "systemd.wants=kernel-command-line.service"} <= {
        *words
    }
    mount, start = (word for word in words if word.startswith("systemd.run="))
    assert "LABEL=tiltyard /run/tiltyard" in mount
    assert start.endswith(' /run/tiltyard/tiltyard-engine guest"')
    assert "--property=After=multi-user.target" in start
    # The generator takes what is between the quotes, as the kernel does.
    assert all(word.count('"') == 2 for word in (mount, start))


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({}, "exactly one of them"),
        ({"kernel": "6.1", "disk": "a.qcow2"}, "exactly one of them"),
        ({"disk": "a.qcow2", "load": ["jfs"]}, "load: the operating system"),
        ({"disk": "a.qcow2", "modules": "/lib"}, "modules: the operating system"),
        ({"disk": "a.qcow2", "backend": "uml"}, "backend: a disk image boots on QEMU"),
        ({"disk": "a.qcow2", "clock": "instructions"}, "clock: the services"),
    ],
)
def test_what_does_not_go_together_is_refused(settings: dict[str, object], said: str) -> None:
    with pytest.raises(ValidationError, match=said):
        VmSettings.model_validate(settings)


def test_a_disk_image_boots_on_qemu_and_a_missing_one_is_told(site: Site) -> None:
    (problem,) = kind("vm").system("a", {"disk": "none.qcow2"}, site).problems()
    assert problem.text == 'there is no disk image "none.qcow2"'
    (site.root / "disk.img").touch()
    choice = choose(VmSettings(disk=Path("disk.img")), site)
    assert choice.backend.name in ("kvm", "qemu")
    assert choice.boots == (site.root / "disk.img").resolve()
