"""What words of amount are taken to mean. Every sentence of the audit names the bound it used."""

import math
from dataclasses import dataclass
from typing import Final, Literal

from tiltyard.collected.audited import Outcome
from tiltyard.collected.stated import Span, Stated
from tiltyard_published.audit.outcomes import above, within

Word = Literal["over", "at least", "nearly", "about", "up to"]
SHORT_OF: Final = 0.85
"""``nearly 2`` is from 1.7 up to 2; the largest of ``up to 2`` too."""
ABOUT: Final = 0.10
"""``about 100`` is from 90 to 110."""
MUCH_PERCENT: Final = 10.0
"""What is remarkable, much or dramatic is at least this."""
FLAT_PERCENT: Final = 10.0
"""What is insensitive, similar or the same varies by at most this."""


def signed(ratio: Span) -> str:
    """How far a ratio is from 1, with a digit that counts: ``+15.5 %``, ``−0.004 %``."""
    percent = 100 * (ratio.value - 1)
    if percent == 0:
        return "0 %"
    digits = max(1, -math.floor(math.log10(abs(percent))))
    return f"{'+' if percent > 0 else '−'}{abs(percent):.{digits}f} %"


@dataclass(frozen=True)
class Bound:
    """A word with its number."""

    word: Word
    stated: Stated

    @property
    def number(self) -> float:
        """Of its digits."""
        return self.stated.value

    def holds(self, found: Span) -> Outcome:
        """Whether what was found is what the word says."""
        if self.word == "over":
            return above(found, self.number)
        if self.word == "at least":
            return within(found, self.number, float("inf"))
        if self.word == "about":
            return within(found, (1 - ABOUT) * self.number, (1 + ABOUT) * self.number)
        if self.word == "up to":
            return _up_to(found, self.stated)
        return within(found, SHORT_OF * self.number, self.number)

    @property
    def text(self) -> str:
        """``nearly 2, taken as 1.7 to 2``."""
        number = f"{self.word} {self.number:g}"
        if self.word == "nearly":
            return f"{number}, taken as {SHORT_OF * self.number:.3g} to {self.number:g}"
        if self.word == "about":
            low, high = (1 - ABOUT) * self.number, (1 + ABOUT) * self.number
            return f"{number}, taken as {low:.3g} to {high:.3g}"
        if self.word == "up to":
            return f"{number}, its largest taken as {SHORT_OF * self.number:.3g} to {self.number:g}"
        return number


def _up_to(found: Span, stated: Stated) -> Outcome:
    """A largest value that is named: it is not more, and not much less; or it rounds to it."""
    plain = within(found, SHORT_OF * stated.value, stated.value)
    rounded = within(found, stated.span.low, stated.span.high)
    return plain if plain != "contradicted" or rounded == "contradicted" else "rounding"
