"""Kind ``mount``: anything that mount(8) can mount: NFS, SMB, 9p, GlusterFS, FUSE file systems.

What is mounted is not made by Tiltyard, and keeps what is in it. Each turn mounts it anew, works in
a subdirectory of its own, and removes that.

Source: mount(8), mount.fuse3(8), mount.glusterfs(8).
"""

from pydantic import Field

from tiltyard.host.processes import named
from tiltyard.systems.kind import Kind, Problem, Site
from tiltyard.systems.mount.checks import knows_how_to_mount, rights_to_mount
from tiltyard.systems.mount.system import MountSettings, MountSystem


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
        description="Names of processes of this host that serve it too, whose CPU time is its "
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
        source = settings.source
        relative = source.startswith(("./", "../"))
        self._source = str((site.root / source).resolve()) if relative else source

    def problems(self) -> list[Problem]:
        """The right to mount, and somebody who can."""
        served = self._settings.type.startswith("fuse")
        return [*rights_to_mount(served=served), *knows_how_to_mount(self._settings.type)]

    def asked(self) -> tuple[str, ...]:
        """As they were given."""
        return self._settings.mount

    def attach(self) -> None:
        """By mount(8), which may leave a server behind."""
        settings = self._settings
        options = ("-o", ",".join(settings.mount)) if settings.mount else ()
        argv = ("mount", "-t", settings.type, *options, self._source, str(self.target))
        self.mounter.serve(argv, self.target)

    def facts(self) -> dict[str, str]:
        """Where it comes from."""
        return {"source": self.mounter.at(self.target)[-1].source}

    def servers(self) -> tuple[int, ...]:
        """Ours, and those that were named."""
        return tuple(sorted({*self.mounter.servers(), *named(self._settings.servers)}))


KIND = Kind(
    name="mount",
    about="anything that mount(8) can mount: network file systems, FUSE",
    Settings=MountedSettings,
    target="directory",
    open=AnyMount,
    redraws=lambda _: "a new mount",
)
