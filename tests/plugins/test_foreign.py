"""A stranger's package is installed, and each of its parts is used through the real command."""

import json
import tomllib
from pathlib import Path

import pytest

from support.packages import PREFIX, install, tiltyard
from tiltyard.registry import GROUPS

TURBO = Path(__file__).with_name("turbo.py")
GAUGE = """\
about = "reads a gauge"
description = "It prints two laps."
lineage = "turbo"

[program]
command = ["printf", 'turbo 1\\nlap 0.25 s\\nlap 0.75 s\\n']
read = "turbo"
"""
POINTS = {
    "readers": {"turbo": "turbo:READER"},
    "charts": {"podium": "turbo:CHART"},
    "styles": {"leaflet": "turbo:STYLE"},
    "formats": {"txt": "turbo:FORMAT"},
    "exporters": {"laps": "turbo:EXPORTER"},
    "filesystems": {"turbofs": "turbo:FILESYSTEM"},
    "knobs": {"turbo": "turbo:KNOB"},
    "sections": {"turbo": "turbo:SECTION"},
    "kinds": {"turbo": "turbo:KIND"},
    "statements": {"turbo was there": "turbo:STATEMENT"},
    "verbs": {"lap": "turbo:lap"},
    "workloads": {"turbo": "turbo_workloads"},
}


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("site")
    files = {
        "turbo.py": TURBO.read_text(),
        "turbo_workloads/__init__.py": "",
        "turbo_workloads/gauge.toml": GAUGE,
    }
    install(made, "turbo-bench", files, POINTS)
    return made


