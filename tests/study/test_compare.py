"""The study that ``compare`` writes is one that a person could have written."""

import tomllib
from copy import deepcopy
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.catalogue import CATALOGUE, WITH_PROGRAM
from tiltyard.errors import UsageError
from tiltyard.stats.looks import looks
from tiltyard.study.compare import Asked, TypedCommands, compare_study, study_text
from tiltyard.study.load import made_study, read_study
from tiltyard.study.model import Study
from tiltyard.study.problems import StudyFileError
from tiltyard.systems import KINDS
from tiltyard.systems.typed import labels_of, typed_systems


def compare(*names: str, workloads: tuple[str, ...] = ("postmark",)) -> str:
    network = workloads == ("tcp_stream",)
    systems = typed_systems(names, lambda path: str(Path(path).absolute()), network=network)
    settings = [system.settings for system in systems]
    named = [*zip(labels_of(systems), settings, strict=True)]
    return study_text(compare_study(named, workloads, CATALOGUE))


def study(text: str) -> Study:
    return read_study(text, Path("study.toml"), CATALOGUE, KINDS)


def test_file_systems() -> None:
    assert compare("ext4", "xfs", "btrfs") == (
        'question = "Which is faster in postmark: ext4, xfs or btrfs?"\n'
        "\n"
        "[factors]\n"
        'filesystem = ["ext4", "xfs", "btrfs"]\n'
        "\n"
        "[[workload]]\n"
        'use = "postmark"\n'
        "files = 1000\n"
        "transactions = 20000\n"
    )


def test_everything_that_can_be_asked() -> None:
    document = compare_study(
        [(name, {"filesystem": name}) for name in ("ext4", "xfs")],
        ("postmark", "iozone"),
        CATALOGUE,
        asked=Asked(blocks=8, budget="45 min", seed=4711, scale="1/64"),
    )
    written = study(study_text(document))
    assert written.question == "Which is faster in postmark and iozone: ext4 or xfs?"
    assert written.seed == 4711
    assert [workload.use for workload in written.workloads] == ["postmark", "iozone"]
    assert (written.precision.blocks, written.precision.budget_s) == (8, 2700)
    assert written.scale == "1/64"


@pytest.mark.parametrize(
    ("asked", "profile", "blocks"),
    [
        (Asked(), "standard", 20),
        (Asked(budget="45 min"), "long", 100),
        (Asked(budget="45 min", blocks=8), "fixed", 8),
    ],
)
def test_a_budget_is_used_up_where_the_question_is_open(
    asked: Asked, profile: str, blocks: int
) -> None:
    systems = [(name, {"filesystem": name}) for name in ("ext4", "xfs")]
    document = compare_study(systems, ("postmark",), CATALOGUE, asked=asked)
    found = study(study_text(document)).precision
    assert found.profile == profile
    assert looks(profile, strict=False, blocks=found.blocks)[-1][0] == blocks


def test_a_file_system_against_itself() -> None:
    systems = study(compare("ext4", "xfs", "ext4")).systems
    assert [system.name for system in systems] == ["ext4-a", "xfs", "ext4-b"]
    assert systems[0].settings == systems[2].settings


