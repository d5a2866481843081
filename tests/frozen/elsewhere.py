"""What is said of results that were not run here: printed studies, and files of other tools."""

import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import chdir, redirect_stdout
from io import BytesIO, TextIOWrapper
from pathlib import Path
from typing import Any, Final
from unittest.mock import patch

from frozen.judgement import Stated, stated_of
from support import printed_studies
from support.imports import GOLDEN
from tiltyard.app.collect import place_collection
from tiltyard.app.report import findings_of
from tiltyard.cli.import_ import import_
from tiltyard.errors import UsageError

ROOT: Final = Path(__file__).resolve().parents[2]
CASES: Final = ROOT / "tests/importers/cases"
"""Files of kinds that were met in public reports, of two sides; in « » what differs by side."""
SIDES: Final[Mapping[str, float]] = {"a": 1.0, "b": 1.2}
SEED: Final = 11
APART: Final[Mapping[str, Sequence[Sequence[str]]]] = {
    "csv": (("long.csv",), ("wide.csv",)),
    "iozone": (
        ("auto-3.430.txt", "auto-3.489.txt", "engine.txt"),
        ("children.txt", "engine-children.txt"),
    ),
    "netperf": (
        ("stream.txt", "stream-cpu.txt"), ("udp.txt", "udp-cpu.txt"), ("rr.txt", "2.6.0-rr.txt"),
    ),
}  # fmt: skip
"""Tool → files that are compared with each other, where not all of its files can be."""


def printed(_: Path) -> Iterator[tuple[str, Stated]]:
    """``tiltyard report published/…``."""
    for folder in sorted((ROOT / "published").iterdir()):
        yield folder.name, stated_of(findings_of(folder))


def made_up(root: Path) -> Iterator[tuple[str, Stated]]:
    """Collections as printed studies have them, with numbers from a seed."""
    for place, (name, make) in enumerate(printed_studies.SORTS.items()):
        if name == "grids":  # What is printed of that sort is there already.
            continue
        folder = root / f"{place}"
        place_collection(folder, make(SEED), {})
        yield name, stated_of(findings_of(folder))


def imported(
    root: Path, files: Mapping[str, bytes], words: Sequence[str], **options: Any
) -> Stated:
    """``tiltyard import`` of some files, but for the drawing of its report.

    Args:
        root: to be made; the files are put there.
        files: name → contents.
        words: as they are typed.
        options: of the verb.
    """
    root.mkdir(parents=True)
    for name, data in files.items():
        (root / name).write_bytes(data)
    no_report = patch("tiltyard.app.report.write_report", lambda *_, **__: [])
    with chdir(root), no_report, redirect_stdout(TextIOWrapper(BytesIO())):
        import_(Path("study"), *words, json=True, **options)
    return stated_of(findings_of(root / "study"))


def cases(root: Path) -> Iterator[tuple[str, Stated]]:
    """Files of two sides, three of each."""
    known: dict[str, dict[str, Any]] = tomllib.loads((CASES / "cases.toml").read_text())
    for place, (name, case) in enumerate(known.items()):
        if "refused" not in case:
            files, words = _of_case(case)
            yield name, imported(root / f"{place}", files, words)


def _of_case(case: Mapping[str, Any]) -> tuple[dict[str, bytes], list[str]]:
    path = CASES / case["file"]
    if not case.get("sides", True):
        return {path.name: path.read_bytes()}, [path.name]
    files, words = {}, []
    for side, scale in SIDES.items():
        own = path.with_suffix(f".{side}{path.suffix}")
        text = (own if own.exists() else path).read_text()
        for run, drawn in enumerate((1.0, 1.01, 0.99)):
            by = scale * drawn
            scaled = re.sub("«(.+?)»", lambda m, by=by: f"{float(m[1]) * by:.6f}", text)
            name = f"{side}{run}{path.suffix}"
            files[name] = scaled.encode()
            words.append(f"{side}={name}")
    return files, words


def genuine(root: Path) -> Iterator[tuple[str, Stated]]:
    """Files that the tools wrote: those of each tool together, each a system unless it says so."""
    for _, folder in sorted(GOLDEN.items()):
        for name, files in _together(folder):
            where = root / name.replace(": ", "-")
            mapping = {"mapping": folder / f"{Path(next(iter(files))).stem}.toml"}
            options = mapping if folder.name == "csv" else {}
            try:
                yield name, imported(where / "named", files, [*files], **options)
            except UsageError:
                words = [f"{Path(file).stem}={file}" for file in files]
                yield name, imported(where / "typed", files, words)


def _together(folder: Path) -> Iterator[tuple[str, dict[str, bytes]]]:
    """Name of a scene → the files of it: all of a tool, or those that have something in common."""
    every = sorted(
        p.name for p in folder.iterdir() if (folder / f"{p.name}.expected.json").exists()
    )
    for names in APART.get(folder.name, (every,)):
        scene = folder.name if names is every else f"{folder.name}: {', '.join(names)}"
        yield scene, {name: (folder / name).read_bytes() for name in names}
