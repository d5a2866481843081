"""JSONPath (RFC 9535) by a library, within the time limit of all expressions of a study.

Loading the library takes as long as loading all importers, so this is imported where a study has
such an expression.
"""

import re
import time
from collections.abc import Iterable, Iterator
from functools import cache
from typing import Any, Final, Literal

from jsonpath import JSONPathEnvironment, JSONPathError, JSONPathMatch
from jsonpath.function_extensions import Match, Search
from jsonpath.parse import Parser
from jsonpath.segments import (
    JSONPathChildSegment,
    JSONPathRecursiveDescentSegment,
    JSONPathSegment,
)
from jsonpath.stream import TokenStream

from tiltyard.importers.patterns import LIMIT_S, matches, require_time, too_slow

_FLAGS: Final = re.ASCII | re.IGNORECASE | re.MULTILINE | re.DOTALL


def require_path(expression: str) -> None:
    """Refuse what is no JSONPath.

    Raises:
        ValueError: it says where it is wrong.
    """
    _compiled(expression)


def selected(expression: str, documents: Iterable[Any]) -> list[Any]:
    """The values that a JSONPath selects.

    Args:
        expression: a JSONPath.
        documents: parsed JSON, of one output.

    Raises:
        TooSlowError: if that takes longer than :data:`~tiltyard.importers.patterns.LIMIT_S`.
        ValueError: if a document is nested too deeply.
    """
    environment, path = _compiled(expression)
    require_time(expression)
    environment.until_s = time.process_time() + LIMIT_S
    try:
        return [match.obj for document in documents for match in path.finditer(document)]
    except JSONPathError as error:
        raise ValueError(f"{expression!r}: {str(error).partition(chr(10))[0]}") from error


class _LimitedChild(JSONPathChildSegment):
    """Looks at the clock for each node that it selects."""

    __slots__ = ()

    def resolve(self, nodes: Iterable[JSONPathMatch]) -> Iterator[JSONPathMatch]:
        return _watched(self.env, super().resolve(nodes))


class _LimitedDescent(JSONPathRecursiveDescentSegment):
    """Looks at the clock for each node that it visits, also where it selects nothing."""

    __slots__ = ()

    def resolve(self, nodes: Iterable[JSONPathMatch]) -> Iterator[JSONPathMatch]:
        for node in nodes:
            for visited in _watched(self.env, self._visit(node)):
                for selector in self.selectors:
                    yield from selector.resolve(visited)


def _watched(env: JSONPathEnvironment, nodes: Iterable[JSONPathMatch]) -> Iterator[JSONPathMatch]:
    assert isinstance(env, _Limited)
    for node in nodes:
        env.look()
        yield node


class _LimitedParser(Parser):
    """Queries of all levels, those in filters too, are of limited segments."""

    def parse_query(self, stream: TokenStream) -> Iterator[JSONPathSegment]:
        for one in super().parse_query(stream):
            descends = isinstance(one, JSONPathRecursiveDescentSegment)
            limited = _LimitedDescent if descends else _LimitedChild
            yield limited(env=one.env, token=one.token, selectors=one.selectors)


class _Limited(JSONPathEnvironment):
    """Looks at the clock at each step through a document, and at each comparison of a filter."""

    parser_class = _LimitedParser
    until_s = 0.0

    def __init__(self, expression: str) -> None:
        self.expression = expression
        super().__init__()

    def look(self) -> None:
        if time.process_time() > self.until_s:
            raise too_slow(self.expression)

    def setup_function_extensions(self) -> None:
        super().setup_function_extensions()
        self.function_extensions["match"] = _LimitedMatch()
        self.function_extensions["search"] = _LimitedSearch()

    def is_truthy(self, obj: object) -> bool:
        self.look()
        return super().is_truthy(obj)

    def compare(self, left: object, operator: str, right: object) -> bool:
        self.look()
        if operator == "=~" and isinstance(right, re.Pattern) and isinstance(left, str):
            return matches(right.pattern, left, "fullmatch", right.flags & _FLAGS)
        return super().compare(left, operator, right)


class _LimitedMatch(Match):
    def __call__(self, value: object, pattern: object) -> bool:
        return _is_match(value, pattern, "fullmatch")


class _LimitedSearch(Search):
    def __call__(self, value: object, pattern: object) -> bool:
        return _is_match(value, pattern, "search")


def _is_match(value: object, pattern: object, way: Literal["search", "fullmatch"]) -> bool:
    """No text, or no expression: no match, as RFC 9535 has it."""
    try:
        return isinstance(value, str) and isinstance(pattern, str) and matches(pattern, value, way)
    except ValueError:
        return False


@cache
def _compiled(expression: str) -> tuple[_Limited, Any]:
    environment = _Limited(expression)
    try:
        return environment, environment.compile(expression)
    except JSONPathError as error:
        raise ValueError(str(error).partition("\n")[0]) from error
