"""Commands as they are typed: words, names, the study that is written, and what is refused."""

from pathlib import Path

import pytest

from support.catalogue import WITH_PROGRAM
from tiltyard.cli import app
from tiltyard.cli.commands import Commands, instead_of, translated
from tiltyard.cli.contestants import understood
from tiltyard.errors import UsageError
from tiltyard.study.compare import Asked, TypedCommands, compare_study

GUIDE = Path(__file__).parents[2] / "docs/guides/gate.md"
HYPERFINE = """
-w/--warmup -m/--min-runs -M/--max-runs -r/--runs -s/--setup --reference --reference-name
-p/--prepare -C/--conclude --cleanup -P/--parameter-scan -D/--parameter-step-size
-L/--parameter-list -S/--shell -N -i/--ignore-failure --style --sort -E/--show-elapsed
-u/--time-unit --export-asciidoc --export-csv --export-json --export-markdown --export-orgmode
--show-output --output --input -n/--command-name --min-benchmarking-time
"""
"""All options of hyperfine 1.15 to 1.20, hidden ones too, but `-c`: there it is the cleanup."""


def typed(*command: str, systems: tuple[str, ...] = (), **options: object) -> TypedCommands:
    found = understood(Commands(command=command, **options), systems)  # type: ignore[arg-type]
    assert found is not None
    return found


def study(*command: str, systems: tuple[str, ...] = (), **options: object) -> dict[str, object]:
    commands = typed(*command, systems=systems, **options)
    levels = [(name, {"filesystem": name}) for name in systems]
    return compare_study(levels, (), WITH_PROGRAM, commands=commands, asked=Asked(seed=7))


def test_words_are_passed_on_without_a_shell() -> None:
    found = study("old=grep -e 'a b' f", "new=grep -F foo f", warmup=2, env=("A=1", "B"))
    assert found["question"] == "Which is faster: old or new?"
    assert found["factors"] == {
        "command": {
            "old": ["grep", "-e", "a b", "f"],
            "new": ["grep", "-F", "foo", "f"],
        }
    }
    assert found["workload"] == [
        {
            "use": "program",
            "command": ["{command}"],
            "where": ".",
            "env": {"A": "1"},
            "pass": ["B"],
            "warmup": 2,
            "keep": "64k",
        }
    ]


def test_one_command_on_several_systems() -> None:
    found = study("ls -l", systems=("ext4", "xfs"), setup=("cp -a /src/. .",))
    assert found["question"] == "Which is faster in ls: ext4 or xfs?"
    assert found["factors"] == {"filesystem": ["ext4", "xfs"]}
    (workload,) = found["workload"]  # type: ignore[misc]
    assert workload == {
        "use": "program", "command": ["ls", "-l"], "setup": ["cp", "-a", "/src/.", "."],
        "keep": "64k",
    }  # fmt: skip


def test_several_commands_on_one_system() -> None:
    found = study("a=ls -l", "b=ls", systems=("ext4",))
    assert (found["systems"], [*found["factors"]]) == ({"filesystem": "ext4"}, ["command"])  # type: ignore[misc]


def test_parameters_are_crossed_with_commands() -> None:
    found = study(
        "a=sort --parallel={n} f",
        "b=sort -S{m} --parallel={n} f",
        parameter_list=(("m", "1M,2M"),),
        parameter_scan=(("n", "1", "2"),),
        parameter_step_size="0.5",
    )
    factors = found["factors"]
    assert factors["m"] == {"m=1M": "1M", "m=2M": "2M"}  # type: ignore[index]
    assert [*factors["n"]] == ["n=1.0", "n=1.5", "n=2.0"]  # type: ignore[index]


@pytest.mark.parametrize(
    ("commands", "names"),
    [
        (("gzip -1 f", "gzip -9 f"), ("gzip -1", "gzip -9")),
        (("a/rg x", "./b/rg x"), ("a/rg", "b/rg")),
        (("/bin/ls -l", "old=ls"), ("ls", "old")),
        (("true", "true", "true"), ("true-a", "true-b", "true-c")),
        (("ls", "ls -l", "ls -l /"), ("ls", "ls -l", "ls -l /")),
    ],
)
def test_names_are_the_program_and_what_differs(
    commands: tuple[str, ...], names: tuple[str, ...], tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "rg").touch(mode=0o755)
    assert typed(*commands).names == names


@pytest.mark.parametrize(
    ("runs", "blocks", "executions"),
    [(6, 6, 1), (20, 20, 1), (21, 11, 2), (30, 15, 2), (100, 20, 5), (23, 12, 2)],
)
def test_runs_are_blocks_first(runs: int, blocks: int, executions: int) -> None:
    found = typed("true", "ls", runs=runs)
    assert (found.blocks, found.workload["executions"]) == (blocks, executions)
    assert blocks * executions >= runs
    with pytest.raises(UsageError, match="--runs and --blocks"):
        compare_study((), (), WITH_PROGRAM, commands=found, asked=Asked(blocks=7))


