"""The quota of CPU time: of hosts that are made of files, and of a real control group."""

import os
import subprocess

import pytest

from support.patience import wait_until
from support.quotas import ENTER, group_with_quota
from tiltyard.host import doctor
from tiltyard.host.record import changes, limits
from tiltyard.host.record.section import ABSENT, Seen
from tiltyard.host.telemetry import Watch

HOST, CONTAINER = "cgroup:[4026531835]", "cgroup:[4026532444]"
V1 = "9:pids:/\n4:cpu,cpuacct:/docker/a\n1:name=systemd:/\n0::/"
DOCKER = {"cpu/cpu.cfs_quota_us": "40000", "cpu/cpu.cfs_period_us": "100000"}
NO_QUOTA = {"cpu/cpu.cfs_quota_us": "-1", "cpu/cpu.cfs_period_us": "100000"}
BELOW = {name.replace("cpu/", "cpu/docker/a/"): text for name, text in NO_QUOTA.items()}
POD = {"kube/pod/cpu.max": "50000 100000", "kube/pod/a/cpu.max": "max 100000"}


def limits_of(own: str, files: dict[str, str], namespace: str = HOST) -> dict[str, str]:
    """What the section tells of a host with these files below /sys/fs/cgroup."""
    there = {f"/sys/fs/cgroup/{name}": text for name, text in files.items()}
    process = {"/proc/self/cgroup": own, "/proc/self/status": "Cpus_allowed_list:\t0-1"}
    links = {"/proc/self/ns/cgroup": f"/proc/7/ns/{namespace}"}
    return limits.SECTION.tell(Seen(process | there, links))


@pytest.mark.parametrize(
    ("own", "files", "namespace", "quota"),
    [
        ("0::/kube/pod/a", POD, HOST, "0.5 of 2 CPUs"),
        ("0::/kube/pod/a", POD | {"kube/pod/a/cpu.max": "20000 100000"}, HOST, "0.2 of 2 CPUs"),
        ("0::/kube/pod/b", {"kube/pod/cpu.max": "max 100000"}, HOST, "none"),
        ("0::/kube", {"kube/cpu.max": "400000 100000"}, HOST, "none below 2 CPUs"),
        ("0::/", {"cpu.max": "max 100000"}, CONTAINER, "none that is visible from inside"),
        ("0::/../b", {"cpu.max": "20000 100000"}, CONTAINER, "0.2 of 2 CPUs"),
        ("1:memory:/\n0::/a", {"unified/a/cpu.max": "150000 100000"}, HOST, "1.5 of 2 CPUs"),
        (V1, DOCKER, HOST, "0.4 of 2 CPUs"),
        (V1, DOCKER | BELOW, HOST, "0.4 of 2 CPUs"),
        (V1, NO_QUOTA | BELOW, HOST, "none"),
        (V1, NO_QUOTA, HOST, "none that is visible from inside"),
        ("0::/", {}, HOST, ABSENT),
    ],
)
def test_the_quota_is_the_least_of_our_group_and_of_all_above_it(
    own: str, files: dict[str, str], namespace: str, quota: str
) -> None:
    assert limits_of(own, files, namespace)["quota of CPU time"] == quota


@pytest.mark.parametrize("quota", ["none", "none that is visible from inside", ABSENT])
def test_a_record_without_a_quota_has_none(quota: str) -> None:
    assert limits.quota_of({"limits": {limits.CPU_QUOTA: quota}}) == limits.quota_of({}) == ""


def test_another_quota_is_a_change_of_the_host() -> None:
    before, now = ({"limits": {"quota of CPU time": text}} for text in ("0.4 of 2 CPUs", "none"))
    told = 'limits: quota of CPU time was "0.4 of 2 CPUs" and is "none"'
    assert changes(before, now) == (told,)


def test_other_limits_of_a_group_above_hold_as_well() -> None:
    files = {"a/memory.max": "2147483648", "a/b/memory.max": "max", "a/b/pids.max": "max"}
    found = limits_of("0::/a/b", files)
    assert (found["memory limit"], found["limit of processes"]) == ("2 GiB", "none")


@pytest.mark.parametrize(
    ("quota", "status", "text"),
    [
        ("0.4 of 2 CPUs", "limited", "the programs of a study may use 0.4 of 2 CPUs: "),
        ("", "ok", ""),
    ],
)
def test_the_doctor_tells_of_a_quota(
    quota: str, status: str, text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(doctor, "cpu_quota", lambda: quota)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1})
    check = doctor._cpus()
    assert check.status == status
    assert text in check.meaning


def test_a_busy_process_uses_a_real_quota_up() -> None:
    """The file system of control groups is the kernel's, not one that a test has made."""
    busy = ("sh", "-c", "echo in; while :; do :; done")
    with (
        group_with_quota() as group,
        subprocess.Popen((*ENTER, group, *busy), stdout=subprocess.PIPE) as process,
    ):
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == b"in\n"
            with Watch(None, servers=lambda: (process.pid,)) as watch:
                told = watch.telemetry
                wait_until(lambda: told().quota_throttled, "nothing was held up")
                wait_until(lambda: told().quota_throttled_s, "nothing was held up for a time")
        finally:
            process.kill()
