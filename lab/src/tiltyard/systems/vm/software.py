"""What a machine boots: files and words, however they were come by."""

from dataclasses import dataclass, field
from pathlib import Path

from tiltyard.executors.engine import Engine
from tiltyard.host.changes import MadeDirectory, MadeFile
from tiltyard.host.ledger import Ledger
from tiltyard.systems.kind import Site
from tiltyard.systems.vm import initramfs
from tiltyard.systems.vm.backends import SystemDisks
from tiltyard.systems.vm.choice import Choice, needed_modules
from tiltyard.systems.vm.settings import VmSettings

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


def bare_kernel(settings: VmSettings, choice: Choice, site: Site, ledger: Ledger) -> Software:
    """A kernel with the engine as its only program; the archive is made once for all turns."""
    engine, modules = Engine.find().path, needed_modules(settings, choice)
    work = site.work.resolve()
    made = MadeFile(path=work / ledger.name(initramfs.name_of(engine, modules)))
    if not ledger.holds(made):
        scratch = ledger.record(MadeDirectory(path=work / ledger.name("initramfs")))
        scratch.path.mkdir()
        initramfs.build(engine, modules, scratch.path, ledger.record(made).path)
        ledger.undo(scratch)
    return Software(
        kernel=choice.boots,
        words=(f"tiltyard.channel={choice.backend.channel_device}", *_WORDS),
        initramfs=made.path,
        image_device=choice.backend.image_device,
        boot_limit_s=choice.backend.boot_limit_s,
    )
