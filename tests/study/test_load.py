"""Good study files: what they mean."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel

from support.catalogue import CATALOGUE
from tiltyard.study.load import load_study, read_study
from tiltyard.study.model import Clock, ConditionsSpec, Precision, Study
from tiltyard.study.problems import Problem, StudyFileError
from tiltyard.study.toml import toml_key, toml_value
from tiltyard.systems import KINDS, kind

SPOOL = """\
question = "Which file system for the mail spool, and does noatime matter?"
decide   = "Choose the file system of the new spool host"
seed     = 4711
baseline = "xfs"

[factors]
filesystem = ["ext4", "xfs", "btrfs"]
mount      = { default = [], noatime = ["noatime"] }

[systems]
backing = { image = "4G" }
reset   = "remount"

[[workload]]
use = "postmark"
files = 10_000
size = "500..100000"

[[workload]]
use = "iozone"
name = "direct"
file = ["64M", "256M"]
access = "direct"

[precision]
equivalent_within = "3%"
profile = "rigorous"
strict  = true
budget  = "45 min"

[conditions]
cpus = [1]
keep_awake = true
"""
SMALLEST = 'question = "Which?"\nfactors.filesystem = ["ext4", "xfs"]\n'


def study(text: str) -> Study:
    return read_study(text, Path("study.toml"), CATALOGUE, KINDS)


def problems(text: str) -> tuple[Problem, ...]:
    try:
        study(text)
    except StudyFileError as error:
        return error.problems
    return ()


def test_a_whole_study(tmp_path: Path) -> None:
    path = tmp_path / "study.toml"
    path.write_text(SPOOL)
    spool = load_study(path, CATALOGUE, KINDS)
    assert spool.question.startswith("Which file system for the mail spool")
    assert spool.decide == "Choose the file system of the new spool host"
    assert (spool.seed, spool.baseline) == (4711, "xfs")
    assert [system.name for system in spool.systems] == [
        "ext4",
        "ext4 noatime",
        "xfs",
        "xfs noatime",
        "btrfs",
        "btrfs noatime",
    ]
    noatime = spool.systems[3]
    assert noatime.kind == "loop-image"
    assert noatime.levels == {"filesystem": "xfs", "mount": "noatime"}
    assert noatime.settings["filesystem"] == "xfs"
    assert noatime.settings["mount"] == ["noatime"]
    assert noatime.settings["reset"] == "remount"
    assert [(workload.name, workload.use) for workload in spool.workloads] == [
        ("postmark", "postmark"),
        ("direct", "iozone"),
    ]
    assert spool.workloads[0].parameters == {"files": 10_000, "size": "500..100000"}
    assert spool.precision == Precision(
        profile="rigorous",
        strict=True,
        blocks=None,
        equivalent_within=0.03,
        false_discovery_rate=0.05,
        budget_s=2700.0,
        adjust_for=("external_cpu", "steal"),
    )
    assert spool.conditions == ConditionsSpec(
        cpus=(1,), unpinned=False, keep_awake=True, isolate=False
    )


def test_everything_else_has_a_default() -> None:
    smallest = study(SMALLEST)
    assert (smallest.decide, smallest.seed, smallest.baseline) == (None, None, "ext4")
    assert [workload.name for workload in smallest.workloads] == [CATALOGUE.workloads[0].name]
    assert smallest.precision == Precision(
        profile="standard",
        strict=False,
        blocks=None,
        equivalent_within=0.02,
        false_discovery_rate=0.05,
        budget_s=None,
        adjust_for=("external_cpu", "steal"),
    )
    assert smallest.conditions == ConditionsSpec(
        cpus=(), unpinned=False, keep_awake=False, isolate=False
    )


def test_a_number_of_blocks_is_a_profile_of_its_own() -> None:
    precision = study(SMALLEST + "precision.blocks = 8\n").precision
    assert (precision.profile, precision.blocks) == ("fixed", 8)


def test_settings_are_complete_and_read_as_they_were_written() -> None:
    for system in study(SPOOL).systems:
        model = kind(system.kind).Settings
        assert set(system.settings) == set(model.model_fields)
        assert model.model_validate(system.settings).model_dump(mode="json") == system.settings


def test_a_level_may_be_compared_with_itself() -> None:
    systems = study('question = "A/A"\nfactors.filesystem = { a = "ext4", b = "ext4" }\n').systems
    assert [system.name for system in systems] == ["a", "b"]
    assert systems[0].settings == systems[1].settings


def test_the_level_default_is_not_spoken() -> None:
    text = (
        'question = "q"\nsystems.filesystem = "ext4"\n'
        'factors.mount = { default = [], noatime = ["noatime"] }\n'
    )
    assert [system.name for system in study(text).systems] == ["default", "noatime"]


def test_numbers_name_themselves() -> None:
    text = 'question = "q"\nsystems.filesystem = "ext4"\nfactors.read_ahead = [0, 4096]\n'
    assert [system.name for system in study(text).systems] == ["0", "4096"]


def test_the_settings_tell_the_kind() -> None:
    text = 'question = "q"\nfactors.directory = ["/mnt/a", "/mnt/b"]\n'
    assert {system.kind for system in study(text).systems} == {"directory"}


class _Near(BaseModel):
    """Shares its setting with another kind."""

    speed: int = 1


class _Kind:
    """A kind of system that exists in this test only."""

    Settings = _Near
    target = "directory"
    far_host = False

    def __init__(self, name: str) -> None:
        self.name = name

    def redraws(self, settings: BaseModel) -> str:
        return ""

    def clock(self, settings: BaseModel) -> Clock:
        return "time"


def test_the_default_workload_is_one_that_the_systems_can_carry() -> None:
    text = 'question = "q"\nfactors.mtu = [1500, 9000]\n'
    assert [workload.use for workload in study(text).workloads] == ["tcp_stream"]


def test_the_first_kind_is_meant_where_the_settings_fit_several() -> None:
    text = 'question = "q"\nfactors.speed = [1, 2]\n'
    kinds = [_Kind("near"), _Kind("far")]
    first = read_study(text, Path("s"), CATALOGUE, kinds)
    assert {system.kind for system in first.systems} == {"near"}
    named = read_study(text + 'systems.kind = "far"\n', Path("s"), CATALOGUE, kinds)
    assert {system.kind for system in named.systems} == {"far"}


@pytest.mark.parametrize(
    ("text", "redraws"),
    [
        ('factors.filesystem = ["ext4", "xfs"]\n', "a fresh format"),
        ('factors.filesystem = ["ext4", "xfs"]\nsystems.reset = "remount"\n', "a remount"),
        ('factors.filesystem = ["ext4", "xfs"]\nsystems.reset = "none"\n', ""),
        ('factors.directory = ["a", "b"]\n', "a new subdirectory"),
        ("factors.mtu = [1500, 9000]\n", "fresh namespaces and connections"),
    ],
)
def test_what_a_turn_makes_anew_is_known(text: str, redraws: str) -> None:
    systems = study(f'question = "q"\n{text}').systems
    assert {system.redraws for system in systems} == {redraws}


NAMES = st.text(st.characters(categories=("L", "N", "P")), min_size=1, max_size=5)
LEVELS = st.dictionaries(NAMES, st.sampled_from(["0", "4k", "1M"]), min_size=1, max_size=4)


@given(st.lists(LEVELS, min_size=2, max_size=2))
def test_systems_are_all_combinations_in_the_order_of_the_file(
    factors: list[dict[str, str]],
) -> None:
    first, second = factors
    schedulers = {name: f"scheduler-{place}" for place, name in enumerate(first)}
    text = "\n".join(
        [
            'question = "q"',
            'systems.filesystem = "ext4"',
            "[factors.scheduler]",
            *(f"{toml_key(name)} = {toml_value(value)}" for name, value in schedulers.items()),
            "[factors.read_ahead]",
            *(f"{toml_key(name)} = {toml_value(value)}" for name, value in second.items()),
        ]
    )
    pairs = [(a, b) for a in first for b in second]
    names = [" ".join(n for n in pair if n != "default") or "default" for pair in pairs]
    if len(set(names)) < len(names) or len(names) < 2:
        with pytest.raises(StudyFileError):
            study(text)
        return
    systems = study(text).systems
    assert [system.name for system in systems] == names
    assert [tuple(system.levels.values()) for system in systems] == pairs


@given(
    st.integers(0, len(SPOOL)),
    st.integers(0, 25),
    st.text(st.sampled_from("[]{}=,.\"'#\n 0-1ae%k\\"), max_size=4),
)
def test_any_damage_is_told_with_a_line(start: int, length: int, instead: str) -> None:
    damaged = SPOOL[:start] + instead + SPOOL[start + length :]
    lines = damaged.count("\n") + 1
    assert all(1 <= problem.line <= lines for problem in problems(damaged))


def test_what_to_adjust_for_and_which_analysis_decides() -> None:
    text = '[factors]\ndirectory = { a = "/a", b = "/b" }\n'
    asked = f'question = "?"\n{text}[precision]\n'
    plain = read_study(asked, Path("study.toml"), CATALOGUE, KINDS).precision
    assert (plain.adjust_for, plain.verdict) == (("external_cpu", "steal"), "unadjusted")
    named = f'{asked}adjust_for = ["steal", "steal"]\nverdict = "adjusted"\n'
    found = read_study(named, Path("study.toml"), CATALOGUE, KINDS).precision
    assert (found.adjust_for, found.verdict) == (("steal",), "adjusted")
    empty = f'{asked}adjust_for = []\nverdict = "adjusted"\n'
    with pytest.raises(StudyFileError, match="needs something to adjust for") as refused:
        read_study(empty, Path("study.toml"), CATALOGUE, KINDS)
    assert "study.toml:6:" in str(refused.value)
