"""The page of a study as it is written into the folder of its report, and parts of it."""

import re
from html import unescape

from tiltyard.analysis.model import Findings
from tiltyard.report.formats.html import render_page
from tiltyard.report.styles import study


def page_of(findings: Findings) -> str:
    """HTML in the style of the laboratory."""
    return render_page(study.compose(findings), findings)


def part_of(page: str, id: str) -> str:
    """The markup of one section, with the sections in it."""
    start = page.index(f'<section id="{id}"')
    depth = 0
    for tag in re.finditer(r"<(/?)section\b", page[start:]):
        depth += -1 if tag[1] else 1
        if not depth:
            return page[start : start + tag.end()] + ">"
    raise AssertionError(f"section {id} does not end")


def rows_of(markup: str) -> list[str]:
    """The text of each row of all tables, heads among them."""
    rows = re.findall(r"<tr[ >].*?</tr>", markup, re.DOTALL)
    return [" ".join(unescape(re.sub(r"<[^>]+>", " ", row)).split()) for row in rows]
