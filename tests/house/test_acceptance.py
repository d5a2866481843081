"""What the acceptance table names is there."""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TABLE = (ROOT / "docs/acceptance.md").read_text()


def test_every_check_has_its_line():
    assert re.findall(r"^\| (C\d+) \|", TABLE, re.M) == [f"C{number}" for number in range(1, 12)]


def test_every_file_and_target_that_is_named_exists():
    files = re.findall(r"tests/[\w/.]+", TABLE)
    missing = [name for name in files if not (ROOT / name.rstrip(".")).exists()]
    makefile = (ROOT / "Makefile").read_text()
    targets = set(re.findall(r"`make ([\w-]+)`", TABLE))
    assert len(files) >= 8
    assert not missing
    assert all(re.search(rf"^{target}:", makefile, re.M) for target in targets)


def test_every_section_of_the_error_rates_that_is_named_is_there():
    document = (ROOT / "docs/error-rates.md").read_text()
    assert all(
        f"\n## {section}" in document
        for section in re.findall(r"`make error-rates`, \"([^\"]+)\"", TABLE)
    )
