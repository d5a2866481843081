"""Installed tests of the Phoronix Test Suite: their XML, their rules on real output, a real run."""

import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from support.imports import golden
from tiltyard.cli.workloads import workloads
from tiltyard.errors import UsageError, WrittenWarning
from tiltyard.executors.engine import Engine, JobRefused
from tiltyard.importers.printed import Printed, value_of
from tiltyard.study.compare import compare_study
from tiltyard.study.program import MetricTable
from tiltyard.wire import Card
from tiltyard.workloads.catalogue import ProfileCard, catalogue_of
from tiltyard.workloads.phoronix import UnknownRuleError, found_by
from tiltyard.workloads.phoronix.definition import ResultRule
from workloads.test_ready import executed

PROFILES = Path(__file__).parent / "phoronix"
ENGINE = Engine.find().path
TOOLS = {"fs-mark": "fs_mark", "tiobench": "tiotest"}
"""Profile → the tool, where it is called otherwise. The engine answers to its name."""
SCRIPT = """#!/bin/sh
mkdir scratch
bin/{tool} $@ {file} > $LOG_FILE 2>&1
echo $? > ~/test-exit-status
rm -rf scratch
"""
"""As the suite's own scripts are: the log is a file, and the exit code is written to another."""
POSTMARK = """#!/bin/sh
printf 'set transactions %s\\nset size %s %s\\nset number %s\\nrun\\nquit\\n' $1 $2 $3 $4 > settings
bin/{tool} settings > $LOG_FILE 2>&1
echo $? > ~/test-exit-status
"""
"""PostMark has a file of settings instead of arguments."""


@pytest.fixture
def suite(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Path]:
    """Installs a test profile as the suite does, its tool being the engine."""
    place = tmp_path / "suite"
    monkeypatch.setenv("PTS_USER_PATH_OVERRIDE", str(place))

    def install(
        name: str, *changes: tuple[str, str], script: str = SCRIPT, program: str | None = None
    ) -> Path:
        definition = place / "test-profiles/pts" / name
        shutil.copytree(PROFILES / name, definition)
        for old, new in changes:
            for path in definition.iterdir():
                path.write_text(path.read_text().replace(old, new))
        installed = place / "installed-tests/pts" / name
        installed.mkdir(parents=True)
        (installed / "pts-install.json").write_text("{}")
        plain = name.rpartition("-")[0]
        tool = TOOLS.get(plain, plain)
        file = "aio-test-file" if plain == "aio-stress" else ""
        (installed / plain).write_text(script.replace("{tool}", tool).replace("{file}", file))
        (installed / plain).chmod(0o755)
        (installed / "bin").mkdir()
        (installed / "bin" / tool).symlink_to(program or ENGINE)
        return installed

    return install


def card(name: str) -> ProfileCard:
    found = catalogue_of(Engine.find()).workload(name)
    assert isinstance(found, ProfileCard)
    return found


def metric(found: Card, **parameters: Any) -> MetricTable:
    """The one result of a test with such options."""
    assert isinstance(found, ProfileCard)
    metrics = found.expand(parameters)["metrics"]
    assert isinstance(metrics, dict)
    ((name, table),) = metrics.items()
    assert name == "result"
    return MetricTable.model_validate(table)


def read_by(table: MetricTable, path: str) -> float:
    """What the rule finds in an output that the original tool printed."""
    text = golden(path).read_text()
    if "compilebench" in path:  # it was recorded with three directories, the profile has ten
        text = re.sub(r"((?:create|compile) total runs) 3", r"\1 10", text)
    found = re.findall(table.regex or "", text, re.MULTILINE)
    return float(found[-1]) * table.scale


MIB = 2**20


@pytest.mark.parametrize(
    ("name", "options", "output", "expected"),
    [
        # Only the first of the loops counts, as in the suite.
        ("fs-mark-1.0.3", {}, "fs_mark/loops.txt", 759.4),
        ("compilebench-1.0.3", {}, "compilebench/makej-in-a-log.txt", 151.21 * MIB),
        (
            "compilebench-1.0.3",
            {"run_test": "Compile"},
            "compilebench/makej-in-a-log.txt",
            365.34 * MIB,
        ),
        (
            "compilebench-1.0.3",
            {"run_test": "Read Compiled Tree"},
            "compilebench/makej-in-a-log.txt",
            582.65 * MIB,
        ),
        ("postmark-1.1.2", {}, "postmark/verbose.txt", 3000),
        ("tiobench-1.3.1", {"test_item": "Random Read"}, "tiotest/2017.txt", 4914.005 * MIB),
        ("tiobench-1.3.1", {}, "tiotest/0.3.3.txt", 1428.245 * MIB),
        # KiB/s in the table, from which the suite makes MiB/s.
        ("iozone-1.9.6", {"test": "Write Performance"}, "iozone/four-columns.txt", 1163036 * 1024),
        ("iozone-1.9.6", {"test": "Read Performance"}, "iozone/auto-3.489.txt", 8182586 * 1024),
    ],
)
def test_a_rule_finds_what_the_suite_reports(
    name: str,
    options: dict[str, str],
    output: str,
    expected: float,
    suite: Callable[..., Path],
) -> None:
    suite(name)
    table = metric(card(f"pts:{name.rpartition('-')[0]}"), **options)
    assert read_by(table, output) == pytest.approx(expected)
    assert table.better == "higher"


