"""The noise limits: what disturbs a block, what does not, and that no result can."""

import math
from dataclasses import fields
from typing import Any

import numpy as np
import pytest
from msgspec.structs import replace
from pydantic import BaseModel

from support.runs import NOISE_LIMITS
from support.synthetic import synthetic_study
from tiltyard.analysis.order import foreign_share, steal_share
from tiltyard.host.telemetry import Telemetry
from tiltyard.plan.model import Plan, TrialKey
from tiltyard.run.history import History
from tiltyard.run.journal import TrialFinished
from tiltyard.run.noise_limits import (
    Evidence,
    check_block,
    check_evidence,
    evidence_of,
    level_of,
    told_level,
)
from tiltyard.run.record import Reason, TrialRecord, out_of_the_usual, told_briefly
from tiltyard.run.samples import Samples

QUIET = Telemetry(elapsed_s=3.3, own_bytes=10**8, foreign_bytes=0, clock_sources=("tsc",))


def trial(
    system: str = "ext4",
    *,
    elapsed_s: float = 2.0,
    foreign_s: float = 0.0,
    steal_s: float | None = None,
    **seen: object,
) -> Evidence:
    """A trial on a host that is quiet but for what is said."""
    telemetry = QUIET.model_copy(update={"elapsed_s": elapsed_s, **seen})
    key = TrialKey(block=1, system=system, workload="postmark")
    return Evidence(key, elapsed_s, foreign_s, steal_s, telemetry)


def reasons(*block: Evidence) -> list[Reason]:
    return list(check_evidence(block, NOISE_LIMITS))


def test_a_quiet_block_passes() -> None:
    assert reasons(trial(), trial("xfs", steal_s=0.0, swapped_pages=0, throttled=0)) == []


def test_what_a_host_does_not_tell_disturbs_nothing() -> None:
    nothing = Evidence(trial().key, 2.0, 0.0, None, Telemetry(elapsed_s=2.0))
    assert reasons(nothing) == []


DISTURBING: list[tuple[dict[str, Any], str, str]] = [
    (
        {"foreign_s": 0.1},
        "foreign_cpu",
        "other processes used 5 % of a core (limit 3 %) while postmark ran on ext4",
    ),
    (
        {"steal_s": 0.05},
        "steal",
        "the hypervisor took 2.5 % of a core (limit 1 %) while postmark ran on ext4",
    ),
    (
        {"foreign_s": 0.1, "cpus": (1,)},
        "foreign_cpu",
        "other processes used 5 % of CPU 1 (limit 3 %) while postmark ran on ext4",
    ),
    (
        {"foreign_waits_s": {"cpu": 0.01, "io": 0.2, "memory": 0.0}},
        "pressure",
        "tasks of others waited for a disk in 10 % of the time (limit 2 %) while postmark ran on "
        "ext4",
    ),
    (
        {"own_bytes": 2**30, "foreign_bytes": 2**26},
        "foreign_io",
        "others moved 64 MiB on the disk beside 1 GiB of ours (limit 20.48 MiB) while postmark ran "
        "on ext4",
    ),
    ({"swapped_pages": 1}, "swap", "1 page swapped in or out (limit 0) while postmark ran on ext4"),
    (
        {"throttled": 2},
        "throttled",
        "CPUs throttled for heat 2 times (limit 0) while postmark ran on ext4",
    ),
    (
        {"clock_step_s": -0.0021},
        "clock",
        "the time of day was set by -2.1 ms (limit 1 ms) while postmark ran on ext4",
    ),
    (
        {"clock_sources": ("hpet", "tsc")},
        "clock",
        "the kernel changed its clock: hpet, tsc (limit: no change) while postmark ran on ext4",
    ),
    (
        {"kernel_errors": ("I/O error, dev vda",)},
        "kernel",
        'the kernel reported errors, the first "I/O error, dev vda" (limit 0), while postmark ran '
        "on ext4",
    ),
]


@pytest.mark.parametrize(
    ("seen", "signal", "text"), DISTURBING, ids=[signal for _, signal, _ in DISTURBING]
)
def test_a_signal_beyond_its_limit(seen: dict[str, Any], signal: str, text: str) -> None:
    (found,) = reasons(trial(**seen))
    assert (found.signal, found.system, found.workload) == (signal, "ext4", "postmark")
    assert found.text == text
    assert found.value > found.limit
    assert math.isfinite(found.value)


