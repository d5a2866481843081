"""What a stranger's package does wrong is said with its name, and harms nothing else."""

import json
import time
from pathlib import Path

import pytest

from support.packages import install, tiltyard
from tiltyard import registry

WRECK = Path(__file__).with_name("wreck.py")
POINTS = {
    "readers": {"wreck": "wreck:READER", "deaf": "wreck:DEAF", "mute": "wreck:MUTE"},
    "charts": {"wreck": "wreck:CHART", "gone": "wreck:GONE", "smear": "wreck:SMEAR"},
    "styles": {"wreck": "wreck:STYLE"},
    "formats": {"wreck": "wreck:FORMAT", "climb": "wreck:CLIMB"},
    "exporters": {"wreck": "wreck:EXPORTER", "text": "wreck:TEXT"},
    "filesystems": {"wreckfs": "wreck:FILESYSTEM"},
    "knobs": {"wreck": "wreck:KNOB"},
    "sections": {"wreck": "wreck:SECTION"},
    "kinds": {"wreck": "wreck:KIND"},
    "statements": {"wreck": "wreck:NOTICE", "wrecked": "wreck:FINDING"},
    "verbs": {"wreck": "wreck:fail", "leave": "wreck:leave", "odd": "wreck:odd"},
    "studies": {"wreck": "wreck:STUDIES"},
}
OF = "of the package wreck-yard 0.9"
FAILED = r"failed: ZeroDivisionError: in the \x1b[31mwreck"
FIX = "Fix: update or remove wreck-yard, or TILTYARD_PLUGINS=none"


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("site")
    install(made, "wreck-yard", {"wreck.py": WRECK.read_text()}, POINTS, "0.9")
    return made


