"""The version, stated once: in ``Cargo.toml``; a release is a tag of that number.

Nothing but the standard library, for the build of wheels reads this file by itself.
"""

import os
import re
import subprocess
import tomllib
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

TOLD = "TILTYARD_VERSION"
"""In the environment of each step of a release: the version as it was read before the first."""


@cache
def version() -> str:
    """What a release began with; like :func:`read_version`, which is asked once."""
    return os.environ.get(TOLD) or read_version()


def read_version() -> str:
    """``1.2.0`` at the tag ``v1.2.0``, ``1.2.0.dev0+gCOMMIT`` elsewhere, by PEP 440.

    Raises:
        ValueError: if the tag is not that of the version in ``Cargo.toml``.
    """
    carried = ROOT / "PKG-INFO"
    if carried.is_file():  # an unpacked source distribution
        return str(re.findall(r"^Version: (.+)$", carried.read_text(), re.M)[0])
    stated: str = tomllib.loads((ROOT / "Cargo.toml").read_text())["workspace"]["package"][
        "version"
    ]
    tag = _git("describe", "--tags", "--exact-match", "--match", "v[0-9]*")
    if not tag:
        commit = _git("rev-parse", "--short=10", "HEAD")
        return f"{stated}.dev0+g{commit}" if commit else f"{stated}.dev0"
    if tag != f"v{stated}":
        raise ValueError(
            f'Cargo.toml: workspace.package.version is "{stated}", the tag is {tag}. '
            f'Fix: write version = "{tag[1:]}" there and tag that commit'
        )
    return stated


@cache
def epoch() -> int:
    """Time of the commit in seconds since 1970: the time of every packed file.

    Raises:
        ValueError: if neither SOURCE_DATE_EPOCH nor a commit tells it.
    """
    told = os.environ.get("SOURCE_DATE_EPOCH") or _git("log", "-1", "--format=%ct")
    if not told:
        raise ValueError("no commit tells the time of the sources. Fix: set SOURCE_DATE_EPOCH")
    return int(told)


def _git(*words: str) -> str:
    """What git answers; nothing where this is no clone of its own."""
    if not (ROOT / ".git").exists():
        return ""
    command = ("git", "-C", str(ROOT), *words)
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    return done.stdout.strip() if done.returncode == 0 else ""
