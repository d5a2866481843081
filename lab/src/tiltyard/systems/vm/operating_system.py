"""An operating system on a disk image: its own kernel, init, settings and services boot.

The image is never written: each turn has an overlay of its own (qcow2). How the engine gets in
needs nothing of the image but systemd: a second disk carries it, and words of the kernel's command
line have systemd mount that disk and, when all else has come up, start the engine as a service
(systemd-run-generator(8), systemd-debug-generator(8), systemd-run(1)).
"""

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from tiltyard.elf import is_static, machine
from tiltyard.errors import HostLacksError
from tiltyard.executors.engine import Engine
from tiltyard.folder import sha256
from tiltyard.host import commands
from tiltyard.host.changes import MadeDirectory
from tiltyard.host.commands import CommandFailedError
from tiltyard.host.ledger import Ledger
from tiltyard.host.packages import Tool, find_program, install_command
from tiltyard.host.steps import Steps
from tiltyard.installation import repair
from tiltyard.systems.filesystems import filesystem
from tiltyard.systems.kind import Problem, Site
from tiltyard.systems.vm.backends import SystemDisks
from tiltyard.systems.vm.backends.qemu import IMAGE_SERIAL, PORT
from tiltyard.systems.vm.boot_files import fetch_boot_files
from tiltyard.systems.vm.choice import Choice
from tiltyard.systems.vm.software import Software
from tiltyard.units import format_size

_FORM: Final = "ext4"
"""Of the engine's disk: whatever boots from a disk has a driver for it."""
_WITHOUT: Final = "no disk image can be booted (kind vm)"
TOOLS: Final = (
    Tool("qemu-img", "qemu-utils", ("--version",), _WITHOUT),
    Tool("debugfs", "e2fsprogs", ("-V",), _WITHOUT),
    filesystem(_FORM).tool,
    Tool("sfdisk", "fdisk", ("--version",), _WITHOUT),
)
BOOT_LIMIT_S: Final = 300.0
"""All its services come up before the engine, and emulation makes that a minute or two."""
_NOT_DAMAGED: Final = (3, 63)
"""Of "qemu-img check": room is lost, and nothing else; the format has no checks."""
_LABEL: Final = "tiltyard"
_CARRIED_TO: Final = f"/run/{_LABEL}"
_ROOM_BYTES: Final = 2**24
"""Beside the engine, on its disk."""
_CHANNEL: Final = f"/dev/virtio-ports/{PORT}"
_SERVICE: Final = (
    "After=multi-user.target",
    f"StandardInput=file:{_CHANNEL}",
    f"StandardOutput=file:{_CHANNEL}",
    "StandardError=journal+console",
    "SuccessAction=poweroff-immediate",
    "FailureAction=poweroff-immediate",
)
"""Properties of the engine's service. It comes last; when it ends, so does the machine."""


def tool_problems() -> list[Problem]:
    """Programs that are not here."""
    lacking = [tool for tool in TOOLS if find_program(tool.command) is None]
    return [
        Problem("error", f"{tool.command} is not installed", install_command(tool.package))
        for tool in lacking
    ]


def way_in() -> tuple[str, ...]:
    """Words for the kernel that make systemd start the engine.

    By itself ``systemd.run`` boots into its command instead of the default target; named as a wish
    of a target, it comes beside all that is wanted there.
    """
    properties = " ".join(f"--property={one}" for one in _SERVICE)
    return (
        "systemd.firstboot=no",
        "systemd.unit=multi-user.target",
        "systemd.wants=kernel-command-line.service",
        "systemd.run_success_action=none",
        "systemd.run_failure_action=poweroff-immediate",
        f'systemd.run="/bin/mount -o ro,X-mount.mkdir LABEL={_LABEL} {_CARRIED_TO}"',
        f'systemd.run="/usr/bin/systemd-run --no-block --unit=tiltyard {properties} '
        f'{_CARRIED_TO}/tiltyard-engine guest"',
    )


