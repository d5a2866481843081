"""One virtual machine for one turn: image, boot, mount; and the way back."""

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from pydantic import JsonValue

from tiltyard.errors import TiltyardError
from tiltyard.executors.engine import Engine
from tiltyard.folder import sha256
from tiltyard.host.changes.settings import StartedProcess
from tiltyard.host.commands import Command
from tiltyard.host.op import MakeDirectory, Run
from tiltyard.host.packages import find_program, install_command
from tiltyard.host.steps import Step, Steps
from tiltyard.ownership import make_directory
from tiltyard.systems.filesystems import Filesystem, filesystem
from tiltyard.systems.image_file import ImageFile, check_size
from tiltyard.systems.kind import CONSOLES, Kind, Problem, Site, System, Up
from tiltyard.systems.placement import TASKSET, cpu_problems, on_cpus
from tiltyard.systems.vm.backends import Machine
from tiltyard.systems.vm.channel import Hello
from tiltyard.systems.vm.choice import Choice, brings, choose, files_of, missing_modules
from tiltyard.systems.vm.facts import guest_facts, mount_facts, system_facts
from tiltyard.systems.vm.guest import BootFailedError, Guest
from tiltyard.systems.vm.initramfs import CPIO
from tiltyard.systems.vm.kernels import UNPACK
from tiltyard.systems.vm.operating_system import operating_system, tool_problems
from tiltyard.systems.vm.settings import IN_MEMORY, VmSettings
from tiltyard.systems.vm.software import Software, bare_kernel
from tiltyard.systems.volume import version_of
from tiltyard.units import format_size

_MOUNTED_ON = "/mnt"
BOOTS: Final = 3
"""A machine that ends before its guest is ready is started so often in a turn, all told: what goes
wrong in a boot is no result of the system. A guest that says nothing is not waited for twice."""


