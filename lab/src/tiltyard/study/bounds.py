"""How large a study may be: what is beyond is refused before it is read, with the reason.

The limits are far above what a person writes or a host carries out in a week, and far below what
would take minutes or gigabytes to read.
"""

import re
from collections.abc import Iterator
from typing import Final

from tiltyard.study.problems import Problem

BYTES_MAX: Final = 2**20
"""Of a study file, or a tuning profile."""
DEPTH_MAX: Final = 16
"""Brackets in each other, and parts of a dotted key: no setting has more than four."""
ENTRIES_MAX: Final = 4000
"""Keys, and items of lists."""
SYSTEMS_MAX: Final = 1000
"""Combinations of levels."""
TRIALS_MAX: Final = 200_000
"""Trials of a plan: at a second each, more than two days."""

_TOKEN: Final = re.compile(
    r"(?P<blank>(?:[ \t\r]|\#[^\n]*)++)"
    r'|(?P<name>"""(?:[^\\"]|\\.|"(?!""))*+(?:"{3,5}|\Z)'
    r"|'''(?:[^']|'(?!''))*+(?:'{3,5}|\Z)"
    r'|"(?:[^"\\\n]|\\[^\n])*+"?'
    r"|'[^'\n]*+'?"
    r"|[A-Za-z0-9_+-]++)"
    r"|(?P<mark>[\[\]{}=,.])"
    r"|(?P<other>.)",
    re.DOTALL,
)
"""Of any text, TOML or not: what is not closed goes on to the end, so that none is read twice."""


def beyond(text: str) -> Iterator[Problem]:
    """The first thing in a text that goes beyond a limit; it need not be TOML."""
    depth = parts = entries = 0
    joined = False
    for token in _TOKEN.finditer(text):
        if token.lastgroup == "blank":
            continue
        mark = token["mark"] or ""
        if token.lastgroup == "name":
            parts = parts + 1 if joined else 1
        elif mark != ".":
            parts = 0
        joined = mark == "."
        depth = max(0, depth + (mark in "[{" and mark != "") - (mark in "]}" and mark != ""))
        entries += mark in ("=", ",", "[")
        if max(depth, parts) > DEPTH_MAX:
            what = "brackets in each other" if depth > DEPTH_MAX else "parts of one key"
            yield _problem(text, token.start(), f"more than {DEPTH_MAX} {what}")
            return
        if entries > ENTRIES_MAX:
            yield _problem(text, token.start(), f"more than {ENTRIES_MAX} keys and items of lists")
            return


def _problem(text: str, at: int, what: str) -> Problem:
    line = text.count("\n", 0, at) + 1
    return Problem(line, "", f"{what}: no study needs so many, and reading them takes minutes")
