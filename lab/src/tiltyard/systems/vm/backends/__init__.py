"""What virtual machines run on."""

from tiltyard.systems.vm.backends.backend import Backend, Machine, SystemDisks
from tiltyard.systems.vm.backends.qemu import Emulation, Kvm
from tiltyard.systems.vm.backends.uml import UserModeLinux

__all__ = ["BACKENDS", "Backend", "Machine", "SystemDisks"]

BACKENDS: tuple[Backend, ...] = (Kvm(), UserModeLinux(), Emulation())
"""In the order in which ``backend = "auto"`` tries them."""