class VirtualMachine(System):
    """A kernel of its own, with one file system."""

    def __init__(self, name: str, settings: VmSettings, site: Site) -> None:
        """Nothing is touched yet."""
        self._name = name
        self._settings = settings
        self._site = site
        self.steps = Steps(site.ledger, site.check)
        self._directory = site.work.resolve() / site.ledger.name("vm")
        self._image = ImageFile(settings.backing, site, "shared")
        self._made: Filesystem | None = None
        if settings.filesystem != IN_MEMORY:
            self._made = filesystem(settings.filesystem)
        self._guest: Guest | None = None
        self._software: Software | None = None

    def problems(self) -> list[Problem]:
        """No such file, nothing that boots it, no driver in it, no mkfs, no room."""
        settings = self._settings
        try:
            choice = choose(settings, self._site.root)
        except TiltyardError as error:
            remedy = (
                'kernel = "PATH", the name of a User-Mode Linux program, or a series that '
                f'"{UNPACK} SERIES" unpacks: "6.12"; disk = "PATH" boots a disk image'
            )
            return [Problem("error", str(error), remedy)]
        return [
            *choice.backend.problems(settings.clock, settings.vcpus),
            *missing_modules(settings, choice),
            *cpu_problems(*settings.host_cpus),
            *_tool_problems(TASKSET.command, TASKSET.package),
            *(tool_problems() if settings.disk else _tool_problems(CPIO.command, CPIO.package)),
            *self._image_problems(),
        ]

    def _image_problems(self) -> list[Problem]:
        """What keeps the image from being made."""
        made, size_bytes = self._made, self._settings.backing.image
        if made is None:
            return []
        return [
            *_tool_problems(made.tool.command, made.tool.package),
            *check_size(made.name, size_bytes, made.min_bytes, made.typical_bytes),
            *self._image.problems(),
        ]

    rest = ("boot the machine, and mount the file system in it",)

    def steps_up(self) -> Iterator[Step]:
        """Lay out the image and make the file system on it."""
        if self._made is not None:
            yield from self._image.steps()
            yield Run(argv=self._made.mkfs(self._settings.mkfs, str(self._image.path)))
            yield self._image.mend()
        yield MakeDirectory(path=self._directory)

    def refresh(self) -> None:
        """Unmount, drop the guest's caches, and mount again."""
        guest = self._running()
        guest.ask({"unmount": {"directory": _MOUNTED_ON}})
        guest.ask("drop_caches")
        guest.ask(self._mount())

    def take_down(self) -> None:
        """Switch the machine off and remove what it needed; the image stays for the next turn."""
        self._switch_off()
        super().take_down()

    def _switch_off(self) -> None:
        if self._guest is not None:
            self._guest.switch_off()
            self._guest = None

    def look(self) -> Up:
        """Boot and mount."""
        try:
            return self._boot_and_mount()
        except BaseException:
            self._switch_off()
            raise

    def _boot_and_mount(self) -> Up:
        """Every change is in the ledger before it is made."""
        settings = self._settings
        choice = choose(settings, self._site.root)
        machine = self._machine(choice, self._directory)
        console = self._console()
        process = self.steps.record(self._process())
        failed: list[str] = []
        while True:
            try:
                boot, hello = self._boot(choice, machine, console, process.environment)
                break
            except BootFailedError as error:
                failed.append(str(error))
                if len(failed) == BOOTS:
                    raise TiltyardError(f"{error}; {BOOTS} boots of {BOOTS} failed") from None
                self._site.note(f"{self._name}: {error}; it is booted again")
                machine = self._machine(choice, self._directory)
        found = self._running().ask(self._mount())
        return Up(
            target=Path(found["work"]),
            commands=(*self.steps.executed, boot),
            failed_boots=tuple(failed),
            facts=self._facts(choice, machine, hello, found),
            engine=self._way_in(machine, console),
            cpus=tuple(range(settings.vcpus - 1, -1, -1)),
            servers=lambda: tuple(self._process().pids()),
        )

    def _way_in(self, machine: Machine, console: Path) -> tuple[str, ...]:
        """The command that stands for the engine in the guest."""
        engine, process = str(Engine.find().path), str(self._running().pid)
        # Instructions are the same whatever others do.
        watch = ("--watch-host",) if machine.clock == "time" else ()
        options = ("--console", str(console), "--machine", process, *watch)
        return (engine, "guest-exec", str(machine.channel), *options)

    def _machine(self, choice: Choice, directory: Path) -> Machine:
        """What is to be started; an operating system on an overlay that nothing has written to."""
        settings = self._settings
        software = self._software = self._boots(choice, directory)
        return Machine(
            kernel=software.kernel,
            command_line=(*software.words, *settings.cmdline),
            initramfs=software.initramfs,
            memory_bytes=settings.memory,
            vcpus=settings.vcpus,
            image=self._image.path if self._made else None,
            clock=settings.clock,
            directory=directory,
            disks=software.disks,
        )

    def _boot(
        self, choice: Choice, machine: Machine, console: Path, environment: Mapping[str, str]
    ) -> tuple[Command, Hello]:
        """Start the machine on its CPUs."""
        self._guest = Guest(machine.channel, console, self._site.check)
        pinned = on_cpus(self._host_cpus())
        self.steps.check()
        return self._guest.boot(
            lambda into, out_of: (*pinned, *choice.backend.command(machine, into, out_of)),
            environment,
            self._ready().boot_limit_s,
        )

    def _mount(self) -> dict[str, JsonValue]:
        """The request that mounts."""
        made = self._made
        return {
            "mount": {
                "device": self._ready().image_device if made else IN_MEMORY,
                "directory": _MOUNTED_ON,
                "filesystem": self._settings.filesystem,
                "options": list(self._settings.mount),
            }
        }

    def _boots(self, choice: Choice, directory: Path) -> Software:
        """A kernel alone, or all that is on a disk image."""
        if self._settings.disk is None:
            return bare_kernel(self._settings, choice, self._site, self.steps.ledger)
        return operating_system(choice, self._site, self.steps, directory)

    def _console(self) -> Path:
        """What the kernel of this system has said at all its boots: evidence, and kept."""
        folder = self._site.root / CONSOLES
        make_directory(folder, exist_ok=True)
        return folder / f"{sha256(self._name.encode())[:8]}.log"

    def _process(self) -> StartedProcess:
        """The machine as a process of this host."""
        return StartedProcess(mark=self._site.ledger.name("vm"))

    def _host_cpus(self) -> tuple[int, ...]:
        """Where the machine runs: as the study says, or the highest-numbered."""
        if self._settings.host_cpus:
            return self._settings.host_cpus
        return tuple(sorted(os.sched_getaffinity(0)))[-self._settings.vcpus :]

    def _ready(self) -> Software:
        assert self._software is not None
        return self._software

    def _running(self) -> Guest:
        assert self._guest is not None
        return self._guest

    def _facts(
        self, choice: Choice, machine: Machine, hello: Hello, mounted: dict[str, str]
    ) -> dict[str, str]:
        """What the guest's kernel says, and what lies under it."""
        made = self._made
        image = {}
        if made is not None:
            image = {
                "mkfs": version_of(made.tool),
                "device": f"{self._ready().image_device} over an image of "
                f"{format_size(self._settings.backing.image)}",
                **self._image.facts(),
            }
        cpus = ", ".join(str(cpu) for cpu in self._host_cpus())
        return {
            **mount_facts(self._running(), _MOUNTED_ON, mounted),
            **image,
            **self._ready().facts,
            **(system_facts(self._running()) if machine.disks else {}),
            "virtual machine": f"{choice.backend.about}, pinned to CPU {cpus} of its host",
            **files_of(self._settings, choice),
            **choice.backend.facts(machine),
            **guest_facts(self._running(), machine, hello),
            "reset before each turn": "a boot" + (" and mkfs" if made else ""),
        }


def _tool_problems(command: str, package: str) -> list[Problem]:
    """A program that is not there."""
    if find_program(command) is not None:
        return []
    return [Problem("error", f"{command} is not installed", install_command(package))]


KIND = Kind(
    name="vm",
    about="a kernel, or a whole operating system, in a virtual machine; one boot a turn",
    Settings=VmSettings,
    target="directory",
    open=VirtualMachine,
    elsewhere=True,
    clock=lambda settings: settings.clock,
    brings=brings,
    programs=lambda settings: (
        "" if settings.disk else "its guest is a kernel and the engine, without any program"
    ),
    redraws=lambda settings: (
        "a boot" if settings.filesystem == IN_MEMORY else "a boot and a format"
    ),
)
