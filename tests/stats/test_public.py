"""The promises of the statistics as a library: documented, cited, frozen, and quick to import."""

import dataclasses
import inspect
import re
import subprocess
import sys
from importlib import import_module

import pytest

import tiltyard.stats

PUBLIC = {
    name: getattr(import_module(f"tiltyard.stats.{module}"), name)
    for module, names in tiltyard.stats.PUBLIC.items()
    for name in names.split()
}
CLASSES = {name: thing for name, thing in PUBLIC.items() if inspect.isclass(thing)}
FUNCTIONS = {name: thing for name, thing in PUBLIC.items() if name not in CLASSES}
PUBLISHED = re.compile(r"\b(?:18|19|20)\d\d\b|3rd ed\.")


def test_everything_public_is_a_function_or_a_frozen_dataclass():
    assert all(callable(function) for function in FUNCTIONS.values())
    for name, found in CLASSES.items():
        assert dataclasses.is_dataclass(found), name
        assert found.__dataclass_params__.frozen, name


@pytest.mark.parametrize("name", FUNCTIONS)
def test_every_function_is_documented_and_cited(name):
    function = FUNCTIONS[name]
    own = inspect.getdoc(function) or ""
    around = inspect.getdoc(inspect.getmodule(function)) or ""
    assert own
    assert PUBLISHED.search(own + around), "says where it comes from, itself or in its file"


def test_importing_it_imports_nothing_slow():
    modules = ", ".join(f"tiltyard.stats.{module}" for module in tiltyard.stats.PUBLIC)
    code = f"import sys, {modules}; print(*{{name.partition('.')[0] for name in sys.modules}})"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True,
        env={"PYTHONPATH": ":".join(sys.path)},
    )  # fmt: skip
    slow = {"scipy", "statsmodels", "pandas", "diptest"}
    assert not slow & set(done.stdout.split())
