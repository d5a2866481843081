"""The text of a report as a reader of its format gets it: formats are read back, not searched."""

import csv
import json
import re
from collections.abc import Callable, Iterator, Mapping
from io import BytesIO, StringIO
from typing import Any

import openpyxl
import pptx
from markdown_it import MarkdownIt
from pypdf import PdfReader

from support.reading import Reading

Files = Mapping[str, bytes]

_TEX = {
    r"\textbackslash{}": "\\", r"\textasciitilde{}": "~", r"\textasciicircum{}": "^",
    r"\textless{}": "<", r"\textgreater{}": ">", r"\textbar{}": "|", r"\textquotedbl{}": '"',
    r"\textasciigrave{}": "`", r"\textquotesingle{}": "'", "{[}": "[", "{]}": "]", "{*}": "*",
    r"\allowbreak{}": "", r"\dots{}": "…", r"$\pm$": "±", r"$\times$": "×", r"\textmu{}": "µ",
    r"$-$": "−", "--": "–",
    **{f"\\{sign}": sign for sign in "&%$#_{}"},
}  # fmt: skip
_TEX_SIGN = re.compile("|".join(map(re.escape, _TEX)))


def squeezed(text: str) -> str:
    """Text without what typesetting may change: spaces, line breaks, hyphens at them."""
    return re.sub(r"[\s\u00ad‐-]+", "", text)


def markdown_page(files: Files) -> Reading:
    """The text as a strict CommonMark reader with tables makes a page of it."""
    reader = MarkdownIt("commonmark").enable(["table", "strikethrough"])
    return Reading(reader.render(files["report.md"].decode()))


def page_with_alternatives(page: str) -> str:
    """The text of a page, and what is told of its pictures to those who cannot see them."""
    return _with_alts(Reading(page))


def _html(files: Files) -> str:
    return page_with_alternatives(files["index.html"].decode())


def _markdown(files: Files) -> str:
    return _with_alts(markdown_page(files))


def _with_alts(page: Reading) -> str:
    """The text, and what is told of pictures to those who cannot see them."""
    alts = (attrs.get(name) or "" for _, attrs in page.tags for name in ("alt", "aria-label"))
    return " ".join((page.text, *alts))


def _latex(files: Files) -> str:
    text = b"".join(files.values()).decode()
    text = re.sub(r"\\begin\{tabular\}\[b\]\{@\{\}[lr]@\{\}\}|\\\\(?! *\n)", " ", text)
    return _TEX_SIGN.sub(lambda found: _TEX[found[0]], text)


def _csv(files: Files) -> str:
    rows = (row for data in files.values() for row in csv.reader(StringIO(data.decode())))
    return "\n".join(field for row in rows for field in row)


def _pdf(files: Files) -> str:
    """What stands on the pages, and what is told of pictures to those who cannot see them."""
    reader = PdfReader(BytesIO(files["report.pdf"]))
    objects = (reader.get_object(number) for number in range(1, reader.trailer["/Size"]))
    alts = (str(one["/Alt"]) for one in objects if isinstance(one, dict) and "/Alt" in one)
    return "\n".join((*(page.extract_text() for page in reader.pages), *alts))


def _xlsx(files: Files) -> str:
    book = openpyxl.load_workbook(BytesIO(files["report.xlsx"]))
    cells = (cell for sheet in book for row in sheet.iter_rows(values_only=True) for cell in row)
    return "\n".join(str(cell) for cell in cells if cell is not None)


def slides(files: Files) -> str:
    """What stands on slides and in their notes, and what is told of pictures."""
    deck = pptx.Presentation(BytesIO(files["report.pptx"]))
    return "\n".join(text for slide in deck.slides for text in _slide(slide))


def _slide(slide: Any) -> Iterator[str]:
    for shape in slide.shapes:
        if shape.has_text_frame:
            yield shape.text_frame.text
        else:
            yield shape._element.nvPicPr.cNvPr.get("descr")
    yield slide.notes_slide.notes_text_frame.text


def _json(files: Files) -> str:
    return "\n".join(_leaves(json.loads(files["document.json"])))


def _leaves(data: object) -> Iterator[str]:
    if isinstance(data, dict | list):
        for part in (*data.keys(), *data.values()) if isinstance(data, dict) else data:
            yield from _leaves(part)
    else:
        yield str(data)


READERS: dict[str, Callable[[Files], str]] = {
    "html": _html,
    "pdf": _pdf,
    "xlsx": _xlsx,
    "pptx": slides,
    "markdown": _markdown,
    "latex": _latex,
    "csv": _csv,
    "json": _json,
}
"""Format → how all of its text is read."""
