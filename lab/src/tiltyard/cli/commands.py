"""Options of commands that are typed to `compare` and `gate`, and those that only hyperfine has."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Annotated, Final, Self, TypeAlias

from cyclopts import Parameter

from tiltyard.errors import UsageError

_INSTEAD: Final = {
    ("--max-runs", "-M"): '--runs N, exactly so many, or --budget "5 min"',
    ("-S",): "--shell, which is sh; another one is a program: -c \"bash -c 'a | b'\"",
    ("--style",): "--quiet for none; output is plain where it is no terminal, or by NO_COLOR=1",
    ("--show-elapsed", "-E"): "nothing: a line for each block says how long is left",
    ("--sort",): "nothing: commands stand in the order in which they are given",
    ("--min-benchmarking-time",): "--min-runs N",
}
"""Options of hyperfine that are called otherwise, or are not there → what to use instead."""
_IGNORED: Final = ("-i", "--ignore-failure")
_SHELLS: Final = {"none": "-N", "default": "--shell"}


Several: TypeAlias = tuple[str, ...]
"""Of an option that is given again."""


class Becomes(tuple[str, ...]):
    """Keys of the study, or of the workload that commands are, that are made of an option."""

    __slots__ = ()

    def __new__(cls, *keys: str) -> Self:
        """Each from the top, with dots."""
        return super().__new__(cls, keys)


def options_by_key(group: type) -> dict[str, str]:
    """Key → the option of a group that it is made of."""
    return {
        key: f"--{own.name.replace('_', '-')}"
        for own in fields(group)
        for becomes in getattr(own.type, "__metadata__", ())
        if isinstance(becomes, Becomes)
        for key in becomes
    }


@Parameter(name="*")
@dataclass(frozen=True)
class Commands:
    """Options of commands; their words and habits are hyperfine's.

    Attributes:
        command: A command to compare, `NAME=COMMAND` or `COMMAND`; given again for each. Its words
            are passed on as they are, without a shell. With systems: what is executed on them.
        shell: Commands are lines for `sh`, whose start is measured and subtracted.
        no_shell: Commands are executed without a shell, which is so by default.
        setup: Executed before the first execution of each turn, untimed.
        prepare: Executed before each execution, untimed; given once, or once for each command.
        conclude: Executed after each execution, untimed.
        cleanup: Executed after the last execution of each turn, untimed.
        warmup: Executions of each turn that are thrown away.
        no_alternate: Each command has its executions of a block one after the other: for programs
            that undo what others leave behind, such as a cache in one place. By default
            executions alternate between commands, one each in an order drawn for each round,
            where nothing is set up for a turn.
        runs: Executions of each command that are measured, 6 or more: as many blocks, above 20
            several in each. By default 8 to 100 blocks, each with as many executions as
            take 0.1 s, or more if they scatter: a number found in the first block.
        min_runs: Executions of each command at the first verdict, at least.
        parameter_list: A parameter with its values: `threads 1,2,4`. It stands in commands as
            `{threads}`.
        parameter_scan: A parameter with its smallest and its largest value: `threads 1 8`.
        parameter_step_size: What a scan counts by; by default 1.
        command_name: What a command is called, given once for each; or `-c NAME=COMMAND`.
        same_output: Commands that print something else than others have failed. By default that is
            a warning.
        compare_output: A command that compares what is printed with what was printed first, where
            it differs: `diff -q {expected} {output}`. Its exit code 0 means that it is the same.
        ignore_failure: Any exit code is right. By default another one than 0 is a failed trial.
        exit_codes: Exit codes that are right beside 0: `1,2`; or `-i=1,2`, as hyperfine has it.
        server: A server, started before the first execution of each trial and ended after the
            last: at the server's end of systems with two, else on this host. Its address stands
            in commands as `{server}`. Given once, or once for each command; several with one
            command are compared with each other: `NAME=COMMAND`.
        ready: How it is seen that the server is ready: a port that takes connections,
            `stdout=TEXT` that it prints, or a command that ends with exit code 0. Given
            once, or once for each server.
        reference: A command that the others are compared with, as if it were the first.
        reference_name: What it is called.
        input: File that standard input is read from; `null`, the default: it is empty.
        output: Where standard output goes: `pipe`, the default, or `null`, or a file, which is
            emptied before each execution.
        show_output: Print what commands print on standard error, once for each trial that has
            ended.
        env: A variable of the environment with its value, `NAME=VALUE`, or `NAME` to pass on that
            of this shell. By default there are PATH, HOME, USER, LANG=C.UTF-8 and TMPDIR.
    """

    command: Annotated[
        tuple[str, ...], Parameter(name=["--command", "-c"]), Becomes("command")
    ] = ()
    shell: Annotated[bool, Becomes("shell")] = False
    no_shell: Annotated[bool, Parameter(name=["-N"])] = False
    setup: Annotated[Several, Parameter(name=["--setup", "-s"]), Becomes("setup")] = ()
    prepare: Annotated[
        tuple[str, ...], Parameter(name=["--prepare", "-p"]), Becomes("prepare")
    ] = ()
    conclude: Annotated[
        tuple[str, ...], Parameter(name=["--conclude", "-C"]), Becomes("conclude")
    ] = ()
    cleanup: Annotated[Several, Becomes("cleanup")] = ()
    warmup: Annotated[int, Becomes("warmup")] = 0
    no_alternate: Annotated[bool, Becomes("alternate")] = False
    runs: Annotated[int | None, Parameter(name=["--runs", "-r"]), Becomes("executions")] = None
    min_runs: Annotated[int | None, Parameter(name=["--min-runs", "-m"])] = None
    parameter_list: Annotated[
        tuple[tuple[str, str], ...], Parameter(name=["--parameter-list", "-L"])
    ] = ()
    parameter_scan: Annotated[
        tuple[tuple[str, str, str], ...], Parameter(name=["--parameter-scan", "-P"])
    ] = ()
    parameter_step_size: Annotated[str | None, Parameter(name=["--parameter-step-size", "-D"])] = (
        None
    )
    command_name: Annotated[Several, Parameter(name=["--command-name", "-n"])] = ()
    same_output: Annotated[bool, Becomes("expect.stdout")] = False
    compare_output: Annotated[str | None, Becomes("expect.compare")] = None
    ignore_failure: Annotated[bool, Parameter(name=["--ignore-failure", "-i"])] = False
    exit_codes: Annotated[str | None, Becomes("expect.exit")] = None
    server: Annotated[Several, Becomes("servers", "serving")] = ()
    ready: Annotated[Several, Becomes("ready", "servers.ready")] = ()
    reference: str | None = None
    reference_name: str | None = None
    input: Annotated[str | None, Becomes("stdin")] = None
    output: Annotated[str | None, Becomes("stdout")] = None
    show_output: bool = False
    env: Annotated[Several, Becomes("env", "pass")] = ()


NONE: Final = Commands()


def require_writable(files: Mapping[str, Path]) -> None:
    """That files can be written is known before anything is measured; option → file."""
    for option, path in files.items():
        if path.is_dir() or not path.parent.is_dir():
            why = "a directory; name the file in it" if path.is_dir() else "there is no such folder"
            raise UsageError(f"--{option} {path}: {why}")


def translated(words: Sequence[str]) -> Iterator[str]:
    """A command line whose words with a value of hyperfine's (``-i=1,2``) are ours."""
    for word in words:
        option, equals, value = word.partition("=")
        if equals and option in _IGNORED:
            yield f"--exit-codes={value}" if value != "all-non-zero" else option
        elif option in ("-S", "--shell") and value in _SHELLS:
            yield _SHELLS[value]
        elif option == "--shell" and equals:
            yield f"-S={value}"
        else:
            yield word


def instead_of(option: str) -> str:
    """What to use instead of an option, as an error says it; empty if it is not known."""
    name = option.partition("=")[0]
    fix = next((fix for names, fix in _INSTEAD.items() if name in names), "")
    return f"{name} is hyperfine's. Fix: {fix}" if fix else ""
