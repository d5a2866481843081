"""What a program is owed after its trials: commands of a study that take back what others made."""

import json
import subprocess
from pathlib import Path
from typing import Final, Literal

from tiltyard.host.changes.change import HostChange

_LIMIT_S: Final = 600.0


class ProgramCleanup(HostChange):
    """A cleanup that the engine executes; the directory of its level goes with it."""

    kind: Literal["program-cleanup"] = "program-cleanup"
    argv: tuple[str, ...]
    """Starts the engine."""
    job: str
    """What it is told."""
    directory: Path

    @property
    def way_back(self) -> str:
        """It is executed."""
        return f"# clean up what was set up in {self.directory}"

    def undo(self) -> str | None:
        """Have it executed once, unless that was done; a failure is told, and nothing repeated."""
        if not self.directory.is_dir():
            return None
        done = f"cleaned up what was set up in {self.directory}"
        try:
            ended = subprocess.run(
                self.argv,
                input=self.job.encode(),
                capture_output=True,
                timeout=_LIMIT_S,
                start_new_session=True,
                check=False,
            )
            last = json.loads(ended.stdout.splitlines()[-1])["data"]
            failure = (last.get("failure") or {}).get("message")
        except (OSError, ValueError, LookupError, subprocess.TimeoutExpired) as error:
            failure = str(error)
        return f"{done}, which failed: {failure}" if failure else done
