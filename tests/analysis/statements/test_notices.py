import pytest
from msgspec.structs import replace

from support.judged import CALIBRATION
from support.runs import NOISE_LIMITS
from support.synthetic import synthetic_study
from tiltyard.analysis.findings import analyse
from tiltyard.host.telemetry import Telemetry
from tiltyard.plan.model import Plan
from tiltyard.run.record import RunRecord, TrialRecord
from tiltyard.run.samples import Samples
from tiltyard.systems.vm.backends.qemu import Emulation, Kvm
from tiltyard.wire import WarningNote


def texts(plan: Plan, run: RunRecord) -> str:
    return "\n".join(notice.text for notice in analyse(plan, run).notices)


def with_trials(run: RunRecord, change) -> RunRecord:  # type: ignore[no-untyped-def]
    return run.model_copy(update={"trials": tuple(change(trial) for trial in run.trials)})


def with_usage(trial: TrialRecord, **fields: float) -> TrialRecord:
    assert trial.end is not None
    usage = trial.end.usage.model_copy(update=fields)
    return trial.model_copy(update={"end": trial.end.model_copy(update={"usage": usage})})


def test_a_quiet_study_has_only_its_limits():
    findings = analyse(*synthetic_study(blocks=10, seed=3, noise=0.004))
    assert [notice.severity for notice in findings.notices] == ["note"] * 3
    assert "One machine, one device" in findings.notices[0].text
    assert "freshly made file system" in findings.notices[1].text
    assert "was not calibrated" in findings.notices[2].text


@pytest.mark.parametrize(
    ("hosts", "scope", "shows", "machines"),
    [
        (("", "", ""), "One machine, one device: the verdicts are about this host,",
         "The host was not calibrated", ["The host"]),
        (("srv1", "srv1", "srv1"), "One machine, one device: the verdicts are about srv1,",
         "The host was not calibrated",
         ["srv1"]),
        (("", "srv1", "srv1"), "One device of each host: the verdicts are about these hosts,",
         "that this host and srv1 can show is not known", ["The host", "srv1"]),
    ],
)  # fmt: skip
def test_limits_are_said_of_the_hosts_that_were_measured(hosts, scope, shows, machines):
    plan, run = synthetic_study(blocks=7)
    run = run.model_copy(
        update={
            "host": {"virtualisation": "KVM"},
            "other_hosts": {
                one: {"virtualisation": {"hypervisor": "KVM"}} for one in set(hosts) - {""}
            },
        }
    )
    far = [
        system.model_copy(update={"settings": {**system.settings, "host": host}})
        for system, host in zip(plan.systems, hosts, strict=True)
    ]
    found = texts(plan.model_copy(update={"systems": tuple(far)}), run)
    assert scope in found
    assert shows in found
    own = [
        line.partition(" is a virtual")[0] for line in found.splitlines() if "neighbours" in line
    ]
    assert own == machines


def test_a_calibrated_host_says_what_it_can_show():
    plan, run = synthetic_study(blocks=7)
    found = texts(plan, run.model_copy(update={"calibration": CALIBRATION}))
    assert "A difference of about 5.8 % is found in 80 % of comparisons on this host" in found
    assert "not calibrated" not in found


@pytest.mark.parametrize(
    ("prints", "said"),
    [
        ({"ext4": ("a",), "xfs": ("b",)}, True),
        ({"ext4": ("a",), "xfs": ("a",)}, False),
        ({"ext4": ("a", "c"), "xfs": ("b",)}, False),
        ({"ext4": (), "xfs": ()}, False),
    ],
)
def test_programs_that_print_something_else_are_told(prints, said):
    plan, run = synthetic_study(("ext4", "xfs"), blocks=7)
    found = with_trials(
        run, lambda trial: trial.model_copy(update={"printed": prints[trial.key.system]})
    )
    text = "postmark prints something else on xfs than on ext4."
    assert (text in texts(plan, found)) == said


def test_open_comparisons_are_counted_once_they_were_looked_at():
    findings = analyse(*synthetic_study(blocks=20, noise=0.2, workloads=("postmark",)))
    is_open = [c for t in findings.workloads[0].compared for c in t.comparisons if c.is_open]
    texts_of = [notice.text for notice in findings.notices]
    assert any(f"{len(is_open)} of 3 comparisons are undecided" in text for text in texts_of)
    assert "are undecided" not in texts(*synthetic_study(blocks=3))


def test_limits_of_disturbing_are_said_in_words():
    plan, run = synthetic_study(blocks=7)
    assert analyse(plan, run).noise_limits_sentence == ""
    text = analyse(
        plan.model_copy(update={"noise_limits": NOISE_LIMITS}), run
    ).noise_limits_sentence
    assert text.startswith("A block is disturbed, and a replacement block counts instead, when")
    assert "other processes use more than 3 % of a core" in text
    assert "changes by more than 5 K" in text


