"""QEMU as a backend: what it boots, what it asks for, what it lacks. Nothing is started here."""

import struct
from pathlib import Path

import pytest

from tiltyard.host import kvm
from tiltyard.systems.vm.backends import BACKENDS
from tiltyard.systems.vm.backends.backend import Machine
from tiltyard.systems.vm.backends.qemu import Emulation, Kvm
from tiltyard.systems.vm.kernels import kernel_of_series, look_at

GIB = 2**30


def kernel_image(path: Path, version: bytes = b"6.12.117-test (someone@somewhere) #1 SMP") -> Path:
    """A file with the setup header of a kernel for x86."""
    header = bytearray(0x400)
    header[0x202:0x206] = b"HdrS"
    struct.pack_into("<H", header, 0x20E, 0x300 - 0x200)
    header[0x300 : 0x300 + len(version)] = version
    path.write_bytes(header)
    return path


def machine(directory: Path, clock: str = "time", image: Path | None = None) -> Machine:
    return Machine(
        kernel=directory / "vmlinuz",
        command_line=("quiet", "tiltyard.channel=/dev/hvc0"),
        initramfs=directory / "initramfs",
        memory_bytes=GIB,
        vcpus=1,
        image=image,
        clock=clock,  # type: ignore[arg-type]
        directory=directory,
    )


def test_the_release_is_read_from_the_image(tmp_path: Path) -> None:
    kernel = kernel_image(tmp_path / "vmlinuz")
    found = look_at(kernel)
    assert found.boots_as in Emulation().boots
    assert found.release == "6.12.117-test"


@pytest.mark.parametrize("content", [b"", b"no kernel", bytes(4096), b"\x7fELF" + bytes(1000)])
def test_what_is_no_image_is_not_booted(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "vmlinuz"
    path.write_bytes(content)
    found = look_at(path)
    assert (found.boots_as, found.release) == (None, None)


def test_a_counting_clock_is_one_nanosecond_an_instruction(tmp_path: Path) -> None:
    command = Emulation().command(machine(tmp_path, "instructions"), 3, 4)
    assert command[command.index("-icount") + 1] == "shift=0,sleep=off"
    words = command[command.index("-append") + 1].split()
    assert {"console=ttyS0", "panic=-1", "quiet", "nokaslr", "norandmaps"} <= {*words}
    timed = Emulation().command(machine(tmp_path), 3, 4)
    assert "-icount" not in timed
    assert "nokaslr" not in timed[timed.index("-append") + 1]


def test_the_channel_and_the_image_are_the_machines(tmp_path: Path) -> None:
    image = tmp_path / "disk.img"
    command = Emulation().command(machine(tmp_path, image=image), 3, 4)
    assert f"pipe,id=channel,path={tmp_path / 'channel'}" in command
    assert f"file={image},format=raw,if=none,id=image,cache=none" in command
    assert "virtio-blk-pci,drive=image,serial=tiltyard-image" in command
    assert "-drive" not in Emulation().command(machine(tmp_path), 3, 4)


def test_only_emulation_counts_and_only_one_cpu() -> None:
    texts = [problem.text for problem in Kvm().problems("instructions", 1)]
    assert "QEMU with KVM cannot count instructions" in texts
    (problem,) = [p for p in Emulation().problems("instructions", 2) if p.remedy == "vcpus = 1"]
    assert problem.text == "instructions are counted of one CPU, and 2 are wanted"


def test_kvm_is_used_only_where_it_is_proven() -> None:
    found = [p.text for p in Kvm().problems("time", 1)]
    assert (kvm.prove().text in found) is not kvm.prove().usable


def test_kvm_comes_first_and_emulation_last() -> None:
    names = [backend.name for backend in BACKENDS]
    assert names[0] == "kvm"
    assert names[-1] == "qemu"


def test_a_kernel_has_the_name_of_its_series(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TILTYARD_KERNELS", str(tmp_path))
    assert kernel_of_series("6.12") == tmp_path / "6.12" / "vmlinuz"
    assert kernel_of_series("linux.uml") is None
    assert kernel_of_series("boot/vmlinuz-6.12") is None
    monkeypatch.delenv("TILTYARD_KERNELS")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert kernel_of_series("6.1") == tmp_path / "tiltyard/kernels/6.1/vmlinuz"
