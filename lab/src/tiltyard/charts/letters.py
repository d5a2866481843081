"""How wide texts are in the typeface of the theme, so that nothing overlaps before it is drawn."""

from collections.abc import Iterable
from typing import Final

_HUNDREDTHS_OF_AN_EM: Final = {
    20: "’",
    24: "'ijl",
    28: "!,.:;I·",
    30: " ",
    34: "|",
    36: "/\\",
    38: "()[]frt{}",
    40: "“”",
    42: '"',
    44: "²",
    46: "_°",
    48: "-1^",
    50: "*`–",
    52: "?",
    54: "sx",
    56: "Jckvyz",
    58: "7Laä",
    60: "EFehnouöüé",
    62: "258gpqß",
    64: "#$&0369PRSZbdµ",
    66: "+4<=>BKTX~×−±≥≤",
    68: "AVYÄ",
    72: "D",
    74: "C",
    76: "GHNUÜ",
    78: "OQÖ",
    82: "%w",
    84: "…",
    88: "m",
    90: "M",
    92: "●■",
    94: "@",
    96: "W",
    102: "▲▼",
    106: "◆",
}
_WIDTHS: Final = {
    letter: hundredths / 100
    for hundredths, letters in _HUNDREDTHS_OF_AN_EM.items()
    for letter in letters
}
_OTHER = 0.8


def width_em(text: str) -> float:
    """Width of a text over the size of its type; never less than it is for the letters known."""
    return sum(_WIDTHS.get(letter, _OTHER) for letter in text)


def fitted(text: str, room_px: float, size_px: int = 12) -> str:
    """A text that is no wider than there is room, its end left out if need be."""
    return _cut(text, room_px, size_px, tail=0)


def told_apart(names: Iterable[str], room_px: float, size_px: int = 12) -> dict[str, str]:
    """Names that fit, and differ where the names do: the end of each is left out, or its middle."""
    own = list(dict.fromkeys(names))
    ends = {name: fitted(name, room_px, size_px) for name in own}
    if len(set(ends.values())) == len(own):
        return ends
    return {name: _cut(name, room_px, size_px, tail=0.5) for name in own}


def _cut(text: str, room_px: float, size_px: int, tail: float) -> str:
    """As much as fits, with an ellipsis before the last ``tail`` of what is kept."""
    if size_px * width_em(text) <= room_px:
        return text
    for kept in range(len(text) - 1, 0, -1):
        behind = int(kept * tail)
        cut = f"{text[: kept - behind].rstrip()}…{text[len(text) - behind :].lstrip()}"
        if size_px * width_em(cut) <= room_px:
            return cut
    return "…"
