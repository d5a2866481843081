"""Judgements in files: one row a line, numbers to nine digits, the first difference by name."""

import json
from collections.abc import Iterator, Mapping
from math import isclose, isfinite
from pathlib import Path
from typing import Any, Final

from frozen.judgement import COLUMNS, Stated

DATA: Final = Path(__file__).with_name("data")
"""A file for each door, of its scenes: scene → section → name of a row → values by column."""
DIGITS: Final = 9
_RELATIVE: Final = 10.0 ** (1 - DIGITS) * 1.01
"""One in the last digit at most: another order of summation must not tip a number over."""
_NOTHING: Final = 1e-12
"""What of a difference of two numbers is rounding alone."""

Scenes = Mapping[str, Stated]


def rounded(value: Any) -> Any:
    """Numbers to nine digits, wherever they stand; those that are none as words."""
    if isinstance(value, float):
        return float(f"{value:.{DIGITS}g}") if isfinite(value) else str(value)
    if isinstance(value, list | tuple):
        return [rounded(one) for one in value]
    if isinstance(value, dict):
        return {name: rounded(one) for name, one in value.items()}
    return value


def written(scenes: Scenes) -> str:
    """All of a door as text: the columns, and a row a line."""
    used = {section for stated in scenes.values() for section, rows in stated.items() if rows}
    columns = {section: list(COLUMNS[section]) for section in COLUMNS if section in used}
    parts = [f' "columns": {{\n{_rows(columns)}\n }}']
    for scene, stated in scenes.items():
        sections = ",\n".join(
            f"  {_json(section)}: {{\n{_rows(rows)}\n  }}"
            for section, rows in stated.items()
            if rows
        )
        parts.append(f" {_json(scene)}: {{\n{sections}\n }}")
    return "{\n" + ",\n".join(parts) + "\n}\n"


def read(text: str) -> Scenes:
    """The scenes of a file."""
    scenes: dict[str, Stated] = json.loads(text)
    scenes.pop("columns")
    return scenes  # type: ignore[return-value]


def differences(frozen: Scenes, found: Scenes) -> Iterator[str]:
    """What is not as it was, in the order of the file; each names scene, row and column."""
    for scene in [*frozen, *(name for name in found if name not in frozen)]:
        before, now = frozen.get(scene), found.get(scene)
        if before is None or now is None:
            yield f"{scene}: {'is new' if before is None else 'is gone'}"
            continue
        for section in COLUMNS:
            for what in _of_section(section, before.get(section, {}), now.get(section, {})):
                yield f"{scene}: {section}: {what}"


def _of_section(section: str, before: Mapping[str, Any], now: Mapping[str, Any]) -> Iterator[str]:
    for name in [*before, *(name for name in now if name not in before)]:
        if name not in before or name not in now:
            yield f"{name}: {'is gone' if name in before else f'is new, {now[name]}'}"
            continue
        length = max(len(before[name]), len(now[name]))
        old, new = (own + [None] * (length - len(own)) for own in (before[name], now[name]))
        for place, (was, is_) in enumerate(zip(old, new, strict=True)):
            if not _alike(was, is_):
                yield f"{name}: {COLUMNS[section][place]}: was {was}, is {is_}"


def _alike(was: Any, now: Any) -> bool:
    """Whether two values are the same, numbers but for the last digit."""
    if isinstance(was, list) and isinstance(now, list):
        return len(was) == len(now) and all(map(_alike, was, now))
    if isinstance(was, bool | str | None) or isinstance(now, bool | str | None):
        return type(was) is type(now) and was == now
    return isclose(was, now, rel_tol=_RELATIVE, abs_tol=_NOTHING)


def _rows(rows: Mapping[str, Any]) -> str:
    return ",\n".join(f"   {_json(name)}: {_json(rounded(own))}" for name, own in rows.items())


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
