"""The engine goes into the wheel, so that what pip installs is whole.

TILTYARD_CORE=1 leaves out the plug-ins that come with it: a wheel of the core alone.
"""

import os
import runpy
import subprocess
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from hatchling.builders.config import BuilderConfig
from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class EngineHook(BuildHookInterface[BuilderConfig]):
    """A wheel is for one machine; an editable install has the engine that `make` put beside it."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Add the engine of TILTYARD_ENGINE, else build one.

        Raises:
            ValueError: if it is not a static program.
        """
        if version == "editable":
            return
        if os.environ.get("TILTYARD_CORE") == "1":
            self._leave_plugins_out()
        engine = Path(os.environ.get("TILTYARD_ENGINE") or self._build())
        elf = runpy.run_path(str(Path(self.root, "lab/src/tiltyard/elf.py")))
        machine = elf["machine"](engine)
        if machine is None or not elf["is_static"](engine):
            raise ValueError(f"{engine}: not a static program. Fix: scripts/build-engine")
        # Not among the sources, where a checkout would be called so from then on.
        self._made = TemporaryDirectory()
        told = Path(self._made.name, "_version.py")
        told.write_text(f"__version__ = {self.metadata.version!r}\n")
        build_data["force_include"][str(told)] = "tiltyard/_version.py"
        build_data["shared_scripts"] = {str(engine.resolve()): "tiltyard-engine"}
        build_data["pure_python"] = False
        build_data["tag"] = f"py3-none-manylinux_2_17_{machine}.musllinux_1_1_{machine}"

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:  # noqa: ARG002  hatchling's names
        """Remove what was made for the wheel."""
        if version != "editable":
            self._made.cleanup()

    def _leave_plugins_out(self) -> None:
        """The core is the first package; entry points are those of plug-ins."""
        self.build_config.target_config["packages"][1:] = []
        self.metadata.core.entry_points.clear()

    def _build(self) -> str:
        """Build it for this host."""
        script = Path(self.root, "scripts/build-engine")
        done = subprocess.run([script], check=True, stdout=subprocess.PIPE, text=True)
        return done.stdout.strip()
