"""The OCI image: a clean Debian as one layer, the Debian package as the next."""

import os
import shutil
import subprocess
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from release.debian import ARCHITECTURES, PROGRAMS
from release.version import epoch

_INSTALLED: Final = (
    *("opt/tiltyard", "usr/share/doc/tiltyard", "var/lib/dpkg/status"),
    *(f"usr/bin/{name}" for name in PROGRAMS),
)
"""What the package adds or changes, beside dpkg's notes about it."""


def build_image(layers: Sequence[Path], version: str, machine: str, into: Path) -> Path:
    """Write an OCI image layout as one archive; the same layers give the same bytes.

    Args:
        layers: tar archives, the lowest first.
        version: by PEP 440.
        machine: as uname(1) calls it.
        into: where ``tiltyard-VERSION-ARCHITECTURE.oci.tar`` is written.
    """
    architecture = ARCHITECTURES[machine]
    layout = into / "layout"
    shutil.rmtree(layout, ignore_errors=True)
    # A plus is no part of a tag.
    image = f"{layout}:{version.replace('+', '-')}"
    when = datetime.fromtimestamp(epoch(), UTC).isoformat()
    _umoci("init", "--layout", str(layout))
    _umoci("new", "--image", image)
    for layer in layers:
        history = (f"--history.created={when}", f"--history.created_by={layer.stem}")
        _umoci("raw", "add-layer", "--image", image, *history, str(layer))
    _umoci(
        *("config", "--image", image, "--no-history", f"--created={when}"),
        *("--config.entrypoint=tiltyard", "--config.cmd=--help", "--config.workingdir=/work"),
        *(f"--architecture={architecture}", "--os=linux"),
        f"--config.label=org.opencontainers.image.version={version}",
    )
    _umoci("gc", "--layout", str(layout))
    archive = into / f"tiltyard-{version}-{architecture}.oci.tar"
    pack(archive, layout, ["."])
    shutil.rmtree(layout)
    return archive


def package_layer(base: Path, package: Path, into: Path) -> Path:
    """What installing the package adds to the base, as a tar archive; wants root.

    Args:
        base: a tar archive of a Debian.
        package: of the same architecture.
        into: a folder for the archive.
    """
    root = into / "root"
    root.mkdir()
    subprocess.run(("tar", "-xf", str(base), "-C", str(root), "--exclude=./dev/*"), check=True)
    shutil.copy(package, root / "tiltyard.deb")
    subprocess.run(
        ("chroot", str(root), "dpkg", "--log=/dev/null", "--install", "/tiltyard.deb"),
        check=True,
        stdout=subprocess.DEVNULL,
        env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "DEBIAN_FRONTEND": "noninteractive"},
    )
    notes = sorted((root / "var/lib/dpkg/info").glob("tiltyard.*"))
    layer = into / "tiltyard.tar"
    pack(layer, root, [*_INSTALLED, *(str(note.relative_to(root)) for note in notes)])
    shutil.rmtree(root)
    return layer


def pack(archive: Path, folder: Path, names: Sequence[str]) -> None:
    """An archive whose bytes depend on names, modes and contents alone."""
    command = ("tar", "--create", "--sort=name", "--numeric-owner", "--owner=0", "--group=0")
    times = (f"--mtime=@{epoch()}", "--clamp-mtime", "--format=gnu")
    subprocess.run(
        (*command, *times, f"--file={archive.resolve()}", *names), cwd=folder, check=True
    )


def _umoci(*words: str) -> None:
    """Change the layout."""
    subprocess.run(("umoci", *words), check=True, env={**os.environ, "TMPDIR": "/var/tmp"})
