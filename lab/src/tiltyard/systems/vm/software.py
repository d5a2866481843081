"""What a machine boots: files and words, however they were come by."""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from tiltyard.elf import is_static
from tiltyard.errors import HostLacksError
from tiltyard.executors.engine import Engine
from tiltyard.folder import hash_of, sha256
from tiltyard.host.op import MakeDirectory
from tiltyard.host.steps import Steps
from tiltyard.installation import repair
from tiltyard.systems.kind import Site
from tiltyard.systems.vm.backends import SystemDisks
from tiltyard.systems.vm.choice import Choice
from tiltyard.systems.vm.kernels import Wanted

_WORDS = ("rdinit=/init", "panic=-1")
"""The engine is the first program; a kernel that panics ends the machine at once."""


@dataclass(frozen=True)
class Software:
    """Ready to boot."""

    kernel: Path
    words: tuple[str, ...]
    """For the kernel, before those of the study."""
    initramfs: Path
    image_device: str
    """The image under test, as the guest knows it."""
    boot_limit_s: float
    disks: SystemDisks | None = None
    facts: dict[str, str] = field(default_factory=dict)
    """What a reader must know of it, beyond what the guest says."""


class MakeKept(MakeDirectory):
    """A directory with what is made once for all turns, and for a run that goes on after a boot."""

    kind: Literal["make-kept"] = "make-kept"  # type: ignore[assignment]
    outlasts_boot = True


def kept(site: Site, steps: Steps, name: str, fill: Callable[[Path], None]) -> Path:
    """A directory that is there until the run ends.

    Args:
        site: where it lies.
        steps: make it.
        name: changes with what is in it.
        fill: makes what is in it, once.

    Raises:
        TiltyardError: if it cannot be filled; then it is not there.
    """
    ledger = steps.ledger
    step = MakeKept(path=site.scratch / ledger.name(name), lasts="run")
    made = step.made(site.place.address)
    if not ledger.holds(made):
        steps.take([step])
        try:
            fill(step.path)
        except BaseException:
            ledger.undo(made)
            raise
    return step.path


def carried_engine() -> Path:
    """The engine of this host, of which those of others are copies, and of guests.

    Raises:
        HostLacksError: if no guest could execute it.
    """
    engine = Engine.find().path
    if not is_static(engine):
        raise HostLacksError(f"{engine} needs libraries that no guest has. Fix: {repair()}")
    return engine


def bare_kernel(choice: Choice, found: Wanted, site: Site, steps: Steps) -> Software:
    """A kernel with the engine as its only program; the archive is made once for all turns.

    Args:
        choice: of the kernel.
        found: what it must load.
        site: where the archive lies.
        steps: make it.
    """
    files = [str(module.path) for module in found.files]

    def fill(directory: Path) -> None:
        place = site.place
        place.run((place.engine, "initramfs", str(directory / "initramfs.cpio"), *files))

    told = "\n".join(module.model_dump_json() for module in found.files)
    name = f"initramfs-{sha256(f'{hash_of(carried_engine())}{told}'.encode())[:16]}"
    return Software(
        kernel=choice.boots,
        words=(f"tiltyard.channel={choice.backend.channel_device}", *_WORDS),
        initramfs=kept(site, steps, name, fill) / "initramfs.cpio",
        image_device=choice.backend.image_device,
        boot_limit_s=choice.backend.boot_limit_s,
    )
