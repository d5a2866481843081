"""Commands as they are typed to `compare` and `gate`: their words and names, as a study."""

import os
import re
import shlex
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import fields, replace
from decimal import Decimal, InvalidOperation
from itertools import takewhile
from math import ceil
from pathlib import Path, PurePath
from typing import Final

from tiltyard.cli.commands import NONE, Commands
from tiltyard.errors import UsageError
from tiltyard.study.compare import COMMANDS, Levels, TypedCommands
from tiltyard.study.placeholders import escaped, names_in
from tiltyard.study.program import OF_COMPARE, PROGRAM, SERVER
from tiltyard.study.toml import TomlValue
from tiltyard.units import count_of

RUNS_MIN: Final = 6
"""Fewer runs of a command are too few blocks for a verdict."""
_EXECUTIONS_MAX: Final = 100_000
"""Of a trial."""
KEPT: Final = "64k"
"""Of each output: nothing is read of it, and all of it is hashed."""
KEPT_TO_COMPARE: Final = "4M"
_RUNS_IN_BLOCKS: Final = range(10, 21)
_VALUES_MAX: Final = 1000
_PRINTED: Final = "stdout="
_OWN: Final = frozenset(("dir", "execution", SERVER))


def understood(typed: Commands, systems: Sequence[str]) -> TypedCommands | None:
    """The part of a study that commands make; ``None`` where there are none.

    Args:
        typed: on a command line.
        systems: on which they are executed, each in a directory of its own; none: in this one.

    Raises:
        UsageError: if a command cannot be split into words, needs a shell, or names no program.
    """
    typed = _with_reference(typed)
    if not typed.command:
        _require_no_options(typed)
        return None
    here = None if systems else Path.cwd()
    parameters = dict(_parameters(typed))
    known = _OWN | parameters.keys()
    commands = [
        (name, command_words(line, name or "--command", known, shell=typed.shell, here=here))
        for name, line in _split(typed)
    ]
    servers = [
        (name, _serving(line, name or "--server", known, here))
        for name, line in map(split_name, typed.server)
    ]
    contestants = servers if len(commands) == 1 < len(servers) else commands
    columns: dict[str, list[TomlValue]] = {
        "command": [[*words] for _, words in commands],
        "serving": [[*words] for _, words in servers],
        "prepare": [[*untimed(line, known, shell=typed.shell)] for line in typed.prepare],
        "ready": [_sign(line, known) for line in typed.ready],
    }
    own = _own(columns, len(contestants))
    given, words = zip(*contestants, strict=True)
    names = names_of(given, words, shell=typed.shell and contestants is commands)
    blocks, executions = _amounts(typed)
    once = {
        "setup": typed.setup,
        "prepare": () if "prepare" in own else typed.prepare,
        "conclude": typed.conclude,
        "cleanup": typed.cleanup,
    }
    serving = _servers(columns, own)
    pairs = [each.partition("=") for each in typed.env]
    table: dict[str, TomlValue | None] = {
        "use": PROGRAM,
        "command": ["{command}"] if "command" in own else columns["command"][0],
        "shell": typed.shell or None,
        "where": None if here is None else os.curdir,
        "prepare": ["{prepare}"] if "prepare" in own else None,
        "servers": serving,
        **{step: _steps(lines, known, shell=typed.shell) for step, lines in once.items() if lines},
        "stdin": _file(typed.input, "null"),
        "stdout": _output(typed),
        "env": {name: value for name, sign, value in pairs if sign} or None,
        "pass": [name for name, sign, _ in pairs if not sign] or None,
        "executions": executions,
        "warmup": typed.warmup or None,
        "alternate": False if typed.no_alternate else None,
        "expect": _expected(typed, known),
        "keep": KEPT_TO_COMPARE if typed.compare_output else KEPT,
    }
    given_only = {key: value for key, value in table.items() if value is not None}
    programs = tuple(words[0] for _, words in commands)
    return TypedCommands(names, given_only, _factors(own, names, parameters), blocks, programs)


def _with_reference(typed: Commands) -> Commands:
    """The reference is the first of the commands."""
    if typed.reference is None:
        if typed.reference_name is not None:
            raise UsageError("--reference-name goes with --reference COMMAND")
        return typed
    others = typed.command_name or ("",) * len(typed.command)
    return replace(
        typed,
        command=(typed.reference, *typed.command),
        command_name=(typed.reference_name or "", *others),
    )


def _factors(
    own: Mapping[str, Sequence[TomlValue]],
    names: Sequence[str],
    parameters: Mapping[str, Sequence[str]],
) -> dict[str, Levels]:
    """Those of the contestants, and one for each parameter."""
    factors: dict[str, Levels] = {}
    if len(own) == 1:
        ((column, cells),) = own.items()
        factors[column] = dict(zip(names, cells, strict=True))
    elif own:
        factors[COMMANDS] = {
            name: dict(zip(own, cells, strict=True))
            for name, *cells in zip(names, *own.values(), strict=True)
        }
    for name, values in parameters.items():
        factors[name] = {f"{name}={value}": value for value in values}
    return factors


