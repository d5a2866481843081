"""How this Tiltyard was installed, and so which command mends it."""

import json
import re
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from importlib.metadata import Distribution

_ABOVE = Path(__file__).resolve().parents[3]
CHECKOUT = _ABOVE if (_ABOVE / "Cargo.toml").is_file() else None
"""The clone that this lab is run from, if it is."""


def repair(lacking: str | None = None) -> str:
    """The command that installs the lab and its engine again, as they were installed.

    Args:
        lacking: the module that could not be imported; where it is of an extra, that is enough.
    """
    if CHECKOUT:
        return f"make -C {shlex.quote(str(CHECKOUT))} setup"
    from importlib.metadata import distribution

    lab = distribution("tiltyard")
    installer = (lab.read_text("INSTALLER") or "").strip()
    if installer == "dpkg":
        return f"apt-get install --reinstall ./tiltyard_{lab.version.replace('.dev', '~dev')}_*.deb"
    requirements = lab.requires or ()
    named = rf"((?:python-)?{lacking}\b[^;]*);.*extra =="
    optional = next(
        (shlex.quote(m[1].strip()) for one in requirements if (m := re.match(named, one))), ""
    )
    if Path(sys.prefix, "pipx_metadata.json").is_file():
        return f"pipx inject tiltyard {optional}" if optional else "pipx reinstall tiltyard"
    python = shlex.quote(sys.executable)
    command, again = f"{python} -m pip install", "--force-reinstall"
    if installer == "uv":
        command, again = f"uv pip install --python {python}", "--reinstall"
    return f"{command} {optional}" if optional else f"{command} {again} {shlex.quote(_source(lab))}"


def _source(lab: "Distribution") -> str:
    """The file that it was installed from, else its name and version."""
    from urllib.parse import unquote, urlsplit

    told = json.loads(lab.read_text("direct_url.json") or "{}").get("url", "")
    url = urlsplit(told)
    return unquote(url.path) if url.scheme == "file" else told or f"tiltyard=={lab.version}"
