"""What is wrong with the study that `compare` and `gate` write is told of what was typed."""

import re
from dataclasses import fields
from pathlib import Path

import pytest
from cyclopts import CycloptsError

from support.hosts import needs_root
from tiltyard.cli import app
from tiltyard.cli.commands import Commands
from tiltyard.cli.measuring import Measuring
from tiltyard.cli.typed import OF_COMMANDS, OPTIONS, Typed
from tiltyard.errors import TiltyardError
from tiltyard.study.problems import Problem, StudyFileError

COMPARE = ("compare", "-c", "true", "-c", "false")
GATE = ("gate", "-c", "true", "-c", "false", "--within", "3%")
KEYS = re.compile(r"study\.toml|(workload|precision|noise|systems|factors)\.|\[\[|\]\]")
SERVED = ("--server", "sleep 9", "--ready")

OF_BOTH = {
    "--blocks": [("--blocks", "x"), ("--blocks", "2"), ("--blocks", "2000")],
    "--budget": [("--budget", "soon"), ("--budget", "0 s"), ("--budget", "9")],
    "--seed": [("--seed", "x"), ("--seed", "-1"), ("--seed", "9" * 20)],
    "--disturbed": [("--disturbed", "maybe")],
    "--command": [("-c", "no-such"), ("-c", "")],
    "--setup": [("--setup", "no-such")],
    "--prepare": [("--prepare", "no-such"), ("--prepare", "no-such", "--prepare", "true")],
    "--conclude": [("--conclude", "no-such")],
    "--cleanup": [("--cleanup", "no-such")],
    "--warmup": [("--warmup", "x"), ("--warmup", "-1"), ("--warmup", "9" * 9)],
    "--runs": [("--runs", "x"), ("--runs", "5"), ("--runs", "9" * 9)],
    "--min-runs": [("--min-runs", "x"), ("--min-runs", "0"), ("--min-runs", "9" * 9)],
    "--parameter-list": [("--parameter-list", "n"), ("--parameter-list", "n", "1,1")],
    "--parameter-scan": [("--parameter-scan", "n", "9", "1")],
    "--parameter-step-size": [("--parameter-step-size", "2")],
    "--command-name": [("--command-name", "one")],
    "--compare-output": [("--compare-output", "no-such"), ("--compare-output", "{nope}")],
    "--exit-codes": [("--exit-codes", "x"), ("--exit-codes", "256")],
    "--server": [("--server", ""), ("--server", "no-such", "--ready", "80")],
    "--ready": [(*SERVED, "0"), (*SERVED, "65536"), (*SERVED, ""), (*SERVED, "stdout=")],
    "--reference-name": [("--reference-name", "old")],
    "--input": [("--input", "missing"), ("--input", "{nope}")],
    "--output": [("--output", "{nope}"), ("--output", "inherit")],
    "--isolate": [("--isolate", "x"), ("--isolate", ""), ("--isolate", "9999")],
    "--env": [("--env", "=1"), ("--env", ""), ("--env", "A={nope}")],
}
"""Option → the ways of giving it a value that is not right."""
OF_COMPARE = {"--scale": [("--scale", "2"), ("--scale", "x")]}
OF_GATE = {"--within": [("--within", "x"), ("--within", "200%")]}
NEVER_WRONG = {
    "--shell", "--no-shell", "--same-output", "--ignore-failure", "--show-output",
    "--no-alternate", "--reference",  # A command, and told as one.
}  # fmt: skip
"""Options without a value."""

