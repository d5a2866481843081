"""House styles: what is printed, in which order; one file a style, and one line below."""

from tiltyard.report.styles import article, results, study, whitepaper
from tiltyard.report.styles.style import Style

STYLES: tuple[Style, ...] = (
    study.STYLE,
    whitepaper.STYLE,
    article.STYLE,
    results.STYLE,
)
"""All styles; the first is taken where none is asked for."""
