"""Documentation: what is there can be found, and what is named is there."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
LINK = re.compile(r"\]\(([^()\s]+)\)")
CODE = re.compile(r"^```.*?^```|`[^`\n]*`", re.MULTILINE | re.DOTALL)


def linked(page: Path) -> set[Path]:
    """Files that a page names."""
    targets = (link.partition("#")[0] for link in LINK.findall(CODE.sub("", page.read_text())))
    return {(page.parent / one).resolve() for one in targets if one and ":" not in one}


@pytest.mark.parametrize("room", ["guides", "concepts", "tutorial"])
def test_each_page_is_behind_one_of_the_doors(room: str) -> None:
    assert set((DOCS / room).glob("*.md")) - linked(DOCS / "README.md") == set()


def test_what_a_page_names_is_there() -> None:
    pages = [*ROOT.glob("*.md"), *DOCS.rglob("*.md")]
    missing = {
        f"{page.relative_to(ROOT)}: {target}"
        for page in pages
        for target in linked(page)
        if not target.exists()
    }
    assert len(pages) > 100
    assert missing == set()
