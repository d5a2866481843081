"""Kind ``overlay``: a directory that shows another one and keeps what is changed apart.

The layers lie on a directory of this host, and are made anew for each turn, but for a lower one
that is given: it is read, and never written to.

Source: Documentation/filesystems/overlayfs.rst of the kernel, fuse-overlayfs(1).
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Literal

from pydantic import Field

from tiltyard.host.op import MakeDirectory, Mount
from tiltyard.host.packages import Tool
from tiltyard.host.steps import Step
from tiltyard.systems import untrusted_inputs
from tiltyard.systems.filesystems.server import ENDS_AT_SERVER, server_problems
from tiltyard.systems.kind import Kind, Problem, Site
from tiltyard.systems.mount.checks import knows_how_to_mount, rights_to_mount, strangers
from tiltyard.systems.mount.system import MountSettings, MountSystem
from tiltyard.systems.untrusted_inputs import Brought

SERVER = Tool(
    "fuse-overlayfs", "fuse-overlayfs", ("--version",), "overlays cannot be served in user space"
)
_LAYERS = ("lower", "upper", "work")


class OverlaySettings(MountSettings):
    """Which layers, and who puts them together."""

    base: Path | None = Field(
        default=None,
        description="Directory that the layers are made in; the study's own folder if it is left "
        "out. A relative path begins at the study file.",
    )
    lower: Path | None = Field(
        default=None,
        description="What lies below: an existing directory, which is not written to; a fresh "
        "empty one if it is left out.",
    )
    driver: Literal["kernel", "fuse-overlayfs"] = Field(
        default="kernel", description="Who puts the layers together."
    )

    def mounted_type(self) -> str:
        """Whoever puts it together."""
        return "overlay"


class Overlay(MountSystem):
    """Mounted for a turn; its layers are removed after."""

    def __init__(self, name: str, settings: OverlaySettings, site: Site) -> None:  # noqa: ARG002
        """Nothing is touched yet."""
        super().__init__(site, "overlay")
        self._settings = settings
        self._served = settings.driver == SERVER.command
        self.types = ("fuse.fuse-overlayfs",) if self._served else ("overlay",)
        self._layer_name = site.ledger.name("layers")

    @property
    def _home(self) -> Path:
        """Where the layers are made."""
        return self.site.given(self._settings.base) if self._settings.base else self.site.scratch

    @property
    def _lower(self) -> Path | None:
        """What lies below, if it is given."""
        return self.site.given(self._settings.lower) if self._settings.lower else None

    @property
    def _layers(self) -> Path:
        return self._home / self._layer_name

    def problems(self) -> list[Problem]:
        """The right to mount, who does it, and where the layers lie."""
        place = self.place
        found = rights_to_mount(place, served=self._served)
        found += (
            server_problems(SERVER, place) if self._served else knows_how_to_mount("overlay", place)
        )
        for path in filter(None, (self._lower, self._home)):
            if path != self.site.scratch and not place.is_directory(path):
                found.append(Problem("error", f"{path} is no directory", f"mkdir -p {path}"))
            found += strangers(path, place)
        below = place.mount_of(self._home).type
        if below == "overlay":
            text = f"{self._home} is on an overlay itself, which cannot hold an upper layer"
            found.append(Problem("error", text, "base = a directory on another file system"))
        return found

    def asked(self) -> tuple[str, ...]:
        """Layers are no options that a person asked for."""
        return self._settings.mount

    def attach(self) -> Iterator[Step]:
        """The layers first."""
        yield MakeDirectory(path=self._layers)
        for layer in _LAYERS:
            yield MakeDirectory(path=self._layers / layer, inside=True)
        lower = self._lower or self._layers / "lower"
        places = (f"lowerdir={lower}", *(f"{one}dir={self._layers / one}" for one in _LAYERS[1:]))
        own = () if self._served or self.place.is_root else ("userxattr",)
        options = (*places, *own, *self._settings.mount)
        if self._served:
            argv = (SERVER.command, "-f", "-o", ",".join(options), str(self.target))
            yield self.mounter.serve(argv, self.target)
            return
        yield self.mounter.mount(
            Mount(type="overlay", source="tiltyard", target=self.target, options=options)
        )

    def facts(self) -> dict[str, str]:
        """What lies below; the layers' names are new in each turn, and say nothing."""
        shown = self.mounter.at(self.target)[-1].options.replace(f"{self._layers}/", "")
        below = self.place.mount_of(self._home)
        lower = str(self._lower) if self._lower else "empty"
        return {
            "mount options": shown,
            "layers lie on": f"{below.type} on {below.source}",
            "lower layer": lower,
            **(ENDS_AT_SERVER if self._served else {}),
        }


def _brings(settings: OverlaySettings, _root: Path) -> Iterator[Brought]:
    """The kernel takes options for what they are."""
    if settings.driver == SERVER.command:
        yield from untrusted_inputs.server_options("mount", SERVER.command, settings.mount)


KIND = Kind(
    name="overlay",
    about="layers over each other; without root where users may have namespaces",
    Settings=OverlaySettings,
    target="directory",
    open=Overlay,
    redraws=lambda _: "new layers",
    brings=_brings,
)
