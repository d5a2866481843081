"""What a person means by the path of a study, or by a wrong name: the same for every verb."""

import difflib
from collections.abc import Iterable
from pathlib import Path


def study_path(path: Path) -> Path:
    """The study folder, or the study file outside of one, that a person means by a path.

    That is a folder, a study file, either without its suffix, or any file of a study folder.
    """
    if path.is_file():
        names = ("study.toml", "plan.json", "journal.jsonl", "findings.json")
        if path.name in names:
            return path.parent
        return path.parent.parent if path.parts[-2:] == ("report", "index.html") else path
    beside = path.with_name(f"{path.name}.toml") if path.name else path
    if beside.is_file() and not (path / "study.toml").is_file():
        return beside
    return path


def no_study(path: Path) -> str:
    """What to say where nothing of a study is found, and what would be right."""
    if study_path(path).is_file() and study_path(path).suffix == ".toml":
        return f"{path}: nothing was measured of it yet. Fix: tiltyard run {path}"
    if (path / "collection.json").is_file():
        return (
            f"{path}: results of other tools, imported; nothing is run of them. "
            f"Fix: tiltyard report {path}"
        )
    new = (path if path.is_dir() else path.parent) / "my-study"
    near = perhaps(path, (study.parent for study in path.parent.glob("*/study.toml")))
    return (
        f"{path}: no study here.{near} A study is a folder with a file study.toml; "
        f'"tiltyard new {new}" makes one'
    )


def perhaps(typed: object, right: Iterable[object]) -> str:
    """The nearest of what would be right, as a question to add; empty if none is near.

    Of paths the names are compared: the folders that they share make none nearer.
    """
    names = {_name(each): each for each in right}
    near = difflib.get_close_matches(_name(typed), names, n=1)
    return f' Did you mean "{names[near[0]]}"?' if near else ""


def _name(of: object) -> str:
    return (of.name if isinstance(of, Path) else str(of)).casefold()
