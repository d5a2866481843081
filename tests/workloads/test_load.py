"""Where profiles are looked for, and what is said of a file that is none."""

import re
from pathlib import Path

import pytest

from tiltyard.errors import HiddenProfileWarning, HostLacksError, UsageError
from tiltyard.executors.engine import Engine
from tiltyard.folder import StudyFolder
from tiltyard.registry import Plugin, PluginWarning
from tiltyard.study.model import WorkloadSpec
from tiltyard.workloads import load as module
from tiltyard.workloads.catalogue import ProfileCard, catalogue_of, require_installed
from tiltyard.workloads.load import find_profiles, read_profile

PROFILE = """\
about = "{about}"
description = "It says what it is."
lineage = "ours"
needs = {{ true = "coreutils" }}

[parameters.n]
type = "int"
help = "How often."
default = 1
max = 10
scales = true

[program]
command = ["true", "{{n}}"]
"""


def put(directory: Path, name: str = "own", about: str = "Ours.") -> Path:
    directory.mkdir(parents=True, exist_ok=True)
    path = directory / f"{name}.toml"
    path.write_text(PROFILE.format(about=about))
    return path


@pytest.fixture
def config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    return tmp_path / "config/tiltyard/workloads"


def test_the_nearest_counts_and_says_what_it_hides(
    tmp_path: Path, config: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = put(tmp_path / "package", "gauge", "package")
    installs(monkeypatch, package.parent)
    assert find_profiles()["gauge"].origin == "package"
    user = put(config, "gauge", "user")
    assert find_profiles()["gauge"].file.about == "user"
    beside = put(tmp_path / "workloads", "gauge", "beside the study")
    study = tmp_path / "spool"
    assert find_profiles((study, tmp_path))["gauge"].source == beside
    own = put(study / "workloads", "gauge", "of the study")
    found = find_profiles((study, tmp_path))["gauge"]
    assert (found.source, found.origin) == (own, "study")
    assert found.hides == (beside, user, package)
    above = put(study / "workloads", "zstd", "of the study")
    assert find_profiles((study,))["zstd"].source == above
    assert [path.name for path in find_profiles((study,))["zstd"].hides] == ["zstd.toml"]


def installs(monkeypatch: pytest.MonkeyPatch, *folders: Path) -> None:
    """Packages that bring these directories of workloads."""
    plugins = tuple(
        Plugin(f"ours{place}", "1.0", "workloads", "own", str(place))
        for place in range(len(folders))
    )
    monkeypatch.setattr(module, "installed", lambda: plugins)
    monkeypatch.setattr(module, "folder_of", lambda plugin: folders[int(plugin.value)])


@pytest.mark.parametrize("names", [("zstd",), ("gauge", "gauge")])
def test_no_package_takes_the_place_of_a_ready_profile_or_of_another_package(
    tmp_path: Path, config: Path, monkeypatch: pytest.MonkeyPatch, names: tuple[str, ...]
) -> None:
    folders = [put(tmp_path / str(place), name).parent for place, name in enumerate(names)]
    installs(monkeypatch, *folders)
    holder = "Tiltyard itself" if len(names) == 1 else "the package ours0 1.0"
    last = f"the package ours{len(names) - 1} 1.0"
    message = f'the workload "{names[0]}" is of {last} and of {holder}'
    with pytest.raises(UsageError, match=re.escape(message)):
        find_profiles()


def test_a_profile_of_a_package_that_is_none_is_a_warning(
    tmp_path: Path, config: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(tmp_path / "package", "gauge")
    (tmp_path / "package/broken.toml").write_text("about = 1\n")
    installs(monkeypatch, tmp_path / "package")
    with pytest.warns(PluginWarning, match=r"the package ours0 1\.0: .*broken\.toml:1: about"):
        found = find_profiles()
    assert "gauge" in found
    assert "broken" not in found


READY = Path(module.__file__).parent


def test_a_hidden_profile_is_said_where_it_is_used(tmp_path: Path, config: Path) -> None:
    own = put(tmp_path / "workloads", "zstd")
    assert not config.exists()
    catalogue = catalogue_of(Engine.find(), StudyFolder(tmp_path / "spool"))
    spec = WorkloadSpec(name="z", use="zstd", parameters={}, trials=None)
    with pytest.warns(HiddenProfileWarning, match=f"zstd is {own}, which hides .*/ready/zstd.toml"):
        require_installed([spec], catalogue)


def test_a_workload_of_the_engine_keeps_its_name(tmp_path: Path, config: Path) -> None:
    own = put(tmp_path / "workloads", "postmark")
    assert not config.exists()
    with pytest.raises(UsageError, match=f"{own}: the engine has a workload postmark. Fix: "):
        catalogue_of(Engine.find(), StudyFolder(tmp_path / "spool"))


def test_its_card_is_one_like_any_other(tmp_path: Path, config: Path) -> None:
    put(config)
    catalogue = catalogue_of(Engine.find(), StudyFolder(tmp_path / "spool"))
    card = catalogue.workload("own")
    assert isinstance(card, ProfileCard)
    assert not card.brought
    assert card.target == "directory"
    assert [metric.name for metric in card.metrics if metric.role == "headline"] == ["time"]
    assert card.parameters["properties"]["n"] == {
        "description": "How often.",
        "type": "integer",
        "maximum": 10,
        "amount": "count",
        "default": 1,
    }
    assert card.expand({"n": 3}) == {"command": ["true", "3"]}
    assert "roots" not in card.model_dump(), "paths of this host are no part of a catalogue"
    put(tmp_path / "workloads")
    nearer = catalogue_of(Engine.find(), StudyFolder(tmp_path / "spool")).workload("own")
    assert isinstance(nearer, ProfileCard)
    assert nearer.brought


def test_what_is_missing_is_said_with_the_one_command_that_installs_it(
    tmp_path: Path, config: Path
) -> None:
    path = put(config)
    needs = '{ true = "coreutils", no-such-tool = "b-tools", "{n}/file" = "a-data" }'
    path.write_text(path.read_text().replace('{ true = "coreutils" }', needs))
    spec = WorkloadSpec(name="own", use="own", parameters={"n": 7}, trials=None)
    with pytest.raises(HostLacksError) as raised:
        require_installed(
            [spec, spec], catalogue_of(Engine.find(), StudyFolder(tmp_path / "spool"))
        )
    assert str(raised.value) == (
        "not installed: no-such-tool, 7/file. Fix: apt install a-data b-tools"
    )


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("about", "abuot", ":1: about: is missing. What it does, in one line. (and 1 more)"),
        ('type = "int"', 'type = "integer"', ':7: parameters.n.type: "integer" is not a value of'),
        (
            "scales = true",
            "least = 2",
            ":6: parameters.n: least is what --scale makes of it at least",
        ),
        ("max = 10", 'choices = ["a"]', ":6: parameters.n: choices belongs to parameters of type"),
        ("default = 1", "default = 11", ":9: parameters.n.default: 11 is too large: at most 10"),
        (
            '"{n}"]',
            '"{m}"]',
            ":14: program.command: {m} stands for nothing. One of: dir, execution",
        ),
        ("[program]", "[program]\nexpects = 3", ":14: program.expects: there is no such key. One"),
        ('"{n}"]', '"{n}"]\nread = "foi"', ':15: program.read: "foi" is no'),
        ('"{n}"]', '"{n}"]\n[smoke]\nn = "3"', ':16: smoke.n: "3" is not a whole number'),
        ("needs =", 'argument = "file"\nneeds =', ":4: argument: names no parameter of this"),
        ("[program]", "[program", ":13: this is not TOML"),
    ],
)
def test_a_file_that_is_no_profile_is_told_with_line_and_key(
    tmp_path: Path, config: Path, old: str, new: str, says: str
) -> None:
    path = put(config)
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new, 1))
    catalogue = catalogue_of(Engine.find(), StudyFolder(tmp_path / "spool"))
    for read in (catalogue.whole, lambda: catalogue.workload("own")):
        with pytest.raises(UsageError) as raised:
            read()
        assert str(raised.value).startswith(f"{path}{says}"), raised.value
    assert catalogue.workload("fio") is not None, "another one is not harmed by it"


def test_every_ready_profile_can_be_read() -> None:
    for path in module.ready():
        read_profile(path)
