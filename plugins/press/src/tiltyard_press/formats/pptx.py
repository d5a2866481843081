"""Slides: the headline, one finding a slide with its picture, and how it was measured.

A slide is shown for half a minute, so that it has a sentence and a picture; what a speaker may be
asked for, estimates with intervals and n, is in the notes.
"""

from collections.abc import Sequence
from io import BytesIO
from typing import TYPE_CHECKING, Final
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

from tiltyard.analysis.model import Findings
from tiltyard.charts.theme import LIGHT
from tiltyard.printable import visible
from tiltyard.report.document import Callout, Document, Figure, Look, Paragraph, texts_of
from tiltyard.report.figures import picture_png
from tiltyard.report.formats.format import Format
from tiltyard.units import unbroken

if TYPE_CHECKING:
    from pptx.dml.color import RGBColor
    from pptx.presentation import Presentation
    from pptx.slide import Slide
    from pptx.text.text import TextFrame

_WIDTH_IN: Final = 13.333
_HEIGHT_IN: Final = 7.5
_MARGIN_IN: Final = 0.6
_TEXT_IN: Final = _WIDTH_IN - 2 * _MARGIN_IN
_TITLE_IN: Final = 1.5
_FOOT_IN: Final = 0.45
_TITLE_ONLY: Final = 5
"""Place of that layout in the library's template."""
_LONG: Final = ((110, 32), (220, 24), (400, 19))
"""Letters up to which a title has a size in points; 15 beyond."""
_EPOCH: Final = (1980, 1, 1, 0, 0, 0)


def render(document: Document, findings: Findings) -> dict[str, bytes]:
    """The slides, 16:9; warnings stand before the headline, as in every format."""
    import pptx
    from pptx.util import Inches

    deck = pptx.Presentation()
    deck.slide_width, deck.slide_height = Inches(_WIDTH_IN), Inches(_HEIGHT_IN)
    deck.core_properties.title = visible(document.title)
    deck.core_properties.author = visible(", ".join(document.authors or ("Tiltyard",)))
    for block in document.front:
        if isinstance(block, Callout) and block.kind in ("warning", "problem"):
            _words(deck, block.title, tuple(texts_of(block.blocks)))
    _title(deck, document)
    for figure in _told(document):
        _finding(deck, figure, document.look)
    how = (findings.design_sentence, findings.conditions_sentence, findings.noise_limits_sentence)
    _words(deck, "How it was measured", (*filter(None, how), *map(": ".join, document.colophon)))
    saved = BytesIO()
    deck.save(saved)
    return {"report.pptx": _undated(saved)}


def _told(document: Document) -> list[Figure]:
    """The figures whose title is a finding; of a document without any those of its front."""
    figures = [figure for figure in document.figures() if figure.subtitle]
    return figures or [block for block in document.front if isinstance(block, Figure)]


def _title(deck: "Presentation", document: Document) -> None:
    """The headline, below the question; the notes have all of the first page."""
    front = [block for block in document.front if isinstance(block, Paragraph)]
    lead = next((block.text for block in front if block.role == "lead"), document.title)
    slide = _slide(deck, lead, top_in=1.6, height_in=3.6)
    if lead != document.title:
        _text(slide, (document.title,), 0.8, 0.6, 18, LIGHT["soft"])
    _text(slide, (document.byline,), _HEIGHT_IN - 1.0, 0.5, 12, LIGHT["soft"])
    _note(slide, [block.text for block in front])


