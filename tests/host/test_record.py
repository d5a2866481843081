"""The system record: what is read, and what is made of it."""

import fnmatch
import os
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from support.sshd import sshd
from support.told import MKFS, SERVER
from tiltyard.executors.engine import Engine
from tiltyard.host.place import Place
from tiltyard.host.record import SECTIONS, Record, RecordRequest, changed, changes, take
from tiltyard.host.record.section import ABSENT, Seen

SUBJECT = RecordRequest(Path("/srv/study"), (MKFS,), {"tiltyard": "1.2"})


def told(seen: Seen, subject: RecordRequest = SUBJECT) -> Record:
    return {section.name: section.tell(replace(seen, subject=subject)) for section in SECTIONS}


def test_a_host_that_tells_nothing_has_a_record_all_the_same() -> None:
    record = told(Seen())
    assert list(record) == [section.name for section in SECTIONS]
    assert all(facts for facts in record.values())
    assert all(value.startswith(ABSENT) for value in record["machine"].values())
    why = f"{ABSENT}, because the kernel shows no DMI tables of this machine"
    assert record["memory"]["modules"] == why


@pytest.mark.parametrize(
    ("section", "fact", "value"),
    [
        ("machine", "model", "PowerEdge R720xd"),
        ("machine", "mainboard", "Dell Inc. 0M1GCR"),
        ("machine", "firmware", "Dell Inc. 1.5.1"),
        ("machine", "power supplies", "1 × Dell E1100E-S0 1100 W"),
        ("processor", "model", "Intel(R) Xeon(R) CPU E5-2660 0 @ 2.20GHz"),
        ("processor", "family, model, stepping", "6, 45, 6"),
        ("processor", "packages", "2"),
        ("processor", "cores", "2"),
        ("processor", "hardware threads per core", "2"),
        ("processor", "L3 cache", "20480K per 2 CPUs"),
        ("processor", "socket", "2 × Socket LGA2011"),
        ("processor", "external clock", "2 × 100 MHz"),
        ("processor", "frequency governor", "performance on 1 CPUs, powersave on 1 CPUs"),
        ("processor", "turbo", "on"),
        ("memory", "modules", "2 × 2 GB DDR3 Qimonda IMSH2GE13A1F1CT13H 2"),
        ("memory", "speed they run at", "2 × 1333 MT/s"),
        ("memory", "swap on", "/dev/sdb2 partition"),
        ("NUMA", "node0", "CPUs 0,2, distances 10 20"),
        ("disks", "sda: model", "MBF2600RC"),
        ("disks", "sda: firmware", "D903"),
        ("disks", "sda: reached by", "SAS"),
        ("disks", "sda: speed of rotation", "10520/min"),
        ("disks", "sda: scheduler", "mq-deadline"),
        ("disks", "sda: write cache of the drive", "off"),
        ("disks", "sdb: write cache of the drive", "off"),
        ("disks", "sdb: buffer", "65536 KBytes"),
        ("disks", "nvme0n1: write cache of the drive", "on"),
        ("disks", "sda: study folder is on it", "yes"),
        ("disks", "nvme0n1: reached by", "NVMe"),
        ("file system of the study folder", "file system", "xfs"),
        (
            "file system of the study folder",
            "lies on",
            "mapped device vg-work, disk nvme0n1, partition, disk sda",
        ),
        ("network", "em1: firmware", "1.63, 0x800009fa"),
        ("network", "em1: ring sizes", "RX 256, TX 256"),
        ("network", "em1: speed", "1000 Mbit/s"),
        ("controllers", "storage", "Dell MegaRAID SAS 2208 rev 05, 8086:0953"),
        (
            "controllers",
            "PCI Express links",
            "0000:02:00.0 5.0 GT/s x8, 0000:04:00.0 8.0 GT/s x2 (could 8.0 GT/s x4) "
            "behind 0000:03:08.0 2.5 GT/s x4",
        ),
        ("controllers", "volumes of RAID controllers", "0/0 RAID1 Optl, cache RWBD"),
        (
            "file system of the study folder",
            "software RAID",
            "md0 : active raid5 sdd[2] sdc[1] sde[0], chunk size 524288, consistency policy bitmap",
        ),
        ("firmware settings", "secure boot", "on"),
        ("firmware settings", "LogicalProc", "Enabled"),
        ("interrupts", "em1-TxRx", "2 on CPUs 0 | 1"),
        ("interrupts", "nvme0", "1 on CPUs 0-3"),
        ("interrupts", "served now by", "CPUs 0: 2, CPUs 1: 1"),
        ("network", "em1: queues by flow (RSS)", "0: 5, 1: 3"),
        ("network", "em1: CPUs that take packets (RPS)", "queue 0: 00,0000000c"),
        ("network", "em1: CPUs that send (XPS)", "not set"),
        ("distribution", "SELinux", "permissive"),
        ("distribution", "name", "Red Hat Enterprise Linux 6.4"),
        ("kernel", "tainted", "proprietary module, module from outside the tree"),
        ("kernel", "modules", "2, of which taint: nvidia (POE)"),
        ("kernel parameters", "vm.swappiness", "10 (default 60, set by 10-tune.conf)"),
        ("kernel parameters", "vm.dirty_ratio", "40 (default 20)"),
        ("kernel parameters", "set by files", "net.ipv4.tcp_sack by 10-tune.conf"),
        ("virtualisation", "hypervisor", "none seen"),
        ("virtualisation", "stolen since the start", "10 %"),
        ("limits", "memory limit", "2 GiB"),
        ("limits", "limit of processes", "none"),
        ("limits", "quota of CPU time", "1.5 of 4 CPUs"),
        ("limits", "CPUs that we may use", "0-3"),
        ("versions", "mkfs.xfs", "mkfs.xfs version 6.1.0"),
        ("versions", "tiltyard", "1.2"),
    ],
)
def test_a_server_tells(section: str, fact: str, value: str) -> None:
    assert told(SERVER)[section][fact] == value


