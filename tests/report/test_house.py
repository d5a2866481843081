"""A house in report.toml: logo, colours, typeface, each checked before it is embedded."""

import os
import struct
from io import BytesIO
from pathlib import Path
from zlib import crc32

import pytest
from PIL import Image, ImageFont

from support.editions import made, refusal, study, without_pictures
from support.papers import texts_of
from tiltyard.charts.theme import FONTS, LIGHT
from tiltyard.report.edition.look import contrast
from tiltyard.report.formats import FORMATS

SVG = b'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 4 4"><path d="M0 0h4v4z"/>%s</svg>'


def test_a_house_has_logo_colours_and_typeface(tmp_path: Path) -> None:
    (tmp_path / "logo.svg").write_bytes(SVG % b"")
    Image.new("RGB", (8, 8)).save(tmp_path / "logo.png")
    (tmp_path / "a.otf").write_bytes((FONTS / "TiltyardSans-Regular.otf").read_bytes())
    text = '[look]\nlogo = "logo.{}"\nlogo_text = "A lance"\naccent = "#7a1f1f"\n'
    text += 'fonts = ["a.otf"]\nsystems = {{ xfs = "#102030" }}\n'
    document = without_pictures(made(tmp_path, text.format("svg")).document)
    pages = {one.name: one.render(document, study()) for one in FORMATS if one.name != "latex"}
    page = pages["html"]["index.html"].decode()
    assert 'alt="A lance"' in page
    assert "img-src data:;" in page
    assert "--accent: #7a1f1f;" in page
    assert "font-family: 'House'" in page
    assert document.look.painted(f'fill="{LIGHT[document.signs["xfs"][1]]}"') == 'fill="#102030"'
    night = document.look.colours["accent"][1]
    assert contrast(night, "#131618") >= 4.5
    assert pages["markdown"]["figures/logo.svg"] == SVG % b""
    assert texts_of(pages["pdf"]["report.pdf"])
    assert b"#7a1f1f" in pages["json"]["document.json"]
    assert made(tmp_path, text.format("png")).document.look.logo
    (tmp_path / "a.otf").write_bytes(b"no")
    assert "not an OpenType or TrueType font" in refusal(tmp_path, text.format("svg"))


def png_of(width: int, height: int) -> bytes:
    """The beginning of a picture of any size."""
    head = b"IHDR" + struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    checked = struct.pack(">I", 13) + head + struct.pack(">I", crc32(head))
    return b"\x89PNG\r\n\x1a\n" + checked + struct.pack(">I", 9) + b"IDAT" + bytes(9)


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (png_of(60_000, 60_000), "a damaged PNG"),
        (b'<?xml version="1.0" encoding="nowhere"?><svg/>', "neither PNG nor SVG"),
        (b'<?xml version="1.0" encoding="shift_jis"?><svg/>', "neither PNG nor SVG"),
        (None, "Fix: name one"),
    ],
)
def test_a_logo_that_cannot_be_read_is_one_error(
    tmp_path: Path, data: bytes | None, says: str
) -> None:
    logo = tmp_path / "l"
    if data is None:
        os.mkfifo(logo)
    else:
        logo.write_bytes(data)
    message = refusal(tmp_path, '[look]\nlogo = "l"\nlogo_text = "x"')
    assert message.startswith("report.toml:2: look.logo: ")
    assert says in message


def test_a_font_is_one_that_a_page_can_have(tmp_path: Path) -> None:
    whole = (FONTS / "TiltyardSans-Regular.otf").read_bytes()
    collection = b"ttcf" + struct.pack(">III", 0x10000, 1, 16) + shifted(whole, 16)
    assert ImageFont.truetype(BytesIO(collection), 12).getname()[0]
    (tmp_path / "a.otf").write_bytes(collection)
    message = refusal(tmp_path, '[look]\nfonts = ["a.otf"]')
    assert "not an OpenType or TrueType font" in message


def shifted(font: bytes, by: int) -> bytes:
    """A font as it lies in a collection: its tables that much further on."""
    head, tables = bytearray(font), struct.unpack(">H", font[4:6])[0]
    for at in range(12 + 8, 12 + 16 * tables, 16):
        head[at : at + 4] = struct.pack(">I", struct.unpack(">I", head[at : at + 4])[0] + by)
    return bytes(head)


@pytest.mark.parametrize(
    "inside",
    [
        b"<script>1</script>",
        b'<path onload="x"/>',
        b'<image href="http://a.example/"/>',
        b'<path style="fill:url(http://a.example/)"/>',
        b"<style>@import 'x'</style>",
        b"<open>",
    ],
)
def test_a_logo_neither_runs_nor_fetches(tmp_path: Path, inside: bytes) -> None:
    (tmp_path / "l.svg").write_bytes(SVG % inside)
    message = refusal(tmp_path, '[look]\nlogo = "l.svg"\nlogo_text = "x"')
    assert message.startswith("report.toml:2: look.logo: ")
