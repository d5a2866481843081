"""``python -m release [FOLDER]``: everything that is handed out, in one folder (dist).

The same commit, toolchain and packages of Debian give the same bytes, wherever and whenever.
"""

import hashlib
import os
import platform
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from release.base import base
from release.debian import build_deb
from release.image import build_image, package_layer
from release.python import build_engine, build_sdist, build_wheel, download_wheels
from release.sbom import write_sbom
from release.version import ROOT, epoch, read_version, version

_MACHINES: Final = ("x86_64", "aarch64")
_CACHE: Final = ROOT / "target/release-cache"
"""What was downloaded; as good as new at the next time."""


def main(into: Path) -> None:
    """Make all, and say what was left out and why."""
    into.mkdir(parents=True, exist_ok=True)
    for old in into.glob("tiltyard*"):
        old.unlink()
    _say(f"Tiltyard {version()}, of {epoch()} seconds since 1970")
    made = [build_sdist(into), into / f"tiltyard-{version()}.cdx.json"]
    write_sbom(version(), toolchain(), made[-1])
    for machine in _MACHINES:
        made += _of_machine(machine, into)
    if read_version() != version():
        text = f"the sources became {read_version()} meanwhile; they were {version()}"
        raise SystemExit(f"{text}. Fix: make dist again")
    sums = (f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n" for path in made)
    (into / "SHA256SUMS").write_text("".join(sorted(sums, key=lambda line: line[66:])))
    for path in made:
        _say(f"{path.stat().st_size / 1e6:8.1f} MB  {path}")


def _of_machine(machine: str, into: Path) -> Iterator[Path]:
    """What is made for one architecture: nothing where its toolchain is not here."""
    try:
        engine = build_engine(f"{machine}-unknown-linux-gnu")
    except subprocess.CalledProcessError as error:
        if machine == platform.machine():
            raise SystemExit(error.returncode) from error
        _say(f"No files for {machine}: its engine cannot be built here")
        return
    wheel = build_wheel(engine, into)
    yield wheel
    wheels = _CACHE / f"wheels-{machine}"
    try:
        download_wheels(machine, wheels)
    except subprocess.CalledProcessError as error:
        if machine == platform.machine():
            raise SystemExit(error.returncode) from error
        _say(f"No Debian package for {machine}: not all of requirements.lock has wheels for it")
        return
    with tempfile.TemporaryDirectory(prefix="tiltyard-release-") as scratch:
        package = build_deb(wheel, wheels, version(), machine, Path(scratch))
        yield Path(shutil.copy(package, into))
        if machine != platform.machine() or os.geteuid() != 0 or not shutil.which("umoci"):
            _say(f"No image for {machine}: it is made as root, on {machine}, with umoci")
            return
        ground = base(_CACHE, epoch=epoch())
        layers = (ground, package_layer(ground, package, Path(scratch)))
        yield build_image(layers, version(), machine, into)


def toolchain() -> dict[str, str]:
    """What decides the bytes of the engine, beside its sources."""
    asked = {"rustc": ("rustc", "--version"), "cc": ("cc", "--version"), "ld": ("ld", "--version")}
    said = {name: _first_line(*command) for name, command in asked.items()}
    return said | {"libc": " ".join(platform.libc_ver())}


def _first_line(*command: str) -> str:
    """Of what a program prints."""
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return done.stdout.splitlines()[0]


def _say(text: str) -> None:
    """For people."""
    sys.stderr.write(f"{text}\n")


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "dist"))