def test_only_what_differs_from_the_default_is_told() -> None:
    facts = told(SERVER)["kernel parameters"]
    assert facts["compared with the kernel's defaults"].startswith("6 of ")
    assert not {"net.core.somaxconn", "net.ipv4.tcp_rmem", "vm.min_free_kbytes"} & facts.keys()
    older = {**SERVER.files, "/proc/sys/kernel/osrelease": "4.19.0"}
    facts = told(Seen(older, SERVER.links, SERVER.answers))["kernel parameters"]
    assert facts["net.core.somaxconn"] == "4096 (default 128)"


def test_what_says_whose_machine_it_is_is_not_recorded() -> None:
    record = told(SERVER)
    everything = str(record)
    assert not [word for word in ("0BADCAFE", "123-456", "luks.uuid=9") if word in everything]
    assert record["kernel"]["command line"] == (
        "BOOT_IMAGE=/vmlinuz root=… mitigations=off rd.luks.uuid=… quiet"
    )


KDAMOND = "/sys/kernel/mm/damon/admin/kdamonds/0"
SCHEME = f"{KDAMOND}/contexts/0/schemes/0/action"
RECLAIM = "/sys/module/damon_reclaim/parameters/enabled"


@pytest.mark.parametrize(
    ("files", "said"),
    [
        ({}, "no"),
        ({RECLAIM: "N"}, "no"),
        ({RECLAIM: "Y"}, "DAMON_RECLAIM"),
        ({f"{KDAMOND}/state": "on", SCHEME: "pageout"}, "pageout"),
        ({f"{KDAMOND}/state": "on", SCHEME: "stat"}, "no"),
        ({f"{KDAMOND}/state": "off", SCHEME: "pageout"}, "no"),
        ({f"{KDAMOND}/state": "on", SCHEME: "cold", RECLAIM: "Y"}, "DAMON_RECLAIM, cold"),
    ],
)
def test_a_kernel_that_reclaims_all_the_time_says_so(files: dict[str, str], said: str) -> None:
    seen = Seen({**SERVER.files, **files}, {**SERVER.links, KDAMOND: KDAMOND})
    assert told(seen)["memory"]["reclaimed while there is enough (DAMON)"] == said


def test_a_directory_in_memory_lies_on_no_disk() -> None:
    record = told(SERVER, RecordRequest(Path("/memory")))
    assert record["file system of the study folder"]["lies on"] == "no block device"
    assert record["disks"]["sda: study folder is on it"] == "no"


def test_this_host(tmp_path: Path) -> None:
    record = take(RecordRequest(tmp_path))
    assert record["kernel"]["release"] == os.uname().release
    assert record["versions"]["mount"].startswith("mount from util-linux")
    values = [value for facts in record.values() for value in facts.values()]
    assert all(value and "\n" not in value for value in values)


ACTING = (
    "*/hot_add", "*/hot_remove", "*/debug/*", "*/debugfs/*", "*/tracing/*", "*/trigger*", "*/kmsg",
    "*/uevent", "*/reset", "*/remove", "*/rescan", "/dev/*", "*/drop_caches", "*/compact",
    "*/compact_memory",
)  # fmt: skip


def test_nothing_is_listed_that_acts_when_it_is_read() -> None:
    listed = [pattern for section in SECTIONS for pattern in section.files]
    assert not [
        (listing, acting)
        for listing in listed
        for acting in ACTING
        if fnmatch.fnmatch(listing, acting) or fnmatch.fnmatch(acting.replace("*", "x"), listing)
    ]