def test_a_quota_that_some_trials_use_up_disturbs() -> None:
    free, held = trial("a", quota_throttled=0), trial("b", quota_throttled=2)
    (found,) = reasons(free, held)
    assert (found.signal, found.system, found.value, found.limit) == ("quota", "b", 2.0, 0.0)
    assert found.text == (
        "a quota of CPU time was used up 2 times (limit 0) while postmark ran on b"
    )
    assert told_briefly((found,)) == found.text


def test_a_quota_that_every_trial_uses_up_is_what_is_measured() -> None:
    """Each host has its own; what is not known is no trial that used it up."""
    both = [trial(name, quota_throttled=2) for name in "ab"]
    assert reasons(*both) == []
    there = trial("b", host="sut", quota_throttled=0)
    assert reasons(*both, there) == []
    assert {found.system for found in reasons(*both, trial("c"))} == {"a", "b"}
    earlier = [QUIET.model_copy(update={"quota_throttled": 0})]
    assert {found.signal for found in check_evidence(both, NOISE_LIMITS, earlier)} == {"quota"}
    assert list(check_evidence(both, NOISE_LIMITS, [both[0].telemetry])) == []


def test_all_trials_so_far_tell_whether_a_quota_is_always_used_up() -> None:
    _, run = synthetic_study(blocks=2)
    plan = synthetic_study(blocks=2)[0].model_copy(update={"noise_limits": NOISE_LIMITS})
    held = QUIET.model_copy(update={"quota_throttled": 1})
    block = [one.model_copy(update={"telemetry": held}) for one in run.trials if one.key.block == 2]
    for before, outcome, noise_limits in (
        (held, "done", set()),
        (QUIET, "done", {"quota"}),
        (QUIET, "failed", set()),
    ):
        history = History(())
        for one in run.trials:
            if one.key.block == 1:
                history.finished[one.key] = TrialFinished(
                    key=one.key, slot=0, started="", elapsed_s=1.0, outcome=outcome, reason=None,
                    file="", sha256="", telemetry=before,
                )  # fmt: skip
        assert {found.signal for found in check_block(history, plan, 2, block)} == noise_limits


def test_others_count_on_the_cpus_that_measure() -> None:
    """Whatever they do elsewhere, as far as the host tells one from the other."""
    _, run = synthetic_study()
    elsewhere = with_others(run.trials[0], 0.9, 0.8)
    assert list(evidence_of(elsewhere))
    for external_s, steal_s in ((0.0, 0.0), (0.4, 0.3)):
        telemetry = Telemetry(
            elapsed_s=2.0, cpus=(1,), external_s=external_s, external_steal_s=steal_s
        )
        known = elsewhere.model_copy(update={"telemetry": telemetry})
        (found,) = evidence_of(known)
        assert (found.foreign_s, found.steal_s, found.elapsed_s) == (external_s, steal_s, 2.0)
        assert (foreign_share(known), steal_share(known)) == (external_s / 2, steal_s / 2)


def with_others(trial: TrialRecord, foreign_s: float, steal_s: float) -> TrialRecord:
    """A trial whose engine saw others on the whole host."""
    assert trial.end is not None
    usage = trial.end.usage.model_copy(update={"foreign_s": foreign_s, "steal_s": steal_s})
    return trial.model_copy(update={"end": trial.end.model_copy(update={"usage": usage})})


@pytest.mark.parametrize(
    "seen",
    [
        {"elapsed_s": 0.05, "foreign_s": 0.03},
        {"elapsed_s": 0.05, "steal_s": 0.03},
        {"elapsed_s": 0.05, "foreign_waits_s": {"cpu": 0.02, "io": 0.0, "memory": 0.0}},
        {"own_bytes": 0, "foreign_bytes": 2**20},
        {"own_bytes": 0, "foreign_bytes": 2**21, "elapsed_s": 3.0},
        {"clock_step_s": 0.0009},
    ],
)
def test_what_counters_cannot_resolve_disturbs_nothing(seen: dict[str, Any]) -> None:
    assert reasons(trial(**seen)) == []


