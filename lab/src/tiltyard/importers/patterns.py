"""Regular expressions that a study or a workload profile brings, matched within a time limit.

Whoever writes an expression decides how long it takes: ``(a|aa)+$`` takes twice as long with each
further "a". :mod:`re` cannot be stopped, so ``regex`` matches, which can; what an expression means
is what :mod:`re` says of it.
"""

import re
from functools import cache
from typing import Any, Final, Literal

from tiltyard.errors import UsageError

LIMIT_S: Final = 2.0
"""What one expression may take for one output; usual ones take milliseconds."""
_BRACES: Final = re.compile(r"\\N\{[^}]*\}|\\.|\{(?!\d*,?\d*\})", re.DOTALL)
_spent: set[str] = set()
"""Expressions that have used up their time in this process: one wait is enough."""


class TooSlowError(UsageError):
    """An expression that has used up its time."""


def require_expression(expression: str) -> None:
    """Refuse what is no regular expression.

    Raises:
        ValueError: it says where it is wrong.
    """
    _compiled(expression, re.MULTILINE)


def captured(expression: str, text: str) -> list[str]:
    """What the first group matches each time; all of the match where there is no group.

    Args:
        expression: a regular expression as :mod:`re` has it; ``^`` and ``$`` are those of a line.
        text: what is searched.

    Raises:
        TooSlowError: if that takes longer than :data:`LIMIT_S`.
    """
    return [text[start:end] for start, end in spans(expression, text)]


def spans(expression: str, text: str) -> list[tuple[int, int]]:
    """Where in a text that stands, which :func:`captured` gives."""
    pattern = _compiled(expression, re.MULTILINE)
    require_time(expression)
    try:
        matches = list(pattern.finditer(text, timeout=LIMIT_S))
    except TimeoutError:
        raise too_slow(expression) from None
    if not pattern.groups:
        return [match.span() for match in matches]
    return [match.span(1) for match in matches if match[1] is not None]


def matches(
    expression: str, text: str, way: Literal["search", "fullmatch"], flags: int = 0
) -> bool:
    """Whether an expression matches all of a text, or somewhere in it.

    Raises:
        TooSlowError: if that takes longer than :data:`LIMIT_S`.
        ValueError: if it is no expression.
    """
    pattern = _compiled(expression, flags)
    require_time(expression)
    try:
        return getattr(pattern, way)(text, timeout=LIMIT_S) is not None
    except TimeoutError:
        raise too_slow(expression) from None


def require_time(expression: str) -> None:
    """Refuse an expression that has used up its time before.

    Raises:
        TooSlowError: if it has.
    """
    if expression in _spent:
        raise too_slow(expression)


def too_slow(expression: str) -> TooSlowError:
    """The error of an expression that has used up its time; it is not tried again."""
    _spent.add(expression)
    return TooSlowError(
        f"{expression!r} takes more than {LIMIT_S:g} s on one output. Fix: no repetition within a "
        "repetition, as in (a+)+, and [^x]*x instead of .*x"
    )


@cache
def _compiled(expression: str, flags: int) -> Any:
    """Judged by :mod:`re`, to which the ``{e<=1}`` of fuzzy matching is text."""
    import regex

    try:
        re.compile(expression, flags)
        literal = _BRACES.sub(lambda found: r"\{" if found[0] == "{" else found[0], expression)
        return regex.compile(literal, int(flags) | regex.VERSION0)
    except (re.error, regex.error, OverflowError, RecursionError) as error:
        raise ValueError(str(error)) from error
