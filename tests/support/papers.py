"""PDF files, looked at: their text, their pages as pictures, what is tagged in them."""

import io
import re
from collections.abc import Iterator
from html import unescape

import numpy as np
import numpy.typing as npt
import pypdfium2
from PIL import Image
from pypdf import PdfReader
from pypdf.generic import ArrayObject, DictionaryObject, IndirectObject

Pixels = npt.NDArray[np.uint8]
MM_PER_PT = 25.4 / 72
SIDES_MM, ENDS_MM = 21, 11
"""Margins that are kept free, but for the head and the number of a page at their ends."""
HYPHEN_AT_END = "\ufffe"
"""What PDFium makes of a hyphen at the end of a line."""


def squeezed(text: str) -> str:
    """Without white space: a line may be broken anywhere in a column."""
    return re.sub(r"\s+", "", text)


def text_of(pdf: bytes) -> str:
    """All text of a PDF, squeezed."""
    return squeezed("".join(texts_of(pdf)))


def texts_of(pdf: bytes) -> list[str]:
    """The text of every page, also that in pictures."""
    pages = pypdfium2.PdfDocument(pdf)
    read = (page.get_textpage().get_text_range() for page in pages)
    return [text.replace(HYPHEN_AT_END, "-") for text in read]


def labels_of(svg: str) -> list[str]:
    """The texts in a drawn picture."""
    return [unescape(found) for found in re.findall(r"<text[^>]*>([^<]+)</text>", svg)]


def pixels_of(pdf: bytes, dots_per_mm: float = 2) -> list[Pixels]:
    """Every page as rows × columns × (red, green, blue)."""
    document = pypdfium2.PdfDocument(pdf)
    scale = dots_per_mm * MM_PER_PT
    return [np.asarray(page.render(scale=scale).to_pil().convert("RGB")) for page in document]


def ink_outside(page: Pixels, dots_per_mm: float = 2) -> int:
    """How many pixels are printed where the margins are."""
    inside = np.zeros(page.shape[:2], dtype=bool)
    side, end = round(SIDES_MM * dots_per_mm), round(ENDS_MM * dots_per_mm)
    inside[end:-end, side:-side] = True
    return int(((page.min(axis=2) < 250) & ~inside).sum())


def thumbnail_of(page: Pixels, width: int = 150) -> Image.Image:
    """A page in shades of grey, so small that only its layout is left."""
    picture = Image.fromarray(page).convert("L")
    return picture.resize((width, width * picture.height // picture.width), Image.Resampling.BOX)


def fonts_of(pdf: bytes) -> set[str]:
    """Names of the embedded fonts, without the prefix of their subset; also those of pictures."""
    reader = PdfReader(io.BytesIO(pdf))
    return {
        str(found["/FontName"]).split("+")[-1]
        for found in (reader.get_object(number) for number in _numbers(reader))
        if isinstance(found, DictionaryObject) and "/FontName" in found
    }


def is_accessible(pdf: bytes) -> bool:
    """Whether it claims PDF/UA-1, which also says that no character was lost."""
    described = PdfReader(io.BytesIO(pdf)).root_object["/Metadata"].get_object()
    return b"<pdfuaid:part>1</pdfuaid:part>" in described.get_data()


def alternatives_of(pdf: bytes) -> list[str]:
    """What stands for each picture where it cannot be seen."""
    root = PdfReader(io.BytesIO(pdf)).root_object["/StructTreeRoot"]
    return [str(part["/Alt"]) for part in _parts(root.get_object()) if "/Alt" in part]


def tags_of(pdf: bytes) -> set[str]:
    """Which kinds of things a reader aloud is told of."""
    root = PdfReader(io.BytesIO(pdf)).root_object["/StructTreeRoot"]
    return {str(part["/S"]) for part in _parts(root.get_object()) if "/S" in part}


def _numbers(reader: PdfReader) -> range:
    return range(1, int(str(reader.trailer["/Size"])))


def _parts(part: object) -> Iterator[DictionaryObject]:
    if isinstance(part, IndirectObject):
        part = part.get_object()
    if isinstance(part, ArrayObject):
        for child in part:
            yield from _parts(child)
    elif isinstance(part, DictionaryObject) and part.get("/Type") != "/MCR":
        yield part
        if "/K" in part:
            yield from _parts(part.raw_get("/K"))
