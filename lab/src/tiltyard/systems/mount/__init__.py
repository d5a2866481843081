"""Kind ``mount``: anything that mount(8) can mount: NFS, SMB, 9p, GlusterFS, FUSE file systems.

What is mounted is not made by Tiltyard, and keeps what is in it. Each turn mounts it anew, works in
a subdirectory of its own, and removes that.

Source: mount(8), mount.fuse3(8), mount.glusterfs(8).
"""

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

from pydantic import Field

from tiltyard.host.place import HERE
from tiltyard.host.processes import named
from tiltyard.host.steps import Step
from tiltyard.systems import untrusted_inputs
from tiltyard.systems.kind import Kind, Problem, Site
from tiltyard.systems.mount.checks import knows_how_to_mount, rights_to_mount
from tiltyard.systems.mount.system import MountSettings, MountSystem
from tiltyard.systems.untrusted_inputs import Brought

_SERVED: Final = re.compile(r"fuse(?:blk|3)?(?:\.(.+))?")
"""Types that mount.fuse(8) mounts: the name of a program follows, or the source names it."""
_SERVERS: Final = frozenset(("bindfs", "glusterfs", "sshfs"))
"""Servers that take such a source for nothing but a place."""
_PLACE: Final = re.compile(r"[\w./][\w.@:/%~+-]*", re.ASCII)
_HELPERS: Final = frozenset(("cifs", "nfs", "nfs4", "smb3"))
"""Helpers of mount(8) that hand source and options to the kernel."""


class MountedSettings(MountSettings):
    """What is mounted."""

    type: str = Field(
        description="Type, as mount(8) takes it: nfs4, cifs, 9p, glusterfs, fuse.sshfs …",
        pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$",
    )
    source: str = Field(
        description='Source, as mount(8) takes it: "server:/export", "//server/share". One that '
        "begins with ./ or ../ is a path that begins at the study file.",
        pattern=r"^[^-]",
    )
    servers: tuple[str, ...] = Field(
        default=(),
        description="Names of processes of the host that serve it too, whose CPU time is its "
        'own and no disturbance: ["glusterfsd"].',
    )

    def mounted_type(self) -> str:
        """As the study has it."""
        return self.type


class AnyMount(MountSystem):
    """Mounted for a turn."""

    def __init__(self, name: str, settings: MountedSettings, site: Site) -> None:  # noqa: ARG002
        """Nothing is touched yet."""
        super().__init__(site, "any")
        self._settings = settings

    @property
    def _source(self) -> str:
        source = self._settings.source
        is_relative = source.startswith(("./", "../"))
        return str(self.site.given(Path(source))) if is_relative else source

    def problems(self) -> list[Problem]:
        """The right to mount, and somebody who can."""
        type_ = self._settings.type
        rights = rights_to_mount(self.place, served=type_.startswith("fuse"))
        return [*rights, *knows_how_to_mount(type_, self.place)]

    def asked(self) -> tuple[str, ...]:
        """As they were given."""
        return self._settings.mount

    def attach(self) -> Iterable[Step]:
        """By mount(8), which may leave a server behind."""
        settings = self._settings
        options = ("-o", ",".join(settings.mount)) if settings.mount else ()
        argv = ("mount", "-t", settings.type, *options, self._source, str(self.target))
        return (self.mounter.serve(argv, self.target),)

    def facts(self) -> dict[str, str]:
        """Where it comes from."""
        return {"source": self.mounter.at(self.target)[-1].source}

    def servers(self) -> tuple[int, ...]:
        """Ours, and those that were named."""
        others = self._settings.servers and named(self._settings.servers, self.place)
        return tuple(sorted({*self.mounter.servers(), *others}))


def _brings(settings: MountedSettings, _root: Path) -> Iterator[Brought]:
    """Whatever executes a program of the study's choice, or hands it words of the study."""
    served = _SERVED.fullmatch(settings.type)
    server = (served[1] or "") if served else settings.type
    if server in _SERVERS:
        # A file of that name would tell glusterfs which libraries to load.
        volumes = server == "glusterfs" and HERE.passes(("-e", settings.source))[0]
        if volumes or not _PLACE.fullmatch(settings.source):
            yield Brought(
                "source", f"source {untrusted_inputs.quoted(settings.source)} of {server}"
            )
        yield from untrusted_inputs.server_options("mount", server, settings.mount)
    elif served:
        # mount.fuse(8) hands a command of both to a shell.
        name = f"{server} {settings.source}".strip()
        yield Brought(
            "type" if server else "source",
            f"program {untrusted_inputs.quoted(name)}, which serves it",
        )
    elif server not in _HELPERS and (helper := HERE.program(f"mount.{server}")):
        yield Brought("type", f"program {helper}, which mounts it")


KIND = Kind(
    name="mount",
    about="anything that mount(8) can mount: network file systems, FUSE",
    Settings=MountedSettings,
    target="directory",
    open=AnyMount,
    redraws=lambda _: "a new mount",
    brings=_brings,
)