def test_options_are_parameters_and_words_of_the_command(suite: Callable[..., Path]) -> None:
    installed = suite("iozone-1.9.6")
    found = card("pts:iozone")
    schema = found.parameters["properties"]
    assert list(schema) == ["record_size", "file_size", "test"]
    assert schema["file_size"]["default"] == "512MB"
    table = found.expand({"record_size": "64Kb", "file_size": "8GB", "test": "Read Performance"})
    command = table["command"]
    assert isinstance(command, list)
    assert command[3:] == ["iozone", "-e -o", "-r 64k", "-s 8192M", "-i0 -i1 #READ"]
    assert table["setup"] == [
        ["cp", "-a", "--reflink=auto", f"{installed}/.", "."],
        ["sync", "-f", "."],
    ]


def test_the_list_of_workloads_has_it(
    suite: Callable[..., Path], capsys: pytest.CaptureFixture[str]
) -> None:
    suite("fs-mark-1.0.3")
    suite("postmark-1.1.2")
    workloads()
    printed = capsys.readouterr().out
    assert re.search(r"pts:fs-mark +FS-Mark .*Phoronix", printed)
    assert "pts:postmark" in printed


def typed(*words: str) -> list[dict[str, Any]]:
    """The workloads of a study that is made of what was typed after ``-w``."""
    systems = [("a", {"directory": "/a"}), ("b", {"directory": "/b"})]
    study = compare_study(systems, words, catalogue_of(Engine.find()))
    return list(study["workload"])


def test_it_can_be_typed_with_its_options(suite: Callable[..., Path]) -> None:
    suite("iozone-1.9.6")
    whole, part = typed("pts:iozone", "pts:iozone:file_size=512MB,test=Read Performance")
    assert whole == {"use": "pts:iozone", "name": "pts:iozone"}
    assert (part["use"], part["file_size"]) == ("pts:iozone", "512MB")
    assert part["name"] == "pts:iozone file_size=512MB test=Read Performance"


def test_one_that_is_not_installed_is_told_with_what_installs_it(
    suite: Callable[..., Path],
) -> None:
    suite("fs-mark-1.0.3")
    with pytest.raises(UsageError, match=r"Fix: phoronix-test-suite install pts/iozone$"):
        typed("pts:iozone:file_size=512MB")
    with pytest.raises(UsageError, match='Did you mean "pts:fs-mark"'):
        workloads("pts:fs_mark")


def test_a_text_that_a_shell_reads_needs_trust(suite: Callable[..., Path]) -> None:
    definition = (PROFILES / "aio-stress-1.1.3/test-definition.xml").read_text()
    menu = definition[definition.index("      <Menu>") : definition.index("    </Option>")]
    suite("aio-stress-1.1.3", (menu, ""))
    found = card("pts:aio-stress")
    assert found.parameters["properties"]["test"]["brings"]
    assert found.expand({"test": "2; id"})["command"][-1] == "-o 2; id"  # type: ignore[index]


@pytest.mark.parametrize(
    ("name", "change", "unit", "low"),
    [
        ("fs-mark-1.0.3", ("-L 20 -s 1048576 -n 1000", "-L 2 -s 4096 -n 20"), "1/s", 1),
        ("aio-stress-1.1.3", ("-s 2g -r 64k -t 3", "-s 2m -r 64k -t 3"), "B/s", 1e5),
        ("iozone-1.9.6", (">512<", ">1<"), "B/s", 1e5),
        ("tiobench-1.3.1", (">32<", ">1<"), "B/s", 1e5),
        ("postmark-1.1.2", ("250000 5120 524288 500", "3000 512 1024 100"), "1/s", 1),
    ],
)
def test_an_installed_test_runs_on_the_system_under_test(
    name: str,
    change: tuple[str, str],
    unit: str,
    low: float,
    suite: Callable[..., Path],
    tmp_path: Path,
) -> None:
    plain = name.rpartition("-")[0]
    original = shutil.which(TOOLS.get(plain, plain))
    # Ours under the name of the original, and beside it the original itself where it is installed.
    for program in [None, original] if original else [None]:
        suite(name, change, program=program, script=POSTMARK if plain == "postmark" else SCRIPT)
        directory = tmp_path / "system"
        directory.mkdir()
        samples = executed(card(f"pts:{plain}"), {}, directory)
        result = next(one for one in samples if one.metric == "result")
        assert result.unit == unit
        assert result.value > low
        assert not list(directory.iterdir())
        directory.rmdir()
        shutil.rmtree(tmp_path / "suite")


def test_the_exit_code_that_a_script_writes_counts(
    suite: Callable[..., Path], tmp_path: Path
) -> None:
    suite("fs-mark-1.0.3", script="#!/bin/sh\necho no disk\necho 7 > ~/test-exit-status\n")
    with pytest.raises(AssertionError, match="7"):
        executed(card("pts:fs-mark"), {}, tmp_path)