def test_failures_of_one_system_are_counted_on_it_and_as_its_worst():
    """xfs is 10 % faster wherever it does not fail."""
    effects = {"xfs": 1.1}
    asked = {"systems": ("ext4", "xfs"), "workloads": ("postmark",), "blocks": 20}
    asked |= {"effects": effects, "noise": 0.01}
    _, run = synthetic_study(**asked)
    keys = [trial.key for trial in run.trials if trial.key.system == "xfs"]
    for count, verdict in ((1, "faster"), (4, "undecided")):
        findings = analyse(*synthetic_study(**asked, failed=keys[2 : 2 + count]))
        (found,) = findings.workloads[0].index.comparisons
        first, second = findings.notices[:2]
        assert found.verdict == "faster"
        assert f"of 40 failed, {count} of {count} on xfs. " in first.text
        head = "If failed blocks counted as the worst of their system: xfs against ext4 in postmark"
        assert second.text.startswith(head)
        assert f" {verdict} (" in second.text
        assert second.severity == ("note" if verdict == "faster" else "problem")


def test_failures_on_both_sides_of_a_block_say_nothing_of_either():
    asked = {"systems": ("ext4", "xfs"), "workloads": ("postmark",), "blocks": 20}
    _, run = synthetic_study(**asked)
    keys = [trial.key for trial in run.trials if trial.key.block == 3]
    assert "counted as the worst" not in texts(*synthetic_study(**asked, failed=keys))


def test_failures_come_first_with_a_reason():
    _, run = synthetic_study(blocks=10)
    findings = analyse(*synthetic_study(blocks=10, failed=[run.trials[3].key]))
    assert findings.notices[0].severity == "problem"
    system = run.trials[3].key.system
    assert findings.notices[0].text.startswith(
        f"1 trial of 30 failed, 1 of 1 on {system}. The first: postmark on {system} "
    )
    assert findings.notices[0].text.endswith("no space left on the target.")


@pytest.mark.parametrize(
    ("fields", "gist"),
    [
        ({"foreign_s": 1.6}, "In 30 of 30 trials other processes used more than 3 % of a core"),
        ({"steal_s": 0.16}, "In 30 of 30 trials the hypervisor took more than 1 % of the time"),
        ({"involuntary_switches": 900}, "In 30 of 30 trials the scheduler took the CPU away"),
    ],
)
def test_disturbed_trials_are_counted_with_the_worst(fields, gist):
    plan, run = synthetic_study(blocks=10)
    found = texts(plan, with_trials(run, lambda trial: with_usage(trial, **fields)))
    assert gist in found
    assert "in the worst" in found


@pytest.mark.parametrize(
    ("verdict", "gist"),
    [
        ("contradicted", "30 trials did not have the declared cache state"),
        ("unverified", "In 30 trials no counter could verify"),
    ],
)
def test_cache_state_that_is_not_confirmed_is_told(verdict, gist):
    def change(trial: TrialRecord) -> TrialRecord:
        assert trial.end is not None
        assert trial.end.access is not None
        access = trial.end.access.model_copy(update={"verdict": verdict})
        return trial.model_copy(update={"end": trial.end.model_copy(update={"access": access})})

    plan, run = synthetic_study(blocks=10)
    assert gist in texts(plan, with_trials(run, change))


@pytest.mark.parametrize(("code", "severity"), [("clock", "note"), ("mostly_shell", "warning")])
def test_warnings_of_the_engine_are_told_once_with_their_number(code, severity):
    warning = WarningNote(code=code, message="the clock is coarse", advice="use tsc")
    plan, run = synthetic_study(blocks=10)
    warned = with_trials(run, lambda t: t.model_copy(update={"warnings": (warning,)}))
    last = f"the last postmark on {run.trials[-1].key.system}"
    (found,) = (one for one in analyse(plan, warned).notices if "coarse" in one.text)
    assert found.text == f"The clock is coarse (30 of 30 trials, {last})."
    assert (found.severity, found.advice) == (severity, "Use tsc.")


def test_too_few_blocks_and_blocks_beyond_a_look():
    early = texts(*synthetic_study(blocks=5))
    assert "5 blocks of the 7 that the first look needs: 3 comparisons have no" in early
    assert "2 blocks after the latest look" in texts(*synthetic_study(blocks=12))
    assert "beyond the latest look" not in texts(*synthetic_study(blocks=14))


def test_a_resumed_run_names_its_blocks():
    plan, run = synthetic_study(blocks=10)
    resumed = run.model_copy(update={"starts": 3, "resumed_blocks": (2, 5)})
    assert "started 3 times; the trials of block 2, 5 were not" in texts(plan, resumed)


def test_tails_that_differ_are_told():
    def stall(trial: TrialRecord) -> TrialRecord:
        if trial.key.system != "xfs" or trial.key.block != 2:
            return trial
        slow = (replace(sample, value=sample.value / 40) for sample in trial.samples)
        return trial.model_copy(update={"samples": Samples.of(slow)})

    plan, run = synthetic_study(("ext4", "xfs"), noise=0.005, blocks=20)
    assert "Tails differ" not in texts(plan, run)
    assert "Tails differ in 1 of 1 comparison" in texts(plan, with_trials(run, stall))


