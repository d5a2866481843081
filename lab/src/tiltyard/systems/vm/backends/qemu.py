"""QEMU: with KVM where kernels really run under it here, and by emulation anywhere.

Emulation translates the guest's instructions (TCG) and is 3 to 20 times slower than hardware. It
can tie the guest's clock to what the guest executes, one nanosecond an instruction, and let it
leap over idle time (``-icount shift=0,sleep=off``): what is then measured are path lengths.
(https://www.qemu.org/docs/master/devel/tcg-icount.html)
"""

from abc import abstractmethod
from collections.abc import Iterator
from typing import ClassVar, Final

from tiltyard.host import kvm
from tiltyard.host.packages import install_command
from tiltyard.host.place import HERE, Place
from tiltyard.study.model import Clock
from tiltyard.systems.kind import Problem
from tiltyard.systems.vm.backends.backend import Backend, Machine

PORT: Final = "tiltyard"
"""Name of the channel's port, where it is not a console; udev makes /dev/virtio-ports/ of it."""
IMAGE_SERIAL: Final = "tiltyard-image"
_COUNTED: Final = ("-icount", "shift=0,sleep=off")
_REPEATABLE: Final = (
    *("nokaslr", "norandmaps"),
    *("tsc=reliable", "cryptomgr.notests", "kfence.sample_interval=0"),
    "tiltyard.settle=60",
)
"""Words for a kernel whose instructions are counted: no addresses are drawn, none of its own tests
go on beside what is measured, and what it does once in its first minute is done before: an idle
guest's clock leaps, so that the minute takes no time."""


class Qemu(Backend):
    """A PC with a virtual disk, and a virtual console for the channel."""

    channel_device = "/dev/hvc0"
    image_device = "/dev/vda"
    processor: ClassVar[tuple[str, ...]]
    """Options that say what executes the instructions."""
    counts: ClassVar[bool]
    """Whether its clock can count them."""
    modules = ("virtio_pci", "virtio_blk", "virtio_console")
    boots = frozenset({"pc", "disk"})

    def problems(self, clock: Clock, vcpus: int, place: Place = HERE) -> list[Problem]:
        """The program, and what this way to execute instructions cannot do there."""
        found = list(self._lacks(place))
        if clock == "instructions" and not self.counts:
            text = f"{self.about} cannot count instructions"
            found.append(Problem("error", text, 'backend = "qemu"'))
        elif clock == "instructions" and vcpus != 1:
            text = f"instructions are counted of one CPU, and {vcpus} are wanted"
            found.append(Problem("error", text, "vcpus = 1"))
        if not place.has(kvm.QEMU):
            text = f"{kvm.QEMU} is not installed: no virtual machine without it"
            found.append(Problem("error", text, install_command(place, kvm.PACKAGE)))
        return found

    def command(self, machine: Machine, into: int, out_of: int) -> tuple[str, ...]:  # noqa: ARG002
        """Kernel messages on the serial line, which is standard output; the channel by name."""
        counted = machine.clock == "instructions"
        words = ("console=ttyS0", "panic=-1", *machine.command_line)
        words += _REPEATABLE if counted else ()
        return (
            *(kvm.QEMU, "-nodefaults", "-no-user-config", "-no-reboot"),
            *("-display", "none", "-chardev", "stdio,id=messages,signal=off"),
            *("-serial", "chardev:messages"),
            *self.processor,
            *(_COUNTED if counted else ()),
            *("-m", f"{machine.memory_bytes // 2**20}M", "-smp", str(machine.vcpus)),
            *("-kernel", str(machine.kernel), "-initrd", str(machine.initramfs)),
            *("-append", " ".join(words)),
            *("-chardev", f"pipe,id=channel,path={machine.channel}"),
            *("-device", "virtio-serial-pci", "-device", _port(machine)),
            *_disks(machine),
        )

    def facts(self, machine: Machine) -> dict[str, str]:
        """What lies between the guest and the disk, and what its clock counts."""
        told = {}
        if machine.image is not None:
            told["disk of the guest"] = "virtio over a file, around the host's page cache"
        if machine.clock == "instructions":
            told["clock counts"] = "instructions of the guest (-icount shift=0,sleep=off)"
        return told

    @abstractmethod
    def _lacks(self, place: Place) -> Iterator[Problem]:
        """What keeps this way to execute instructions from being used there."""


def _port(machine: Machine) -> str:
    """The guest's end of the channel. On a console an operating system would have people log in."""
    if machine.disks is None:
        return "virtconsole,chardev=channel"
    return f"virtserialport,chardev=channel,name={PORT}"


def _disks(machine: Machine) -> Iterator[str]:
    """Options for all disks. The one under test has a serial number to be known by."""
    if machine.disks is not None:
        yield from ("-drive", f"file={machine.disks.system},format=qcow2,if=virtio,cache=none")
        yield from ("-drive", f"file={machine.disks.engine},format=raw,if=virtio,readonly=on")
    if machine.image is not None:
        yield from ("-drive", f"file={machine.image},format=raw,if=none,id=image,cache=none")
        yield from ("-device", f"virtio-blk-pci,drive=image,serial={IMAGE_SERIAL}")


class Kvm(Qemu):
    """The processor itself executes the guest."""

    name = "kvm"
    about = "QEMU with KVM"
    processor = kvm.PROCESSORS["kvm"]
    counts = False
    boot_limit_s = 60.0

    def _lacks(self, place: Place) -> Iterator[Problem]:
        """It is proven by a machine that is started under it."""
        proof = kvm.prove(place)
        if not proof.usable:
            yield Problem("error", proof.text, 'backend = "qemu"')


class Emulation(Qemu):
    """QEMU itself executes the guest."""

    name = "qemu"
    about = "QEMU emulation"
    processor = kvm.PROCESSORS["tcg"]
    counts = True
    boot_limit_s = 240.0

    def _lacks(self, place: Place) -> Iterator[Problem]:
        """It runs anywhere; the engine that is the guest's only program is that host's."""
        if (machine := place.run(("uname", "-m")).stdout) != "x86_64":
            text = f"the guest is an x86-64, and the engine of its host is for {machine}"
            yield Problem("error", text)
