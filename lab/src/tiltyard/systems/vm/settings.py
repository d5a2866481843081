"""Settings of a virtual machine."""

from pathlib import Path
from typing import Literal, Self

from pydantic import Field, field_validator, model_validator
from pydantic_core import PydanticKnownError

from tiltyard.host.cpus import Cpus
from tiltyard.systems.filesystems import FILESYSTEMS
from tiltyard.systems.image_file import ImageBacking
from tiltyard.systems.kind import ReachableSettings, Size

IN_MEMORY = "tmpfs"
"""The one file system that needs no image."""
_FILESYSTEMS = (*FILESYSTEMS.names, IN_MEMORY)


class VmSettings(ReachableSettings):
    """What boots, the machine that it runs on, and the file system that it mounts."""

    kernel: str | None = Field(
        default=None,
        min_length=1,
        description="The kernel: path of its image (vmlinuz …) or of a User-Mode Linux program, "
        'the name of such a program ("linux.uml"), or the series of one that '
        'guest-kernels, beside the code of this kind, has unpacked ("6.12").',
    )
    disk: Path | None = Field(
        default=None,
        description="Instead of a kernel: disk image (raw, qcow2 …) with a whole operating system, "
        "which boots with its own kernel, init and services; it is never changed. A relative path "
        "begins at the study file.",
    )
    modules: Path | None = Field(
        default=None,
        description="Directory with the kernel's modules (lib/modules/VERSION); looked for beside "
        "the kernel if it is left out.",
    )
    load: tuple[str, ...] = Field(
        default=(),
        description="Modules to load in the guest, beside those that the file system and the "
        "machine's devices need.",
    )
    cmdline: tuple[str, ...] = Field(
        default=(),
        description='Words for the kernel\'s command line, one each: ["mitigations=off"].',
    )
    backend: Literal["auto", "kvm", "uml", "qemu"] = Field(
        default="auto",
        description="What the machine runs on: QEMU with KVM (kvm), User-Mode Linux (uml) or QEMU "
        "emulation (qemu); auto: the first of them that can boot this kernel here.",
    )
    clock: Literal["time", "instructions"] = Field(
        default="time",
        description="What the guest's clock counts: time, or the guest's instructions, which are "
        "the same from boot to boot; the latter with emulation only.",
    )
    memory: Size = Field(default=2**30, description="Memory of the guest.", ge=64 * 2**20)
    vcpus: int = Field(default=1, description="CPUs of the guest.", ge=1)
    host_cpus: Cpus = Field(
        default=(),
        description="CPUs of this host that the whole machine is pinned to; empty: the "
        "highest-numbered, as many as the guest has.",
    )
    filesystem: str = Field(
        default="ext4",
        description="The file system: made by this host on an image, mounted by the guest; "
        "tmpfs: in the guest's memory.",
        json_schema_extra={"enum": list(_FILESYSTEMS)},
    )
    mkfs: tuple[str, ...] = Field(
        default=(), description='Options for mkfs, one word each: ["-O", "^has_journal"].'
    )
    mount: tuple[str, ...] = Field(
        default=(), description='Mount options in the guest, one word each: ["noatime"].'
    )
    backing: ImageBacking = Field(
        default=ImageBacking(), description="The image that the file system is made on."
    )

    @field_validator("filesystem")
    @classmethod
    def _known(cls, name: str) -> str:
        """One of the list, said in pydantic's own words for a choice."""
        if name not in _FILESYSTEMS:
            listed = ", ".join(f"'{known}'" for known in _FILESYSTEMS[:-1])
            expected = f"{listed} or '{_FILESYSTEMS[-1]}'"
            raise PydanticKnownError("literal_error", {"expected": expected})
        return name

    @model_validator(mode="after")
    def _boots_one_thing(self) -> Self:
        """A kernel or a disk image; what comes with an operating system is not set twice."""
        if (self.kernel is None) == (self.disk is None):
            raise ValueError('kernel = "…" or disk = "…": exactly one of them says what boots')
        if self.disk is None:
            return self
        for key in ("modules", "load"):
            if getattr(self, key):
                raise ValueError(f"{key}: the operating system of a disk image loads its own")
        if self.backend == "uml":
            raise ValueError('backend: a disk image boots on QEMU: "kvm", "qemu" or "auto"')
        if self.clock == "instructions":
            raise ValueError(
                "clock: the services of an operating system would be counted as well; "
                'with disk, clock = "time"'
            )
        return self