@pytest.mark.parametrize(
    ("asked", "profile"),
    [
        ({}, "long"),
        ({"runs": 7}, None),
        ({"systems": ("ext4",)}, None),
    ],
)
def test_commands_alone_go_on_while_they_are_open(
    asked: dict[str, object], profile: str | None
) -> None:
    precision: dict[str, object] = study("a=ls -l", "b=ls", **asked).get("precision", {})  # type: ignore[arg-type, assignment]
    assert precision.get("profile") == profile


def test_the_least_number_of_runs_is_there_at_the_first_look() -> None:
    found = typed("true", "ls", min_runs=15)
    assert (found.blocks, found.workload["executions"]) == (None, 3)


def test_each_command_may_have_its_own_preparation() -> None:
    found = typed("a=ls", "b=true", prepare=("sync; true", "sync"))
    assert found.workload["prepare"] == ["{prepare}"]
    assert found.factors == {
        "commands": {
            "a": {"command": ["ls"], "prepare": ["sh", "-c", "sync; true"]},
            "b": {"command": ["true"], "prepare": ["sync"]},
        }
    }
    with pytest.raises(UsageError, match="once for all of them, or once for each"):
        typed("a=ls", "b=true", "c=ls -l", prepare=("sync", "sync"))


def test_braces_of_others_stay() -> None:
    found = typed("awk '{print}{ x }' {dir}/f", "echo ${HOME} {n}", shell=True,
                  parameter_list=(("n", "1,2"),))  # fmt: skip
    assert [*found.factors["command"].values()] == [
        ["awk '{{print}}{ x }' {dir}/f"],
        ["echo ${HOME} {n}"],
    ]
    assert found.workload["shell"] is True


@pytest.mark.parametrize(
    "line", ["ls | wc", "ls > x", "a && b", "ls $HOME", 'ls "$HOME"', "ls *.c", "ls ~/x", "`ls`"]
)
def test_what_needs_a_shell_says_so(line: str) -> None:
    with pytest.raises(UsageError, match="Fix: add --shell, or put it in quotes"):
        typed(line, "true")
    typed(line, "true", shell=True)


@pytest.mark.parametrize(
    "line", ["echo 'a | b' \"c > d\" \\;", "echo '$HOME' '*'", "ls --x=1 a~b", "ls '`'", "ls \\$x"]
)
def test_what_is_quoted_needs_none(line: str) -> None:
    typed(line, "true")


@pytest.mark.parametrize(
    ("commands", "options", "message"),
    [
        (("grep 'a", "true"), {}, "Fix: close the quotes"),
        (("x=", "true"), {}, "x: is empty"),
        (("FOO=1 ls", "true"), {}, "FOO: the program 1 is not in PATH.*--env NAME=VALUE"),
        (("ulimit -n", "true"), {}, "ulimit is a command of shells. Fix: add --shell"),
        (("./nothere", "true"), {}, "the program ./nothere is not in /"),
        (("a=ls", "a=true"), {}, 'two commands are called "a"'),
        (("ls", "true"), {"runs": 5}, "takes 6 runs of each command or more"),
        (("ls", "true"), {"runs": 9, "min_runs": 9}, "give one of them"),
        (("ls", "true"), {"parameter_list": (("n", "1,2"),)}, "no command has {n} in it"),
        (("ls {n}", "true"), {"parameter_list": (("n", "1,1"),)}, "a value twice"),
        (("ls {n}", "true"), {"parameter_scan": (("n", "1", "x"),)}, "no range of numbers"),
        (("ls {n}", "true"), {"parameter_scan": (("n", "3", "1"),)}, "smaller to the larger"),
        (("ls {dir}", "true"), {"parameter_list": (("dir", "1,2"),)}, "cannot name a parameter"),
        ((), {"warmup": 3}, "--warmup goes with --command"),
        (("ls", "true"), {"output": "inherit"}, "Fix: --show-output"),
        (("ls", "true"), {"output": "null", "same_output": True}, "nothing is left to compare"),
        (("ls", "true"), {"compare_output": "cmp", "same_output": True}, "give one of them"),
        (("ls", "true"), {"command_name": ("a",)}, "1 times for 2 commands"),
        (("ls", "w"), {"command_name": ("a",), "reference": "f"}, "1 times for 2 commands"),
        (("ls", "true"), {"server": ("cat",)}, "Fix: --ready PORT, or --ready COMMAND"),
        (("ls", "true"), {"server": ("cat",) * 2, "ready": ("80", "stdout=x")}, "a port for each"),
        (("ls", "true"), {"ready": ("80",)}, "--ready goes with --server"),
        (("ls", "true"), {"server": ("cat",) * 3, "ready": ("80",)}, "--server is given 3 times"),
        (("ls", "true"), {"server": ("cat",) * 2, "ready": ("80", "ls")}, "a port for each"),
        (("ls", "true"), {"server": ("./no",), "ready": ("80",)}, "the program ./no is not in"),
        (("ls", "true"), {"exit_codes": "256"}, "is no list of codes"),
        (("ls", "true"), {"exit_codes": "1", "ignore_failure": True}, "give one of them"),
        (("ls", "true"), {"reference_name": "x"}, "goes with --reference"),
        (("ls", "true"), {"shell": True, "no_shell": True}, "--shell and -N"),
    ],
)
def test_what_cannot_be_is_said(
    commands: tuple[str, ...], options: dict[str, object], message: str
) -> None:
    with pytest.raises(UsageError, match=message):
        typed(*commands, **options)