def test_the_newest_of_several_versions_counts(suite: Callable[..., Path]) -> None:
    suite("fs-mark-1.0.3")
    newer = suite("postmark-1.1.2").parent / "fs-mark-1.0.10"
    shutil.copytree(newer.parent / "fs-mark-1.0.3", newer)
    definitions = newer.parents[2] / "test-profiles/pts"
    shutil.copytree(definitions / "fs-mark-1.0.3", definitions / "fs-mark-1.0.10")
    found = card("pts:fs-mark").expand({})["setup"]
    assert str(newer) in str(found)


def test_what_is_downloaded_and_not_installed_is_no_workload(suite: Callable[..., Path]) -> None:
    (suite("fs-mark-1.0.3") / "pts-install.json").unlink()
    assert catalogue_of(Engine.find()).workload("pts:fs-mark") is None


def test_a_damaged_definition_hinders_nothing_else(suite: Callable[..., Path]) -> None:
    suite("postmark-1.1.2")
    suite("fs-mark-1.0.3", ("</PhoronixTestSuite>", ""))
    with pytest.warns(WrittenWarning, match="test-definition.xml: not XML"):
        catalogue = catalogue_of(Engine.find())
    assert catalogue.workload("pts:fs-mark") is None
    assert catalogue.workload("pts:postmark") is not None


def test_entities_are_not_read(suite: Callable[..., Path]) -> None:
    doctype = '<?xml version="1.0"?>\n<!DOCTYPE a [<!ENTITY x SYSTEM "file:///etc/passwd">]>'
    suite("fs-mark-1.0.3", ('<?xml version="1.0"?>', doctype), ("FS-Mark", "&x;"))
    with pytest.warns(WrittenWarning, match="not XML as the suite writes it"):
        assert catalogue_of(Engine.find()).workload("pts:fs-mark") is None


@pytest.mark.parametrize(
    ("settings", "output", "expected"),
    [
        ({}, "Score: 12\nScore: 13\n", 13),
        ({"MultiMatch": "AVERAGE"}, "Score: 12\nScore: 13\n", 12.5),
        ({"StripFromResult": ","}, "Score: 1,234\n", 1234),
        ({"StripResultPostfix": "ms"}, "Score: 8ms\n", 8),
        ({"MultiplyResultBy": "1000"}, "Score: 8\n", 8000),
        ({"TurnCharsToSpace": "|"}, "Score:|8|\n", 8),
        ({"LineHint": "Score"}, "Score: 8\nNo score\n", 8),
        ({"LineAfterHint": "end"}, "Score: 8\nScore: 9\nthe end\nScore: 7\n", 9),
        ({"ResultAfterString": "Score:"}, "the Score: = 8 x\n", 8),
        ({"DeleteOutputBefore": "run 2"}, "run 1\nScore: 1\nrun 2\nScore: 2\nrun 2\n", 2),
        ({"DeleteOutputAfter": "run 2"}, "Score: 1\nrun 2\nScore: 2\nrun 2\nScore: 3\n", 1),
        ({"DivideResultDivisor": "60"}, "Score: 4\n", 15),
        (
            {"DivideResultBy": "2", "DivideResultDivisor": "60", "MultiplyResultBy": "10"},
            "Score: 4\n",
            300,
        ),
        ({"MultiMatch": "GEOMETRIC_MEAN"}, "Score: 2\nScore: 8\n", 4),
        ({"MultiMatch": "REPORT_ALL"}, "Score: 2\nScore: 8\n", 5),
    ],
)
def test_elements_of_rules(settings: dict[str, str], output: str, expected: float) -> None:
    found = found_by(ResultRule("Score: #_RESULT_#", settings), "#_RESULT_#")
    keys = {"regex": found.regex, "take": found.take, "scale": found.scale, **found.rest}
    table = MetricTable.model_validate({**keys, "unit": "count", "better": "higher"})
    assert value_of("score", table, Printed("out", output)) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"MultiMatch": "MEDIAN"}, "MultiMatch MEDIAN is not understood"),
        ({"DivideResultBy": "0"}, "'0' is not a factor"),
        ({"FileFormat": "XML"}, "FileFormat XML is not understood"),
    ],
)
def test_a_rule_that_is_not_understood_is_refused(settings: dict[str, str], message: str) -> None:
    with pytest.raises(UnknownRuleError, match=message):
        found_by(ResultRule("Score: #_RESULT_#", settings), "#_RESULT_#")


def test_a_test_whose_result_cannot_be_read_is_refused(suite: Callable[..., Path]) -> None:
    hint = "<LineBeforeHint>Files/sec</LineBeforeHint>"
    suite("fs-mark-1.0.3", (hint, f"{hint}<MultiMatch>MEDIAN</MultiMatch>"))
    with pytest.raises(JobRefused, match="pts:fs-mark: its result cannot be read: MultiMatch"):
        card("pts:fs-mark").expand({})
