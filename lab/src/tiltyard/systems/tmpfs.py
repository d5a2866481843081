"""Kind ``tmpfs``: a file system in memory, made anew for each turn.

There is no disk below: direct I/O is accepted and means nothing, so that a workload that declares
it fails, and out-of-cache reads do not exist.

Source: tmpfs(5).
"""

from collections.abc import Iterable, Mapping
from typing import ClassVar, Literal

from pydantic import Field

from tiltyard.host.op import Mount
from tiltyard.host.steps import Step
from tiltyard.systems.kind import Kind, Problem, Site, Size
from tiltyard.systems.mount.checks import rights_to_mount
from tiltyard.systems.mount.system import MountSettings, MountSystem


class TmpfsSettings(MountSettings):
    """How it is made."""

    size: Size | None = Field(
        default=None,
        gt=0,
        description="Its size; half of the memory if it is left out.",
        json_schema_extra={"amount": "bytes", "least": 64 * 2**20},
    )
    huge: Literal["never", "always", "within_size", "advise"] | None = Field(
        default=None,
        description="Whether files are kept in huge pages; the kernel's choice if left out.",
    )
    mpol: str | None = Field(
        default=None,
        description='NUMA policy of its pages, as tmpfs(5) has it: "interleave:0-1".',
        min_length=1,
    )

    def mounted_type(self) -> str:
        """Always the same."""
        return "tmpfs"


class Tmpfs(MountSystem):
    """Mounted for a turn; what was in it is gone after."""

    types = ("tmpfs",)
    synonyms: ClassVar[Mapping[str, str]] = {"huge=never": "", "mpol=default": ""}

    def __init__(self, name: str, settings: TmpfsSettings, site: Site) -> None:  # noqa: ARG002
        """Nothing is touched yet."""
        super().__init__(site, "tmpfs")
        self._settings = settings

    def problems(self) -> list[Problem]:
        """The right to mount, and that no disk is measured."""
        text = "tmpfs is in memory: no disk is measured, and direct I/O has no meaning"
        rights = rights_to_mount(self.place, served=False)
        return [*rights, Problem("warning", text)]

    def asked(self) -> tuple[str, ...]:
        """Its settings are mount options."""
        settings = self._settings
        named = {"size": settings.size, "huge": settings.huge, "mpol": settings.mpol}
        words = (f"{name}={value}" for name, value in named.items() if value is not None)
        return (*words, *settings.mount)

    def attach(self) -> Iterable[Step]:
        """By mount(8)."""
        mount = Mount(type="tmpfs", source="tiltyard", target=self.target, options=self.asked())
        return (self.mounter.mount(mount),)

    def steps_refresh(self) -> Iterable[Step]:
        """Its cache is all that it has: nothing to do."""
        return ()


KIND = Kind(
    name="tmpfs",
    about="a file system in memory; without root where users may have namespaces",
    Settings=TmpfsSettings,
    target="directory",
    open=Tmpfs,
    redraws=lambda _: "a new tmpfs",
)
