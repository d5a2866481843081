"""Markdown: what a strict reader makes of it."""

import re
from dataclasses import replace
from xml.etree import ElementTree

import pytest

from support.documents import everything
from support.printed import markdown_page
from support.specimen import findings as specimen
from tiltyard.printable import markdown
from tiltyard.report.document import Callout, Commands, Document, Paragraph
from tiltyard.report.formats.markdown import render

SVG = "{http://www.w3.org/2000/svg}"


def written(document: Document) -> str:
    return render(document, specimen(blocks=2))["report.md"].decode()


def test_a_table_as_it_is_written() -> None:
    lines = written(everything()).splitlines()
    start = lines.index("**Throughput by system**")
    assert lines[start + 1 : start + 9] == [
        "",
        "| System | Out-of-box<br>write, MB/s | Out-of-box<br>read, MB/s | verdict |",
        "| --- | ---: | ---: | --- |",
        "| ● ext4 | 14.1<br>± 0.2 | 30.0 | baseline |",
        "| ■ xfs | **18.4** | – | ▲ faster |",
        "| **average** | **16.3** | **30.0** |  |",
        "",
        "The deviation stands beneath.",
    ]


def test_headings_go_down_step_by_step_and_appendices_have_letters() -> None:
    heads = [line for line in written(everything()).splitlines() if line.startswith("#")]
    assert heads[1:] == ["## Throughput", "### Deeper", "## Appendix A: Configuration"]


def test_a_callout_is_an_alert_whatever_is_in_it() -> None:
    inside = (Paragraph("Text."), Commands(("echo",)))
    document = replace(everything(), front=(Callout("limits", "Mind", inside),))
    text = written(document)
    alert = text[text.index("> [!IMPORTANT]") : text.index("## Throughput")].strip().splitlines()
    assert alert == [
        "> [!IMPORTANT]", "> **Mind**", ">", "> Text.", ">", "> ```sh", "> echo", "> ```"
    ]  # fmt: skip


def test_a_fence_is_longer_than_any_in_the_command() -> None:
    document = replace(everything(), front=(Commands(("echo ````", "</pre><script>")),))
    assert "`````sh\necho ````\n" in written(document)
    assert "script" not in {tag for tag, _ in markdown_page(render(document, specimen())).tags}


def test_every_picture_is_a_drawing_that_stands_alone() -> None:
    files = render(everything(), specimen(blocks=2))
    linked = re.findall(r"!\[[^\]]*\]\(([^)]+)\)", files["report.md"].decode())
    assert linked == [path for path in files if path.endswith(".svg")] == ["figures/ranking.svg"]
    drawing = ElementTree.fromstring(files["figures/ranking.svg"])
    assert drawing.get("aria-label") == "xfs 18.4 MB/s, ext4 14.1 MB/s."
    assert "sans-serif" in drawing.get("font-family", "")
    assert drawing[0].tag == f"{SVG}rect"
    assert drawing[0].get("fill") == "#fcfcfa"
    assert b"var(" not in files["figures/ranking.svg"]


@pytest.mark.parametrize(
    "text",
    [
        "# no heading", "- no item", "1. no item", "2) no item", "> no quotation", "a | b",
        "*a* _b_ `c` ~~d~~ [e](f) ![g](h)", "<b>&amp;</b>", "a\\*b\\", "+ x", "$a$", "@octocat",
        "two\n\nparagraphs", "---", "===",
    ],
)  # fmt: skip
def test_a_text_with_signs_of_markdown_is_printed(text: str) -> None:
    document = replace(everything(), front=(Paragraph(text),), sections=())
    page = markdown_page(render(document, specimen(blocks=2)))
    assert " ".join(text.split()) in page.text
    assert {tag for tag, _ in page.tags} <= {"h1", "p", "hr", "ul", "li"}
    assert "\n" not in markdown(text)
