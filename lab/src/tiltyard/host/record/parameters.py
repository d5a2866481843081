"""Kernel parameters, sysctl(8), that are not what the kernel itself makes them.

The defaults, with their sources, are in ``parameters.toml`` beside this file. Where a file of the
distribution or of the administrator sets a parameter, that file is named (sysctl.d(5)).
"""

import math
import re
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from tiltyard.host.record.section import Section, Seen

_ROOT = "/proc/sys"
_MEMORY = "/proc/meminfo"
_RELEASE = "/proc/sys/kernel/osrelease"
_NEAR = 0.15
"""How far a rule of memory may be off: the kernel counts what is left after it has started."""
_SET_IN: Final = (
    "/usr/lib/sysctl.d/*.conf",
    "/usr/local/lib/sysctl.d/*.conf",
    "/run/sysctl.d/*.conf",
    "/etc/sysctl.d/*.conf",
    "/etc/sysctl.conf",
)
"""Later ones win; of two files of one name only the later counts."""
_ASSIGNMENT = re.compile(r"^-?([\w./*-]+)\s*=\s*(.*)$")
_VERSION = re.compile(r"(\d+)\.(\d+)")

Rule = object
"""A value of the table, as TOML has it."""


def _table() -> dict[str, Rule]:
    """Key → its default or the rule for it."""
    text = (Path(__file__).parent / "parameters.toml").read_text()
    return dict(_flat(tomllib.loads(text), ""))


def _flat(table: Mapping[str, Rule], prefix: str) -> Iterator[tuple[str, Rule]]:
    """Keys in full; a table whose keys are words is a part of a key, any other is a rule."""
    for name, value in table.items():
        if isinstance(value, dict) and not _is_rule(value):
            yield from _flat(value, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", value


def _is_rule(value: Mapping[str, Rule]) -> bool:
    return bool({"one_per", "root", "0"} & value.keys())


_DEFAULTS = _table()


def _path(key: str) -> str:
    return f"{_ROOT}/{key.replace('.', '/')}"


def _tell(seen: Seen) -> dict[str, str]:
    memory_kib = int(seen.field(_MEMORY, "MemTotal").split()[0]) if _MEMORY in seen.files else 0
    release = _version(seen.file(_RELEASE))
    set_by = _set_by(seen)
    found = {}
    compared = 0
    for key, rule in _DEFAULTS.items():
        now = " ".join(seen.files.get(_path(key), "").split())
        if not now:
            continue
        compared += 1
        expected = _expected(rule, memory_kib, release)
        if not any(_same(now, value, near) for value, near in expected):
            usual = expected[0][0]
            origin = f", set by {set_by[key]}" if key in set_by else ""
            found[key] = f"{now} (default {usual}{origin})"
    return {
        "compared with the kernel's defaults": f"{compared} of {len(_DEFAULTS)}",
        **found,
        "set by files": _told(set_by, found) if set_by else "none",
    }


def _told(set_by: Mapping[str, str], found: Mapping[str, str]) -> str:
    """What files set besides: to the default, or to what is not in the table."""
    rest = [f"{key} by {file}" for key, file in sorted(set_by.items()) if key not in found]
    return ", ".join(rest) or "only those above"


def _set_by(seen: Seen) -> dict[str, str]:
    """Key → name of the file that has the last word."""
    files: dict[str, str] = {}
    for pattern in _SET_IN:
        inside = pattern.removesuffix("*.conf")
        for path in sorted(seen.files):
            if path == pattern or (path.startswith(inside) and path.endswith(".conf")):
                files[Path(path).name] = path
    found = {}
    for name in sorted(files, key=lambda name: (name == "sysctl.conf", name)):
        for line in seen.files[files[name]].splitlines():
            match = _ASSIGNMENT.match(line.strip())
            if match and "*" not in match[1]:
                found[match[1].replace("/", ".")] = name
    return found


def _version(release: str) -> tuple[int, int]:
    match = _VERSION.match(release)
    return (int(match[1]), int(match[2])) if match else (0, 0)


def _expected(rule: Rule, memory_kib: int, release: tuple[int, int]) -> list[tuple[str, float]]:
    """Values that are all defaults, each with how far off a value may be (a fraction)."""
    if isinstance(rule, list):
        return [value for one in rule for value in _expected(one, memory_kib, release)]
    if not isinstance(rule, dict):
        return [(str(rule), 0.0)]
    if "0" in rule:
        since = max(key for key in map(_since, rule) if key <= release)
        chosen = next(value for key, value in rule.items() if _since(key) == since)
        return _expected(chosen, memory_kib, release)
    return [(_of_memory(rule, memory_kib), _NEAR)]


def _since(key: str) -> tuple[int, int]:
    """Version from which on a default holds; ``0`` is before all."""
    return _version(key) if "." in key else (0, 0)


def _of_memory(rule: Mapping[str, Rule], memory_kib: int) -> str:
    """What a rule makes of so much memory."""
    least, most = rule.get("least", 0), rule.get("most", math.inf)
    assert isinstance(least, int)
    assert isinstance(most, int | float)
    if "root" in rule:
        values = [math.sqrt(float(str(rule["root"])) * memory_kib)]
    else:
        given = rule["one_per"]
        divisors = given if isinstance(given, list) else [given]
        values = [memory_kib * 1024 / float(str(divisor)) for divisor in divisors]
    return " ".join(str(int(min(most, max(least, value)))) for value in values)


def _same(now: str, expected: str, near: float) -> bool:
    """Equal, or each number near enough."""
    if now == expected:
        return True
    mine, theirs = now.split(), expected.split()
    return (
        near > 0
        and len(mine) == len(theirs)
        and all(abs(int(a) - int(b)) <= near * int(b) for a, b in zip(mine, theirs, strict=True))
    )


SECTION = Section(
    name="kernel parameters",
    tell=_tell,
    files=(*map(_path, _DEFAULTS), _MEMORY, _RELEASE, *_SET_IN),
)
