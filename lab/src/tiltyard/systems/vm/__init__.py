"""Kind ``vm``: a kernel of its own under each system, in a virtual machine.

One boot a turn. This host lays out the image and makes the file system on it; the guest, which is
a kernel and the engine as its only program, or a whole operating system from a disk image, mounts
it and executes the trials.
"""

from tiltyard.systems.vm.machine import KIND

__all__ = ["KIND"]
