"""Find profiles and read them: text, then grammar, then what the parts say of each other.

The nearest counts: those of a study, those of the user, those of installed packages, the ready
ones.
"""

import os
import shutil
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from importlib.resources import files
from pathlib import Path
from typing import Final, Literal

from pydantic import JsonValue, ValidationError

from tiltyard.errors import UsageError
from tiltyard.executors.engine import JobRefused
from tiltyard.ownership import home
from tiltyard.registry import (
    SWITCH,
    Plugin,
    PluginError,
    PluginWarning,
    contained,
    installed,
)
from tiltyard.study.load import parsed, read_text
from tiltyard.study.locate import KeyPath, locate
from tiltyard.study.placeholders import names_in
from tiltyard.study.problems import Flaw, located, one_of
from tiltyard.study.wording import flaws_of
from tiltyard.workloads.expand import expand, filled, values_of
from tiltyard.workloads.file import ProfileFile
from tiltyard.workloads.phoronix import InstalledTest, installed_tests
from tiltyard.workloads.values import value_of

FOLDER: Final = "workloads"
OF_THE_ENGINE: Final = frozenset({"dir", "execution"})
"""Placeholders that the engine fills in."""
Origin = Literal["study", "user", "package", "ready", "suite"]
_SUFFIX: Final = ".toml"
_UNLIMITED: Final = {"min": None, "max": None, "unit": None}


@dataclass(frozen=True)
class Profile:
    """A profile that was found."""

    name: str
    source: Path
    origin: Origin
    hides: tuple[Path, ...] = ()
    """Files of the same name that are further away."""
    test: InstalledTest | None = None
    """Of a suite, where it is one of those."""
    plugin: Plugin | None = None
    """Whose it is, where an installed package brings it."""

    @cached_property
    def file(self) -> ProfileFile:
        """What it says.

        Raises:
            UsageError: if it is no profile; names file, line, key and what would be right.
        """
        return read_profile(self.source) if self.test is None else self.test.file()

    def adapted(self, table: dict[str, JsonValue]) -> dict[str, JsonValue]:
        """An expanded table, with those of its numbers that are there when it is so."""
        return table if self.test is None else self.test.adapted(table)

    @property
    def beside(self) -> Path:
        """Where paths that the profile itself names begin."""
        return self.source.parent


def ready() -> list[Path]:
    """The ready profiles, by name: those of the core, and those of our plug-ins."""
    core = Path(str(files("tiltyard.workloads"))) / "ready"
    added = [folder_of(one) for one in installed() if one.is_ours and one.group == "workloads"]
    found = (path for place in (core, *added) for path in place.glob(f"*{_SUFFIX}"))
    return sorted(found, key=lambda path: path.stem)


def written(study: Iterable[Path]) -> Iterator[tuple[Origin, Path]]:
    """Files that may be profiles, by directory, the nearest first.

    Args:
        study: directories of the study, the nearest first.
    """
    config = os.environ.get("XDG_CONFIG_HOME") or home() / ".config"
    places: list[tuple[Origin, Path]] = [("study", each / FOLDER) for each in study]
    for origin, place in (*places, ("user", Path(config) / "tiltyard" / FOLDER)):
        yield from ((origin, path) for path in sorted(place.glob(f"*{_SUFFIX}")))
    yield from (("ready", path) for path in ready())


def packaged() -> Iterator[tuple[Plugin, Path]]:
    """Directories of installed packages; what cannot be imported is a warning.

    Entry points of the group ``tiltyard.v1.workloads``: each names a package, or its module, beside
    which TOML files lie.
    """
    for plugin in installed():
        if plugin.group == "workloads" and not plugin.wrong and not plugin.is_ours:
            try:
                with contained(plugin, "cannot be imported"):
                    folder = folder_of(plugin)
            except PluginError as error:
                warnings.warn(PluginWarning(str(error)), stacklevel=2)
            else:
                yield plugin, folder


def folder_of(plugin: Plugin) -> Path:
    """The directory that an entry point means; imports it."""
    return Path(str(files(plugin.value)))


def read_ready() -> Iterator[Profile]:
    """The ready profiles alone, by name."""
    for path in ready():
        yield Profile(path.stem, path, "ready")


def find_profiles(study: Iterable[Path] = ()) -> dict[str, Profile]:
    """All profiles that a study can use, by name; none is read.

    Args:
        study: directories of the study, the nearest first.
    """
    found: dict[str, Profile] = {}
    for origin, path in written(study):
        name = path.stem
        if name not in found:
            found[name] = Profile(name, path, origin)
        elif found[name].source != path:
            found[name] = replace(found[name], hides=(*found[name].hides, path))
    _add_packaged(found)
    for test in installed_tests():
        definition = test.definition / "test-definition.xml"
        found[test.name] = Profile(test.name, definition, "suite", test=test)
    return found


