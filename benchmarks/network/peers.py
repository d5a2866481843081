"""Which of the other programs are here."""

import shutil
from collections.abc import Mapping

from ..harness import Peer, Side

PROGRAMS = {
    "netperf": ("netperf", "netserver"),
    "iperf3": ("iperf3",),
    "sockperf": ("sockperf",),
}


def lacking() -> list[str]:
    """Programs that are not on PATH."""
    every = [program for programs in PROGRAMS.values() for program in programs]
    return [program for program in every if shutil.which(program) is None]


def present(sides: Mapping[str, Side], targets: Mapping[str, float]) -> tuple[Peer, ...]:
    """Those of the peers whose programs are all on PATH."""
    here = set(PROGRAMS) - {name for name in PROGRAMS if set(PROGRAMS[name]) & set(lacking())}
    return tuple(Peer(name, side, targets) for name, side in sides.items() if name in here)
