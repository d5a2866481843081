"""KVM is proven by speed: by figures, by machines that misbehave, and on this host."""

from pathlib import Path

import pytest

from support.looks import find_program
from tiltyard.errors import HostLacksError, TiltyardError, UnreachableError
from tiltyard.host import kvm
from tiltyard.host.doctor import examine


def judged(emulated_s: float, under_kvm: float | Exception) -> kvm.Proof:
    """The verdict on a machine that takes so long under KVM, or fails."""

    def time_of(accelerator: str, limit_s: float) -> float:
        assert limit_s > 0
        if accelerator == "tcg":
            return emulated_s
        if isinstance(under_kvm, Exception):
            raise under_kvm
        return under_kvm

    return kvm.judge(time_of)


@pytest.mark.parametrize(("seconds", "usable"), [(0.3, True), (2.9, True), (3.1, False)])
def test_usable_is_what_is_not_slower_than_emulation(seconds: float, usable: bool) -> None:
    assert judged(1.0, seconds).usable is usable


def test_an_emulated_guest_is_told_with_both_times() -> None:
    proof = judged(1.0, 7.4)
    assert not proof.usable
    assert "a guest's firmware took 7.4 s, and 1.0 s emulated" in proof.text
    assert "stock kernels cannot run under it; emulation and User-Mode Linux can" in proof.text


def test_what_fails_is_told_and_a_host_that_is_lost_is_no_answer() -> None:
    proof = judged(1.0, TiltyardError("Invalid argument"))
    assert not proof.usable
    assert "a guest could not be run: Invalid argument" in proof.text
    with pytest.raises(UnreachableError):
        judged(1.0, UnreachableError("no route"))


def test_a_processor_that_machines_get_and_kvm_refuses_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / kvm.QEMU
    program.write_text(
        '#!/bin/sh\ncase "$*" in *"-cpu host"*) echo no register >&2; exit 134; esac'
    )
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    assert kvm.boot_time_s("tcg", 60) < 60
    assert "a guest could not be run: no register" in kvm.judge(kvm.boot_time_s).text


@pytest.mark.skipif(find_program(kvm.QEMU) is None, reason=f"no {kvm.QEMU}")
def test_the_firmware_ends_by_itself_and_a_limit_holds() -> None:
    assert 0.01 < kvm.boot_time_s("tcg", 60) < 60
    with pytest.raises(HostLacksError, match="not done after"):
        kvm.boot_time_s("tcg", 0.01)


def test_the_doctor_tells_what_this_host_proved() -> None:
    check = next(check for check in examine((), lambda: "", Path()) if check.name == "KVM")
    proof = kvm.prove()
    assert check.meaning == proof.text
    assert (check.status == "ok") is proof.usable
    assert not proof.usable or kvm.DEVICE.exists()
