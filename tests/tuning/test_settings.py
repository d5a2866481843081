"""Settings of this machine's own kernel: found, set, read back, put back."""

from pathlib import Path

import pytest

from support.hosts import needs_root
from tiltyard.errors import RefusedError
from tiltyard.host import sysctls
from tiltyard.host.ledger import Ledger
from tiltyard.host.place import HERE
from tiltyard.host.steps import Steps
from tiltyard.tuning.files import FileSetting
from tiltyard.tuning.load import load_profiles
from tiltyard.tuning.setting import Outcome, Scene, apply, look
from tiltyard.tuning.values import Amount

KEY = "vm.stat_interval"
"""Harmless: how often counters are folded, in seconds."""


def outcomes(tmp_path: Path, text: str, steps: Steps | None = None) -> list[Outcome]:
    """What becomes of a profile on this host; what would become of it without steps."""
    (tmp_path / "p.toml").write_text(f'about = "x"\n{text}')
    settings = load_profiles(["p.toml"], tmp_path).settings_of(Scene())
    return [look(each) for each in settings] if steps is None else apply(settings, steps)


@needs_root
def test_a_parameter_is_set_and_put_back(tmp_path: Path, steps: Steps) -> None:
    before = sysctls.read(KEY)
    text = f"[sysctl]\n{KEY} = 7"
    assert outcomes(tmp_path, text) == [Outcome(KEY, "set", "7", before)]
    assert sysctls.read(KEY) == before
    outcomes(tmp_path, text, steps)
    assert sysctls.read(KEY) == "7"
    assert outcomes(tmp_path, text, steps) == [Outcome(KEY, "unchanged", "7", "7")]
    steps.undo()
    assert sysctls.read(KEY) == before


@needs_root
def test_what_the_kernel_does_not_take_is_skipped_and_stays(tmp_path: Path, steps: Steps) -> None:
    before = sysctls.read("vm.swappiness")
    (found,) = outcomes(tmp_path, "[sysctl]\nvm.swappiness = 5000", steps)
    assert (found.status, found.reason) == ("skipped", '"5000" is not taken (Invalid argument)')
    assert sysctls.read("vm.swappiness") == before
    assert not steps


@needs_root
@pytest.mark.parametrize("what", ["dirty", "dirty_background"])
def test_of_two_that_exclude_each_other_the_one_that_was_set_comes_back(
    tmp_path: Path, steps: Steps, what: str
) -> None:
    size, ratio = f"vm.{what}_bytes", f"vm.{what}_ratio"
    before = (sysctls.read(size), sysctls.read(ratio))
    (found,) = outcomes(tmp_path, f"[sysctl]\n{size} = 1000013824", steps)
    assert found.status == "set"
    assert (sysctls.read(size), sysctls.read(ratio)) == ("1000013824", "0")
    outcomes(tmp_path, f"[sysctl]\n{ratio} = 15", steps)
    assert (sysctls.read(size), sysctls.read(ratio)) == ("0", "15")
    steps.undo()
    assert (sysctls.read(size), sysctls.read(ratio)) == before


def test_what_is_not_there_says_so(tmp_path: Path) -> None:
    (found,) = outcomes(tmp_path, "[sysctl]\nvm.no_such_thing = 1")
    assert found == Outcome(
        "vm.no_such_thing", "skipped", reason="this kernel has no vm.no_such_thing"
    )


def test_rules_are_followed_from_what_is_there(tmp_path: Path) -> None:
    pid_max = int(sysctls.read("kernel.pid_max"))
    text = "[sysctl]\nkernel.pid_max = {{ {rule} }}"
    for rule, wanted in (
        ("at_least = 2", pid_max),
        (f"at_least = {pid_max + 5}", pid_max + 5),
        ("times = 2", 2 * pid_max),
        ("times = 0.5", pid_max // 2),
    ):
        (found,) = outcomes(tmp_path, text.format(rule=rule))
        assert found.value == str(wanted)
    (found,) = outcomes(tmp_path, text.format(rule="percent_of_memory = 50"))
    total = next(line for line in Path("/proc/meminfo").read_text().splitlines() if "Total" in line)
    assert found.value == str(int(total.split()[1]) * 1024 // 2)
    (found,) = outcomes(tmp_path, text.format(rule="kernel_default = true"))
    assert found.reason == "what the kernel starts with is not known"


def test_a_rule_of_a_later_profile_goes_on_from_an_earlier_one(tmp_path: Path) -> None:
    (tmp_path / "earlier.toml").write_text('about = "x"\n[sysctl]\nkernel.pid_max = 1000')
    (found,) = outcomes(
        tmp_path, 'include = ["earlier.toml"]\n[sysctl]\nkernel.pid_max = { times = 4 }'
    )
    assert found.value == "4000"


def test_of_several_the_first_that_is_offered(tmp_path: Path) -> None:
    file = tmp_path / "scheduler"
    file.write_text("none [mq-deadline] kyber\n")

    def of(*names: str) -> Outcome:
        return look(FileSetting("x", HERE, str(file), tuple(map(Amount, names))))

    assert of("deadline", "kyber", "none") == Outcome("x", "set", "kyber", "mq-deadline")
    assert of("mq-deadline").status == "unchanged"
    assert of("cfq").reason == "cfq is not offered, only none, mq-deadline, kyber"


@needs_root
def test_two_runs_do_not_set_the_same_thing(tmp_path: Path, steps: Steps) -> None:
    with Ledger() as other:
        outcomes(tmp_path, f"[sysctl]\n{KEY} = 7", Steps(other))
        for name, text in (
            (KEY, f"[sysctl]\n{KEY} = 9"),
            ("service spooler", '[services]\nstop = ["spooler"]'),
            ("vm.dirty_bytes", "[sysctl]\nvm.dirty_bytes = 100000000"),
        ):
            with pytest.raises(RefusedError, match=f"{name} is taken by another run"):
                outcomes(tmp_path, text, steps)
    assert not steps


@needs_root
def test_out_of_box_finds_the_files_that_a_distribution_sets_at_boot(tmp_path: Path) -> None:
    by_name = {found.name: found for found in outcomes(tmp_path, "[sysctl]\nat_boot = true")}
    listed = Path("/usr/lib/sysctl.d/50-pid-max.conf")
    if not listed.exists():
        pytest.skip(f"this distribution has no {listed}; Debian 12 has")
    assert by_name["kernel.pid_max"].value == listed.read_text().split()[-1]