def test_any_exit_code_can_be_right() -> None:
    expected = typed("true", "false", ignore_failure=True, same_output=True).workload["expect"]
    assert expected == {"exit": "any", "stdout": "same"}


@pytest.mark.parametrize(
    ("options", "found"),
    [
        ({"compare_output": "diff -q"}, ["diff", "-q", "{expected}", "{output}"]),
        ({"compare_output": "cmp {output} {expected}"}, ["cmp", "{output}", "{expected}"]),
        ({"compare_output": "awk '{a}' {output}"}, ["awk", "{{a}}", "{output}"]),
    ],
)
def test_outputs_are_compared_by_a_command(options: dict[str, object], found: list[str]) -> None:
    workload = typed("ls", "true", **options).workload
    assert (workload["expect"], workload["keep"]) == ({"compare": found}, "4M")


def test_files_take_the_place_of_standard_input_and_output(tmp_path: Path) -> None:
    def files(**options: object) -> tuple[object, object]:
        workload = typed("ls", "true", **options).workload
        return workload.get("stdin"), workload.get("stdout")

    assert files(input="null", output="pipe") == (None, None)
    assert files(output="null") == (None, "/dev/null")
    assert files(input="a", output="/b") == ("a", "/b")


def test_names_may_be_given_as_hyperfine_has_them() -> None:
    assert typed("a=1=2", "ls", command_name=("x", "y"), shell=True).names == ("x", "y")


def test_each_option_of_hyperfine_works_or_is_told_and_is_in_the_guide() -> None:
    ours = {name for one in app["compare"].assemble_argument_collection() for name in one.names}
    rows = [line.split("|")[1] for line in GUIDE.read_text().splitlines() if line.startswith("|")]
    listed = {word.strip("`,;…)(") for row in rows for word in row.split()}
    for names in HYPERFINE.split():
        for name in names.split("/"):
            assert name in ours or instead_of(name), name
            assert any(name == one or name.startswith(one + "-") for one in listed), name
            assert not (name in ours and instead_of(name)), name


def test_words_of_hyperfine_with_a_value_are_ours() -> None:
    words = (
        "-i=1,2",
        "--ignore-failure=all-non-zero",
        "-i",
        "--shell=none",
        "-S=bash",
        "-c",
        "a=b",
    )
    found = ["--exit-codes=1,2", "--ignore-failure", "-i", "-N", "-S=bash", "-c", "a=b"]
    assert [*translated(words)] == found
    assert typed("true", "false", exit_codes="1").workload["expect"] == {"exit": [0, 1]}


def test_a_reference_is_the_first_command() -> None:
    given = {"reference": "sort f", "reference_name": "old"}
    assert typed("a=ls", "true", **given).names == ("old", "a", "true")
    assert typed("ls", "true", command_name=("x", "y"), **given).names == ("old", "x", "y")


def test_a_comma_in_a_value_stands_behind_a_backslash() -> None:
    found = typed("cut -f{n} f", parameter_list=(("n", r"1\,2,3"),))
    assert [*found.factors["n"].values()] == ["1,2", "3"]


def test_a_server_for_all_for_each_and_servers_that_are_compared() -> None:
    shared = typed("a=ls {server}", "b=true", server=("cat {port}",), ready=("80",))
    assert shared.workload["servers"] == [
        {"at": "server", "command": ["cat", "{{port}}"], "ready": {"port": "80"}}
    ]
    assert [*shared.factors] == ["command"]
    each = typed("a=ls", "b=true", server=("cat", "yes; yes"), ready=("{p}",),
                 parameter_list=(("p", "80,81"),))  # fmt: skip
    assert each.workload["servers"] == [
        {"at": "server", "command": ["{serving}"], "ready": {"port": "{p}"}}
    ]
    assert each.factors["commands"] == {
        "a": {"command": ["ls"], "serving": ["cat"]},
        "b": {"command": ["true"], "serving": ["sh", "-c", "yes; yes"]},
    }
    for shell in (False, True):
        servers = typed("ls", server=("cat -u a", "cat -u b"), ready=("true",), shell=shell)
        assert servers.names == ("cat a", "cat b")
    compared = study("ls", server=("x=cat", "tail -f"), ready=("test -e x", "true"))
    assert compared["question"] == "Which is faster: x or tail?"
    assert compared["factors"] == {
        "commands": {
            "x": {"serving": ["cat"], "ready": ["test", "-e", "x"]},
            "tail": {"serving": ["tail", "-f"], "ready": ["true"]},
        }
    }


def test_one_command_alone_is_no_comparison() -> None:
    with pytest.raises(UsageError, match="compared with nothing"):
        study("ls")
