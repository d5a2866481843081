"""Find profiles by name or path, and read them: text, then grammar, then what they include."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from importlib.resources import files
from pathlib import Path
from typing import Any

from pydantic import JsonValue, ValidationError

from tiltyard.errors import UsageError
from tiltyard.ownership import expanded
from tiltyard.study.load import parsed, read_text
from tiltyard.study.locate import KeyPath, locate
from tiltyard.study.problems import Flaw, dotted, located, not_a, shown
from tiltyard.study.wording import flaws_of
from tiltyard.tuning.profile import Profile, profile_file
from tiltyard.tuning.values import is_rule

Asked = str | dict[str, JsonValue]
"""A profile as it is asked for: a name, the path of a file, or its tables as they stand in one."""
_READY = files("tiltyard.tuning").joinpath("profiles")
_SUFFIX = ".toml"


def ready_names() -> list[str]:
    """The ready profiles, by name."""
    names = (entry.name for entry in _READY.iterdir())
    return sorted(name.removesuffix(_SUFFIX) for name in names if name.endswith(_SUFFIX))


def is_path(name: str) -> bool:
    """Whether a profile is named by its file, and not by the name of a ready one."""
    return "/" in name or name.endswith(_SUFFIX)


def inline_profile(tables: Mapping[str, JsonValue]) -> Profile:
    """The profile whose tables stand where its name could.

    Raises:
        ValueError: if they are none; the message names the first key that is not right.
    """
    try:
        profile = Profile.of("", profile_file().model_validate({"about": "as typed", **tables}))
    except ValidationError as error:
        flaw = next(_once(error))
        raise ValueError(f"{dotted(flaw.path)}: {flaw.text}") from None
    if "include" in tables or not profile.tables:
        raise ValueError(f'{shown(tables)} sets nothing: {{ block = {{ scheduler = "none" }} }}')
    return replace(profile, names=(", ".join(_pairs(tables)),))


def _pairs(table: Mapping[str, JsonValue]) -> Iterator[str]:
    """``block.scheduler=none`` of each key; kernel parameters under their own names."""
    for key, value in table.items():
        if isinstance(value, dict) and not is_rule(value):
            yield from (pair if key == "sysctl" else f"{key}.{pair}" for pair in _pairs(value))
        else:
            yield f"{key}={value if isinstance(value, str) else shown(value)}"


def load_profiles(names: Sequence[Asked], root: Path) -> Profile:
    """Several profiles as one, the later ones' values first.

    Args:
        names: of ready profiles, paths of files, or tables.
        root: where relative paths begin.

    Raises:
        UsageError: if there is none of a name, or a file is not a profile; it names file, line,
            key and what would be right.
    """
    merged, told, files = Profile(()), [], {}
    for name in names:
        if isinstance(name, str):
            loaded = load_profile(name, root)
            if is_path(name):
                files[name] = loaded.digest
            told.append(f"{name} ({loaded.digest[:8]})" if is_path(name) else name)
        else:
            loaded = inline_profile(name)
            told += loaded.names
        merged = loaded.over(merged)
    return replace(merged, names=tuple(told), files=files)


def load_profile(name: str, root: Path, within: tuple[Path, ...] = ()) -> Profile:
    """One profile, with all that it includes; like :func:`load_profiles`.

    Args:
        name: of a ready profile, or the path of a file.
        root: where a relative path begins.
        within: files that include it.
    """
    path = _path(name, root)
    text = read_text(path)
    document = parsed(text, path)
    lines = locate(text)
    try:
        file = profile_file().model_validate(document)
    except ValidationError as error:
        flaws = [Flaw(_typed(flaw.path, document), flaw.text) for flaw in _once(error)]
        raise located(path, lines, flaws) from error
    profile = Profile.of(name, file)
    for place, included in enumerate(file.include):
        try:
            inner = _path(included, path.parent)
        except UsageError as error:
            raise located(path, lines, [Flaw(("include", place), str(error))]) from error
        if inner in (*within, path):
            flaw = Flaw(("include", place), f"{included} includes this profile, in the end")
            raise located(path, lines, [flaw])
        profile = profile.over(load_profile(included, path.parent, (*within, path)))
    return profile


def _path(name: str, root: Path) -> Path:
    """The file of a profile."""
    if is_path(name):
        return (root / expanded(Path(name))).resolve()
    names = ready_names()
    if name not in names:
        raise UsageError(not_a(name, "tuning profile", names))
    return Path(str(_READY.joinpath(name + _SUFFIX)))


def _once(error: ValidationError) -> Iterator[Flaw]:
    """Each flaw, said once, however many ways there are to get a value wrong."""
    seen: set[KeyPath] = set()
    for flaw in flaws_of(error, profile_file()):
        if flaw.path not in seen:
            seen.add(flaw.path)
            yield flaw


def _typed(path: KeyPath, document: Mapping[str, Any]) -> KeyPath:
    """The keys of a path as they stand in the file: each dot may be a table of its own."""
    if path[:1] != ("sysctl",) or len(path) < 2:
        return path
    steps: list[str | int] = ["sysctl"]
    node: Any = document["sysctl"]
    rest = str(path[1])
    while isinstance(node, dict) and not is_rule(node) and rest:
        if rest in node:
            return (*steps, rest, *path[2:])
        head = next((key for key in node if rest.startswith(f"{key}.")), None)
        if head is None:
            break
        steps.append(head)
        node, rest = node[head], rest.removeprefix(f"{head}.")
    return path
