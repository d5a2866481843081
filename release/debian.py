"""The Debian package: a virtual environment of its own under /opt, for Debian 12."""

import hashlib
import os
import shutil
import subprocess
from pathlib import Path
from typing import Final

from release.python import DEBIAN_PYTHON, install
from release.version import ROOT, epoch

ARCHITECTURES: Final = {"x86_64": "amd64", "aarch64": "arm64"}
"""uname(1) → dpkg(1)."""
PROGRAMS: Final = ("tiltyard", "tiltyard-engine")
_HOME: Final = "opt/tiltyard"
_CONTROL: Final = """\
Package: tiltyard
Version: {version}
Architecture: {architecture}
Maintainer: The Tiltyard developers <tiltyard@localhost>
Installed-Size: {kib}
Depends: python3 (>= {python}), python3 (<< {next_python})
Recommends: {tools}
Section: utils
Priority: optional
Description: benchmark laboratory with verdicts that survive a sceptic
 Tiltyard prepares each system under test, runs the same workloads on all of
 them in a fair order, and gives a verdict with its interval: faster, slower,
 equivalent or undecided.
"""
_START: Final = f"""\
#!/{_HOME}/bin/python
from tiltyard.__main__ import main
main()
"""
_ENVIRONMENT: Final = f"""\
home = /usr/bin
include-system-site-packages = false
version = {DEBIAN_PYTHON}
"""
_SCRIPTS: Final = {
    "postinst": f"""\
#!/bin/sh
set -e
# The same order and the same seed of hashes give the same bytes.
[ "$1" != configure ] || PYTHONHASHSEED=0 /{_HOME}/bin/python -m compileall -q /{_HOME}/lib || true
""",
    "prerm": f"""\
#!/bin/sh
set -e
find /{_HOME} -name __pycache__ -type d -prune -exec rm -rf {{}} +
""",
}


def build_deb(wheel: Path, wheels: Path | None, version: str, machine: str, into: Path) -> Path:
    """Pack a wheel and what it needs; the same files give the same bytes.

    Args:
        wheel: the lab with the engine of that machine.
        wheels: a folder with the wheels of the lock; None packs the lab alone.
        version: by PEP 440.
        machine: as uname(1) calls it.
        into: where ``tiltyard_VERSION_ARCHITECTURE.deb`` is written.
    """
    named = version.replace(".dev", "~dev")
    architecture = ARCHITECTURES[machine]
    tree = into / f"tree-{architecture}"
    shutil.rmtree(tree, ignore_errors=True)
    _lay_out(tree, wheel, wheels)
    _describe(tree, named, architecture)
    _equalise(tree)
    package = into / f"tiltyard_{named}_{architecture}.deb"
    command = ("dpkg-deb", "--root-owner-group", "-Zzstd", "-z9", "--threads-max=1", "--build")
    subprocess.run(
        (*command, str(tree), str(package)),
        check=True,
        env={**os.environ, "SOURCE_DATE_EPOCH": str(epoch())},
        stdout=subprocess.DEVNULL,
    )
    shutil.rmtree(tree)
    return package


def _lay_out(tree: Path, wheel: Path, wheels: Path | None) -> None:
    """The files, as they shall lie on the host."""
    home = tree / _HOME
    packages = home / f"lib/python{DEBIAN_PYTHON}/site-packages"
    install(wheel, wheels, packages)
    bin_ = home / "bin"
    bin_.mkdir()
    shutil.move(packages / "bin/tiltyard-engine", bin_)
    shutil.rmtree(packages / "bin")
    (bin_ / "tiltyard").write_text(_START)
    (bin_ / "python").symlink_to(f"/usr/bin/python{DEBIAN_PYTHON}")
    (home / "pyvenv.cfg").write_text(_ENVIRONMENT)
    for about in packages.glob("*.dist-info"):
        # They tell of pip and of the folders of this machine.
        for name in ("RECORD", "REQUESTED", "direct_url.json"):
            (about / name).unlink(missing_ok=True)
        (about / "INSTALLER").write_text("dpkg\n")
    on_path = tree / "usr/bin"
    on_path.mkdir(parents=True)
    for name in PROGRAMS:
        (on_path / name).symlink_to(f"/{_HOME}/bin/{name}")
    papers = tree / "usr/share/doc/tiltyard"
    papers.mkdir(parents=True)
    for source, name in (("LICENSE", "copyright"), ("CHANGELOG.md",) * 2, ("README.md",) * 2):
        shutil.copyfile(ROOT / source, papers / name)


def _describe(tree: Path, version: str, architecture: str) -> None:
    """The control files."""
    major, minor = DEBIAN_PYTHON.split(".")
    files = sorted(path for path in tree.rglob("*") if path.is_file() and not path.is_symlink())
    control = tree / "DEBIAN"
    control.mkdir()
    (control / "control").write_text(
        _CONTROL.format(
            version=version,
            architecture=architecture,
            kib=sum(-(-path.stat().st_size // 1024) for path in files),
            python=DEBIAN_PYTHON,
            next_python=f"{major}.{int(minor) + 1}",
            tools=", ".join(sorted({pair.partition(":")[0] for pair in tools()})),
        )
    )
    sums = (f"{_md5(path)}  {path.relative_to(tree)}\n" for path in files)
    (control / "md5sums").write_text("".join(sums))
    for name, text in _SCRIPTS.items():
        (control / name).write_text(text)


def tools() -> list[str]:
    """``package:program`` of what the main job wants of the host."""
    return (ROOT / "scripts/tools").read_text().split()


def _md5(path: Path) -> str:
    """As dpkg(1) wants it."""
    return hashlib.md5(path.read_bytes(), usedforsecurity=False).hexdigest()


def _equalise(tree: Path) -> None:
    """Times and modes that do not depend on who packs, and when."""
    programs = {"postinst", "prerm", *PROGRAMS}
    for path in (tree, *tree.rglob("*")):
        if not path.is_symlink():
            program = path.name in programs and path.parent.name in {"bin", "DEBIAN"}
            path.chmod(0o755 if path.is_dir() or program else 0o644)
        os.utime(path, (epoch(), epoch()), follow_symlinks=False)