def _finding(deck: "Presentation", figure: Figure, look: Look) -> None:
    """Title = finding, the picture as large as there is room for, measure and n below it."""
    from pptx.util import Inches

    slide = _slide(deck, figure.title, 0.3, _TITLE_IN - 0.4)
    picture = slide.shapes.add_picture(BytesIO(picture_png(figure, look)), Inches(_MARGIN_IN), 0)
    room = Inches(_TEXT_IN), Inches(_HEIGHT_IN - _TITLE_IN - 2 * _FOOT_IN)
    scale = min(room[0] / picture.width, room[1] / picture.height)
    picture.width, picture.height = int(picture.width * scale), int(picture.height * scale)
    picture.left = (Inches(_WIDTH_IN) - picture.width) // 2
    picture.top = Inches(_TITLE_IN) + (room[1] - picture.height) // 2
    picture._element.nvPicPr.cNvPr.set("descr", visible(figure.alt))
    _text(slide, (figure.subtitle,), _HEIGHT_IN - 2 * _FOOT_IN, _FOOT_IN, 14, LIGHT["soft"])
    _note(slide, (figure.alt, figure.subtitle, figure.caption))


def _words(deck: "Presentation", title: str, lines: Sequence[str]) -> None:
    """A slide of text; small print where there is much of it, all of it in the notes too."""
    slide = _slide(deck, title, 0.3, _TITLE_IN - 0.5)
    letters = sum(map(len, lines))
    size = 20 if letters < 500 else 14 if letters < 1400 else 10
    _text(slide, lines, _TITLE_IN, _HEIGHT_IN - _TITLE_IN - 0.4, size, LIGHT["ink"])
    _note(slide, lines)


def _slide(deck: "Presentation", title: str, top_in: float, height_in: float) -> "Slide":
    from pptx.util import Inches

    slide = deck.slides.add_slide(deck.slide_layouts[_TITLE_ONLY])
    slide.background.fill.solid()
    slide.background.fill.fore_color.rgb = _rgb(LIGHT["paper"])
    shape = slide.shapes.title
    shape.left, shape.width = Inches(_MARGIN_IN), Inches(_TEXT_IN)
    shape.top, shape.height = Inches(top_in), Inches(height_in)
    size = next((size for letters, size in _LONG if len(title) <= letters), 15)
    _fill(shape.text_frame, (title,), size, LIGHT["ink"], bold=True)
    return slide


def _text(
    slide: "Slide", lines: Sequence[str], top_in: float, height_in: float, size: int, colour: str
) -> None:
    from pptx.util import Inches

    if any(lines):
        place = (Inches(_MARGIN_IN), Inches(top_in), Inches(_TEXT_IN), Inches(height_in))
        _fill(slide.shapes.add_textbox(*place).text_frame, lines, size, colour)


def _fill(
    frame: "TextFrame", lines: Sequence[str], size: int, colour: str, *, bold: bool = False
) -> None:
    from pptx.enum.text import MSO_ANCHOR, PP_ALIGN
    from pptx.util import Pt

    frame.word_wrap = True
    frame.vertical_anchor = MSO_ANCHOR.TOP
    for at, line in enumerate(lines):
        paragraph = frame.paragraphs[0] if at == 0 else frame.add_paragraph()
        paragraph.alignment = PP_ALIGN.LEFT
        paragraph.space_after = Pt(size / 2)
        run = paragraph.add_run()
        run.text = unbroken(visible(line))
        run.font.size, run.font.bold, run.font.name = Pt(size), bold, "Arial"
        run.font.color.rgb = _rgb(colour)


def _rgb(colour: str) -> "RGBColor":
    from pptx.dml.color import RGBColor

    return RGBColor.from_string(colour.lstrip("#").upper())


def _note(slide: "Slide", lines: Sequence[str]) -> None:
    frame = slide.notes_slide.notes_text_frame
    frame.text = "\n".join(visible(line) for line in lines if line)


def _undated(saved: BytesIO) -> bytes:
    """The same archive without the time of its making: the same findings give the same bytes."""
    packed = BytesIO()
    with ZipFile(saved) as archive, ZipFile(packed, "w", ZIP_DEFLATED) as plain:
        for entry in archive.infolist():
            same = ZipInfo(entry.filename, _EPOCH)
            same.compress_type = ZIP_DEFLATED
            plain.writestr(same, archive.read(entry))
    return packed.getvalue()


FORMAT = Format(
    name="pptx",
    about="slides: headline, a finding each with its picture; intervals and n in the notes",
    file="report.pptx",
    render=render,
)
