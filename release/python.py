"""The wheel with its engine, the source distribution, and the wheels that they need."""

import os
import re
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path
from typing import Final

from packaging.markers import Marker

from release.version import ROOT, TOLD, epoch, version

DEBIAN_PYTHON: Final = "3.11"
"""Of Debian 12, for which package and image are made."""
_LIBC: Final = (*(f"manylinux_2_{minor}" for minor in range(36, 16, -1)), "manylinux2014")
"""Wheels that run with Debian 12's glibc, the newest first."""


def build_engine(target: str | None = None) -> Path:
    """Build the engine of a target (Rust's name), or of this host; its path."""
    command = [str(ROOT / "scripts/build-engine"), *([target] if target else [])]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    return Path(done.stdout.strip())


def build_wheel(engine: Path, into: Path) -> Path:
    """Pack the lab and an engine; the same files give the same bytes."""
    return _hatchling("wheel", into, {"TILTYARD_ENGINE": str(engine)})


def build_sdist(into: Path) -> Path:
    """Pack the sources of lab and engine; pip builds both from it where there is Rust."""
    return _hatchling("sdist", into, {})


def _hatchling(target: str, into: Path, environment: dict[str, str]) -> Path:
    """Build one target; the one file that comes of it."""
    into.mkdir(parents=True, exist_ok=True)
    told = {**os.environ, "SOURCE_DATE_EPOCH": str(epoch()), TOLD: version(), **environment}
    with tempfile.TemporaryDirectory(dir=into.resolve()) as scratch:
        command = (sys.executable, "-m", "hatchling", "build", "-t", target, "-d", scratch)
        subprocess.run(command, check=True, cwd=ROOT, env=told, stderr=subprocess.PIPE)
        (made,) = Path(scratch).iterdir()
        return made.rename(into / made.name)


def locked(python: str = DEBIAN_PYTHON) -> dict[str, str]:
    """Name → the requirement with version and hashes, as ``requirements.lock`` has it.

    Args:
        python: the version that decides between pins, ``3.11``.
    """
    found = {}
    for entry in re.split(r"\n(?=\S)", (ROOT / "requirements.lock").read_text()):
        pin, *hashes = entry.replace("\\\n", "\n").splitlines()
        requirement, _, marker = pin.partition(" ; ")
        if "==" not in requirement:
            continue
        release = {"python_full_version": f"{python}.0", "python_version": python}
        if marker and not Marker(marker).evaluate(release):
            continue
        found[requirement.partition("==")[0]] = " ".join((requirement.strip(), *hashes))
    return found


def download_wheels(machine: str, into: Path) -> None:
    """Fetch the wheels of the lock for Debian's Python, by their hashes; what is there stays.

    Args:
        machine: ``x86_64`` or ``aarch64``.
        into: a folder; pip's own configuration says from where.
    """
    into.mkdir(parents=True, exist_ok=True)
    lock = into / "requirements.txt"
    text = "".join(f"{requirement}\n" for requirement in locked().values())
    if lock.is_file() and lock.read_text() == text:
        return
    for old in into.iterdir():
        old.unlink()
    lock.with_suffix(".new").write_text(text)
    platforms = [f"--platform={libc}_{machine}" for libc in _LIBC]
    command = (sys.executable, "-m", "pip", "download", "--quiet", "--require-hashes", "--no-deps")
    where = (f"--python-version={DEBIAN_PYTHON}", "--only-binary=:all:", *platforms)
    what = ("--requirement", str(lock.with_suffix(".new")), "--dest", str(into))
    subprocess.run((*command, *where, *what), check=True)
    lock.with_suffix(".new").rename(lock)


def install(wheel: Path, wheels: Path | None, into: Path) -> None:
    """Install a wheel for Debian's Python, and with a folder of wheels all that it needs.

    Args:
        wheel: the lab with its engine.
        wheels: of the lock; nothing else is asked.
        into: becomes ``site-packages``; its ``bin`` gets the programs.
    """
    machine = wheel.stem.rpartition("_1_1_")[2]
    platforms = [f"--platform={libc}_{machine}" for libc in _LIBC]
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"].get(
        "optional-dependencies", {}
    )
    named = f"{wheel.resolve()}[{','.join(extras)}]" if wheels and extras else str(wheel)
    command = (sys.executable, "-m", "pip", "install", "--quiet", "--no-index", "--no-compile")
    where = (f"--python-version={DEBIAN_PYTHON}", "--only-binary=:all:", *platforms)
    needs = ("--find-links", str(wheels)) if wheels else ("--no-deps",)
    subprocess.run((*command, *where, *needs, "--target", str(into), named), check=True)
