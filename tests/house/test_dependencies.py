"""What the lab needs is installed with it, and what only its tests need is not."""

import ast
import re
import sys
import tomllib
from collections.abc import Iterator
from importlib.metadata import packages_distributions
from pathlib import Path

from tiltyard.run.host_record import own_versions

ROOT = Path(__file__).resolve().parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
NEEDED = {re.split("[<>=]", one)[0] for one in PROJECT["project"]["dependencies"]}
NOT_LIBRARIES = {"tiltyard", "engine", "Python"}


def test_all_that_the_lab_imports_is_installed_with_it() -> None:
    owners = packages_distributions()
    sources = (ROOT / "lab/src", *ROOT.glob("plugins/*/src"))
    files = [path for source in sources for path in source.rglob("*.py")]
    imported = {name for path in files for name in imports(ast.parse(path.read_text()))}
    others = {one for one in imported - sys.stdlib_module_names if one.split("_")[0] != "tiltyard"}
    installed = locked("requirements.lock")
    assert not {name for name in others if not installed & set(map(as_locked, owners[name]))}


def imports(tree: ast.AST) -> Iterator[str]:
    """The packages that a file imports, wherever it does so."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module.partition(".")[0]


def test_the_libraries_of_the_record_are_installed_with_the_lab() -> None:
    assert own_versions("0").keys() - NOT_LIBRARIES <= NEEDED


def test_the_locks_have_what_is_needed() -> None:
    lab, dev = locked("requirements.lock"), locked("requirements-dev.lock")
    assert lab >= NEEDED
    assert dev >= lab
    assert "statsmodels" not in lab, "only the tests compare with it, and it is 90 MB with its own"


def as_locked(distribution: str) -> str:
    """A name as locks spell it."""
    return distribution.lower().replace("_", "-")


def locked(name: str) -> set[str]:
    """The packages of a lock."""
    return set(re.findall(r"^([\w.-]+)==", (ROOT / name).read_text(), re.M))
