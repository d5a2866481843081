"""A loop in kernel mode of a KVM guest, timed beside the same loop of this process.

Run as a program it prints two rates in turns of the loop per second, as JSON. It is a process of
its own so that it can be killed: ``KVM_RUN`` comes back only when the guest halts. What it opens
is closed when it ends.

Sources: https://docs.kernel.org/virt/kvm/api.html for the calls; AMD64 Architecture Programmer's
Manual, volume 2, chapter 14 for the way into 64-bit mode.
"""

import ctypes
import fcntl
import json
import mmap
import os
import struct
import sys
import time
from collections.abc import Callable
from typing import Final

_LOOP: Final = b"\x48\xff\xc9\x75\xfb"
"""``1: dec %rcx; jnz 1b``"""
_HALT: Final = b"\xf4"
_TO_RCX: Final = b"\x48\x89\xf9"
"""``mov %rdi, %rcx``: the first argument of a C function."""
_RETURN: Final = b"\xc3"

_CREATE_VM: Final = 0xAE01
_VCPU_MMAP_SIZE: Final = 0xAE04
_CREATE_VCPU: Final = 0xAE41
_SET_MEMORY: Final = 0x4020AE46
_RUN: Final = 0xAE80
_SET_REGISTERS: Final = 0x4090AE82
_GET_SPECIAL: Final = 0x8138AE83
_SET_SPECIAL: Final = 0x4138AE84
_EXIT_HLT: Final = 5
_EXIT_REASON_AT: Final = 8

_SEGMENT: Final = struct.Struct("<QIH10B")
"""``kvm_segment``: base, limit, selector, type, present, dpl, db, s, l, g, avl, unusable, pad."""
_CODE: Final = _SEGMENT.pack(0, 0xFFFFFFFF, 8, 11, 1, 0, 0, 1, 1, 1, 0, 0, 0)
_DATA: Final = _SEGMENT.pack(0, 0xFFFFFFFF, 16, 3, 1, 0, 1, 1, 0, 1, 0, 0, 0)
_CONTROL_AT: Final = 224
"""``kvm_sregs``: eight segments and two tables come before cr0."""
_PROTECTED, _PAGING, _PAE, _LONG_MODE = 0x1, 0x80000000, 0x20, 0x500
_PAGE: Final = 4096
_PRESENT_WRITABLE, _TWO_MIB = 0x3, 0x80

_FIRST_TURNS: Final = 20_000
_ENOUGH_S: Final = 0.02
_REPEATS: Final = 3


def native_rate() -> float:
    """Turns per second of the loop in this process."""
    page = mmap.mmap(-1, _PAGE, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
    page.write(_TO_RCX + _LOOP + _RETURN)
    return _rate(ctypes.CFUNCTYPE(None, ctypes.c_uint64)(_address(page)))


def guest_rate() -> float:
    """Turns per second of the loop at privilege level 0 of a guest in 64-bit mode.

    Raises:
        OSError: if a call is refused, or the guest ends otherwise than by halting.
    """
    kvm = os.open("/dev/kvm", os.O_RDWR | os.O_CLOEXEC)
    machine = fcntl.ioctl(kvm, _CREATE_VM, 0)
    memory = mmap.mmap(-1, 4 * _PAGE)
    memory.write(_LOOP + _HALT)
    _identity_map(memory)
    region = struct.pack("<IIQQQ", 0, 0, 0, len(memory), _address(memory))
    fcntl.ioctl(machine, _SET_MEMORY, region)
    vcpu = fcntl.ioctl(machine, _CREATE_VCPU, 0)
    state = mmap.mmap(vcpu, fcntl.ioctl(kvm, _VCPU_MMAP_SIZE, 0))
    _enter_long_mode(vcpu)

    def loop(turns: int) -> None:
        # rax rbx rcx rdx rsi rdi rsp rbp r8-r15 rip rflags
        fcntl.ioctl(vcpu, _SET_REGISTERS, struct.pack("<18Q", 0, 0, turns, *[0] * 14, 2))
        fcntl.ioctl(vcpu, _RUN, 0)
        (reason,) = struct.unpack_from("<I", state, _EXIT_REASON_AT)
        if reason != _EXIT_HLT:
            raise OSError(f"the guest ended with KVM exit reason {reason}, not by halting")

    return _rate(loop)


def _address(memory: mmap.mmap) -> int:
    return ctypes.addressof(ctypes.c_char.from_buffer(memory))


def _identity_map(memory: mmap.mmap) -> None:
    """The first 2 MiB, by page tables in the pages after the code's."""
    for level, entry in ((1, 2 * _PAGE), (2, 3 * _PAGE), (3, _TWO_MIB)):
        struct.pack_into("<Q", memory, level * _PAGE, entry | _PRESENT_WRITABLE)


def _enter_long_mode(vcpu: int) -> None:
    """Segments, page table and control registers as a 64-bit kernel has them."""
    special = bytearray(fcntl.ioctl(vcpu, _GET_SPECIAL, bytes(312)))
    for place, segment in enumerate((_CODE, *[_DATA] * 5)):  # cs ds es fs gs ss
        special[place * _SEGMENT.size : (place + 1) * _SEGMENT.size] = segment
    control = (_PROTECTED | _PAGING, 0, _PAGE, _PAE, 0, _LONG_MODE)  # cr0 cr2 cr3 cr4 cr8 efer
    struct.pack_into("<6Q", special, _CONTROL_AT, *control)
    fcntl.ioctl(vcpu, _SET_SPECIAL, bytes(special))


def _rate(loop: Callable[[int], object]) -> float:
    """The best of some repeats, each long enough to be timed: others may use the CPU too."""
    turns = _FIRST_TURNS
    while (spent_s := _time(loop, turns)) < _ENOUGH_S:
        turns *= 4
    return turns / min(spent_s, *(_time(loop, turns) for _ in range(_REPEATS - 1)))


def _time(loop: Callable[[int], object], turns: int) -> float:
    began = time.perf_counter()
    loop(turns)
    return time.perf_counter() - began


if __name__ == "__main__":
    sys.stdout.write(json.dumps({"native": native_rate(), "guest": guest_rate()}))