def test_hosts_are_not_held_against_each_other() -> None:
    """Each has sensors, and frequencies, of its own."""
    sensor = "coretemp Package id 0"
    here = [trial(one, frequency=1.5, temperatures_c={sensor: 40.0}) for one in "ab"]
    there = trial("c", host="sut", frequency=1.1, temperatures_c={sensor: 70.0})
    assert list(check_evidence([*here, there], NOISE_LIMITS)) == []
    warmer = trial("d", host="sut", frequency=1.2, temperatures_c={sensor: 80.0})
    found = list(check_evidence([*here, there, warmer], NOISE_LIMITS))
    assert {(one.signal, one.system) for one in found if one.signal == "temperature_k"} == {
        ("temperature_k", "d")
    }
    assert {one.system for one in found if one.signal == "frequency"} == {"c", "d"}


def test_frequency_is_held_against_the_same_workload_of_the_block() -> None:
    block = [trial("a", frequency=1.50), trial("b", frequency=1.50), trial("c", frequency=1.45)]
    (found,) = reasons(*block)
    assert (found.signal, found.system) == ("frequency", "c")
    assert found.text.startswith("the CPUs' mean frequency was -3.3 % off the median of its block")


def test_heat_is_held_against_the_coolest_moment_of_the_block() -> None:
    disk, package = "nvme (hwmon1)", "x86_pkg_temp (thermal_zone0)"
    cool = trial("a", temperatures_c={disk: 41.0, package: 50.0})
    warm = trial("b", temperatures_c={disk: 47.5, package: 53.0})
    (found,) = reasons(warm, cool)
    assert (found.signal, found.system, found.value) == ("temperature_k", "b", 6.5)
    assert found.text.startswith("nvme (hwmon1) was 6.5 K warmer")


def test_a_clock_that_changed_between_trials_disturbs_too() -> None:
    (found,) = reasons(trial("a"), trial("b", clock_sources=("hpet",)))
    assert (found.signal, found.system) == ("clock", "b")


def test_each_host_has_a_clock_of_its_own() -> None:
    there = {"host": "user@there", "clock_sources": ("hpet",)}
    assert reasons(trial("a"), trial("b", **there), trial("c"), trial("b", **there)) == []


def block_of(**kind: object) -> tuple[Plan, list[TrialRecord]]:
    """A block in which others were busy, with its plan."""
    plan, run = synthetic_study(blocks=1, foreign_share=0.2, **kind)  # type: ignore[arg-type]
    return plan.model_copy(update={"noise_limits": NOISE_LIMITS}), list(run.trials)


def check(plan: Plan, records: list[TrialRecord]) -> tuple[Reason, ...]:
    return check_block(History(()), plan, 1, records)


def test_a_failed_trial_is_failed_and_not_disturbed() -> None:
    _, records = block_of()
    plan, failed = block_of(failed=[record.key for record in records[:2]])
    assert {reason.system for reason in check(plan, failed)} == {records[2].key.system}


def test_a_plan_without_noise_limits_disturbs_nothing() -> None:
    plan, records = block_of()
    assert check(plan.model_copy(update={"noise_limits": None}), records) == ()


@pytest.mark.parametrize(("before", "is_usual"), [(0.11, True), (0.09, False), (0.0, False)])
def test_what_others_do_all_the_time_calls_for_no_replacement(
    before: float, is_usual: bool
) -> None:
    """Up to twice what they did before the first block; here it is 0.2 of a CPU."""
    plan, records = block_of()
    history = History(())
    history.usual = {"foreign_cpu": before}
    found = check_block(history, plan, 1, records)
    assert [reason.usual for reason in found] == [is_usual] * 3
    assert out_of_the_usual({1: found}) == (set() if is_usual else {1})


def test_a_busy_host_is_told_before_the_first_block() -> None:
    busy = Telemetry(
        elapsed_s=2.0,
        external_s=0.8,
        external_steal_s=0.0,
        foreign_waits_s={"cpu": 0.6, "io": 0.2},
    )
    shares = level_of(busy)
    assert shares == {"foreign_cpu": pytest.approx(0.4), "pressure": pytest.approx(0.3)}
    told = told_level(shares, NOISE_LIMITS)
    assert "other processes use 40 % of a CPU; tasks of others wait in 30 % of the time" in told
    assert told_level(level_of(QUIET), NOISE_LIMITS) == ""


def test_no_result_changes_a_reason() -> None:
    plan, records = block_of()
    rng = np.random.default_rng(3)
    expected = check(plan, records)
    assert len(expected) == 3
    for factor in rng.lognormal(0, 3, 20):
        changed = [
            record.model_copy(
                update={
                    "samples": Samples.of(
                        replace(sample, value=sample.value * factor)
                        for sample in record.samples[:: rng.integers(1, 3)]
                    ),
                    "intervals": (),
                    "warnings": (),
                }
            )
            for record in records
        ]
        assert check(plan, changed) == expected


