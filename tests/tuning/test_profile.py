"""Profiles as they are typed: what they mean, and every way to get them wrong."""

import re
from pathlib import Path

import pytest

from tiltyard.errors import ExitCode, UsageError
from tiltyard.study.problems import StudyFileError
from tiltyard.tuning.knobs import KNOBS
from tiltyard.tuning.knobs.mount import MountTable
from tiltyard.tuning.knobs.services import ServicesTable
from tiltyard.tuning.knobs.sysctl import SysctlTable
from tiltyard.tuning.load import load_profiles, ready_names
from tiltyard.tuning.profile import Profile

TABLES = ", ".join(knob.name for knob in KNOBS)


def written(tmp_path: Path, text: str, name: str = "mine.toml") -> Path:
    path = tmp_path / name
    path.write_text(text)
    return path


def parameters(profile: Profile) -> dict[str, str]:
    table = profile.table(SysctlTable)
    return {key: amount.text for key, amount in table.parameters.items()} if table else {}


WRONG = (
    ("[sysctl]\nvm.swappiness = 1", ":1: about: is missing. What it is for, in one line."),
    ('about = "x"\nabout = ', ":2: this is not TOML: Invalid value, and the file ends"),
    ('about = ""', ":1: about: is empty"),
    (
        'about = "x"\n[blocks]\nscheduler = "none"',
        ":2: blocks: there is no such key. One of: about, source, include, "
        f'{TABLES}. Did you mean "block"?',
    ),
    (
        'about = "x"\n[hugepages]\nenable = "always"',
        ":3: hugepages.enable: there is no such key. One of: enabled, defrag. "
        'Did you mean "enabled"?',
    ),
    (
        'about = "x"\n[block]\nnr_requests = true',
        ":3: block.nr_requests: true is not a number, text, or list of numbers",
    ),
    (
        'about = "x"\n[sysctl]\nvm.swappiness = 1\n\nvm.dirty_ratio = 1.5',
        ":5: sysctl.vm.dirty_ratio: 1.5 is not a number, text, or list of numbers",
    ),
    (
        'about = "x"\n[sysctl]\n"vm.dirty_ratio" = {}',
        ':2: sysctl: "vm.dirty_ratio" has no value',
    ),
    (
        'about = "x"\n[sysctl]\nvm.dirty_bytes = { percent_of_memory = 0 }',
        ":3: sysctl.vm.dirty_bytes: percent_of_memory: 0 is not a number above 0",
    ),
    (
        'about = "x"\n[sysctl]\nvm.dirty_bytes = { times = 2, at_least = 3 }',
        ':3: sysctl.vm.dirty_bytes: {"times": 2, "at_least": 3} is not a rule for a value: it is '
        "one of at_least, times, percent_of_memory, kernel_default",
    ),
    (
        'about = "x"\n[sysctl]\nvm.dirty_bytes = { kernel_default = false }',
        ":3: sysctl.vm.dirty_bytes: kernel_default is true, or the value itself stands there",
    ),
    ('about = "x"\n[idle]\nlatency_us = -1', ":3: idle.latency_us: -1 is too small: at least 0"),
    ('about = "x"\n[interrupts]\ncpus = []', ":3: interrupts.cpus: is too short: at least 1"),
    (
        'about = "x"\n[interrupts]\ncpus = [0]\nof = "some"',
        ':4: interrupts.of: "some" is not a value of of. One of: all, devices.',
    ),
    (
        'about = "x"\n[network]\nring = { rx = "max" }',
        ':3: network.ring: rx: "max" is not a number, true, false or "most"',
    ),
    (
        'about = "x"\n[services]\nstop = "crond"',
        ':3: services.stop: "crond" is not a list. A list stands in brackets: [ … ]',
    ),
    (
        'about = "x"\n[services]\nstop = ["a", "b; reboot"]',
        ':3: services.stop: "b; reboot" is not the name of a service',
    ),
    (
        'about = "x"\n[tuned]',
        ":2: tuned.profile: is missing. Profile that tuned-adm makes active: "
        '"throughput-performance".',
    ),
    (
        'about = "x"\n[mount]\next4 = "noatime"',
        ':3: mount.ext4: "noatime" is not a list. A list stands in brackets: [ … ]',
    ),
    (
        'about = "x"\ninclude = ["enterprise-storag"]',
        ':2: include: "enterprise-storag" is not a tuning profile. One of: '
        f'{", ".join(ready_names())}. Did you mean "enterprise-storage"?',
    ),
)