def _own(columns: Mapping[str, Sequence[TomlValue]], count: int) -> dict[str, list[TomlValue]]:
    """What each contestant has for itself: name of the variable → a value for each."""
    for column, cells in columns.items():
        if len(cells) not in (0, 1, count):
            option = "server" if column == "serving" else column
            raise UsageError(
                f"--{option} is given {len(cells)} times for {count_of(count, 'command')} or "
                "servers. "
                "Fix: give it once for all of them, or once for each"
            )
    if columns["serving"] and not columns["ready"]:
        raise UsageError(
            "--server: nothing says when it is ready. Fix: --ready PORT, or --ready COMMAND, "
            "whose exit code is 0 then"
        )
    if columns["ready"] and not columns["serving"]:
        raise UsageError("--ready goes with --server")
    return {column: [*cells] for column, cells in columns.items() if len(cells) > 1}


def _servers(
    columns: Mapping[str, Sequence[TomlValue]], own: dict[str, list[TomlValue]]
) -> TomlValue | None:
    """The server of the workload, if there is one; the signs in ``own`` become their values."""
    if not columns["serving"]:
        return None
    signs = [{**sign} for sign in columns["ready"] if isinstance(sign, dict)]
    sorts = {sort for sign in signs for sort in sign}
    if len(sorts) > 1:
        raise UsageError("--ready: give a port for each server, or a command for each")
    ready = signs[0]
    if "ready" in own:
        sort = sorts.pop()
        own["ready"] = [sign[sort] for sign in signs]
        ready = {sort: ["{ready}"] if sort == "command" else "{ready}"}
    words = ["{serving}"] if "serving" in own else columns["serving"][0]
    return [{"at": "server", "command": words, "ready": ready}]


def _serving(line: str, name: str, known: Collection[str], here: Path | None) -> list[str]:
    """The words of a server; where it needs a shell, it has one."""
    words = untimed(line, known, shell=False)
    if not words:
        raise UsageError(f"{name}: is empty. Fix: name a program: --server 'redis-server'")
    if here is not None:
        require_program(words[0], name, here)
    return words


def _sign(line: str, known: Collection[str]) -> dict[str, TomlValue]:
    """A port, also one that is a parameter; what it prints; or the words of a command."""
    port = line.strip()
    if port in ("", _PRINTED):
        raise UsageError(
            f'--ready "{port}": says nothing. Fix: give a port, stdout=TEXT or a command'
        )
    if port.isdigit():
        _require_between("--ready", int(port), 1, 65535)
    if port.isdigit() or (port[1:-1] in known and port == f"{{{port[1:-1]}}}"):
        return {"port": port}
    if line.startswith(_PRINTED):
        return {"stdout": escaped(line.removeprefix(_PRINTED), known)}
    return {"command": [*untimed(line, known, shell=False)]}


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
        first = typed.reference is not None  # It has a name of its own, and was not counted.
        raise UsageError(
            f"--command-name (-n) is given {len(names) - first} times for "
            f"{count_of(len(typed.command) - first, 'command')}. Fix: give it once for each"
        )
    for place, text in enumerate(typed.command):
        yield (names[place], text) if names and names[place] else split_name(text)


def _steps(lines: Sequence[str], known: Collection[str], *, shell: bool) -> TomlValue:
    """One command, or a list of several."""
    commands = [untimed(line, known, shell=shell) for line in lines]
    return commands[0] if len(commands) == 1 else commands


def _parameters(typed: Commands) -> Iterator[tuple[str, list[str]]]:
    """Each parameter with its values, as text."""
    seen: set[str] = set()
    scans = [
        (f"--parameter-scan {name}", name, _scan(name, low, high, typed))
        for name, low, high in typed.parameter_scan
    ]
    lists = [
        (f"--parameter-list {name}", name, _values(values)) for name, values in typed.parameter_list
    ]
    if typed.parameter_step_size and not scans:
        raise UsageError("--parameter-step-size goes with --parameter-scan NAME MIN MAX")
    for about, name, values in (*lists, *scans):
        if not re.fullmatch(r"[A-Za-z_]\w*", name, re.ASCII) or name in _OWN | {
            "command", "prepare", "serving", "ready",
        }:  # fmt: skip
            raise UsageError(
                f'{about}: "{name}" cannot name a parameter: it stands in commands as {{name}}'
            )
        if name in seen or len(set(values)) != len(values) or not all(values):
            raise UsageError(f"{about}: the parameter {name} has a value twice, or an empty one")
        if not any(f"{{{name}}}" in text for text in _all_lines(typed)):
            raise UsageError(
                f"{about}: no command has {{{name}}} in it: the parameter {name} does nothing"
            )
        seen.add(name)
        yield name, values


def _all_lines(typed: Commands) -> tuple[str, ...]:
    steps = (
        typed.setup, typed.prepare, typed.conclude, typed.cleanup, typed.server, typed.ready,
        typed.env, (typed.input or "", typed.output or ""),
    )  # fmt: skip
    return (*typed.command, *(line for lines in steps for line in lines))