def test_directories(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("old disk", 'new "fast"', "ext4"):
        (tmp_path / name).mkdir()
    monkeypatch.chdir(tmp_path)
    systems = study(compare("old disk", 'new "fast"', "./ext4", str(tmp_path))).systems
    assert [system.name for system in systems] == [
        "old disk",
        'new "fast"',
        "./ext4",
        str(tmp_path),
    ]
    assert [system.settings["directory"] for system in systems] == [
        str(tmp_path / "old disk"),
        str(tmp_path / 'new "fast"'),
        str(tmp_path / "ext4"),
        str(tmp_path),
    ]


def _both(value: object) -> dict[str, object]:
    """A setting that is the same at both ends."""
    return {"client": value, "server": value}


def over_a_network(*names: str) -> dict[str, object]:
    """Name of each system → the setting that was varied."""
    written = study(compare(*names, workloads=("tcp_stream",)))
    (setting,) = written.systems[0].levels
    return {system.name: system.settings[setting] for system in written.systems}


@pytest.mark.parametrize(
    ("names", "values"),
    [
        (("mtu=1500", "mtu=9000"), [1500, 9000]),
        (("rate=500mbit", "rate=475mbit"), ["500mbit", "475mbit"]),
        (("qdisc=pfifo limit 10", "qdisc=noqueue"), [_both("pfifo limit 10"), _both("noqueue")]),
        (("offloads={}", "offloads={ tso = false }"), [_both({}), _both({"tso": False})]),
    ],
)
def test_settings_of_a_pair(names: tuple[str, ...], values: list[object]) -> None:
    assert over_a_network(*names) == dict(zip(names, values, strict=True))


def test_a_setting_against_itself() -> None:
    assert over_a_network("mtu=9000", "mtu=9000") == {"mtu=9000-a": 9000, "mtu=9000-b": 9000}


def test_paths_that_name_themselves_are_a_list(tmp_path: Path) -> None:
    one, two = tmp_path / "one", tmp_path / "two"
    one.mkdir()
    two.mkdir()
    for end in ("", "/"):
        text = compare(f"{one}{end}", str(two))
        assert tomllib.loads(text)["factors"] == {"directory": [str(one), str(two)]}


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (("ext4",), "two names or more"),
        (("ext4", "ext5"), '"ext5" is neither a file system nor a directory.*Did you mean "ext4"'),
        ((".", "/no/such/place"), '"/no/such/place" is no directory that exists.$'),
        ((".", "/va"), '"/va" is no directory that exists. Did you mean "/var"'),
        ((".", "linux-6.1.uml"), '"linux-6.1.uml" is no file that exists, here or on PATH.'),
        ((".", "old.qcow2"), '"old.qcow2" is no file that exists.$'),
        (("mtu=1500", "ext4"), "mtu=1500 is a setting of a network, and ext4 has a directory"),
        (("mtu=1500", "mtu"), '"mtu" is a setting. Fix: give its value: mtu=VALUE'),
        (("ext4", "exxt4:noatime"), 'exxt4:noatime: "exxt4" is neither.*Did you mean "ext4"'),
        (("ext4", "ext4:noatime,"), '"ext4:noatime,|":noatime,"'),
        (("ext4", "ext4+vm.dirty_rato=5"), '"vm.dirty_rato" is no kernel.*"vm.dirty_ratio"'),
        (("ext4", "ext4+schedular=none"), '"schedular" is no setting of loop-image.*"scheduler"'),
        (("ext4", "ext4@/dev/nul"), '"/dev/nul" no such.*("/dev/(?!null)|: tiltyard devices)'),
        (("ext4", "exxt4@/dev/null"), '"exxt4" is not a file system.*Did you mean "ext4"'),
        (("ext4", "a@srv1:"), '"a@srv1:" names no directory'),
        (("ext4", "5.1234"), '"5.1234" is a kernel that is not here. Fix: sh /.*guest-kernels 5'),
        (("ext4", "README.md"), '"README.md" is a file, and no kernel'),
    ],
)
def test_what_cannot_be_compared(names: tuple[str, ...], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        compare(*names)


def test_a_workload_that_is_not_there() -> None:
    with pytest.raises(UsageError, match=r'"postmrk" is not a workload.*Did you mean "postmark"'):
        compare("ext4", "xfs", workloads=("postmrk",))


def test_a_directory_whose_name_cannot_be_written(tmp_path: Path) -> None:
    odd = tmp_path / "a\nb"
    odd.mkdir()
    with pytest.raises(UsageError, match="cannot hold this name"):
        compare(str(tmp_path), str(odd))


TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
NAME = st.sampled_from(["a", "b c", 'd"e', "f.g", "h\n", "9", "ü", "#", "=", "x" * 40])
SCALAR = TEXT | st.integers(-(2**63), 2**63) | st.booleans() | st.floats(allow_nan=False)
VALUE = st.recursive(
    SCALAR,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAME | TEXT, inner, max_size=3),
    max_leaves=6,
)
FACTOR = st.dictionaries(NAME, VALUE, min_size=1, max_size=3) | st.lists(
    NAME, min_size=1, max_size=3, unique=True
).map(lambda names: {name: name for name in names})
COMMANDS = st.builds(
    TypedCommands,
    names=st.lists(NAME, min_size=2, max_size=3, unique=True).map(tuple),
    workload=st.fixed_dictionaries(
        {"use": st.just("program"), "command": st.lists(TEXT, min_size=1, max_size=3)},
        optional={"env": st.dictionaries(NAME, TEXT), "warmup": st.integers(0, 9), "keep": VALUE},
    ),
    factors=st.dictionaries(st.sampled_from(["command", "n", "o p"]), FACTOR, min_size=1),
    blocks=st.none() | st.integers(6, 20),
)
ASKED = st.builds(
    Asked,
    within=st.none() | st.sampled_from(["2%", "0.5 %"]),
    budget=st.none() | st.sampled_from(["45 min", "1 h"]),
    seed=st.none() | st.integers(0, 2**63 - 1),
    disturbed=st.sampled_from([None, "keep", "adapt", "replace"]),
    scale=st.sampled_from([None, "1/64", "1"]),
    isolate=st.none() | st.lists(st.integers(0, 3), min_size=1, max_size=2),
)


@settings(max_examples=300, deadline=None)
@given(COMMANDS, ASKED, st.lists(st.sampled_from(["ext4", "xfs"]), max_size=3))
def test_what_was_made_is_what_its_text_says(
    commands: TypedCommands, asked: Asked, systems: list[str]
) -> None:
    """The text is written and hashed, and not read again: it has to say the same."""
    levels = [(name, {"filesystem": name}) for name in systems]
    document = compare_study(levels, (), WITH_PROGRAM, commands=commands, asked=asked)
    before, text = deepcopy(document), study_text(document)
    assert tomllib.loads(text) == document
    source = Path("study.toml")
    found: list[Study | str] = []
    for make in (
        lambda: made_study(document, text, source, WITH_PROGRAM, KINDS),
        lambda: read_study(text, source, WITH_PROGRAM, KINDS),
    ):
        try:
            found.append(make())
        except StudyFileError as error:
            found.append(str(error))
    assert found[0] == found[1]
    assert document == before
