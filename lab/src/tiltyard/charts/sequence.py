"""A sequential scale: tones in equal ratios from the least to the most, and its key."""

import math
from collections.abc import Iterable
from dataclasses import dataclass

from tiltyard.charts.chart import Spec
from tiltyard.charts.measure import Measure
from tiltyard.charts.theme import LIGHT, SMALL_PX

TONES = 5

_KEY_PX = 62
"""Width of one tone of the key where each edge between two has its number."""
_KEY_HEIGHT_PX = 8


@dataclass(frozen=True)
class Sequence:
    """Positive values → tones of the theme that are grounds for figures."""

    low: float
    high: float

    def tone(self, value: float) -> str:
        """Name of the colour of a value; the faintest for what is not positive."""
        if value <= 0 or self.low >= self.high:
            return "amount-1"
        share = math.log(value / self.low) / math.log(self.high / self.low)
        return f"amount-{1 + max(0, min(TONES - 1, int(TONES * share)))}"

    def key(self, measure: Measure, room_px: float) -> Spec:
        """The tones side by side, with the values at which they change, as one small picture."""
        tone_px = min(_KEY_PX, room_px / TONES)
        tiles = [
            {"from": tone_px * step, "to": tone_px * (step + 1), "tone": f"amount-{step + 1}"}
            for step in range(TONES)
        ]
        edges = range(1, TONES, 1 if tone_px == _KEY_PX else TONES - 2)
        ratio = self.high / self.low
        texts = [
            {
                "from": tone_px * step,
                "said": measure.short(self.low * ratio ** (step / TONES)),
            }
            for step in edges
        ]
        x: Spec = {
            "field": "from",
            "type": "quantitative",
            "axis": None,
            "scale": {"domain": [0, TONES * tone_px], "nice": False},
        }
        return {
            "width": TONES * tone_px,
            "height": _KEY_HEIGHT_PX,
            "layer": [
                {
                    "data": {"values": tiles},
                    "mark": {"type": "rect", "stroke": LIGHT["paper"], "strokeWidth": 1},
                    "encoding": {"x": x, "x2": {"field": "to"}, "color": toned()},
                },
                {
                    "data": {"values": texts},
                    "mark": {"type": "text", "fontSize": SMALL_PX, "color": LIGHT["soft"]},
                    "encoding": {
                        "x": x,
                        "y": {"value": _KEY_HEIGHT_PX + 10},
                        "text": {"field": "said"},
                    },
                },
            ],
        }


def sequence_of(values: Iterable[float]) -> Sequence:
    """The scale for some values; those that are not positive have no place on it."""
    drawn = [value for value in values if value > 0] or [1.0]
    return Sequence(min(drawn), max(drawn))


def toned() -> Spec:
    """Encoding of the field ``tone``: the name of a colour of the theme."""
    names = list(LIGHT)
    return {
        "field": "tone",
        "type": "nominal",
        "scale": {"domain": names, "range": [LIGHT[name] for name in names]},
        "legend": None,
    }
