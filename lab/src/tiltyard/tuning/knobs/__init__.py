"""What profiles can set: each sort is one file and one line in :data:`KNOBS`."""

from typing import Final

from tiltyard.registry import Registry
from tiltyard.tuning.knob import AnyKnob, Knob

KNOBS: Final = Registry[AnyKnob](
    "knobs",
    {
        "tuned": ".tuned:KNOB",
        "services": ".services:KNOB",
        "sysctl": ".sysctl:KNOB",
        "hugepages": ".hugepages:KNOB",
        "cpu": ".cpu:KNOB",
        "idle": ".idle:KNOB",
        "swap": ".swap:KNOB",
        "security": ".security:KNOB",
        "mount": ".mount:KNOB",
        "block": ".block:KNOB",
        "network": ".network:KNOB",
        "steering": ".steering:KNOB",
        "interrupts": ".interrupts:KNOB",
        "servers": ".servers:KNOB",
        "priority": ".priority:KNOB",
    },
    Knob,
    within=__name__,
)
"""In the order in which they are set: first those that set many things by themselves."""