def _add_packaged(found: dict[str, Profile]) -> None:
    """Those of installed packages: a study and a user may have others of their names.

    A file that is no profile is a warning: nobody here has written it.

    Raises:
        UsageError: if one has the name of a ready one, or of another package's.
    """
    holders = {path.stem: "Tiltyard itself" for path in ready()}
    for plugin, place in packaged():
        for path in sorted(place.glob(f"*{_SUFFIX}")):
            name = path.stem
            if name in holders:
                raise UsageError(
                    f'the workload "{name}" is of {plugin.of} and of '
                    f"{holders[name]}. Fix: remove one of them, or {SWITCH}=none, or the packages "
                    "that you want"
                )
            holders[name] = plugin.of
            if name in found:
                hides = (*found[name].hides, path)
                found[name] = replace(found[name], hides=hides)
                continue
            profile = Profile(name, path, "package", plugin=plugin)
            try:
                profile.file  # noqa: B018  it is read
            except UsageError as error:
                warnings.warn(PluginWarning(f"{plugin.of}: {error}"), stacklevel=2)
            else:
                found[name] = profile


def read_profile(path: Path) -> ProfileFile:
    """The profile that a file describes.

    Raises:
        UsageError: if it is none, or cannot be read.
    """
    text = read_text(path)
    document = parsed(text, path)
    lines = locate(text)
    try:
        profile = ProfileFile.model_validate(document)
    except ValidationError as error:
        raise located(path, lines, flaws_of(error, ProfileFile)) from error
    if flaws := [*_flaws(profile)] or [*_values(profile, path)] or [*_sets(profile, path)]:
        raise located(path, lines, flaws)
    return profile


def lacking(
    profile: Profile, parameters: Mapping[str, JsonValue], roots: Sequence[Path]
) -> dict[str, str]:
    """Commands and files that a profile needs and this host has not → the package of each.

    Raises:
        JobRefused: if a parameter is not what it must be.
    """
    values = values_of(profile.file, parameters, beside=profile.beside, roots=roots)
    needs = {filled(need, values): package for need, package in profile.file.needs.items()}
    return {need: package for need, package in needs.items() if not _is_there(need)}


def _is_there(need: str) -> bool:
    return Path(need).exists() if "/" in need else shutil.which(need) is not None


def _flaws(profile: ProfileFile) -> Iterator[Flaw]:
    """What the parts of a profile say of each other that is not so."""
    known = profile.parameters.keys()
    if profile.argument is not None and profile.argument not in known:
        yield Flaw(("argument",), f"names no parameter of this profile. {one_of('', known)}")
    for name, table in profile.parameters.items():
        if table.instead_of is not None and table.instead_of not in known - {name}:
            key = ("parameters", name, "instead_of")
            yield Flaw(key, f"names no other parameter. {one_of(table.instead_of, known)}")
    usable = {*known, *profile.variables, *OF_THE_ENGINE}
    parts: dict[str, JsonValue] = {
        "program": profile.program.model_dump(exclude_unset=True),
        "needs": [*profile.needs],
    }
    for path, text in _texts(parts, ()):
        for name in sorted({*names_in(text)} - usable):
            text = f"{{{name}}} stands for nothing. {one_of(name, sorted(usable))} Fix: name one "
            yield Flaw(path, f"{text}of these, or write {{{{{name}}}}} where braces are meant")


def _values(profile: ProfileFile, path: Path) -> Iterator[Flaw]:
    """Defaults and limits that a study could not type."""
    for name, table in profile.parameters.items():
        for key in ("min", "max", "default", "least"):
            if (value := getattr(table, key)) is not None:
                limits = (
                    table if key in ("default", "least") else table.model_copy(update=_UNLIMITED)
                )
                try:
                    value_of(limits, value, (path.parent,))
                except ValueError as error:
                    yield Flaw(("parameters", name, key), str(error))


def _sets(profile: ProfileFile, path: Path) -> Iterator[Flaw]:
    """Sets of parameters that a study could not use."""
    for key in ("smoke", "usual"):
        try:
            expand(profile, getattr(profile, key), beside=path.parent, roots=(path.parent,))
        except JobRefused as refused:
            yield Flaw((key, refused.parameter or ""), refused.message)


def _texts(part: JsonValue, path: KeyPath) -> Iterator[tuple[KeyPath, str]]:
    """Every text of a template, with its place."""
    if isinstance(part, str):
        yield path, part
    elif isinstance(part, dict):
        for key, each in part.items():
            yield from _texts(each, (*path, key))
    elif isinstance(part, list):
        for place, each in enumerate(part):
            yield from _texts(each, (*path, place))
