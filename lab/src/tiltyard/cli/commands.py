"""Commands as they are typed to `compare` and `gate`: options, words, names."""

import os
import re
import shlex
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from decimal import Decimal, InvalidOperation
from itertools import takewhile
from math import ceil
from pathlib import Path, PurePath
from typing import Annotated, Final

from cyclopts import Parameter

from tiltyard.errors import UsageError
from tiltyard.study.compare import COMMANDS, Levels, TypedCommands
from tiltyard.study.program import OF_COMPARE, PROGRAM
from tiltyard.study.toml import TomlValue

RUNS_MIN: Final = 6
"""Fewer runs of a command are too few blocks for a verdict."""
KEPT: Final = "64k"
"""Of each output: nothing is read of it, and all of it is hashed."""
KEPT_TO_COMPARE: Final = "4M"
_RUNS_IN_BLOCKS: Final = range(10, 21)
_VALUES_MAX: Final = 1000
_LABEL_MAX: Final = 40
_NAMED: Final = re.compile(r"([A-Za-z0-9_][A-Za-z0-9_.+-]*)=(.*)", re.DOTALL)
_PLACEHOLDER: Final = re.compile(r"(?<![{$])\{([A-Za-z_]\w*)\}(?!\})", re.ASCII)
_OWN: Final = frozenset(("dir", "execution"))
_QUOTED: Final = re.compile(r"""'[^']*'|"(?:\\.|[^"\\])*"|\\.""", re.DOTALL)
_OF_SHELLS: Final = re.compile(r"[|&;<>`*()]|\$[\w({]|(?<!\S)~(?=/|\s|$)|\n")
_IN_DOUBLE_QUOTES: Final = re.compile(r"`|\$[\w({]")


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
        runs: Executions of each command that are measured, 6 or more: as many blocks, above 20
            several in each. By default 7 to 20 blocks with 0.1 s of executions each.
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
        input: File that standard input is read from; `null`, the default: it is empty.
        output: Where standard output goes: `pipe`, the default, or `null`, or a file, which is
            emptied before each execution.
        show_output: Print what commands print on standard error, once for each trial that has
            ended.
        env: A variable of the environment with its value, `NAME=VALUE`, or `NAME` to pass on that
            of this shell. By default there are PATH, HOME, USER, LANG=C.UTF-8 and TMPDIR.
    """

    command: Annotated[tuple[str, ...], Parameter(name=["--command", "-c"])] = ()
    shell: bool = False
    no_shell: Annotated[bool, Parameter(name=["-N"])] = False
    setup: Annotated[tuple[str, ...], Parameter(name=["--setup", "-s"])] = ()
    prepare: Annotated[tuple[str, ...], Parameter(name=["--prepare", "-p"])] = ()
    conclude: Annotated[tuple[str, ...], Parameter(name=["--conclude", "-C"])] = ()
    cleanup: tuple[str, ...] = ()
    warmup: int = 0
    runs: Annotated[int | None, Parameter(name=["--runs", "-r"])] = None
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
    command_name: Annotated[tuple[str, ...], Parameter(name=["--command-name", "-n"])] = ()
    same_output: bool = False
    compare_output: str | None = None
    ignore_failure: Annotated[bool, Parameter(name=["--ignore-failure", "-i"])] = False
    input: str | None = None
    output: str | None = None
    show_output: bool = False
    env: tuple[str, ...] = ()


NONE: Final = Commands()


def understood(typed: Commands, systems: Sequence[str]) -> TypedCommands | None:
    """The part of a study that commands make; ``None`` where there are none.

    Args:
        typed: on a command line.
        systems: on which they are executed, each in a directory of its own; none: in this one.

    Raises:
        UsageError: if a command cannot be split into words, needs a shell, or names no program.
    """
    if not typed.command:
        _require_no_options(typed)
        return None
    here = None if systems else Path.cwd()
    parameters = dict(_parameters(typed))
    known = _OWN | parameters.keys()
    split = [*_split(typed)]
    words = [
        _command(text, name or "--command", known, shell=typed.shell, here=here)
        for name, text in split
    ]
    names = _names([name for name, _ in split], words, shell=typed.shell)
    factors: dict[str, Levels] = {}
    prepares = [_untimed(text, known, shell=typed.shell) for text in typed.prepare]
    own_prepares = len(prepares) > 1
    if own_prepares and len(prepares) != len(words):
        raise UsageError(
            f"--prepare is given {len(prepares)} times for {len(words)} commands. Fix: give it "
            "once for all of them, or once for each"
        )
    if len(words) > 1 and own_prepares:
        factors[COMMANDS] = {
            name: {"command": own, "prepare": before}
            for name, own, before in zip(names, words, prepares, strict=True)
        }
    elif len(words) > 1:
        factors["command"] = dict(zip(names, words, strict=True))
    for name, values in parameters.items():
        factors[name] = {f"{name}={value}": value for value in values}
    blocks, executions = _amounts(typed)
    once = {
        "setup": typed.setup,
        "prepare": () if own_prepares else typed.prepare,
        "conclude": typed.conclude,
        "cleanup": typed.cleanup,
    }
    pairs = [each.partition("=") for each in typed.env]
    table: dict[str, TomlValue | None] = {
        "use": PROGRAM,
        "command": ["{command}"] if len(words) > 1 else words[0],
        "shell": typed.shell or None,
        "where": None if here is None else os.curdir,
        "prepare": ["{prepare}"] if own_prepares else None,
        **{step: _steps(lines, known, shell=typed.shell) for step, lines in once.items() if lines},
        "stdin": _file(typed.input, "null"),
        "stdout": _output(typed),
        "env": {name: value for name, sign, value in pairs if sign} or None,
        "pass": [name for name, sign, _ in pairs if not sign] or None,
        "executions": executions,
        "warmup": typed.warmup or None,
        "expect": _expected(typed, known),
        "keep": KEPT_TO_COMPARE if typed.compare_output else KEPT,
    }
    given_only = {key: value for key, value in table.items() if value is not None}
    return TypedCommands(names, given_only, factors, blocks)


def require_writable(files: Mapping[str, Path]) -> None:
    """That files can be written is known before anything is measured; option → file."""
    for option, path in files.items():
        if path.is_dir() or not path.parent.is_dir():
            why = "a directory; name the file in it" if path.is_dir() else "there is no such folder"
            raise UsageError(f"--{option} {path}: {why}")


def _require_no_options(typed: Commands) -> None:
    """Options of commands say nothing of other workloads."""
    for option in fields(typed):
        if getattr(typed, option.name) != getattr(NONE, option.name):
            raise UsageError(
                f"--{option.name.replace('_', '-')} goes with --command (-c), and there is none"
            )


def _split(typed: Commands) -> Iterator[tuple[str, str]]:
    """Name, if there is one, and line of each command."""
    if typed.shell and typed.no_shell:
        raise UsageError("--shell and -N: give one of them")
    names = typed.command_name
    if names and len(names) != len(typed.command):
        raise UsageError(
            f"--command-name (-n) is given {len(names)} times for {len(typed.command)} commands. "
            "Fix: give it once for each"
        )
    for place, text in enumerate(typed.command):
        yield (names[place], text) if names else _named(text)


def _named(typed: str) -> tuple[str, str]:
    """``old=./rg foo`` → its name and its line; without a name, an empty one."""
    found = _NAMED.fullmatch(typed)
    return (found[1], found[2]) if found else ("", typed)


def _command(
    line: str, name: str, known: Collection[str], *, shell: bool, here: Path | None
) -> list[str]:
    """Its words, or the line itself for a shell."""
    if shell:
        if not line.strip():
            raise UsageError(f"{name}: is empty. Fix: name a program: {name}='sort file'")
        return [_escaped(line, known)]
    if found := _needs_shell(line):
        raise UsageError(
            f"{name}: {found} is for a shell, and commands are executed without one. Fix: add "
            "--shell, or put it in quotes if the program shall see it"
        )
    words = _words(line, name)
    if not words:
        raise UsageError(f"{name}: is empty. Fix: name a program: {name}='sort file'")
    if here is not None:
        _require_program(words[0], name, here)
    return [_escaped(word, known) for word in words]


def _require_program(program: str, name: str, here: Path) -> None:
    """That there is such a program is a look-up; nothing is executed."""
    import shutil

    if _PLACEHOLDER.search(program):
        return
    path = str(here / program) if "/" in program else program
    if shutil.which(path) is None:
        there = Path(path).exists() and "/" in program
        why = "is not executable" if there else f"is not in {here if '/' in program else 'PATH'}"
        raise UsageError(
            f"{name}: the program {program} {why}. A command is a program with its arguments, "
            "NAME='program argument'; variables of its environment are given by --env NAME=VALUE"
        )


def _words(line: str, name: str) -> list[str]:
    try:
        return shlex.split(line)
    except ValueError as error:
        raise UsageError(f"{name}: {line}: {str(error).lower()}. Fix: close the quotes") from None


def _needs_shell(line: str) -> str:
    """What only a shell understands, as it is typed; empty if there is nothing."""
    for quoted in _QUOTED.findall(line):
        if quoted.startswith('"') and (found := _IN_DOUBLE_QUOTES.search(quoted)):
            return f'"{found[0]}"'
    found = _OF_SHELLS.search(_QUOTED.sub("q", line))
    return "" if found is None else "the line end" if found[0] == "\n" else f'"{found[0]}"'


def _untimed(line: str, known: Collection[str], *, shell: bool) -> list[str]:
    """A command that is not timed: where it needs a shell, it has one."""
    if shell:
        return [_escaped(line, known)]
    if _needs_shell(line):
        return ["sh", "-c", _escaped(line, known)]
    return [_escaped(word, known) for word in _words(line, "an untimed command")]


def _steps(lines: Sequence[str], known: Collection[str], *, shell: bool) -> TomlValue:
    """One command, or a list of several."""
    commands = [_untimed(line, known, shell=shell) for line in lines]
    return commands[0] if len(commands) == 1 else commands


def _escaped(text: str, known: Collection[str]) -> str:
    """With braces doubled around what is no name of ours: ``{print}`` of an awk program."""
    return _PLACEHOLDER.sub(lambda m: m[0] if m[1] in known else f"{{{m[0]}}}", text)


def _names(
    given: Sequence[str], commands: Sequence[Sequence[str]], *, shell: bool
) -> tuple[str, ...]:
    """Those that are given; else the program and what differs, as short as it can be."""
    unnamed = [
        (shlex.split(words[0]) if shell and _splits(words[0]) else list(words))
        for name, words in zip(given, commands, strict=True)
        if not name
    ]
    short = iter(_distinct([_label(words, unnamed) for words in unnamed], set(filter(None, given))))
    names = tuple(name or next(short) for name in given)
    for name in names:
        if names.count(name) > 1:
            raise UsageError(
                f'two commands are called "{name}". Fix: -c NAME=COMMAND, each its own'
            )
    return names


def _splits(line: str) -> bool:
    try:
        return bool(shlex.split(line))
    except ValueError:
        return False


def _label(words: Sequence[str], among: Sequence[Sequence[str]]) -> str:
    """``gzip -9`` among ``gzip -1 file`` and ``gzip -9 file``; ``rg`` where the others are not."""
    programs = {PurePath(other[0]).name for other in among}
    program = PurePath(words[0]).name
    if len(programs) == len(among):
        return program[:_LABEL_MAX]
    if len({other[0] for other in among}) == len(among):
        return words[0].removeprefix("./")[-_LABEL_MAX:]
    front = _shared([other[1:] for other in among])
    tails = [other[1 + front :][::-1] for other in among]
    back = _shared(tails)
    own = words[1 + front : len(words) - back]
    label = " ".join((program, *own))
    printable = "".join(character if character.isprintable() else " " for character in label)
    return " ".join(printable.split())[:_LABEL_MAX].strip()


def _shared(lists: Sequence[Sequence[str]]) -> int:
    """How many words at the front all of them have."""
    columns = zip(*lists, strict=False)
    return sum(1 for _ in takewhile(lambda column: len(set(column)) == 1, columns))


def _distinct(labels: Sequence[str], taken: Collection[str]) -> Iterator[str]:
    """Letters behind those that are the same: ``rg-a``, ``rg-b``."""
    used = set(taken)
    for label in labels:
        name = label or "command"
        if labels.count(label) > 1 or name in used or name == "default":
            name = next(
                numbered
                for place in range(len(labels) + len(used) + 1)
                if (numbered := f"{name}-{chr(ord('a') + place) if place < 26 else place}")
                not in used
            )
        used.add(name)
        yield name


def _parameters(typed: Commands) -> Iterator[tuple[str, list[str]]]:
    """Each parameter with its values, as text."""
    seen: set[str] = set()
    scans = [(name, _scan(name, low, high, typed)) for name, low, high in typed.parameter_scan]
    lists = [(name, values.split(",")) for name, values in typed.parameter_list]
    if typed.parameter_step_size and not scans:
        raise UsageError("--parameter-step-size goes with --parameter-scan NAME MIN MAX")
    for name, values in (*lists, *scans):
        if not re.fullmatch(r"[A-Za-z_]\w*", name, re.ASCII) or name in _OWN | {
            "command",
            "prepare",
        }:
            raise UsageError(f'"{name}" cannot name a parameter: it stands in commands as {{name}}')
        if name in seen or len(set(values)) != len(values) or not all(values):
            raise UsageError(f"the parameter {name} has a value twice, or an empty one")
        if not any(f"{{{name}}}" in text for text in _all_lines(typed)):
            raise UsageError(f"no command has {{{name}}} in it: the parameter {name} does nothing")
        seen.add(name)
        yield name, values


def _all_lines(typed: Commands) -> tuple[str, ...]:
    steps = (typed.setup, typed.prepare, typed.conclude, typed.cleanup)
    return (*typed.command, *(line for lines in steps for line in lines))


def _scan(name: str, low: str, high: str, typed: Commands) -> list[str]:
    """From ``low`` to ``high``, both included as far as the step meets them."""
    try:
        first, last, step = (
            Decimal(text) for text in (low, high, typed.parameter_step_size or "1")
        )
    except InvalidOperation:
        raise UsageError(
            f"--parameter-scan {name} {low} {high}: is no range of numbers, as in: threads 1 8"
        ) from None
    if not (step > 0 and first <= last and (last - first) / step < _VALUES_MAX):
        raise UsageError(
            f"--parameter-scan {name} {low} {high}: from the smaller to the larger number, by a "
            f"step above 0, {_VALUES_MAX} values at most"
        )
    return [str(first + step * place) for place in range(int((last - first) / step) + 1)]


def _amounts(typed: Commands) -> tuple[int | None, int | None]:
    """Blocks, and executions in each; ``None``: as a study has them by default.

    ``--runs`` are blocks as far as it goes: those are what is replicated.
    """
    runs, least = typed.runs, typed.min_runs
    if runs is not None and least is not None:
        raise UsageError("--runs and --min-runs: give one of them")
    if least is not None:
        return None, max(1, ceil(least / 7))
    if runs is None:
        return None, None
    if runs < RUNS_MIN:
        raise UsageError(f"--runs {runs}: a verdict takes {RUNS_MIN} runs of each command or more")
    if runs <= _RUNS_IN_BLOCKS[-1]:
        return runs, 1
    blocks = min(_RUNS_IN_BLOCKS, key=lambda many: (ceil(runs / many) * many, -many))
    return blocks, ceil(runs / blocks)


def _expected(typed: Commands, known: Collection[str]) -> dict[str, TomlValue] | None:
    """What makes an execution fail; ``None``: a code other than 0."""
    expected: dict[str, TomlValue] = {}
    if typed.ignore_failure:
        expected["exit"] = "any"
    if typed.same_output and typed.compare_output:
        raise UsageError("--same-output and --compare-output: give one of them")
    if typed.same_output:
        expected["stdout"] = "same"
    if typed.compare_output:
        words = _untimed(typed.compare_output, {*known, *OF_COMPARE}, shell=False)
        named = any(f"{{{name}}}" in word for word in words for name in OF_COMPARE)
        expected["compare"] = words if named else [*words, "{expected}", "{output}"]
    return expected or None


def _file(typed: str | None, usual: str) -> str | None:
    """A file as it was typed; ``None`` for what is so by default."""
    return None if typed == usual else typed


def _output(typed: Commands) -> str | None:
    """Where standard output goes; ``None``: into a pipe."""
    if typed.output == "inherit":
        raise UsageError("--output inherit: the terminal is this program's. Fix: --show-output")
    if typed.output != "null":
        return _file(typed.output, "pipe")
    if typed.same_output or typed.compare_output:
        raise UsageError("--output null: nothing is left to compare. Fix: leave it out")
    return "/dev/null"
