"""A whole Debian on a disk image, made with debootstrap, booted in emulation, measured in.

Here and on "another host" by ssh. Needs root and Debian's mirrors; some three minutes, and two for
the other host.
"""

import hashlib
import json
import shutil
import subprocess
from pathlib import Path

import pytest

from support.far import Far, here_and_there
from support.hosts import needs_root
from support.looks import find_program
from tiltyard.host.ledger import Ledger
from tiltyard.systems import kind
from tiltyard.systems.kind import Site
from tiltyard.systems.vm.backends.qemu import Emulation
from tiltyard.wire import PROTOCOL, EndEvent, read_events

PACKAGES = ("systemd", "systemd-sysv", "udev", "linux-image-cloud-amd64")
LACKING = [name for name in ("debootstrap", "qemu-img") if find_program(name) is None]
SERVES = "touch up; exec sleep 1000"
TRIALS = {
    "random": {"file": "1M", "operations": 500},
    # One server is there, and none of the trial before.
    "program": {
        "servers": [{"command": ["sh", "-c", SERVES], "ready": {"path": "up"}}],
        "command": ["sh", "-c", "test -e up && test $(grep -lx sleep /proc/*/comm | wc -l) = 1"],
        "executions": 2,
    },
}

pytestmark = [
    pytest.mark.conformance,
    needs_root,
    pytest.mark.skipif(
        bool(LACKING), reason=f"not installed: {' '.join(LACKING)}; make setup-dev installs them"
    ),
    pytest.mark.skipif(
        bool(Emulation().problems("time", 1)), reason="no QEMU that emulates x86-64 on this host"
    ),
]


@pytest.fixture(scope="session")
def debian(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Debian 12 with systemd and a kernel, as qcow2."""
    place = tmp_path_factory.mktemp("debian")
    root, raw, image = place / "root", place / "debian.raw", place / "debian.qcow2"
    included = f"--include={','.join(PACKAGES)}"
    make = ("debootstrap", "--variant=minbase", included, "bookworm", root)
    subprocess.run(make, check=True, stdout=subprocess.DEVNULL)
    mkfs = (str(find_program("mkfs.ext4")), "-q", "-d", root, raw, "1G")
    subprocess.run(mkfs, check=True, capture_output=True)
    shutil.rmtree(root)
    subprocess.run(("qemu-img", "convert", "-O", "qcow2", raw, image), check=True)
    raw.unlink()
    return image


@here_and_there
def test_a_trial_runs_in_an_operating_system_whose_image_stays_as_it_is(
    debian: Path, tmp_path: Path, far: Far
) -> None:
    before = hashlib.sha256(debian.read_bytes()).digest()
    work = tmp_path / "work"
    work.mkdir()
    settings = {"disk": str(debian), "backend": "qemu", "backing": {"image": "64M"}, **far.settings}
    with Ledger() as ledger:
        site = far.site(Site(root=tmp_path, work=work, ledger=ledger))
        system = far.made(kind("vm").system("debian", settings, site))
        assert [p.text for p in system.problems() if p.severity == "error"] == []
        up = system.bring_up()
        assert up.facts["operating system"].startswith("Debian GNU/Linux 12")
        assert up.facts["first process"] == "systemd"
        assert int(up.facts["services"].split()[0]) > 3
        assert up.facts["file system"] == "ext4"
        for workload, parameters in TRIALS.items():
            job = {
                "protocol": PROTOCOL,
                "workload": workload,
                "parameters": parameters,
                "target": {"directory": str(up.target)},
            }
            done = subprocess.run(
                (*up.engine, "run"), input=json.dumps(job).encode(), capture_output=True, check=True
            )
            *_, end = read_events(done.stdout.splitlines())
            assert isinstance(end, EndEvent)
            assert end.data.outcome == "done", end.data.failure
        system.refresh()
        system.take_down()
    assert not list(work.iterdir())
    assert hashlib.sha256(debian.read_bytes()).digest() == before