def operating_system(choice: Choice, site: Site, steps: Steps, directory: Path) -> Software:
    """Take out what boots, once for all turns; lay an overlay over the image.

    Args:
        choice: names the image.
        site: where files are kept over turns.
        steps: have the overlay.
        directory: of this turn, removed after it.

    Raises:
        TiltyardError: if the image cannot be read, or lacks what boots.
    """
    image = choice.boots
    form, size_bytes = _form(image)
    kept = _kept(image, form, site, steps.ledger)
    overlay = directory / "system.qcow2"
    steps.run(
        ("qemu-img", "create", "-q", "-f", "qcow2", "-F", form, "-b", str(image), str(overlay))
    )
    return Software(
        kernel=kept / "vmlinuz",
        words=(f"root=UUID={(kept / 'root').read_text()}", "ro", *way_in()),
        initramfs=kept / "initramfs",
        image_device=f"/dev/disk/by-id/virtio-{IMAGE_SERIAL}",
        boot_limit_s=BOOT_LIMIT_S,
        disks=SystemDisks(system=overlay, engine=kept / "engine.img"),
        facts={
            "disk image": f"{image.name}, {form}, {format_size(size_bytes)}",
            "disk of the operating system": "a qcow2 overlay of this turn, over the image",
        },
    )


def _form(image: Path) -> tuple[str, int]:
    """How an image is stored, and how large its disk is."""
    known = commands.run(("qemu-img", "info", "--output=json", str(image))).json
    if others := sorted({*_files_in(known)} - {str(image)}):
        raise HostLacksError(
            f"{image} is no image by itself: it has the guest read {', '.join(others)}. "
            f"Fix: qemu-img convert -O qcow2 {image} WHOLE.qcow2, and boot that"
        )
    return str(known["format"]), int(known["virtual-size"])


def _files_in(known: object) -> Iterator[str]:
    """Files that an image consists of, or lies over."""
    for key, value in known.items() if isinstance(known, dict) else ():
        if key in ("full-backing-filename", "data-file") and isinstance(value, str):
            yield value
        elif key == "extents" and isinstance(value, list):
            yield from (str(one["filename"]) for one in value if "filename" in one)
        else:
            yield from _files_in(value)


def _kept(image: Path, form: str, site: Site, ledger: Ledger) -> Path:
    """Directory with what was taken out of an image, and with the engine's disk."""
    stat = image.stat()
    told = f"{image} {stat.st_size} {stat.st_mtime_ns}"
    name = ledger.name(f"system-{sha256(told.encode())[:16]}")
    made = MadeDirectory(path=site.work.resolve() / name)
    if ledger.holds(made):
        return made.path
    ledger.record(made).path.mkdir()
    try:
        _carry_engine(made.path)
        _take_out(image, form, made.path)
    except BaseException:
        ledger.undo(made)
        raise
    return made.path


def _require_whole(image: Path, form: str) -> None:
    """Refuse an image whose own tables say that parts of it are not there.

    Raises:
        HostLacksError: if it is damaged or cut off.
    """
    try:
        commands.run(("qemu-img", "check", "-q", "-f", form, str(image)))
    except CommandFailedError as error:
        if error.status in _NOT_DAMAGED:
            return
        raise HostLacksError(
            f"{image} is damaged or cut off: {error.complaint}. Fix: copy or make it again"
        ) from None


def _take_out(image: Path, form: str, into: Path) -> None:
    """Kernel, initramfs and the root's UUID, from a raw copy where the image is not raw.

    Raises:
        HostLacksError: if the image lacks one of them.
    """
    raw = image
    if form != "raw":
        _require_whole(image, form)
        raw = into / "raw.img"
        commands.run(("qemu-img", "convert", "-O", "raw", str(image), str(raw)))
    try:
        built_for = machine(Engine.find().path)
        uuid = fetch_boot_files(raw, into / "vmlinuz", into / "initramfs", built_for)
    except HostLacksError as error:
        raise HostLacksError(f"{image}: {error}") from None
    (into / "root").write_text(uuid)
    if raw != image:
        raw.unlink()


def _carry_engine(into: Path) -> None:
    """A small file system with the engine and nothing else."""
    engine = Engine.find().path
    if not is_static(engine):
        raise HostLacksError(f"{engine} needs libraries that no guest has. Fix: {repair()}")
    carried = into / "engine"
    carried.mkdir()
    shutil.copy(engine, carried / "tiltyard-engine")
    size_kib = (engine.stat().st_size + _ROOM_BYTES) // 1024
    make = (f"mkfs.{_FORM}", "-q", "-O", "^has_journal", "-L", _LABEL, "-d", str(carried))
    commands.run((*make, str(into / "engine.img"), f"{size_kib}k"))
