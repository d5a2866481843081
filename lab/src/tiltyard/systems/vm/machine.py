"""One virtual machine for one turn: image, boot, mount; and the way back."""

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from pydantic import JsonValue

from tiltyard.errors import TiltyardError, UnreachableError
from tiltyard.folder import open_to_change, sha256
from tiltyard.host.op import MakeDirectory, Run
from tiltyard.host.packages import install_command
from tiltyard.host.place import Place
from tiltyard.host.start import pids
from tiltyard.host.steps import Step, Steps
from tiltyard.ownership import make_directory
from tiltyard.systems.filesystems import FILESYSTEMS, Filesystem
from tiltyard.systems.image_file import ImageFile, check_size
from tiltyard.systems.kind import CONSOLES, Problem, Site, System, Up
from tiltyard.systems.placement import TASKSET, cpu_problems, on_cpus
from tiltyard.systems.vm.backends import Machine
from tiltyard.systems.vm.choice import (
    Choice,
    choose,
    files_of,
    missing_modules,
    wanted,
)
from tiltyard.systems.vm.facts import guest_facts, mount_facts, system_facts
from tiltyard.systems.vm.guest import DESCRIPTORS, Boot, BootFailedError, Guest, boot, booted
from tiltyard.systems.vm.kernels import UNPACK, Wanted
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
        self.place = site.place
        self.steps = Steps(site.ledger, site.check, site.note, site.place)
        self._directory = site.scratch / site.ledger.name("vm")
        self._image = ImageFile(settings.backing, site, "shared")
        self._made: Filesystem | None = None
        if settings.filesystem != IN_MEMORY:
            self._made = FILESYSTEMS.named(settings.filesystem)
        self._guest: Guest | None = None
        self._software: Software | None = None

    def problems(self) -> list[Problem]:
        """No such file, nothing that boots it, no driver in it, no mkfs, no room."""
        settings, place = self._settings, self._site.place
        try:
            choice = choose(settings, self._site)
            missing = missing_modules(settings, choice, place)
        except UnreachableError:
            raise
        except TiltyardError as error:
            remedy = (
                'kernel = "PATH", the name of a User-Mode Linux program, or a series that '
                f'"{UNPACK} SERIES" unpacks: "6.12"; disk = "PATH" boots a disk image'
            )
            return [Problem("error", str(error), remedy)]
        return [
            *choice.backend.problems(settings.clock, settings.vcpus, place),
            *missing,
            *cpu_problems(*settings.host_cpus, place=place),
            *_tool_problems(TASKSET.command, TASKSET.package, place),
            *(tool_problems(place) if settings.disk else ()),
            *self._image_problems(),
        ]

    def _image_problems(self) -> list[Problem]:
        """What keeps the image from being made."""
        made, size_bytes = self._made, self._settings.backing.image
        if made is None:
            return []
        return [
            *_tool_problems(made.tool.command, made.tool.package, self._site.place),
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
        unmount: dict[str, JsonValue] = {"unmount": {"directory": _MOUNTED_ON}}
        self._running().ask(unmount, "drop_caches", self._mount())

    def take_down(self) -> None:
        """Switch the machine off and remove what it needed; the image stays for the next turn."""
        if self._guest is not None:
            self._guest = None
            self._keep_console()
        super().take_down()

    def look(self) -> Up:
        """Boot and mount."""
        try:
            return self._boot_and_mount()
        except BaseException:
            self._keep_console()
            raise

    def _boot_and_mount(self) -> Up:
        """A machine that ends early is booted again."""
        settings, site = self._settings, self._site
        choice = choose(settings, site)
        found = wanted(settings, choice, site.place)
        failed: list[str] = []
        while True:
            machine = self._machine(choice, found)
            step = self._boot(choice, machine)
            self.steps.take([step])
            try:
                guest = self._guest = booted(self.steps, step, f"{CONSOLES}/{self._log}")
                break
            except BootFailedError as error:
                failed.append(str(error))
                if len(failed) == BOOTS:
                    raise TiltyardError(f"{error}; {BOOTS} boots of {BOOTS} failed") from None
                site.note(f"{self._name}: {error}; it is booted again")
                self.steps.undo_last()
        mounted = guest.ask(self._mount())
        return Up(
            target=Path(mounted["work"]),
            commands=(*self.steps.executed, guest.command),
            failed_boots=tuple(failed),
            facts=self._facts(choice, machine, found, mounted),
            engine=self._way_in(machine),
            cpus=tuple(range(settings.vcpus - 1, -1, -1)),
            servers=lambda: pids((step.mark,), site.place),
        )

    def _way_in(self, machine: Machine) -> tuple[str, ...]:
        """The command that stands for the engine in the guest."""
        # Instructions are the same whatever others do.
        watch = ("--watch-host",) if machine.clock == "time" else ()
        return (self._site.place.engine, "guest-exec", *watch, *self._running().reached)

    def _machine(self, choice: Choice, found: Wanted) -> Machine:
        """What is to be started; an operating system on an overlay that nothing has written to."""
        settings = self._settings
        software = self._software = self._boots(choice, found)
        return Machine(
            kernel=software.kernel,
            command_line=(*software.words, *settings.cmdline),
            initramfs=software.initramfs,
            memory_bytes=settings.memory,
            vcpus=settings.vcpus,
            image=self._image.path if self._made else None,
            clock=settings.clock,
            directory=self._directory,
            disks=software.disks,
        )

    def _boot(self, choice: Choice, machine: Machine) -> Boot:
        """Start the machine on its CPUs."""
        before = choice.backend.before(choice.release, machine.directory, self._site.place)
        command = choice.backend.command(machine, *DESCRIPTORS)
        return boot(
            (*on_cpus(self._host_cpus()), *before, *command),
            mark=self._site.ledger.name("vm"),
            channel=machine.channel,
            console=self._console(),
            within_s=self._ready().boot_limit_s,
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

    def _boots(self, choice: Choice, found: Wanted) -> Software:
        """A kernel alone, or all that is on a disk image."""
        if self._settings.disk is None:
            return bare_kernel(choice, found, self._site, self.steps)
        return operating_system(choice, self._site, self.steps, self._directory)

    @property
    def _log(self) -> str:
        """File with what the kernel of this system has said at all its boots."""
        return f"{sha256(self._name.encode())[:8]}.log"

    def _console(self) -> Path:
        """Evidence, and kept; of another host once the turn is over."""
        if self._site.place.is_remote:
            return self._directory / "console"
        folder = self._site.root / CONSOLES
        make_directory(folder, exist_ok=True)
        return folder / self._log

    def _keep_console(self) -> None:
        """What it has said on another host, as far as that tells it; its directory goes."""
        place = self._site.place
        if not place.is_remote:
            return
        with contextlib.suppress(TiltyardError):
            if said := place.read(self._console()):
                folder = self._site.root / CONSOLES
                make_directory(folder, exist_ok=True)
                with os.fdopen(open_to_change(folder / self._log, os.O_APPEND), "a") as console:
                    console.write(f"{said}\n")

    def _host_cpus(self) -> tuple[int, ...]:
        """Where the machine runs: as the study says, or the highest-numbered."""
        if self._settings.host_cpus:
            return self._settings.host_cpus
        return tuple(sorted(self._site.place.cpus))[-self._settings.vcpus :]

    def _ready(self) -> Software:
        assert self._software is not None
        return self._software

    def _running(self) -> Guest:
        assert self._guest is not None
        return self._guest

    def _facts(
        self, choice: Choice, machine: Machine, found: Wanted, mounted: dict[str, str]
    ) -> dict[str, str]:
        """What the guest's kernel says, and what lies under it."""
        made = self._made
        image = {}
        if made is not None:
            image = {
                "mkfs": version_of(made.tool, self._site.place),
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
            **files_of(self._settings, choice, found, self._site.place),
            **choice.backend.facts(machine),
            **guest_facts(self._running(), machine),
            "reset before each turn": "a boot" + (" and mkfs" if made else ""),
        }


def _tool_problems(command: str, package: str, place: Place) -> list[Problem]:
    """A program that is not there."""
    if place.has(command):
        return []
    remedy = install_command(place, package)
    return [Problem("error", f"{command} is not installed", remedy)]
