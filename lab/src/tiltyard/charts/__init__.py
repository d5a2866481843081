"""Findings to pictures: one file a chart, and one line in the list below.

A chart is a pure function from findings to a Vega-Lite specification and a sentence that stands
for the picture where it cannot be seen. Its file says in which places of the reports it hangs.
Nothing here renders but :mod:`tiltyard.charts.svg`.
"""

import warnings
from collections.abc import Callable
from dataclasses import replace
from typing import Any, Final

from tiltyard.charts.chart import AnyChart, Chart, Spec, StudyChart, SystemChart
from tiltyard.registry import Plugin, PluginError, PluginWarning, Registry, contained

_WORDS: Final = ("alt", "finding", "story", "measure", "legend")


def _sound(made: Any, plugin: Plugin) -> Any:
    """A package's chart: where it fails it is left out of a report, with a warning."""

    def left_out(error: PluginError) -> None:
        text = f"a picture is left out of the report: {error}"
        warnings.warn(PluginWarning(text), stacklevel=3)

    def draw(*args: Any) -> Spec | None:
        from tiltyard.charts.svg import to_file, to_svg

        try:
            spec: Spec | None = made.draw(*args)
            with contained(plugin, "draws what is no picture"):
                if spec is not None:
                    to_svg(spec, plugin.name)
                    to_file(spec, plugin.name)
        except PluginError as error:
            left_out(error)
            return None
        return spec

    def words(say: Callable[..., str]) -> Callable[..., str]:
        def said(*args: Any) -> str:
            try:
                return str(say(*args))
            except PluginError as error:
                left_out(error)
                return ""

        return said

    own = {name: say for name in _WORDS if (say := getattr(made, name, None)) is not None}
    return replace(made, draw=draw, **{name: words(say) for name, say in own.items()})


CHARTS: Final = Registry[AnyChart](
    "charts",
    {
        "ranking": ".ranking:CHART",
        "forest": ".overview:FOREST",
        "relatives": "",
        "wins": "",
        "multiples": ".bars:SMALL_MULTIPLES",
        "overview": ".overview:CHART",
        "effects": ".effects:CHART",
        "curves": ".curves:CHART",
        "differences": ".maps:DIFFERENCES",
        "values": ".maps:VALUES",
        "means": "",
        "bars": ".bars:CHART",
        "cells": ".bars:CELLS",
        "groups": ".bars:GROUPS",
        "percentiles": ".percentiles:CHART",
        "order": ".order:CHART",
        "surfaces": "",
        "families": "",
        "studies": ".forest:CHART",
    },
    (Chart, SystemChart, StudyChart),
    within=__name__,
    sound=_sound,
)
"""All charts, in the order in which a reader meets them."""
