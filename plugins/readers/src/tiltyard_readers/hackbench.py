"""hackbench's text, of one execution or several, each with its banner; a command shown before it.

The banner has mode, groups, file descriptors and messages. Pipes and the like are known by the
command only, so executions with and without them are told apart where a file shows how it was
called (``set -x``, a copied prompt). ``perf bench sched messaging``, which mmtests runs as its
hackbench, is read too, as a workload of its own: its messages are known by the command as well.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Final

from tiltyard.importers.importer import Imported, ImportedWorkload, Importer, Measured
from tiltyard.importers.quantities import SECONDS, metric
from tiltyard.importers.reading import Line, lines_of

METRICS: Final = (metric("time", SECONDS, 3),)
_BANNER: Final = re.compile(
    r"Running (?:in (\w+) mode )?with (\d+)(?: groups using |\*)(\d+)"
    r"(?: file descriptors each)? \(== \d+(?:\) tasks\.| tasks\))"
)
_MESSAGES: Final = re.compile(r"Each sender will pass (\d+) messages of (\d+) bytes")
_TIME: Final = re.compile(r"Time: (\S+)|Total time: (\S+) \[sec\]")
_BENCH: Final = "perf bench sched messaging"
_BEGUN: Final = re.compile(r"# Running '?(\S+?)'? benchmark:.*")
_SENDERS: Final = re.compile(r"# (\d+) sender and receiver (processes|threads) per group")
_GROUPS: Final = re.compile(r"# (\d+) groups == \d+ (?:processes|threads) run")
_LOOPS: Final = re.compile(r"\s(?:-[A-Za-z]*l\s*|--nr_loops[=\s])(\d+)")
_COMMAND: Final = re.compile(
    r"(?:.*\s)?((?:[\w./-]*/)?(?:hackbench|perf bench sched messaging)"
    r"(?:\s+(?:-\S+|\d+|pipe|process|threads?))*)"
)
_TOLD: Final = re.compile(
    r"--(?:groups?|fds|(?:nr_)?loops|datasize)(?:=|\s+)\d+|--(?:threads?|process(?:\s+threads)?)\b|"
    r"(?<=\s)(?:\d+|process|threads?)\b"
)
"""Options that the banner tells, too."""
_CONFIGURATION: Final = ("mode", "file descriptors of a group", "of each sender", "options")


def read(data: bytes, name: str) -> Imported:
    """Everything that hackbench printed to one file."""
    lines = lines_of(data, name)
    found: dict[tuple[str, ...], list[Measured]] = {}
    commands: dict[tuple[str, ...], dict[str, None]] = {}
    for told, command, measured in _executions(lines):
        found.setdefault(told, []).append(measured)
        commands.setdefault(told, {}).update({command: None} if command else {})
    return Imported(
        workloads=tuple(
            ImportedWorkload(
                name=told[0],
                use=told[0],
                metrics=METRICS,
                measured=tuple(measured),
                parameters={
                    key: value for key, value in zip(_CONFIGURATION, told[1:], strict=True) if value
                },
                commands=tuple(commands[told]),
                grid=("groups",),
                apart=_apart(told),
            )
            for told, measured in found.items()
        )
    )


def _apart(told: tuple[str, ...]) -> tuple[str, ...]:
    """The same as parts of a name."""
    _, mode, descriptors, messages, options = told
    return (
        f"{mode} mode" if mode else "",
        f"{descriptors} file descriptors",
        messages,
        options,
    )


def _executions(lines: Sequence[Line]) -> Iterator[tuple[tuple[str, ...], str, Measured]]:
    """Of each time its configuration, its command and what was measured."""
    command = messages = mode = descriptors = groups = program = ""
    for line in lines:
        text = line.text.strip()
        if match := _BANNER.fullmatch(text):
            program, messages = "hackbench", ""
            mode, groups, descriptors = match[1] or "", match[2], match[3]
        elif match := _MESSAGES.fullmatch(text):
            messages = f"{match[1]} messages of {match[2]} B"
        elif match := _BEGUN.fullmatch(text):
            program, groups = _BENCH if match[1] == "sched/messaging" else match[1], ""
        elif match := _SENDERS.fullmatch(text):
            mode = "threaded" if match[2] == "threads" else "process"
            descriptors = str(2 * line.count(match[1]))
        elif match := _GROUPS.fullmatch(text):
            groups, loops = match[1], _LOOPS.search(command)
            messages = f"{loops[1]} messages" if loops else ""
        elif match := _TIME.fullmatch(text):
            if program not in ("", "hackbench", _BENCH):  # another one of perf bench
                continue
            if not groups:
                raise line.refused(
                    "a time without the line before it that says with how many groups: give all "
                    "that hackbench printed"
                )
            at: dict[str, int | str] = {"groups": line.count(groups)}
            told = (program, mode, descriptors, messages, _options(command))
            time = SECONDS.value(line.value(match[1] or match[2]))
            yield told, command, Measured("time", at, (time,))
            groups = ""
        elif match := _COMMAND.fullmatch(text):
            command = match[1]


def _options(command: str) -> str:
    """What a command says and the banner does not: ``-p`` of pipes."""
    words = _TOLD.sub("", re.sub(r"(\s-[A-Za-z]*[gfls])\s+(?=\d)", r"\1", command)).split()[1:]
    words = ["-p" if word in ("--pipe", "pipe") else word for word in words]
    words = [word for word in words if word.startswith("-")]
    short = {
        letter
        for word in words
        if not word.startswith("--")
        for letter in re.sub(r"[\d-]|[gfls]\d+|[TPt]", "", word)
    }
    long = [word for word in words if word.startswith("--")]
    return " ".join([*(f"-{letter}" for letter in sorted(short - {*"gfls"})), *sorted(long)])


IMPORTER: Final = Importer(
    name="hackbench",
    about="the text of hackbench (rt-tests, and older ones), and of `perf bench sched messaging`",
    left_out="counts of tasks, which follow from groups and file descriptors",
    cut_off="executions that are whole are kept",
    repeats="executions with the same groups and options",
    disowns=r"^.+ \(error: .+\)$",
    recognises=lambda head: bool(
        re.search(
            r"^[^\w\n]*Running (in \w+ mode )?with \d+.* \(== \d+\)? tasks|"
            r"^[ \t]*# \d+ sender and receiver \w+ per group",
            head,
            re.MULTILINE,
        )
    ),
    read=read,
    metrics=METRICS,
    grid=("groups",),
)