def test_what_serves_the_system_is_no_stranger() -> None:
    _, (record, *_) = block_of()
    assert record.end is not None
    usage = record.end.usage.model_copy(update={"foreign_s": 1.5})
    end = record.end.model_copy(update={"usage": usage})

    def foreign_s(servers_s: float | None) -> float:
        telemetry = Telemetry(elapsed_s=3.2, servers_s=servers_s)
        given = record.model_copy(update={"end": end, "telemetry": telemetry})
        (seen,) = evidence_of(given)
        assert seen.foreign_s is not None
        return seen.foreign_s

    assert [foreign_s(used_s) for used_s in (None, 0.0, 1.25, 2.0)] == [1.5, 1.5, 0.25, 0.0]


def test_what_was_counted_while_a_guest_was_emulated_is_shared_out_over_this_hosts_time() -> None:
    """The guest's clock had seen 0.372 s, this host's 0.897 s, and others had used 0.859 s."""
    _, (record, *_) = block_of()
    assert record.end is not None
    usage = record.end.usage.model_copy(update={"foreign_s": 1.749, "steal_s": 0.1})
    end = record.end.model_copy(update={"elapsed_s": 0.372, "usage": usage})
    telemetry = QUIET.model_copy(update={"elapsed_s": 0.897, "servers_s": 0.89})
    guest = record.model_copy(update={"end": end, "telemetry": telemetry})
    (seen,) = evidence_of(guest)
    texts = {reason.signal: reason.text for reason in reasons(seen)}
    assert texts["foreign_cpu"].startswith("other processes used 95.8 % of a core")
    assert texts["steal"].startswith("the hypervisor took 11.1 % of a core")
    assert foreign_share(guest) == pytest.approx(0.859 / 0.897)
    assert steal_share(guest) == pytest.approx(0.1 / 0.897)


def test_another_host_counts_over_the_time_that_its_engine_tells() -> None:
    _, (record, *_) = block_of()
    assert record.end is not None
    telemetry = Telemetry(elapsed_s=100.0, host="user@there")
    assert record.model_copy(update={"telemetry": telemetry}).watched_s == record.end.elapsed_s
    of_guest = telemetry.model_copy(update={"servers_s": 3.0})
    assert record.model_copy(update={"telemetry": of_guest}).watched_s == 100.0


def test_the_host_of_a_server_has_the_same_limits_and_is_named() -> None:
    """Its own clock, frequency and heat are held against its own; it is as quiet as this one."""
    _, (record, *_) = block_of()
    server = Telemetry(
        host="bench@sut", elapsed_s=2.0, external_s=0.5, external_steal_s=0.1,
        foreign_waits_s={"io": 0.3}, swapped_pages=3, throttled=1, clock_sources=("hpet",),
        kernel_errors=("I/O error",), servers_s=1.0,
    )  # fmt: skip
    here = QUIET.model_copy(update={"others": (server,)})
    both = list(evidence_of(record.model_copy(update={"telemetry": here})))
    assert [each.telemetry.host for each in both] == ["", "bench@sut"]
    found = reasons(trial(), both[1])
    assert {reason.host for reason in found} == {"bench@sut"}
    noise_limits = {"foreign_cpu", "steal", "pressure", "swap", "throttled", "kernel"}
    assert {reason.signal for reason in found} == noise_limits
    assert found[0].text == (
        "bench@sut: other processes used 25 % of a core (limit 3 %) "
        f"while {record.key.workload} ran on {record.key.system}"
    )
    (own, *_) = reasons(trial(foreign_s=0.5), both[1])
    assert own.text.startswith("this host: other processes used 25 % of a core")


def test_evidence_has_no_room_for_a_result() -> None:
    names = {field.name for field in fields(Evidence)}
    assert names == {"key", "elapsed_s", "foreign_s", "steal_s", "telemetry"}
    inner: dict[str, object] = {
        name: field.annotation for name, field in Telemetry.model_fields.items()
    }
    assert inner.pop("others") == tuple[Telemetry, ...], "the same of another host"
    assert not any(
        isinstance(kind, type) and issubclass(kind, BaseModel) for kind in inner.values()
    )
    _, (record, *_) = block_of()
    assert record.samples
    (evidence,) = evidence_of(record)
    assert not any(str(sample.value) in repr(evidence) for sample in record.samples)