@pytest.mark.parametrize(("text", "expected"), WRONG, ids=[words for _, words in WRONG])
def test_the_error_names_line_key_and_what_would_be_right(
    tmp_path: Path, text: str, expected: str
) -> None:
    path = written(tmp_path, text)
    with pytest.raises(StudyFileError) as caught:
        load_profiles(["mine.toml"], tmp_path)
    assert str(caught.value) == f"{path}{expected}"
    assert caught.value.exit_code == ExitCode.USAGE


def test_a_profile_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"other\.toml: No such file or directory"):
        load_profiles(["other.toml"], tmp_path)
    with pytest.raises(UsageError, match='Did you mean "out-of-box"'):
        load_profiles(["out-of-bx"], tmp_path)


def test_profiles_that_include_each_other(tmp_path: Path) -> None:
    written(tmp_path, 'about = "a"\ninclude = ["b.toml"]', "a.toml")
    written(tmp_path, 'about = "b"\ninclude = ["./a.toml"]', "b.toml")
    with pytest.raises(StudyFileError, match=r"b\.toml:2: include: .* includes this profile"):
        load_profiles(["a.toml"], tmp_path)


def test_what_stands_in_a_profile_goes_before_what_it_includes(tmp_path: Path) -> None:
    written(tmp_path, 'about = "x"\ninclude = ["blogger-deadline"]\n[sysctl]\nvm.swappiness = 1\n'
            '[mount]\next4 = ["noatime", "barrier=0"]\n[services]\nstop = ["a"]')  # fmt: skip
    found = load_profiles(["mine.toml", "whitepaper-services"], tmp_path)
    mine, ready = found.names
    assert re.fullmatch(r"mine\.toml \([0-9a-f]{8}\)", mine)
    assert ready == "whitepaper-services"
    assert parameters(found)["vm.swappiness"] == "1"
    assert parameters(found)["vm.dirty_ratio"] == "30"
    mount, services = found.table(MountTable), found.table(ServicesTable)
    assert mount is not None
    assert mount.options("ext4") == ("barrier=0", "noatime")
    assert mount.options("xfs") == ()
    assert services is not None
    assert services.stop[0] == "a"
    assert "crond" in services.stop


def test_the_name_of_a_file_tells_contents_apart_and_nothing_else(tmp_path: Path) -> None:
    text = 'about = "x"\n[sysctl]\nvm.swappiness = 1\n'
    seen = []
    for each in (text, f"# a remark\n{text}", text.replace("1", "2")):
        written(tmp_path, each)
        seen += load_profiles(["mine.toml"], tmp_path).names
    assert seen[0] == seen[1] != seen[2]


def test_the_later_of_two_profiles_has_the_last_word(tmp_path: Path) -> None:
    one = parameters(load_profiles(["blogger-deadline", "rhel6-throughput"], tmp_path))
    other = parameters(load_profiles(["rhel6-throughput", "blogger-deadline"], tmp_path))
    assert (one["vm.dirty_ratio"], other["vm.dirty_ratio"]) == ("40", "30")
    assert one.keys() == other.keys()


@pytest.mark.parametrize("name", ready_names())
def test_every_ready_profile_says_what_it_is_and_whose(name: str) -> None:
    found = load_profiles([name], Path())
    assert found.about
    assert found.source
    assert found.tables


def test_the_ready_profiles_are_found_at_the_root_of_the_repository() -> None:
    root = Path(__file__).resolve().parents[2] / "profiles"
    assert sorted(path.stem for path in root.glob("*.toml")) == ready_names()


def test_out_of_box_knows_the_default_of_all_that_a_ready_profile_sets() -> None:
    known = load_profiles(["out-of-box"], Path())
    # Their first value is that of the device, the driver or the firmware.
    without_default = {
        "kernel.nmi_watchdog", "vm.dirty_bytes", "vm.dirty_background_bytes",
        "energy_bias", "energy_preference", "min_percent",
    }  # fmt: skip
    for name in ready_names():
        asked = load_profiles([name], Path())
        assert parameters(asked).keys() <= parameters(known).keys() | without_default
        for table in ("cpu", "block", "hugepages"):
            if table in asked.tables:
                theirs, ours = asked.tables[table], known.tables[table]
                assert theirs.model_fields_set <= ours.model_fields_set | without_default


def test_the_profile_in_the_guide_is_one(tmp_path: Path) -> None:
    guide = (Path(__file__).resolve().parents[2] / "docs/guides/tuning.md").read_text()
    (text,) = [part for part in guide.split("```toml\n")[1:] if part.startswith("about")]
    written(tmp_path, text.partition("```")[0])
    found = load_profiles(["mine.toml"], tmp_path)
    assert found.tables.keys() == {knob.name for knob in KNOBS}