OPENED = re.compile(r'open(?:at)?\((?:[^"]*)"([^"]+)", ([A-Z_|]+)')
TAKES = """
from pathlib import Path
from tiltyard.host.record import RecordRequest, take
take(RecordRequest(Path("/tmp")))
"""


def test_no_file_is_opened_that_is_not_listed(tmp_path: Path) -> None:
    trace, engine = tmp_path / "trace", tmp_path / "engine"
    traced = f"strace -o {trace} -e trace=open,openat {Engine.find().path}"
    engine.write_text(f'#!/bin/sh\nexec {traced} "$@"\n')
    engine.chmod(0o755)
    subprocess.run(
        [sys.executable, "-c", TAKES],
        check=True,
        env={
            **os.environ,
            "PYTHONPATH": ":".join(sys.path),
            "TILTYARD_ENGINE": str(engine),
        },
    )
    opened = {
        path
        for path, flags in OPENED.findall(trace.read_text())
        if path.startswith(("/sys/", "/proc/", "/dev/", "/etc/")) and "O_DIRECTORY" not in flags
    }
    listed = [pattern for section in SECTIONS for pattern in section.files]
    assert "/proc/meminfo" in opened
    ours = {
        path
        for path in opened
        if not any(
            # A star stands for a part of one name, never for a slash.
            fnmatch.fnmatch(path, pattern) and path.count("/") == pattern.count("/")
            for pattern in listed
        )
    }
    limits = {name for section in SECTIONS for name in section.limits}
    ours -= {
        path for path in ours if path.startswith("/sys/fs/cgroup/") and Path(path).name in limits
    }
    # The standard input of a command; which boot this is; the stack of a process that begins.
    ours -= {"/dev/null", "/proc/sys/kernel/random/boot_id", "/proc/self/maps"}
    assert not ours


def test_changes_between_two_records() -> None:
    before = told(SERVER)
    now = told(
        Seen(
            {
                **SERVER.files,
                "/proc/meminfo": "MemTotal: 8388608 kB\nMemAvailable: 1 kB",
                "/proc/sys/kernel/osrelease": "6.1.0-2",
            },
            SERVER.links,
            SERVER.answers,
        )
    )
    said = changes(before, now)
    assert 'kernel: release was "6.1.0-1" and is "6.1.0-2"' in said
    assert 'memory: size was "16 GiB" and is "8 GiB"' in said
    assert not [line for line in said if "available at start" in line]
    assert changes({}, now) == ()
    irqs = {**SERVER.files, "/proc/irq/45/smp_affinity_list": "1"}
    moved = told(Seen(irqs, SERVER.links, SERVER.answers))
    said = 'interrupts: em1-TxRx was "2 on CPUs 0 | 1" and is "2 on CPUs 1"'
    assert changes(before, moved) == (said,)
    balanced = {**SERVER.links, "/run/irqbalance": "/run/irqbalance"}
    begun = told(Seen(irqs, balanced, SERVER.answers))
    said = 'interrupts: moved by was "nobody" and is "irqbalance"'
    assert changes(before, begun) == (said,)
    assert changes(begun, told(Seen(SERVER.files, balanced, SERVER.answers))) == ()
    assert changes(before, before) == ()


def test_another_host_tells_the_same(tmp_path: Path) -> None:
    subject = RecordRequest(Path("/"), (MKFS,))
    volatile = {(one.name, fact) for one in SECTIONS for fact in one.volatile}
    with sshd(tmp_path / "server") as server:
        place = Place(server.address)
        here, there = take(subject), take(subject, place)
    differing = {
        (section, fact)
        for section, facts in here.items()
        for fact, value in facts.items()
        if there[section].get(fact) != value
    }
    # The limits of a process are its own, and other tests set kernel parameters meanwhile.
    own = ("limits", "kernel parameters")
    assert not {one for one in differing - volatile if one[0] not in own}
    assert "set by files" in there["kernel parameters"]


def test_what_a_hypervisor_left_a_node_of_memory_is_no_difference() -> None:
    """It takes memory and gives it back while a guest runs; the layout of nodes is a fact."""

    def record(memory: str, distances: str) -> dict[str, dict[str, str]]:
        facts = {"node0": f"CPUs 0-1, distances {distances}", "memory of each node": memory}
        return {"NUMA": facts}

    assert list(changed(record("node0 9.588 GiB", "10"), record("node0 11.84 GiB", "10"))) == []
    (found,) = changed(record("node0 8 GiB", "10"), record("node0 8 GiB", "20"))
    assert found[:2] == ("NUMA", "node0")
