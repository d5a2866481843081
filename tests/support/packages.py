"""Packages of strangers, as they lie where packages are installed: modules, and what names them."""

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

PREFIX = "tiltyard.v1."


def install(
    site: Path,
    package: str,
    files: Mapping[str, str],
    points: Mapping[str, Mapping[str, str]],
    version: str = "1.2",
) -> None:
    """Put a package where ``PYTHONPATH`` will have it.

    Args:
        site: the directory.
        package: its name.
        files: path → text.
        points: group, without the prefix where it is one of ours → name → ``module:object``.
        version: of the package.
    """
    for name, text in files.items():
        path = site / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    about = site / f"{package.replace('-', '_')}-{version}.dist-info"
    about.mkdir(parents=True)
    (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: {version}\n")
    groups = {
        group if "." in group else f"{PREFIX}{group}": entries for group, entries in points.items()
    }
    (about / "entry_points.txt").write_text(
        "".join(
            f"[{group}]\n" + "".join(f"{name} = {value}\n" for name, value in entries.items())
            for group, entries in groups.items()
        )
    )


def tiltyard(
    site: Path, cwd: Path, *words: str, plugins: str | None = None, before: str = ""
) -> subprocess.CompletedProcess[str]:
    """The real command, with what is installed in a directory.

    Args:
        site: the directory.
        cwd: where it is called.
        words: of the command line.
        plugins: ``TILTYARD_PLUGINS``.
        before: what its interpreter does first.
    """
    paths = [str(site), *filter(None, [os.environ.get("PYTHONPATH")])]
    env = {
        **{key: value for key, value in os.environ.items() if key != "TILTYARD_PLUGINS"},
        "PYTHONPATH": os.pathsep.join(paths),
        "COLUMNS": "160",
        **({} if plugins is None else {"TILTYARD_PLUGINS": plugins}),
    }
    code = f"{before}\nfrom tiltyard.__main__ import main; main()"
    return subprocess.run(
        [sys.executable, "-c", code, *words],
        cwd=cwd,
        env=env,
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
