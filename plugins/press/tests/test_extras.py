"""What few print with is an extra: without it a form says what to install, and all else is made."""

from importlib.metadata import distribution
from pathlib import Path

import pytest

from support.packages import tiltyard
from support.publications import PUBLISHED
from tiltyard import installation

NEEDS = {"pdf": "typst", "pptx": "pptx", "xlsx": "xlsxwriter"}
"""Format → the module that it is written with."""
HIDDEN = """
import sys
class Hidden:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {modules!r}:
            raise ModuleNotFoundError(name, name=name.partition(".")[0])
sys.meta_path.insert(0, Hidden())
"""


@pytest.mark.parametrize("form", NEEDS)
def test_without_it_one_line_says_what_to_install(form: str, tmp_path: Path) -> None:
    hidden = HIDDEN.format(modules=tuple(NEEDS.values()))
    command = ("report", str(PUBLISHED / "postmark-systems"), "--format")
    done = tiltyard(tmp_path, tmp_path, *command, form, before=hidden)
    assert done.returncode == 3
    said = [line for line in done.stderr.splitlines() if line.startswith("tiltyard: ")]
    assert len(said) == 1, done.stderr
    assert f"the Python package {NEEDS[form]} is not installed. Fix: " in said[0]


def test_without_them_all_else_is_made_and_listed(tmp_path: Path) -> None:
    hidden = HIDDEN.format(modules=tuple(NEEDS.values()))
    command = ("report", str(PUBLISHED / "postmark-systems"), "--format", "markdown,latex,csv")
    done = tiltyard(tmp_path, tmp_path, *command, before=hidden)
    assert done.returncode == 0, done.stderr
    listed = (
        f"{hidden}\nfrom tiltyard.report.formats import FORMATS\n[one.about for one in FORMATS]"
    )
    assert tiltyard(tmp_path, tmp_path, "--version", before=listed).returncode == 0


@pytest.mark.parametrize("module", NEEDS.values())
def test_the_fix_asks_for_the_version_that_is_needed(
    module: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(installation, "CHECKOUT", None)
    (needed,) = (
        line.partition(";")[0].strip()
        for line in distribution("tiltyard").requires or ()
        if line.removeprefix("python-").startswith(module)
    )
    assert "extra == 'print'" in " ".join(distribution("tiltyard").requires or ())
    assert installation.repair(module).endswith(f" '{needed}'")
