"""Systems named at the right ends of their lines, where their names have room there."""

from tiltyard.analysis.model import Findings
from tiltyard.charts.chart import Spec, extent_px, series
from tiltyard.charts.theme import LIGHT, SMALL_PX

_SIGN_PX = 20
_MOST_SHARE = 0.36
"""Longer names than this share of a panel would leave too little of it for the lines."""


def named_beside_px(findings: Findings, panel_px: int) -> int | None:
    """Room for the names beside a panel; ``None`` where a legend has to take them."""
    names_px = extent_px(series(findings), SMALL_PX) + _SIGN_PX
    return names_px if names_px <= _MOST_SHARE * panel_px else None


def named_ends(ends: list[Spec], field: str, plot_px: int, shape: Spec) -> list[Spec]:
    """Sign and name of each system.

    Args:
        ends: for each ``system`` the value at whose height it stands.
        field: name of that value.
        plot_px: width of the panel.
        shape: encoding of the systems' shapes.
    """
    data: Spec = {"values": ends}
    place: Spec = {"x": {"value": plot_px + 12}, "y": {"field": field, "type": "quantitative"}}
    return [
        {
            "data": data,
            "mark": {"type": "point", "filled": True, "size": 40, "opacity": 1},
            "encoding": {**place, "shape": shape},
        },
        {
            "data": data,
            "mark": {"type": "text", "align": "left", "dx": 8, "fontSize": SMALL_PX},
            "encoding": {
                **place,
                "text": {"field": "system"},
                "color": {"value": LIGHT["ink"]},
            },
        },
    ]