def _values(typed: str) -> list[str]:
    """Between commas; one behind a backslash is a part of its value."""
    return [value.replace("\\,", ",") for value in re.split(r"(?<!\\),", typed)]


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
        _require_between("--min-runs", least, 1, 7 * _EXECUTIONS_MAX)
        return None, ceil(least / 7)
    if runs is None:
        return None, None
    if runs < RUNS_MIN:
        raise UsageError(f"--runs {runs}: a verdict takes {RUNS_MIN} runs of each command or more")
    _require_between("--runs", runs, RUNS_MIN, _RUNS_IN_BLOCKS[-1] * _EXECUTIONS_MAX)
    if runs <= _RUNS_IN_BLOCKS[-1]:
        return runs, 1
    blocks = min(_RUNS_IN_BLOCKS, key=lambda many: (ceil(runs / many) * many, -many))
    return blocks, ceil(runs / blocks)


def _require_between(option: str, value: int, least: int, most: int) -> None:
    if not least <= value <= most:
        raise UsageError(f"{option} {value}: is a number from {least} to {most}")


def _expected(typed: Commands, known: Collection[str]) -> dict[str, TomlValue] | None:
    """What makes an execution fail; ``None``: a code other than 0."""
    expected: dict[str, TomlValue] = {}
    if typed.ignore_failure and typed.exit_codes is not None:
        raise UsageError("--ignore-failure and --exit-codes: give one of them")
    if typed.ignore_failure:
        expected["exit"] = "any"
    if typed.exit_codes is not None:
        expected["exit"] = _codes(typed.exit_codes)
    if typed.same_output and typed.compare_output:
        raise UsageError("--same-output and --compare-output: give one of them")
    if typed.same_output:
        expected["stdout"] = "same"
    if typed.compare_output:
        words = untimed(typed.compare_output, {*known, *OF_COMPARE}, shell=False)
        named = any(f"{{{name}}}" in word for word in words for name in OF_COMPARE)
        expected["compare"] = words if named else [*words, "{expected}", "{output}"]
    return expected or None


def _codes(typed: str) -> list[TomlValue]:
    """Exit codes that are right: these, and 0."""
    try:
        codes = {int(code) for code in typed.split(",")}
    except ValueError:
        codes = {-1}
    if not all(0 <= code <= 255 for code in codes):
        raise UsageError(
            f"--exit-codes {typed}: is no list of codes from 0 to 255, as in 1,2. A program that "
            "a signal ends has failed in any case"
        )
    return [*sorted({0, *codes})]


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


_LABEL_MAX: Final = 40
_NAMED: Final = re.compile(r"([A-Za-z0-9_][A-Za-z0-9_.+-]*)=(.*)", re.DOTALL)
_QUOTED: Final = re.compile(r"""'[^']*'|"(?:\\.|[^"\\])*"|\\.""", re.DOTALL)
_OF_SHELLS: Final = re.compile(r"[|&;<>`*()]|\$[\w({]|(?<!\S)~(?=/|\s|$)|\n")
_BUILTINS: Final = re.compile(
    "alias|bg|break|cd|command|continue|eval|exec|exit|export|fg|hash|jobs|read|readonly|return"
    "|set|shift|source|times|trap|type|ulimit|umask|unalias|unset|wait"
)
_IN_DOUBLE_QUOTES: Final = re.compile(r"`|\$[\w({]")


def split_name(typed: str) -> tuple[str, str]:
    """``old=./rg foo`` → its name and its line; without a name, an empty one."""
    found = _NAMED.fullmatch(typed)
    return (found[1], found[2]) if found else ("", typed)


def command_words(
    line: str, name: str, known: Collection[str], *, shell: bool, here: Path | None
) -> list[str]:
    """Its words, or the line itself for a shell."""
    if shell:
        if not line.strip():
            raise UsageError(f"{name}: is empty. Fix: name a program: {name}='sort file'")
        return [escaped(line, known)]
    if found := _needs_shell(line):
        raise UsageError(
            f"{name}: {found} is for a shell, and commands are executed without one. Fix: add "
            "--shell, or put it in quotes if the program shall see it"
        )
    words = _words(line, name)
    if not words:
        raise UsageError(f"{name}: is empty. Fix: name a program: {name}='sort file'")
    if here is not None:
        require_program(words[0], name, here)
    return [escaped(word, known) for word in words]


def require_program(program: str, name: str, here: Path) -> None:
    """That there is such a program is a look-up; nothing is executed."""
    import shutil

    if any(names_in(program)):
        return
    path = str(here / program) if "/" in program else program
    if shutil.which(path) is None and _BUILTINS.fullmatch(program):
        raise UsageError(f"{name}: {program} is a command of shells. Fix: add --shell")
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


def untimed(line: str, known: Collection[str], *, shell: bool) -> list[str]:
    """A command that is not timed: where it needs a shell, it has one."""
    if shell:
        return [escaped(line, known)]
    if _needs_shell(line):
        return ["sh", "-c", escaped(line, known)]
    return [escaped(word, known) for word in _words(line, "an untimed command")]


def names_of(
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
