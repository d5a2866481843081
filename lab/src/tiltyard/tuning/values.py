"""What a setting shall be: a value, or a rule that makes it of what is there."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Annotated, Any

from pydantic import BeforeValidator, WithJsonSchema

from tiltyard.host.place import Place
from tiltyard.study.problems import shown
from tiltyard.tuning.setting import LackError

RULES = ("at_least", "times", "percent_of_memory", "kernel_default")
_GOING_ON = ("at_least", "times")
_MEMORY = "/proc/meminfo"


@dataclass(frozen=True)
class Amount:
    """A value as the kernel takes it, or a rule."""

    text: str
    """The value; of a rule, what it is called in a message."""
    rule: str = ""
    operand: float = 0
    unless_at_boot: bool = False
    """Whether what the host's own files set at boot goes before it."""
    base: "Amount | None" = None
    """What a rule begins with, if that is not what is in force."""

    def over(self, earlier: "Amount | None") -> "Amount":
        """This one after an earlier profile's: a rule goes on from there."""
        return replace(self, base=earlier) if self.rule in _GOING_ON else self

    def of(self, now: str, place: Place, default: Callable[[], str]) -> str:
        """The value that is wanted where another one is in force.

        Args:
            now: what is in force.
            place: the host, asked for its memory.
            default: computes the value that the kernel starts with.

        Raises:
            LackError: if the rule cannot be followed here.
        """
        if not self.rule:
            return self.text
        if self.rule == "kernel_default":
            return default()
        if self.rule == "percent_of_memory":
            return str(int(memory_bytes(place) * self.operand / 100))
        if self.base is not None:
            now = self.base.of(now, place, default)
        if not now.isdecimal():
            raise LackError(f'"{now}" is not a number, so {self.text} says nothing')
        if self.rule == "at_least":
            return str(max(int(now), int(self.operand)))
        return str(int(int(now) * self.operand))


def memory_bytes(place: Place) -> int:
    """Memory of a host (``MemTotal``).

    Raises:
        LackError: if it does not say.
    """
    for line in (place.read(_MEMORY) or "").splitlines():
        if line.startswith("MemTotal:"):
            return int(line.split()[1]) * 1024
    raise LackError(f"{_MEMORY} does not say how much memory there is")


def is_rule(typed: object) -> bool:
    """Whether a table in a profile is a rule, and not a table of settings."""
    return isinstance(typed, Mapping) and bool(typed.keys() & set(RULES))


def _amount(typed: object) -> Amount:
    """One value as it is typed."""
    if isinstance(typed, Amount):
        return typed
    if isinstance(typed, Mapping):
        return _rule(typed)
    words = typed if isinstance(typed, list) else [typed]
    if not words or any(isinstance(one, bool) or not isinstance(one, int | str) for one in words):
        raise ValueError(f"{shown(typed)} is not a number, text, or list of numbers")
    return Amount(" ".join(str(word) for word in words))


def _rule(typed: Mapping[str, Any]) -> Amount:
    """A rule as it is typed: a table of one key."""
    rule, operand = next(iter(typed.items()), ("", None))
    if len(typed) != 1 or rule not in RULES:
        text = f"{shown(typed)} is not a rule for a value: it is one of {', '.join(RULES)}"
        raise ValueError(text)
    if rule == "kernel_default":
        if operand is not True:
            raise ValueError("kernel_default is true, or the value itself stands there")
    elif isinstance(operand, bool) or not isinstance(operand, int | float) or operand <= 0:
        raise ValueError(f"{rule}: {shown(operand)} is not a number above 0")
    return Amount(f"{rule} {operand}", rule, float(operand))


def _alternatives(typed: object) -> list[Amount]:
    """One value, or several of which the first that is offered will do."""
    if isinstance(typed, list) and typed:
        return [_amount(one) for one in typed]
    return [_amount(typed)]


_RULE_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {rule: {"type": ["number", "boolean"]} for rule in RULES},
}
_SCHEMA: dict[str, Any] = {
    "anyOf": [{"type": ["integer", "string"]}, {"type": "array"}, _RULE_SCHEMA]
}

Value = Annotated[Amount, BeforeValidator(_amount), WithJsonSchema(_SCHEMA)]
"""A value: a number, text, a list of numbers, or a rule such as ``{ at_least = 2048 }``."""

Alternatives = Annotated[list[Amount], BeforeValidator(_alternatives), WithJsonSchema(_SCHEMA)]
"""A value, or a list of values in order of preference."""
