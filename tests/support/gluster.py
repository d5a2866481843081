"""Real volumes of GlusterFS: two nodes in network namespaces of their own, for one test."""

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from support.hosts import host_state, needs_root
from support.looks import find_program
from support.patience import PATIENCE_S

STUDIES = Path(__file__).resolve().parents[2] / "studies"
NUMBER = 20 + os.getpid() % 200
"""Of our volumes: others on this machine may have some."""
BRIDGE = (f"tygluster{NUMBER}", f"10.77.{NUMBER}")
"""Of the script: what joins the nodes, and how their addresses begin."""
_KEPT = (Path("/var/lib/glusterd"), Path("/var/log/glusterfs"))

needs_gluster = [
    needs_root,
    pytest.mark.skipif(
        not all(map(find_program, ("glusterd", "mount.glusterfs"))),
        reason="not installed: apt-get install glusterfs-server glusterfs-client",
    ),
]


def _of_the_host() -> list[Path]:
    """What the host's own GlusterFS keeps."""
    return sorted(path for kept in _KEPT for path in kept.rglob("*"))


@contextmanager
def volumes(folder: Path) -> Iterator[None]:
    """Up for a while; afterwards the host is as it was."""
    kept = _of_the_host()
    home = str(folder / "nodes")
    script = str(STUDIES / "glusterfs" / "volume")
    try:
        up = (script, "up", home, str(NUMBER))
        subprocess.run(up, check=True, capture_output=True, timeout=PATIENCE_S)
        yield
    finally:
        subprocess.run((script, "down", home), check=True, capture_output=True, timeout=PATIENCE_S)
    assert not (folder / "nodes").exists()
    assert _of_the_host() == kept
    assert str(folder) not in host_state(folder)
