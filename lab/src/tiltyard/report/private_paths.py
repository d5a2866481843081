"""Which paths of a command tell where somebody works: those that name a folder of their own.

A name without a slash, ``./name`` and ``{dir}/name`` lie where a study works and stay; so does
what is written in a ready profile, which every reader has.
"""

import re
from functools import cache
from typing import Final

from tiltyard.workloads.load import ready

_NODE: Final = r"(?:[\w.+@%~-]|\\ |\[\w+ \d+\])+"
WORDS: Final = "\x1f"
"""Between the words of a command that is read as one line; to a pattern it is a blank."""
RELATIVE: Final = re.compile(
    # A whole word, or what stands in quotes: names of folders may have blanks.
    rf"(?<=['\"{WORDS}])[\w.+@%~][\w.+@%~ -]*(?:/[\w.+@%~ -]+)+(?<! )(?=['\"{WORDS}]|$)|"
    r"(?:(?<![\w/.~$}\\:\]-])|(?<=\s-\w)|(?<=^-\w)|(?<=:)(?!\d+/))(?!-)"
    rf"(?:\$\w+|\$\{{\w+\}}|{_NODE})(?:/{_NODE})+"
)
"""Candidates in a command; ``$NAME/folder/file`` is one as well."""
_KEY: Final = re.compile(r"(?<!\$)\{[A-Za-z_]\w*\}$")
_VARIABLE: Final = re.compile(r"\$\w+|\$\{\w+\}")
_MEDIA_TYPE: Final = re.compile(r"(?:text|application|image|audio|video|multipart|font)/[\w.+-]+")
_EXPRESSION: Final = re.compile(r"[sy]/[^/]*/[^/]*(?:/\w*)?")
"""Of sed."""
_OWN: Final = re.compile(r"work/mnt(?:-[\w.-]+)?")
"""Where a study mounts its systems."""
_SHORTEST: Final = 3
"""``I/O``, ``a/b``, ``%s/%d`` name no folder."""
_PER: Final = frozenset({"s", "sec", "op", "min", "h", "d"})


def is_telling(text: str) -> bool:
    """Whether a relative path says more than the name of a file where the study works."""
    first, *others = text.split("/")
    named = [one for one in (first, *others) if one.strip(".") and not _VARIABLE.fullmatch(one)]
    if ".." in (first, *others):
        return bool(named)
    if len(named) < 2 or not any(len(re.sub(r"[\W\d]", "", one)) >= _SHORTEST for one in named):
        return False
    if len(named) == 2 and named[1] in _PER:
        return False
    plain = any(kind.fullmatch(text) for kind in (_OWN, _MEDIA_TYPE, _EXPRESSION))
    return not plain and text not in _shipped()


def is_in_a_key(path: str, before: str) -> bool:
    """Whether ``/name`` stands after ``{dir}``: a file in a folder that the study calls so."""
    return path.strip("/").count("/") == 0 and bool(_KEY.search(before))


@cache
def _shipped() -> str:
    """All that the ready profiles say."""
    return "\n".join(file.read_text() for file in ready())