SYSTEMS = [
    (("a", "b", "-w", "random:block=x"), "-w random:block=x: block: "),
    (("a", "b", "-w", "random:depth=0"), "-w random:depth=0: depth: 0 is out of range"),
    (("a", "b", "-w", "random", "-w", "postmark:files=x"), "Fix: -w postmark:files=500, or"),
    (("a", "b", "-w", "fio:no.fio"), "fio:no.fio: no.fio: there is no such file. Fix: name"),
    (("a", "b", "-w", "pgbench:scripts=[a/x@3,b/y]"), "]: a/x: there is no such file. Fix: "),
    (("a", "b", "-w", "fio:a"), "fio:a: a: is no file. Fix: name one"),
    (("a", "b", "-w", "tcp_stream"), "-w tcp_stream: tcp_stream needs a network server"),
    (("ext4", "ext4+reset=x"), 'ext4+reset=x: reset: "x" is not a value of reset'),
    (("ext4+reset=x", "ext4+reset=x"), "ext4+reset=x: reset: "),
    (("ext4+reset=x", "--vary", "mount=ro,rw"), "ext4+reset=x: reset: "),
    (("ext4", "--vary", "reset=x,y"), '--vary reset=x,y: "x" is not'),
    (("ext4+backing=x", "xfs"), "A table stands in braces { key = value }"),
    (("mtu=1", "mtu=9000"), "mtu=1: 1 is too small"),
    (("mtu=1500", "rate=x"), 'rate=x: rate: "x" is not a rate'),
]


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TILTYARD_STATE", str(tmp_path / "state"))
    for name in "ab":
        (tmp_path / name).mkdir()
    return tmp_path


def told(*words: str) -> str:
    """What is said against a command line that is not right."""
    with pytest.raises((TiltyardError, CycloptsError)) as raised:
        app(words, exit_on_error=False, print_error=False, result_action="return_value")
    return str(raised.value)


@pytest.mark.parametrize(
    ("option", "words"),
    [
        *((option, (*COMPARE, *bad)) for option, ways in OF_BOTH.items() for bad in ways),
        *((option, (*GATE, *bad)) for option, ways in OF_BOTH.items() for bad in ways),
        *((option, (*COMPARE, *bad)) for option, ways in OF_COMPARE.items() for bad in ways),
        *((option, (*GATE[:-2], *bad)) for option, ways in OF_GATE.items() for bad in ways),
    ],
)
def test_a_bad_value_is_told_of_its_option(option: str, words: tuple[str, ...], here: Path) -> None:
    text = told(*words)
    assert option in text
    assert not KEYS.search(text)
    assert {path.name for path in here.iterdir()} <= {"a", "b", "state"}


def test_every_option_that_takes_a_value_is_among_these() -> None:
    own = {
        f"--{each.name.replace('_', '-')}"
        for kind in (Commands, Measuring)
        for each in fields(kind)
    }
    assert own - NEVER_WRONG == {*OF_BOTH, *OF_COMPARE}


@pytest.mark.parametrize(("words", "says"), SYSTEMS)
def test_a_bad_setting_is_told_of_the_word_that_has_it(words: tuple[str, ...], says: str) -> None:
    text = told("compare", *words)
    assert says in text
    assert not KEYS.search(text)


@pytest.mark.parametrize(
    "key",
    [
        *(tuple(key.split(".")) for key in OPTIONS),
        *(("workload", 0, *key.split(".")) for key in OF_COMMANDS),
    ],
)
def test_each_key_of_the_table_has_an_option_of_the_command_line(key: tuple[str, ...]) -> None:
    path = Path("study.toml")
    error = StudyFileError(path, [Problem(1, ".".join(map(str, key)), "is wrong", key)])
    text = Typed(commands=Commands(command=("true", "false"))).told(error)
    option = re.match(r"(--[a-z-]+)( \(-c\))?: is wrong$", text)
    assert option, text
    assert option[1] in {*OF_BOTH, *OF_COMPARE, *OF_GATE, *NEVER_WRONG}


def test_a_study_that_is_in_the_folder_is_not_blamed_for_what_is_typed_now(here: Path) -> None:
    words = (*COMPARE, "--runs", "6", "--ignore-failure", "--budget")
    app([*words, "5 min"], result_action="return_value")
    assert told(*words, "0 s").startswith('--budget: "0 s" is out of range')


def test_a_key_without_an_option_is_told_with_the_way_to_write_it() -> None:
    error = StudyFileError(Path("study.toml"), [Problem(1, "question", "is wrong", ("question",))])
    text = Typed().told(error)
    assert text.startswith("question: is wrong. No option says it. Fix: tiltyard new STUDY, and ")


@needs_root
def test_an_image_that_is_too_small_is_mended_by_a_word_that_can_be_typed() -> None:
    text = told("compare", 'ext4+backing={image="1M"}+mount=ro', "ext4")
    assert text.endswith("""; 'ext4+mount=ro+backing={ image = "16M" }'""")
