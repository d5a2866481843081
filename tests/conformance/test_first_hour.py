"""A stranger's first hour: a clean Debian without a toolchain, the wheel, the README as printed.

Everything happens in a root directory and a mount namespace of its own. The Debian is made by
mmdebstrap(1) from the package sources of this host, and kept in target/ for the next time.
"""

import os
import re
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from release.base import base
from release.python import build_wheel, download_wheels
from release.version import ROOT
from support.hosts import needs_root
from tiltyard.executors.engine import Engine

pytestmark = [pytest.mark.conformance, needs_root]

CACHE: Final = ROOT / "target/release-cache"
FIRST_VERDICT_S: Final = 60
README: Final = (ROOT / "README.md").read_text()
COMMANDS: Final = [
    line.partition("  #")[0].strip()
    for block in re.findall(r"```console\n(.*?)```", README, re.S)
    for line in re.findall(r"^\$ (tiltyard .+)$", block, re.M)
    if not re.search(r"/by-id/|@srv1|\.uml|scheduler=", line)
][:10]
"""Those that need no second disk, host or kernel, as printed."""
TABLE: Final = r"(?m)^ .*\brelative to \S.* (95 % CI|interval) +verdict *$"
DECIDED: Final = r"\b(faster|slower|better|worse|equivalent|undecided)\b"
FORMS: Final = {
    "doctor": [r"(?m)^\w"],
    "compare": [TABLE, DECIDED, r"(?m)^Report +\S+/report/index\.html$"],
    "gate": [r"\b(no regression|regression|undecided)\b"],
    "recommend": [r"database"],
    "new": [r"spool/study\.toml"],
}
"""Verb → what its output must have."""
PREPARED: Final = """
mkdir -p tree && for n in $(seq 200); do seq $n 2000 | sed s/7$/foo/ >tree/$n; done
for rg in rg-13 rg-14; do printf '#!/bin/sh\\nexec grep -r "$@"\\n' >$rg; done
for build in base head; do printf '#!/bin/sh\\nseq 50000 | sha256sum\\n' >$build; done
chmod +x rg-13 rg-14 base head
printf '[mail]\\nrw=randwrite\\nsize=16m\\nbs=4k\\nfsync=8\\nnumber_ios=400\\n' >mail.fio
seq 300000 | sort -R --random-source=/dev/zero >big
mkdir -p /mnt/old /mnt/new
"""
"""What the README's lines take for given."""


class Debian:
    """A root directory in which commands are executed, without the clone and the toolchain."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def run(self, command: str, path: str = "") -> subprocess.CompletedProcess[str]:
        """Execute a shell command in /work; mounts are gone with it."""
        root = shlex.quote(str(self.root))
        mounts = (
            f"mount --bind {root} {root}",
            f"mount --rbind /dev {root}/dev",
            f"mount --rbind /sys {root}/sys",
            f"mount -t proc proc {root}/proc",
        )
        inside = 'cd /work && eval "$1"'
        script = f"{' && '.join(mounts)} && exec chroot {root} sh -c '{inside}' sh \"$1\""
        environment = {
            "PATH": f"{path}/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
            "HOME": "/root", "EDITOR": "true", "LANG": "C.UTF-8",
        }  # fmt: skip
        return subprocess.run(
            ("unshare", "--mount", "--propagation", "private", "sh", "-ec", script, "sh", command),
            env=environment, check=False, capture_output=True, text=True,
        )  # fmt: skip


@pytest.fixture(scope="module")
def debian(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Debian]:
    """A clean Debian with the wheel, the wheels that it needs, and what the README names."""
    root = tmp_path_factory.mktemp("debian")
    archive = base(CACHE, ["fio"])
    subprocess.run(("tar", "-xf", archive, "-C", root, "--exclude=./dev/*"), check=True)
    machine = os.uname().machine
    download_wheels(machine, CACHE / f"wheels-{machine}")
    shutil.copytree(CACHE / f"wheels-{machine}", root / "wheels")
    (root / "work").mkdir()
    build_wheel(Engine.find().path, root / "work")
    made = Debian(root)
    prepared = made.run(PREPARED)
    assert prepared.returncode == 0, prepared.stderr
    yield made
    shutil.rmtree(root)


@pytest.fixture(scope="module")
def first_verdict(debian: Debian) -> list[tuple[str, float, float]]:
    """The parts from the wheel to the first verdict: name, wall time and CPU time in seconds."""
    assert debian.run("command -v cargo rustc cc gcc make git").stdout == ""
    parts = []
    for name, command in (
        ("venv", "python3 -m venv /venv"),
        ("pip", "/venv/bin/pip install --quiet --no-index --find-links /wheels ./tiltyard-*.whl"),
        ("compare", "/venv/bin/tiltyard compare -c a='sleep 0.01' -c b='sleep 0.03'"),
    ):
        before, cpu_before = time.monotonic(), os.times()
        done = debian.run(command)
        cpu = os.times()
        assert done.returncode == 0, done.stdout + done.stderr
        cpu_s = cpu.children_user + cpu.children_system
        cpu_s -= cpu_before.children_user + cpu_before.children_system
        parts.append((name, time.monotonic() - before, cpu_s))
    assert re.search(r"(?m)^ *b .*\bslower(, under load)? *$", done.stdout), done.stdout
    return parts


def test_from_the_wheel_to_the_first_verdict_in_a_minute(
    first_verdict: list[tuple[str, float, float]], capsys: pytest.CaptureFixture[str]
) -> None:
    total = ("wheel to first verdict", *(sum(part[i] for part in first_verdict) for i in (1, 2)))
    with capsys.disabled():
        for name, wall_s, cpu_s in (*first_verdict, total):
            sys.stdout.write(f"\n{name}: {wall_s:.1f} s, of CPU time {cpu_s:.1f} s")
    assert total[1] <= FIRST_VERDICT_S


def test_the_readme_shows_ten_commands() -> None:
    assert len(COMMANDS) == 10
    assert {command.split()[1] for command in COMMANDS} <= FORMS.keys()


@pytest.mark.usefixtures("first_verdict")
@pytest.mark.parametrize("command", COMMANDS)
def test_the_readme_does_what_it_shows(
    debian: Debian, command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    before = time.monotonic()
    done = debian.run(command, path="/venv/bin:")
    with capsys.disabled():
        sys.stdout.write(f"\n{time.monotonic() - before:.1f} s: {command}")
    verb = command.split()[1]
    # An A/A gate of two equal builds on a busy host may stay undecided: code 6.
    assert done.returncode in ((0, 6) if verb == "gate" else (0,)), done.stdout + done.stderr
    for form in FORMS[verb]:
        assert re.search(form, done.stdout, re.M), f"{form}:\n{done.stdout}{done.stderr}"
