"""``reset = "reboot"`` of the host of the run itself: a guest whose process 1 is systemd boots."""

import contextlib
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from support.hosts import needs_root
from support.patience import wait_until
from support.second_host import ENGINE, HOME, PYTHON_PATH, SecondHost, second_host

pytestmark = [
    needs_root,
    pytest.mark.conformance,
    pytest.mark.skipif(
        not Path("/lib/systemd/systemd").exists(), reason="there is no systemd: apt install systemd"
    ),
]

STUDY = """question = "Does a boot of the host itself go on by itself?"
[factors]
filesystem = ["ext2", "ext4"]
[systems]
reset = "reboot"
backing = { image = "16M" }
[[workload]]
use = "random"
file = "64k"
operations = 20
[precision]
blocks = 6
[noise]
disturbed = "keep"
reference_run = "0%"
"""
FOLDER = HOME / "study"
BOOT = "cat /proc/sys/kernel/random/boot_id"


def told(host: SecondHost, line: str) -> str:
    """What a line of shell prints there; nothing while it boots."""
    with contextlib.suppress(AssertionError, subprocess.TimeoutExpired):
        return host.ask(line)
    return ""


def test_the_run_goes_on_by_itself_after_a_boot() -> None:
    program = ("python3", "-m", "tiltyard")
    own = {
        "PATH": f"{sys.base_prefix}/bin:/usr/sbin:/usr/bin:/sbin:/bin",
        "PYTHONPATH": PYTHON_PATH,
        "TILTYARD_ENGINE": str(ENGINE),
    }
    environment = " ".join(f"{name}={shlex.quote(value)}" for name, value in own.items())
    with second_host(systemd=True) as host:
        assert host.ask("cat /proc/1/comm") == "systemd\n"
        host.ask(f"mkdir {FOLDER} && cat >{FOLDER}/study.toml <<'END'\n{STUDY}END")
        run = shlex.join((*program, "run", str(FOLDER), "--allow-reboot"))
        host.ask(f"{environment} setsid -f {run} >{HOME}/said 2>&1")
        first = host.ask(BOOT)
        journal = f"cat {FOLDER}/journal.jsonl"
        wait_until(lambda: "boot_asked" in told(host, journal), "the boot is asked for", pause_s=2)
        wait_until(lambda: told(host, BOOT) not in ("", first), "it boots", pause_s=2)
        said: list[str] = []

        def has_trial() -> bool:
            said.append(told(host, journal))
            return '"trial_finished"' in said[-1]

        wait_until(has_trial, "a turn after the boot", pause_s=1)
        lines = said[-1].splitlines()
        asked = [line for line in lines if '"boot_asked"' in line]
        assert f'"boot":"{first.strip()}"' in asked[0]
        assert not [line for line in lines if '"outcome":"failed"' in line]
