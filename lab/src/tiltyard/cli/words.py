"""The words of typed commands: with a shell or without one, and what commands are called."""

import re
import shlex
from collections.abc import Collection, Iterator, Sequence
from itertools import takewhile
from pathlib import Path, PurePath
from typing import Final

from tiltyard.errors import UsageError
from tiltyard.study.placeholders import escaped, names_in

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