@pytest.fixture(scope="module")
def imported(site: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A study of files of ours, which its readers fail to recognise."""
    place = tmp_path_factory.mktemp("imported")
    (place / "rates.csv").write_text(
        "system,throughput\n" + "".join(f"{s},{v}\n" for s in "ab" for v in (1, 2, 3))
    )
    (place / "map.toml").write_text(
        '[columns]\nsystem = "system"\n[metrics.throughput]\ncolumn = "throughput"\nunit = "B/s"\n'
        'direction = "higher"\n'
    )
    (place / "a.txt").write_text(
        "Running in process mode with 10 groups using 40 file "
        "descriptors each (== 400 tasks)\nEach sender will pass 100 messages of 100 bytes\n"
        "Time: 0.200\n"
    )
    (place / "b.txt").write_text((place / "a.txt").read_text().replace("0.200", "0.300"))
    done = tiltyard(site, place, "import", "rates", "a=a.txt", "b=b.txt")
    assert done.returncode == 0, done.stderr
    assert done.stderr.count(f'the reader "deaf" {OF} {FAILED}') == 1, done.stderr
    return place


@pytest.mark.parametrize(
    ("name", "why"),
    [("wreck", FAILED), ("mute", "failed: TypeError: it read dict, not Imported")],
)
def test_a_file_is_refused_whose_reader_fails(
    site: Path, tmp_path: Path, name: str, why: str
) -> None:
    (tmp_path / "a.txt").write_text(f"{name}\nlap 1 s\n")
    done = tiltyard(site, tmp_path, "import", "laps", "a=a.txt")
    assert (done.returncode, done.stdout) == (2, "")
    last = done.stderr.splitlines()[-1]
    assert last == f'tiltyard: a.txt: the reader "{name}" {OF} {why}. {FIX}'
    assert not (tmp_path / "laps").exists()


def test_charts_are_left_out_and_the_report_is_made(site: Path, imported: Path) -> None:
    done = tiltyard(site, imported, "report", "rates")
    assert done.returncode == 0, done.stderr
    assert "out of turn" not in done.stdout
    for name, why in (
        ("wreck", FAILED),
        ("gone", "failed: SystemExit: 0"),
        ("smear", "draws what is no picture: "),
    ):
        text = f'a picture is left out of the report: the chart "{name}" {OF} {why}'
        assert text in " ".join(done.stderr.split()), done.stderr
    page = (imported / "rates/report/index.html").read_text()
    assert "A wreck" not in page
    assert "<svg" in page


def test_a_style_a_format_and_an_exporter_fail_with_the_name(site: Path, imported: Path) -> None:
    for words, part in (
        (("report", "rates", "--style", "wreck"), "style"),
        (("report", "rates", "--format", "wreck,csv"), "format"),
        (("export", "rates", "--to", "wreck"), "exporter"),
    ):
        done = tiltyard(site, imported, *words)
        assert done.returncode == 3, done.stderr
        assert done.stderr.splitlines()[-1] == f'tiltyard: the {part} "wreck" {OF} {FAILED}. {FIX}'
    assert [*(imported / "rates/report").glob("*.csv")], "other formats are written"
    done = tiltyard(site, imported, "export", "rates", "--to", "text", "-o", "-")
    assert (done.returncode, done.stdout) == (3, "")
    assert "TypeError: it made str, not bytes" in done.stderr
    done = tiltyard(site, imported, "report", "rates", "--format", "climb")
    assert done.returncode == 3
    assert "is no path in the folder of the report" in done.stderr
    assert not [*imported.parent.rglob("climb.txt")]


@pytest.mark.parametrize(
    ("verb", "code", "why"),
    [("wreck", 3, FAILED), ("odd", 3, "failed: Odd"), ("leave", 0, "")],
)
def test_a_verb_fails_with_the_name(
    site: Path, tmp_path: Path, verb: str, code: int, why: str
) -> None:
    done = tiltyard(site, tmp_path, verb)
    assert done.returncode == code
    expected = f'tiltyard: the verb "{verb}" {OF} {why}. {FIX}\n' if code else ""
    assert done.stderr == expected


def test_a_file_system_with_a_driver_of_its_own_is_refused(site: Path, tmp_path: Path) -> None:
    (tmp_path / "study.toml").write_text(
        'question = "q"\n[factors]\nfilesystem = ["wreckfs", "ext4"]\n'
        '[systems]\nbacking = { image = "64M" }\n[[workload]]\nuse = "postmark"\n'
    )
    done = tiltyard(site, tmp_path, "check", "study.toml")
    assert done.returncode == 3, done.stdout
    assert f'the file system "wreckfs" {OF} is not what it says: TypeError' in done.stderr
    (tmp_path / "study.toml").write_text(
        (tmp_path / "study.toml").read_text().replace("wreckfs", "xfs")
    )
    assert "wreckfs" not in tiltyard(site, tmp_path, "check", "study.toml", "--dry-run").stdout


@pytest.mark.parametrize(
    ("place", "why"),
    [
        ("open", FAILED), ("up", FAILED), ("look", FAILED), ("down", FAILED),
        ("type", "failed: TypeError: it looked and gave str, not Up"),
        ("name", "mine would not be removed; call it site.ledger.name(…)"),
    ],
)  # fmt: skip
def test_trials_fail_whose_kind_fails_and_all_is_taken_back(
    site: Path, tmp_path: Path, place: str, why: str
) -> None:
    (tmp_path / "study.toml").write_text(
        f'question = "q"\n[factors]\nfails = ["no", "{place}"]\n[systems]\nkind = "wreck"\n'
        '[[workload]]\nuse = "program"\nname = "true"\ncommand = ["true"]\n'
        "[precision]\nblocks = 6\n"
    )
    done = tiltyard(
        site, tmp_path, "run", "study.toml", "--folder", "wrecks", "--disturbed", "keep", "--trust"
    )
    journal = tmp_path / "wrecks/journal.jsonl"
    if place == "open":
        assert done.returncode == 3, done.stderr
    elif place == "down":
        assert done.returncode == 0, done.stderr
    else:
        assert done.returncode == 5, done.stderr
        assert why.replace("\\", "\\\\") in journal.read_text() or why in journal.read_text()
    told = journal.read_text() if journal.exists() else ""
    assert f'the kind of system "wreck" {OF}' in done.stderr + told.replace('\\"', '"')
    assert not [*tmp_path.rglob("tiltyard-*wreck-*")]
    assert not [*tmp_path.rglob("mine")]
    if place == "down":
        findings = json.loads((tmp_path / "wrecks/findings.json").read_text())
        texts = [one["text"] for one in findings["notices"]]
        assert any(text.startswith("A sentence is left out: the statement") for text in texts)
        assert findings["record"]["wreck"]["facts"].startswith("not available, because the section")
        assert findings["plugins"] == {"wreck-yard": "0.9"}
        assert 'further findings are left out: the statement "wreck' in done.stderr


def odd_package(site: Path, name: str, text: str, groups: dict[str, dict[str, str]]) -> None:
    install(site, name, {f"{name}.py": text}, groups)


def test_what_cannot_be_imported_is_one_warning_and_exit_3_by_name(tmp_path: Path) -> None:
    site = tmp_path / "site"
    for name, text in (
        ("lacks", "import nowhere"), ("syntax", "def"),
        ("exits", "print('x'); raise SystemExit(7)"),
        ("ours", "from tiltyard.errors import UsageError\nraise UsageError('no')"),
        ("bare", "READER = 5"), ("empty", ""),
    ):  # fmt: skip
        points = {"readers": {name: f"{name}:READER"}, "verbs": {name: f"{name}:READER"}}
        odd_package(site, name, text, points)
    (tmp_path / "a.txt").write_text("nobody's\n")
    done = tiltyard(site, tmp_path, "import", "s", "a=a.txt")
    assert (done.returncode, done.stdout) == (2, "")
    told = " ".join(done.stderr.split())
    for name, why in (
        ("lacks", "ModuleNotFoundError: No module named 'nowhere'"), ("syntax", "SyntaxError"),
        ("exits", "cannot be imported: SystemExit: 7"), ("ours", "cannot be imported: no"),
        ("bare", "bare:READER is int, not Importer"), ("empty", "AttributeError"),
    ):  # fmt: skip
        assert told.count(f'the reader "{name}" of the package {name} 1.2') == 1
        assert why in told
        for words in (("import", "s", "a=a.txt", "--as", name), (name,)):
            done = tiltyard(site, tmp_path, *words)
            assert (done.returncode, done.stdout) == (3, ""), (words, done.stderr)
            assert f"of the package {name} 1.2" in done.stderr
    done = tiltyard(site, tmp_path, "doctor", "--json")
    broken = [
        one for one in json.loads(done.stdout)["checks"] if "of the package" in one["meaning"]
    ]
    assert [one["status"] for one in broken] == ["limited"] * 12
    assert tiltyard(site, tmp_path, "--help").returncode == 0


def test_one_that_hangs_at_import_is_given_up(tmp_path: Path) -> None:
    site = tmp_path / "site"
    text = "import time\nwhile True:\n    try:\n        time.sleep(60)\n    except OSError: pass\n"
    odd_package(site, "sleeps", text, {"verbs": {"sleeps": "sleeps:VERB"}})
    began = time.monotonic()
    done = tiltyard(
        site, tmp_path, "sleeps", before="import tiltyard.registry as r; r.LIMIT_S = 0.5"
    )
    assert done.returncode == 3
    assert "cannot be imported: it took longer than 0.5 s" in done.stderr
    assert time.monotonic() - began < 60


def test_of_two_with_one_name_none_is_taken(tmp_path: Path) -> None:
    site = tmp_path / "site"
    text = (
        "from tiltyard.plugin import Exporter\n"
        "def named(name): return Exporter(name, 'a', 'x', lambda _: b'shadow')\n"
        "LAPS, CSV = named('laps'), named('csv')\n"
    )
    for name in ("one", "two"):
        odd_package(site, name, text, {"exporters": {"laps": f"{name}:LAPS"}})
    odd_package(site, "three", text, {"exporters": {"csv": "three:CSV"}})
    (tmp_path / "s").mkdir()
    for wanted, holders in (
        ("laps", 'the exporter "laps" of the package one 1.2 and the exporter "laps" of the '
                 "package two 1.2"),
        ("csv", 'the exporter "csv" of the package three 1.2 and Tiltyard\'s own'),
    ):  # fmt: skip
        done = tiltyard(site, tmp_path, "export", "s", "--to", wanted)
        assert done.returncode == 2
        assert done.stderr.startswith(f"tiltyard: {holders} have one name. Fix: ")
    done = tiltyard(site, tmp_path, "export", "s", "--to", "laps", plugins="two")
    assert "have one name" not in done.stderr
    done = tiltyard(site, tmp_path, "doctor", "--json")
    assert done.stdout.count("have one name") == 3


def test_bad_names_and_other_interfaces_are_told_without_importing(tmp_path: Path) -> None:
    site = tmp_path / "site"
    points = {
        "tiltyard.v2.readers": {"later": "later:X"},
        "tiltyard.verbs": {"earlier": "later:X"},
        "colours": {"red": "later:X"},
        "readers": {"a\x1bb": "later:X", "value": "later:X; import os"},
    }
    odd_package(site, "later", "raise SystemExit(9)", points)
    nameless = site / "nameless-1.dist-info"
    nameless.mkdir()
    (nameless / "entry_points.txt").write_text("[tiltyard.v1.verbs]\nx = later:X\n")
    done = tiltyard(site, tmp_path, "doctor", "--json")
    told = [one["meaning"] for one in json.loads(done.stdout)["checks"]]
    for part in (
        "is for another interface: tiltyard.v2.readers, where this one is tiltyard.v1.*",
        "is for another interface: tiltyard.verbs",
        "is in tiltyard.v1.colours, which there is not; one of kinds, filesystems",
        "has a name that nobody could type",
        'names no object: "later:X; import os"',
    ):
        assert [text for text in told if part in text], (part, told)
    assert "\x1b" not in "".join(told)
    assert tiltyard(site, tmp_path, "--help").returncode == 0


def test_a_damaged_package_hides_no_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    texts = {
        "torn": b"[tiltyard.v1.verbs]\n=\nx\n", "binary": b"[tiltyard.v1.verbs]\nx = \xff\n",
        "whole": b"[tiltyard.v1.verbs]\nx = whole:X\n",
    }  # fmt: skip
    for name, text in texts.items():
        odd_package(tmp_path, name, "", {})
        (tmp_path / f"{name}-1.2.dist-info/entry_points.txt").write_bytes(text)
    monkeypatch.setattr("sys.path", [str(tmp_path)])
    found = {one.package: one for one in registry._entries()}
    assert found.keys() == {"torn", "whole"}
    assert found["torn"].wrong.startswith("has entry points that cannot be read: ")
    assert found["whole"].wrong == ""
