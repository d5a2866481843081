"""Errors of the study that `compare` and `gate` write, in the words of the command line.

The checks of a study name its keys. Who typed a command has not written that file, and mends an
option or a word.
"""

import re
import shlex
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from tiltyard.cli.commands import NONE, Commands, options_by_key
from tiltyard.cli.measuring import Measuring

if TYPE_CHECKING:
    from tiltyard.study.locate import KeyPath
    from tiltyard.study.problems import StudyFileError

OPTIONS: Final = {"precision.equivalent_within": "--within", **options_by_key(Measuring)}
"""Key of the study → the option that it is made of."""
OF_COMMANDS: Final = {**options_by_key(Commands), "command": "--command (-c)"}
"""Key of the workload that commands are, or factor of what each has for itself → the option."""
_OTHERWISE: Final = (
    (re.compile(r"A table has a header \[ … \], or stands"), "A table stands"),
    (re.compile(r"\{(?:command|prepare|serving|ready)\}, "), ""),
    (
        re.compile(r'Fix: give the system a variable "(\w+)", or'),
        r"Fix: give it values, --parameter-list \1 A,B, or",
    ),
)
"""What only makes sense in a file → what is typed instead."""


@dataclass(frozen=True)
class Typed:
    """What was typed, of which a study is made."""

    systems: Sequence[str] = ()
    workloads: Sequence[str] = ()
    vary: Sequence[str] = ()
    commands: Commands = NONE

    @contextmanager
    def blamed(self) -> Iterator[None]:
        """What is wrong with the study inside is told of what was typed.

        Raises:
            UsageError: naming the option or the word.
            HostLacksError: whose remedy is one that can be typed.
        """
        from tiltyard.errors import HostLacksError, UsageError
        from tiltyard.folder import StudyFolder
        from tiltyard.study.problems import StudyFileError

        try:
            yield
        except StudyFileError as error:
            # The profile of a workload or of tuning is a file that a person has written.
            if error.source != StudyFolder(error.source.parent).study:
                raise
            raise UsageError(self.told(error)) from error
        except HostLacksError as error:
            raise HostLacksError(self._mended(str(error))) from error

    def _mended(self, text: str) -> str:
        """What a system needs, with the setting that mends it as a word that can be typed."""
        word = next((word for word in self.systems if text.startswith(word)), "")
        if not word:
            return text
        text = text.replace("backing.at", 'backing = { at = "/DIRECTORY" }')
        return re.sub(
            r"\b(\w+) = (\{[^{}]*\})$",
            lambda found: shlex.quote(_with(word, *found.groups())),
            text,
        )

    def told(self, error: "StudyFileError") -> str:
        """An error of the study, as one of what was typed."""
        first, others = error.problems[0], len(error.problems) - 1
        typed, key, sign = self._place(first.path)
        text = first.text
        for pattern, instead in _OTHERWISE:
            text = pattern.sub(instead, text)
        name = re.escape(key.rpartition(".")[2])
        if typed and name:
            text = re.sub(rf"(?<=Fix: ){name} = (\S+?)(?=[,.;]?(?:\s|$))", rf"{sign}\1", text)
        elif typed:
            key = ""
        else:
            key = first.key
            text += ". No option says it. Fix: tiltyard new STUDY, and write it into that file"
        shown = key if not sign.startswith("--") else ""
        more = f" (and {others} more)" if others else ""
        return f"{': '.join(filter(None, (typed, shown, text)))}{more}"

    def _place(self, path: "KeyPath") -> tuple[str, str, str]:
        """What was typed for a key; the key in it; and what stands before its value."""
        from tiltyard.study.problems import PHORONIX, dotted

        keys = [step for step in path if isinstance(step, str)]
        match keys:
            case ["workload", *inside] if self.commands.command:
                option = self._of_commands(dotted(tuple(inside)))
                return option, inside[-1] if inside else "", f"{option.partition(' ')[0]} "
            case ["workload", *inside]:
                place = path[1] if len(path) > 1 else None
                listed = isinstance(place, int) and place < len(self.workloads)
                word = self.workloads[place] if listed else ""  # type: ignore[index]
                key = dotted(tuple(inside)) if inside != ["use"] else ""
                typed = f"-w {word}" if word else "--workload (-w)"
                parts = word.split(":")[: 2 if word.startswith(PHORONIX) else 1]
                return typed, key, f"-w {':'.join(parts)}:{key}="
            case ["factors", name, *inside]:
                return self._of_factor(name, inside)
            case ["systems", *inside]:
                typed = " ".join(self.systems) or "--vary"
                key = dotted(tuple(inside))
                return typed, key, f"{typed}+{key}="
        option = OPTIONS.get(".".join(keys), "")
        if option == "--blocks" and self.commands.runs is not None:
            option = "--runs"
        return option, keys[-1] if keys else "", f"{option} "

    def _of_commands(self, key: str) -> str:
        """The option of a key of the workload, or of a factor; the nearest that has one."""
        named = (name for name in OF_COMMANDS if f"{key}.".startswith(f"{name}."))
        option = OF_COMMANDS[max(named, key=len, default="command")]
        if option == "--runs" and self.commands.min_runs is not None:
            return "--min-runs"
        return option

    def _of_factor(self, name: str, inside: Sequence[str]) -> tuple[str, str, str]:
        """What was typed for a level: a command, a value of a parameter, or a system."""
        from tiltyard.study.compare import COMMANDS
        from tiltyard.study.problems import dotted

        for vary in self.vary:
            key = vary.partition("=")[0]
            if name in (key, f"{name.rpartition('.')[0]}.{key}"):
                return f"--vary {vary}", "", ""
        commands = self.commands
        for option, parameters in (
            ("--parameter-list", commands.parameter_list),
            ("--parameter-scan", commands.parameter_scan),
        ):
            if name in (parameter[0] for parameter in parameters):
                return f"{option} {name}", "", ""
        if commands.command and name in {COMMANDS, *OF_COMMANDS}:
            return self._of_commands(inside[-1] if name == COMMANDS and inside else name), "", ""
        label, *keys = inside or [""]
        # A system that is given twice is called ext4-a and ext4-b.
        words = (word for word in self.systems if word in (label, label[:-2]))
        word, key = next(words, label), dotted(tuple(keys))
        return word or " ".join(self.systems), key, f"{word}+{key}="


def _with(word: str, key: str, value: str) -> str:
    """A system with another value of a setting."""
    from tiltyard.systems.typed import ASSIGNED

    kept = (part for part in ASSIGNED.split(word) if not part.startswith(f"{key}="))
    return "+".join((*kept, f"{key}={value}"))