@pytest.mark.parametrize(("strict", "told"), [(False, True), (True, False)])
def test_growing_noise_advises_strict_constants(strict, told):
    def spread(trial: TrialRecord) -> TrialRecord:
        grown = 14_060 * 1.03 ** ((-1) ** trial.key.block * trial.key.block)
        if trial.key.system == "ext4":
            return trial
        first = replace(trial.samples[0], value=grown)
        return trial.model_copy(update={"samples": Samples.of((first, *trial.samples[1:]))})

    plan, run = synthetic_study(("ext4", "xfs"), noise=0.01, blocks=14, strict=strict)
    found = texts(plan, with_trials(run, spread))
    assert ("The noise of postmark grew during the session" in found) == told


def test_a_virtual_machine_is_told():
    plan, run = synthetic_study(blocks=10)
    real = run.model_copy(update={"host": {**run.host, "virtualisation": "none seen"}})
    guest = run.model_copy(update={"host": {**run.host, "virtualisation": "KVM"}})
    assert "virtual machine" not in texts(plan, real)
    assert "The host is a virtual machine (KVM)" in texts(plan, guest)


def test_emulated_times_are_warned_of_and_no_others():
    plan, run = synthetic_study(("6.1", "6.12"), blocks=7)
    told = "The processor of 6.12 was emulated. Times are those of an emulator"
    assert "was emulated" not in texts(plan, run)

    def on(machine: str) -> RunRecord:
        turns = (
            turn.model_copy(update={"facts": {**turn.facts, "virtual machine": machine}})
            if turn.system == "6.12"
            else turn
            for turn in run.prepared
        )
        return run.model_copy(update={"prepared": tuple(turns)})

    emulated = on(f"{Emulation.about}, pinned to CPU 1 of this host")
    assert told in texts(plan, emulated)
    (warning,) = [n for n in analyse(plan, emulated).notices if told in n.text]
    assert warning.severity == "warning"
    assert "was emulated" not in texts(plan, on(f"{Kvm.about}, pinned to CPU 1 of this host"))


def test_a_system_that_always_fails_is_invalid_not_early():
    _, run = synthetic_study(blocks=10)
    failed = [trial.key for trial in run.trials if trial.key.system == "btrfs"]
    plan, run = synthetic_study(blocks=10, failed=failed)
    assert "first look needs" not in texts(plan, run)


def test_a_host_that_has_changed_between_starts_is_told():
    plan, run = synthetic_study(blocks=10)
    assert "has changed" not in texts(plan, run)
    change = 'Start 2: kernel: release was "6.1.0-1" and is "6.1.0-2"'
    assert f"{change}." in texts(plan, run.model_copy(update={"host_changes": (change,)}))


QUOTA = {"limits": {"quota of CPU time": "0.4 of 2 CPUs"}}


@pytest.mark.parametrize(
    ("periods", "severity", "told"),
    [
        ((None, None), "note", "Whether a trial used that up is not known."),
        ((0, 0), "note", "No trial used it up."),
        (
            (2, 0),
            "warning",
            "It was used up in 10 of 20 trials, which waited 5 s for it (the sum over CPUs).",
        ),
        (
            (2, 2),
            "warning",
            "It was used up in 20 of 20 trials, which waited 0:10 for it (the sum over CPUs): the "
            "verdicts are those of this quota.",
        ),
    ],
)
def test_a_quota_of_cpu_time_is_told_once(
    periods: tuple[int | None, ...], severity: str, told: str
) -> None:
    plan, run = synthetic_study(("ext4", "xfs"), blocks=10)
    of = dict(zip(("ext4", "xfs"), periods, strict=True))

    def held(trial: TrialRecord) -> TrialRecord:
        seen = Telemetry(elapsed_s=1.0, quota_throttled=of[trial.key.system], quota_throttled_s=0.5)
        return trial.model_copy(update={"telemetry": seen})

    run = with_trials(run.model_copy(update={"record": QUOTA}), held)
    (found,) = [one for one in analyse(plan, run).notices if "quota" in one.text]
    head = "The programs of this study may use 0.4 of 2 CPUs: their control group has a quota."
    assert (found.severity, found.text) == (severity, f"{head} {told}")


def test_a_quota_of_another_host_is_told_where_trials_ran_there():
    plan, run = synthetic_study(blocks=10)
    run = run.model_copy(update={"record": QUOTA, "other_hosts": {"sut": QUOTA}})
    there = Telemetry(elapsed_s=1.0, host="sut", quota_throttled=0, quota_throttled_s=0.0)
    far = with_trials(run, lambda trial: trial.model_copy(update={"telemetry": there}))
    assert "may use 0.4 of 2 CPUs on sut: " in texts(plan, far)
    assert "0.4 of 2 CPUs: " not in texts(plan, far)
    free = {"limits": {"quota of CPU time": "none"}}
    none = far.model_copy(update={"other_hosts": {"sut": free}})
    assert "quota" not in texts(plan, none)
