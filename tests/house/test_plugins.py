"""The tree shows it: the core, and plug-ins of ours that it never imports."""

import ast
import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from conftest import NEED_PLUGINS

ROOT: Final = Path(__file__).resolve().parents[2]
PROJECT: Final = tomllib.loads((ROOT / "pyproject.toml").read_text())
PLUGINS: Final = sorted(path.parents[1].name for path in ROOT.glob("plugins/*/src/tiltyard_*"))
ROOMS: Final = {
    "calibrate": "address analysis app cli errors executors folder frozen host plan report run "
    "stats study systems units wire",
    "press": "analysis app charts cli folder printable report units",
    "published": "analysis app cli collected delimited errors folder frozen study units",
    "readers": "collected delimited errors importers units",
}
"""Plug-in → rooms of the core that it needs, beside ``plugin``; these lists only get shorter."""
WITHOUT: Final = """
import pkgutil, sys
class NoPlugins:
    def find_spec(self, name, path=None, target=None):
        if name.startswith("tiltyard_"):
            raise ModuleNotFoundError(name)
sys.meta_path.insert(0, NoPlugins())
import tiltyard
from importlib import import_module
for found in pkgutil.walk_packages(tiltyard.__path__, "tiltyard."):
    if found.name != "tiltyard.__main__":
        import_module(found.name)
from tiltyard.app.plugins import REGISTRIES
from tiltyard.registry import object_of
for path in REGISTRIES.values():
    assert [*object_of(path).items()] or path.endswith(("FOREIGN", ":INSTALLED", ":ENGINES")), path
"""


def imported(source: Path) -> Iterator[str]:
    """Modules that the files below a folder import, wherever they do so."""
    for path in source.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Import):
                yield from (alias.name for alias in node.names)
            elif isinstance(node, ast.ImportFrom) and node.module:
                yield node.module


def test_each_is_packed_and_held_to_the_contract() -> None:
    names = [f"tiltyard_{name}" for name in PLUGINS]
    packed = PROJECT["tool"]["hatch"]["build"]["targets"]
    assert sorted(packed["wheel"]["packages"][1:]) == [
        f"plugins/{name}/src/tiltyard_{name}" for name in PLUGINS
    ]
    assert "plugins" in packed["sdist"]["only-include"]
    linted = PROJECT["tool"]["importlinter"]
    assert sorted(linted["root_packages"][1:]) == names
    assert sorted(linted["contracts"][0]["layers"][0].split(" | ")) == names
    assert {*names} <= {*PROJECT["tool"]["mypy"]["packages"]}
    points = PROJECT["project"]["entry-points"].values()
    places = {value.partition(":")[0].partition(".")[0] for one in points for value in one.values()}
    assert sorted(places) == names, "the core stands in its own lists"


@pytest.mark.parametrize("name", PLUGINS)
def test_it_needs_no_more_of_the_core(name: str) -> None:
    used = {*imported(ROOT / f"plugins/{name}/src")}
    core = {one.split(".")[1] for one in used if one.startswith("tiltyard.")} - {"plugin"}
    assert core == {*ROOMS[name].split()}


def test_the_core_names_none() -> None:
    files = [
        path for path in (ROOT / "lab/src").rglob("*") if path.suffix in (".py", ".toml", ".j2")
    ]
    named = re.compile("|".join(f"tiltyard_{name}" for name in PLUGINS))
    naming = [str(path) for path in files if named.search(path.read_text())]
    assert naming == []


def test_tests_of_the_core_that_need_them_are_listed() -> None:
    needing = {
        str(path.relative_to(ROOT / "tests")): word
        for path in (ROOT / "tests").rglob("test_*.py")
        for word in re.findall(r"^\s*(?:from|import) tiltyard_(\w+)", path.read_text(), re.M)
    }
    listed = {place: by for place, by in NEED_PLUGINS.items() if (ROOT / "tests" / place).exists()}
    assert listed.keys() == NEED_PLUGINS.keys()
    assert {by for words in listed.values() for by in words.split()} <= {*PLUGINS}
    for place, plugin in needing.items():
        held = [listed[one] for one in (place, *map(str, Path(place).parents)) if one in listed]
        assert plugin in " ".join(held).split(), place


def test_the_core_is_whole_without_them() -> None:
    """Each of its modules can be imported, and each of its lists has what it can do alone."""
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT],
        env=os.environ | {"TILTYARD_PLUGINS": "core"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
