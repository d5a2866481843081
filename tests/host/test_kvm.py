"""KVM is proven by speed: by figures, by programs that misbehave, and on this host."""

import json
import sys
from pathlib import Path

import pytest

from tiltyard.host import kvm
from tiltyard.host.doctor import examine
from tiltyard.host.kvm_loop import native_rate


@pytest.mark.parametrize(("slower", "usable"), [(0.9, True), (1.2, True), (9, True), (11, False)])
def test_usable_is_what_is_near_native(slower: float, usable: bool) -> None:
    assert kvm.judge(1e9, 1e9 / slower).usable is usable


def test_an_emulated_guest_is_told_with_its_factor() -> None:
    proof = kvm.judge(2.9e9, 1.1e6)
    assert not proof.usable
    assert "guest kernel code runs 2,636 times slower than native" in proof.text
    assert "stock kernels cannot run under it; emulation and User-Mode Linux can" in proof.text


def program(text: str) -> tuple[str, ...]:
    return (sys.executable, "-c", text)


def test_a_guest_that_hangs_is_killed_and_told() -> None:
    proof = kvm.prove_by(program("import time; time.sleep(600)"), time_limit_s=0.2)
    assert not proof.usable
    assert "did not end within 0.2 s" in proof.text


def test_a_refused_call_is_told() -> None:
    proof = kvm.prove_by(program("raise OSError(22, 'Invalid argument')"))
    assert not proof.usable
    assert "OSError: [Errno 22] Invalid argument" in proof.text


def test_rates_are_read_from_what_the_program_prints() -> None:
    rates = json.dumps({"native": 2e9, "guest": 1.9e9})
    assert kvm.prove_by(program(f"print('{rates}')")).usable


def test_the_native_loop_takes_its_turns() -> None:
    assert 1e6 < native_rate() < 1e11


def test_the_doctor_tells_what_this_host_proved() -> None:
    check = next(check for check in examine((), lambda: "", Path()) if check.name == "KVM")
    proof = kvm.prove()
    assert check.meaning == proof.text
    assert (check.status == "ok") is proof.usable
    assert not proof.usable or kvm.DEVICE.exists()