@pytest.fixture(scope="module")
def imported(site: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A study of files that its reader reads."""
    place = tmp_path_factory.mktemp("imported")
    for system, lap in (("a", "0.750"), ("b", "0.752")):
        (place / f"{system}.txt").write_text(f"turbo 1\nlap 0.250 s\nlap {lap} s\n")
    done = tiltyard(site, place, "import", "laps", "a=a.txt", "b=b.txt")
    assert done.returncode == 0, done.stderr
    assert "package" not in done.stderr
    return place


def test_every_group_has_an_entry_here() -> None:
    assert POINTS.keys() == GROUPS.keys() - {"studies", "engines"}


def test_its_reader_is_recognised_and_recorded(imported: Path) -> None:
    collection = json.loads((imported / "laps/collection.json").read_text())["collection"]
    assert collection["origin"]["files"][0]["importer"] == "turbo"
    findings = json.loads((imported / "laps/findings.json").read_text())
    assert collection["plugins"] == findings["plugins"] == {"turbo-bench": "1.2"}
    values = [tuple(one["values"]) for one in collection["workloads"][0]["readings"]]
    assert values == [(0.5,), (0.501,)], "laps of one file are one value, their mean"


def test_its_chart_style_format_and_exporter_make_files(site: Path, imported: Path) -> None:
    done = tiltyard(site, imported, "report", "laps", "--style", "leaflet", "--format", "txt,html")
    assert done.returncode == 0, done.stderr
    assert "package" not in done.stderr
    assert (imported / "laps/report/report.txt").read_text()
    assert "By turbo." in (imported / "laps/report/index.html").read_text()
    done = tiltyard(site, imported, "report", "laps", "--figures", "svg")
    assert done.returncode == 0, done.stderr
    assert "package" not in done.stderr
    assert "The podium of turbo" in (imported / "laps/report/index.html").read_text()
    assert [*(imported / "laps/report/figures").glob("*podium*.svg")]
    done = tiltyard(site, imported, "export", "laps", "--to", "laps", "-o", "-")
    assert (done.returncode, done.stdout) == (0, '["a", "b"]'), done.stderr


def test_its_verb_is_called_and_listed(site: Path, tmp_path: Path) -> None:
    done = tiltyard(site, tmp_path, "lap", "3")
    assert (done.returncode, done.stdout, done.stderr) == (6, "laps: 3\n", "")
    assert "Count laps." in tiltyard(site, tmp_path, "--help").stdout
    assert "How many." in tiltyard(site, tmp_path, "lap", "--help").stdout
    done = tiltyard(site, tmp_path, "lap", "many")
    assert (done.returncode, done.stdout) == (2, "")


def test_its_file_system_is_made_as_it_says(site: Path, tmp_path: Path) -> None:
    study = tmp_path / "study.toml"
    study.write_text(
        'question = "q"\n[factors]\nfilesystem = ["turbofs", "ext4"]\n'
        '[systems]\nbacking = { image = "64M" }\n[[workload]]\nuse = "postmark"\n'
    )
    done = tiltyard(site, tmp_path, "check", "study.toml", "--dry-run")
    assert "mkfs.turbofs -q /dev/loop" in done.stdout
    done = tiltyard(site, tmp_path, "check", "study.toml")
    assert "turbofs: mkfs.turbofs is not installed" in done.stdout


def test_its_kind_workload_and_statement_are_in_a_run(site: Path, tmp_path: Path) -> None:
    (tmp_path / "study.toml").write_text(
        'question = "Which gear?"\n[factors]\ngear = [1, 2]\n[systems]\nkind = "turbo"\n'
        '[[workload]]\nuse = "gauge"\n[precision]\nblocks = 6\n'
    )
    done = tiltyard(site, tmp_path, "run", "study.toml", "--folder", "gears", "--disturbed", "keep")
    assert done.returncode == 0, done.stderr
    plan = json.loads((tmp_path / "gears/plan.json").read_text())
    findings = json.loads((tmp_path / "gears/findings.json").read_text())
    assert plan["plugins"] == findings["plugins"] == {"turbo-bench": "1.2"}
    assert [one["kind"] for one in plan["systems"]] == ["turbo", "turbo"]
    assert "Turbo was there." in [one["text"] for one in findings["notices"]]
    assert findings["systems"][0]["facts"]["gear"] == "1"
    assert findings["trials_failed"] == 0
    assert not [*tmp_path.rglob("*turbo-*")], "what its kind has made is taken back"
    release = Path("/proc/sys/kernel/osrelease").read_text().strip()
    assert findings["record"]["turbo"] == {"release": release}


def test_its_knob_is_a_table_of_profiles(site: Path, tmp_path: Path) -> None:
    profile = tmp_path / "fast.toml"
    profile.write_text('about = "fast"\n[turbo]\nboost = 3\n')
    done = tiltyard(site, tmp_path, "tuning", "show", str(profile))
    assert done.returncode == 2
    assert "turbo.boost" in done.stderr
    profile.write_text(profile.read_text().replace("3", "true"))
    assert tiltyard(site, tmp_path, "tuning", "show", str(profile)).returncode == 0


def test_the_doctor_lists_it(site: Path, tmp_path: Path) -> None:
    done = tiltyard(site, tmp_path, "doctor", "--json")
    checks = {one["meaning"]: one for one in json.loads(done.stdout)["checks"]}
    for group, entries in POINTS.items():
        (name,) = entries
        found = checks[f'the {GROUPS[group]} "{name}" of the package turbo-bench 1.2']
        assert (found["name"], found["status"]) == ("plug-in turbo-bench", "ok")


@pytest.mark.parametrize("plugins", ["none", ""])
def test_it_is_switched_off(site: Path, tmp_path: Path, plugins: str) -> None:
    done = tiltyard(site, tmp_path, "lap", plugins=plugins)
    assert done.returncode == 2
    assert 'Unknown command "lap"' in done.stderr
    assert "turbo" not in tiltyard(site, tmp_path, "doctor", "--json", plugins=plugins).stdout
    assert tiltyard(site, tmp_path, "audit", "--help", plugins=plugins).returncode == 0


def test_packages_are_named_that_are_wanted(site: Path, tmp_path: Path) -> None:
    assert tiltyard(site, tmp_path, "lap", plugins="Turbo_Bench").returncode == 6
    done = tiltyard(site, tmp_path, "lap", plugins="turbo-bench,nitro")
    assert done.returncode == 2
    assert done.stderr == (
        "tiltyard: TILTYARD_PLUGINS: nitro is no package with plug-ins. Fix: none, or of: "
        "turbo-bench\n"
    )


def test_a_short_command_looks_for_no_package(site: Path, tmp_path: Path) -> None:
    before = "import importlib.metadata as m; m.distributions = None"
    for words in (("--version",), ("status", "--help")):
        done = tiltyard(site, tmp_path, *words, before=before)
        assert (done.returncode, done.stderr) == (0, ""), words


def test_a_reader_costs_a_reader(site: Path, tmp_path: Path) -> None:
    code = (
        "import sys\nfrom tiltyard.importers import IMPORTERS\n"
        "assert IMPORTERS.named('turbo').metrics\n"
        "names = {name.split('.')[1] for name in sys.modules if name.startswith('tiltyard.')}\n"
        "print(*sorted(names & {'vm', 'cli', 'run', 'exporters'}))\nsys.exit()"
    )
    reader = tmp_path / "site"
    install(
        reader,
        "small",
        {
            "small.py": "from tiltyard.plugin import Imported, Reader, metric, unit_named\n"
            "READER = Reader('turbo', 'a', 'b', 'c', lambda _: False, lambda *_: Imported(()), "
            "metrics=(metric('lap', unit_named('s'), 3),))\n"
        },
        {"readers": {"turbo": "small:READER"}},
    )
    done = tiltyard(reader, tmp_path, before=code)
    assert (done.returncode, done.stdout.strip(), done.stderr) == (0, "", "")


def test_what_is_promised_is_what_is_there() -> None:
    from tiltyard import plugin

    assert sorted(plugin._PLACES) == sorted(plugin.__all__)
    assert all(getattr(plugin, name) for name in plugin.__all__)
    with pytest.raises(AttributeError, match="promises no nothing"):
        plugin.nothing  # noqa: B018
    assert len(Path(plugin.__file__).read_text().splitlines()) <= 300


def test_ours_go_the_same_way() -> None:
    project = tomllib.loads((TURBO.parents[2] / "pyproject.toml").read_text())["project"]
    assert project["entry-points"].keys() <= {f"{PREFIX}{group}" for group in GROUPS}
