"""House styles: what is told, in which order; one file a style, and one line in the list below."""

from tiltyard.report.styles import article, results, study, whitepaper
from tiltyard.report.styles.style import Style

STYLES: tuple[Style, ...] = (
    study.STYLE,
    whitepaper.STYLE,
    article.STYLE,
    results.STYLE,
)
"""All styles; the first is taken where none is asked for."""
