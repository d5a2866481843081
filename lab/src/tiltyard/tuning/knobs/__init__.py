"""What profiles can set: each sort is one file and one line in :data:`KNOBS`."""

from tiltyard.tuning.knob import AnyKnob
from tiltyard.tuning.knobs import (
    block,
    cpu,
    hugepages,
    idle,
    interrupts,
    mount,
    network,
    priority,
    security,
    servers,
    services,
    steering,
    swap,
    sysctl,
    tuned,
)

KNOBS: tuple[AnyKnob, ...] = (
    tuned.KNOB,
    services.KNOB,
    sysctl.KNOB,
    hugepages.KNOB,
    cpu.KNOB,
    idle.KNOB,
    swap.KNOB,
    security.KNOB,
    mount.KNOB,
    block.KNOB,
    network.KNOB,
    steering.KNOB,
    interrupts.KNOB,
    servers.KNOB,
    priority.KNOB,
)
"""In the order in which they are set: first those that set many things by themselves."""
