"""An operating system on a disk image: its own kernel, init, settings and services boot.

The image is never written: each turn has an overlay of its own (qcow2). How the engine gets in
needs nothing of the image but systemd: a second disk carries it, and words of the kernel's command
line have systemd mount that disk and, when all else has come up, start the engine as a service
(systemd-run-generator(8), systemd-debug-generator(8), systemd-run(1)).
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from tiltyard.elf import machine
from tiltyard.errors import HostLacksError
from tiltyard.folder import sha256
from tiltyard.host.commands import complaint
from tiltyard.host.op import Run
from tiltyard.host.packages import install_command
from tiltyard.host.place import Place
from tiltyard.host.steps import Steps
from tiltyard.systems.kind import Problem, Site
from tiltyard.systems.vm.backends import SystemDisks
from tiltyard.systems.vm.backends.qemu import IMAGE_SERIAL, PORT
from tiltyard.systems.vm.boot_files import fetch_boot_files
from tiltyard.systems.vm.choice import Choice
from tiltyard.systems.vm.software import Software, carried_engine, kept
from tiltyard.systems.vm.tools import FORM, OF_IMAGES
from tiltyard.units import format_size

BOOT_LIMIT_S: Final = 300.0
"""All its services come up before the engine, and emulation makes that a minute or two."""
_NOT_DAMAGED: Final = (0, 3, 63)
"""Of "qemu-img check": nothing; room is lost, and nothing else; the format has no checks."""
_IMAGE_S: Final = 3600.0
"""Longest time to read a whole image."""
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


def tool_problems(place: Place) -> list[Problem]:
    """Programs that are not there."""
    lacking = [tool for tool in OF_IMAGES if not place.has(tool.command)]
    return [
        Problem(
            "error",
            f"{tool.command} is not installed",
            install_command(place, tool.package),
        )
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
    place = site.place
    form, size_bytes = _form(image, place)
    engine = carried_engine()

    def fill(into: Path) -> None:
        _carry_engine(into, engine.stat().st_size, place)
        _take_out(image, form, into, machine(engine), place)

    told = f"{image} {place.run(('stat', '-L', '-c', '%s %y %z', str(image))).stdout}"
    taken_out = kept(site, steps, f"system-{sha256(told.encode())[:16]}", fill)
    overlay = directory / "system.qcow2"
    create = ("qemu-img", "create", "-q", "-f", "qcow2", "-F", form, "-b", str(image))
    steps.take([Run(argv=(*create, str(overlay)))])
    return Software(
        kernel=taken_out / "vmlinuz",
        words=(f"root=UUID={place.read(taken_out / 'root')}", "ro", *way_in()),
        initramfs=taken_out / "initramfs",
        image_device=f"/dev/disk/by-id/virtio-{IMAGE_SERIAL}",
        boot_limit_s=BOOT_LIMIT_S,
        disks=SystemDisks(system=overlay, engine=taken_out / "engine.img"),
        facts={
            "disk image": f"{image.name}, {form}, {format_size(size_bytes)}",
            "disk of the operating system": "a qcow2 overlay of this turn, over the image",
        },
    )


def _form(image: Path, place: Place) -> tuple[str, int]:
    """How an image is stored, and how large its disk is."""
    known = place.run(("qemu-img", "info", "--output=json", str(image))).json
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


def _require_whole(image: Path, form: str, place: Place) -> None:
    """Refuse an image whose own tables say that parts of it are not there.

    Raises:
        HostLacksError: if it is damaged or cut off.
    """
    argv = ("qemu-img", "check", "-q", "-f", form, str(image))
    found = place.ask(lambda host: host.run(argv, limit_s=_IMAGE_S, ok=range(128)))
    if (status := found.status or 0) not in _NOT_DAMAGED:
        why = complaint(found.stderr, status)
        raise HostLacksError(f"{image} is damaged or cut off: {why}. Fix: copy or make it again")


def _take_out(image: Path, form: str, into: Path, built_for: str | None, place: Place) -> None:
    """Kernel, initramfs and the root's UUID, from a raw copy where the image is not raw.

    Raises:
        HostLacksError: if the image lacks one of them.
    """
    raw = image
    if form != "raw":
        _require_whole(image, form, place)
        raw = into / "raw.img"
        convert = ("qemu-img", "convert", "-O", "raw", str(image), str(raw))
        place.run(convert, timeout_s=_IMAGE_S)
    try:
        uuid = fetch_boot_files(raw, into / "vmlinuz", into / "initramfs", built_for, place)
    except HostLacksError as error:
        raise HostLacksError(f"{image}: {error}") from None
    place.run(("sh", "-c", 'printf %s "$1" > "$2"', "sh", uuid, str(into / "root")))
    if raw != image:
        place.run(("rm", str(raw)))


def _carry_engine(into: Path, size_bytes: int, place: Place) -> None:
    """A small file system with the engine and nothing else."""
    carried = into / "engine"
    place.run(("mkdir", str(carried)))
    place.run(("cp", place.engine, str(carried / "tiltyard-engine")))
    make = (f"mkfs.{FORM}", "-q", "-O", "^has_journal", "-L", _LABEL, "-d", str(carried))
    size_kib = (size_bytes + _ROOM_BYTES) // 1024
    place.run((*make, str(into / "engine.img"), f"{size_kib}k"))
