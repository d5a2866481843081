"""What a terminal would obey instead of showing it, made visible; what Markdown would, escaped."""

import re
from html import escape
from typing import Final

_OBEYED: Final = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]"
)
"""Control characters but tab and line feed, what turns the direction of a line, and halves of
surrogate pairs, which no encoding has."""
_MARKUP: Final = re.compile(r"[\\`*_{}\[\]|~$#@]|^(?:[-+]|\d+[.)](?=\s))")
_SPACE: Final = re.compile(r"\s+")


def visible(text: str) -> str:
    r"""The text with such characters as Python writes them: ``\x1b``; all others stay."""
    return _OBEYED.sub(lambda found: ascii(found[0])[1:-1], text)


def one_line(text: str) -> str:
    """The same in one line."""
    return visible(text).replace("\n", "\\n")


def visible_in_json(document: str) -> str:
    """The same of a JSON document: each is written as JSON has it, and read back as it was."""
    return _OBEYED.sub(lambda found: f"\\u{ord(found[0]):04x}", document)


def markdown(text: str) -> str:
    """Text in one line that Markdown, HTML and GitHub's formulas and mentions leave alone."""
    return _MARKUP.sub(lambda found: f"{found[0][:-1]}\\{found[0][-1]}", html(text))


def html(text: str) -> str:
    """Text in one line inside of an HTML tag, where Markdown is not read."""
    return escape(_SPACE.sub(" ", text).strip(), quote=False)
