"""A house's logo, colours and typeface: read, checked, ready to be embedded."""

import re
from io import BytesIO
from pathlib import Path
from typing import Final

from defusedxml import ElementTree
from defusedxml.common import DefusedXmlException
from PIL import Image, ImageFont

from tiltyard.charts.theme import DARK, LIGHT
from tiltyard.report.document import Document, Font, Logo, Look
from tiltyard.report.edition.file import Edition
from tiltyard.study.locate import KeyPath
from tiltyard.study.problems import Flaw
from tiltyard.units import format_size

LOGO_BYTES: Final = 256 << 10
FONT_BYTES: Final = 1 << 20
_TEXT_CONTRAST: Final = 4.5
_GRAPHICS_CONTRAST: Final = 3.0
_SVG: Final = "{http://www.w3.org/2000/svg}"
_ACTIVE: Final = frozenset(
    {"script", "foreignObject", "image", "use", "a", "animate", "set", "iframe", "feImage", "style"}
)
"""Elements of SVG that run, fetch or lead elsewhere; ``style`` can fetch."""
_PNG_PX: Final = 4096
_SFNT: Final = (b"OTTO", b"\0\1\0\0", b"true")
"""A font file of one face begins with one of them."""


class _UnfitError(Exception):
    """Why a file cannot be embedded."""


def look_of(edition: Edition, document: Document) -> Look:
    """What a document looks like.

    Raises:
        StudyFileError: if a file is missing, too large or not what it must be, or a colour cannot
            be told from paper.
    """
    own = edition.file.look
    edition.require_names(("look", "systems"), tuple(document.signs), "system")
    colours = {}
    if own.accent:
        colours["accent"] = _colour(edition, ("look", "accent"), own.accent, _TEXT_CONTRAST)
    for system, colour in own.systems.items():
        name = document.signs[system][1]
        if name in colours:
            text = f"{system} shares its colour with another system. Fix: give one colour for both"
            raise edition.error(Flaw(("look", "systems", system), text))
        path: KeyPath = ("look", "systems", system)
        colours[name] = _colour(edition, path, colour, _GRAPHICS_CONTRAST)
    logo = None
    if own.logo:
        data = _file(edition, ("look", "logo"), own.logo, LOGO_BYTES)
        try:
            logo = Logo(data, _kind(data), own.logo_text or "")
        except _UnfitError as error:
            raise edition.error(Flaw(("look", "logo"), f"{own.logo}: {error}")) from error
    fonts = tuple(
        _font(edition, ("look", "fonts", place), name) for place, name in enumerate(own.fonts)
    )
    if len(families := {font.family for font in fonts}) > 1:
        text = f"{len(families)} families: {', '.join(sorted(families))}. Fix: keep one"
        raise edition.error(Flaw(("look", "fonts"), text))
    return Look(colours, logo, fonts)


def _colour(edition: Edition, path: KeyPath, colour: str, least: float) -> tuple[str, str]:
    """By day and by night: lightened until it can be told from dark paper."""
    paper = LIGHT["paper"]
    found = contrast(colour, paper)
    if found < least:
        text = (
            f'"{colour}" has a contrast of {found:.1f} on paper ({paper}): at least {least:g}. '
            f'Fix: "{_towards(colour, "#000000", paper, least)}"'
        )
        raise edition.error(Flaw(path, text))
    return colour, _towards(colour, "#ffffff", DARK["paper"], least)


def contrast(first: str, second: str) -> float:
    """Ratio of the luminances of two colours, 1 to 21.

    Source: Web Content Accessibility Guidelines 2.2, "contrast ratio".
    """
    light, dark = sorted((_luminance(first), _luminance(second)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def _luminance(colour: str) -> float:
    parts = [one / 255 for one in bytes.fromhex(colour[1:])]
    linear = [one / 12.92 if one <= 0.04045 else ((one + 0.055) / 1.055) ** 2.4 for one in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def _towards(colour: str, end: str, paper: str, least: float) -> str:
    """A colour, mixed with another one until it has the contrast."""
    own, other = bytes.fromhex(colour[1:]), bytes.fromhex(end[1:])
    for step in range(21):
        mixed = bytes(round(a + (b - a) * step / 20) for a, b in zip(own, other, strict=True))
        if contrast(f"#{mixed.hex()}", paper) >= least:
            break
    return f"#{mixed.hex()}"


def _file(edition: Edition, path: KeyPath, name: str, most_bytes: int) -> bytes:
    place = edition.path.parent / name
    if Path(name).is_absolute() or ".." in Path(name).parts:
        text = f'"{name}" is not beside {edition.path.name}. Fix: copy it there, and name it'
        raise edition.error(Flaw(path, text))
    if place.exists() and not place.is_file():
        raise edition.error(Flaw(path, f"{name}: no regular file. Fix: name one"))
    try:
        with place.open("rb") as file:
            data = file.read(most_bytes + 1)
    except OSError as error:
        raise edition.error(Flaw(path, f"{place}: {error.strerror}")) from error
    if len(data) > most_bytes:
        raise edition.error(Flaw(path, f"{name}: larger than {format_size(most_bytes)}"))
    return data


def _kind(data: bytes) -> str:
    """``image/png`` or ``image/svg+xml``, after a look at all of it."""
    if data.startswith(b"\x89PNG\r\n\x1a\n"):
        try:
            with Image.open(BytesIO(data), formats=("PNG",)) as picture:
                if max(picture.size) > _PNG_PX:
                    raise _UnfitError(f"larger than {_PNG_PX} × {_PNG_PX} px")
                picture.verify()
        except (OSError, SyntaxError, ValueError, Image.DecompressionBombError) as error:
            raise _UnfitError(f"a damaged PNG: {error}") from error
        return "image/png"
    try:
        root = ElementTree.fromstring(data, forbid_dtd=True)
    except (ElementTree.ParseError, DefusedXmlException, LookupError, ValueError) as error:
        raise _UnfitError(f"neither PNG nor SVG: {error!r}") from error
    if root.tag != f"{_SVG}svg":
        raise _UnfitError("neither PNG nor SVG")
    for element in root.iter():
        name = str(element.tag).rpartition("}")[2]
        if name in _ACTIVE:
            raise _UnfitError(f"<{name}> may run or fetch something. Fix: export it as plain paths")
        for attribute, value in element.attrib.items():
            plain = attribute.rpartition("}")[2].lower()
            fetches = re.search(r"url\(\s*['\"]?(?!#)|javascript:|data:", value, re.IGNORECASE)
            if plain.startswith("on") or plain == "href" or fetches:
                raise _UnfitError(f"{plain} may run or fetch something. Fix: export plain paths")
    return "image/svg+xml"


def _font(edition: Edition, path: KeyPath, name: str) -> Font:
    data = _file(edition, path, name, FONT_BYTES)
    try:
        if not data.startswith(_SFNT):
            raise OSError("a collection, or packed")
        family, style = ImageFont.truetype(BytesIO(data), 12).getname()
    except OSError as error:
        text = f"{name}: not an OpenType or TrueType font"
        raise edition.error(Flaw(path, text)) from error
    bold = re.search("bold|heavy|black", style or "", re.IGNORECASE)
    plain = re.sub(r"[^\w .-]", "", family or Path(name).stem)
    weight = 600 if bold else 400
    return Font(data, "otf" if data.startswith(b"OTTO") else "ttf", plain, weight)
