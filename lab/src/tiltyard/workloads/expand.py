"""A profile with parameters, expanded: the program table that a person would type.

In the template ``{parameter}`` stands for a value, wherever there is text; braces of other names
are the engine's (``{dir}``, ``{execution}``) or those of a system under test, and stay. What a
person types into a parameter may have such braces too.

1. A value directly under ``[program]`` that is one placeholder keeps its type: ``executions =
   "{executions}"`` is a number. A word of a list becomes as many words as its value has:
   ``--file={scripts}`` is there once for each script.
2. What has a placeholder whose value is empty (false, no text, no words, left out) is left out: the
   word, the command that has no word left, the key.
"""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from pydantic import JsonValue

from tiltyard.executors.engine import JobRefused
from tiltyard.study.placeholders import name_of, names_in, put
from tiltyard.study.problems import one_of
from tiltyard.workloads.file import ProfileFile
from tiltyard.workloads.inputs import Inputs, named, read_inputs, require_allowed, variables_in
from tiltyard.workloads.values import Value, as_text, default_of, value_of


class _Empty(Exception):  # noqa: N818  it is no error
    """Nothing is left of a part of the template."""


def expand(
    profile: ProfileFile,
    parameters: Mapping[str, JsonValue],
    *,
    beside: Path,
    roots: Sequence[Path] = (),
) -> dict[str, JsonValue]:
    """What a person would type after ``use = "program"``.

    Args:
        profile: as its file says.
        parameters: as typed; the others have their defaults.
        beside: directory of the profile, where relative paths of its defaults begin.
        roots: where relative paths that are typed begin, the first that has such a file; by default
            the directory one stands in.

    Raises:
        JobRefused: if a parameter is unknown, missing, or not what it must be.
    """
    values = values_of(profile, parameters, beside=beside, roots=roots)
    inputs = read_inputs(profile, values)
    passed = environment(profile, values, inputs)
    require_allowed(profile, inputs, {name: str(value) for name, value in passed.items()})
    standing = {
        name: named(each, values[name], inputs) for name, each in profile.parameters.items()
    }
    template = profile.program.model_dump(exclude_unset=True)
    table: dict[str, JsonValue] = {}
    for key, part in template.items():
        try:
            table[key] = _typed(part, standing)
        except _Empty:
            continue
    for key, added in (("env", passed), ("inputs", inputs.texts)):
        own = table.get(key)
        if added:
            table[key] = {**(own if isinstance(own, dict) else {}), **added}
    return table


def environment(
    profile: ProfileFile, values: Mapping[str, Value], inputs: Inputs
) -> dict[str, JsonValue]:
    """Variables that the files of a profile's parameters name, with their values.

    Raises:
        JobRefused: if one has no value.
    """
    found: dict[str, JsonValue] = {}
    for parameter, table in profile.parameters.items():
        if table.environment is None:
            continue
        typed = values[table.environment]
        for word in typed if isinstance(typed, list) else ():
            name, equals, value = word.partition("=")
            if not equals:
                raise JobRefused(table.environment, f'"{word}" has no value. Fix: "{word}=VALUE"')
            found[name] = value
        for name, (file, line) in variables_in(inputs, parameter).items():
            if name not in found and name not in os.environ:
                raise JobRefused(
                    parameter,
                    f"{file}:{line}: ${{{name}}} has no value. Fix: {table.environment} = "
                    f'["{name}=VALUE"], or set it in the shell: {name}=VALUE tiltyard …',
                )
            found.setdefault(name, os.environ.get(name))
    return found


def values_of(
    profile: ProfileFile,
    parameters: Mapping[str, JsonValue],
    *,
    beside: Path,
    roots: Sequence[Path] = (),
) -> dict[str, Value]:
    """What each placeholder stands for; like :func:`expand`."""
    for name in parameters:
        if name not in profile.parameters:
            raise JobRefused(
                name, f"there is no such parameter. {one_of(name, profile.parameters)}"
            )
    values: dict[str, Value] = {}
    for name, table in profile.parameters.items():
        typed, begin = parameters.get(name), roots or (Path(),)
        if typed is None:
            typed, begin = default_of(table), (beside,)
        if typed is None:
            raise JobRefused(name, f"is missing. {table.help}")
        try:
            values[name] = value_of(table, typed, begin)
        except ValueError as error:
            raise JobRefused(name, str(error)) from error
    for name, table in profile.parameters.items():
        if table.instead_of is None or values[name] in ("", [], False):
            continue
        if parameters.get(table.instead_of) is not None:
            raise JobRefused(
                name, f"stands instead of {table.instead_of}. Fix: give one of the two"
            )
        values[table.instead_of] = ""
    return values


def filled(text: str, values: Mapping[str, Value]) -> str:
    """A text with values in place of their placeholders.

    Raises:
        _Empty: if one of them is empty.
    """

    def value_of(name: str) -> str | None:
        if name not in values:
            return None
        value = values[name]
        if value is False or value in ("", []):
            raise _Empty
        return " ".join(value) if isinstance(value, list) else as_text(value)

    return put(text, value_of)


def _typed(part: JsonValue, values: Mapping[str, Value]) -> JsonValue:
    """A value directly under ``[program]``: one placeholder keeps its type."""
    name = name_of(part)
    if name is None or name not in values:
        return _filled(part, values)
    value = values[name]
    if value in ("", []) or value is False:
        raise _Empty
    return [*value] if isinstance(value, list) else value


def _filled(part: JsonValue, values: Mapping[str, Value]) -> JsonValue:
    """Any part of the template."""
    if isinstance(part, str):
        return filled(part, values)
    if isinstance(part, list):
        return _words(part, values)
    if isinstance(part, dict):
        table = {}
        for key, each in part.items():
            try:
                table[key] = _filled(each, values)
            except _Empty:
                continue
        return table
    return part


def _words(parts: Sequence[JsonValue], values: Mapping[str, Value]) -> list[JsonValue]:
    """A command, or several."""
    found: list[JsonValue] = []
    for part in parts:
        try:
            found += _repeated(part, values) if isinstance(part, str) else [_filled(part, values)]
        except _Empty:
            continue
    if parts and not found:
        raise _Empty
    return found


def _repeated(word: str, values: Mapping[str, Value]) -> list[str]:
    """A word for each one of the first list in it; one where there is none."""
    for name in names_in(word):
        if isinstance(several := values.get(name), list):
            if word == f"{{{name}}}":
                return several
            return [each for one in several for each in _repeated(word, {**values, name: one})]
    return [filled(word, values)]
