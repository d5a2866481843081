"""A rule of the suite for finding a result, as a regular expression.

The suite takes the last line that has the hint, parts it at blanks, parentheses and tabs (``=`` is
a part of its own), and takes the part at the place where ``#_RESULT_#`` stands in the template. So
does the expression; it stands in the plan, where a reader can see what was read.
"""

import re
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

from tiltyard.workloads.phoronix.definition import ResultRule

_KEY: Final = re.compile(r"#_(?!MIN_|MAX_)\w+?_#")
_ANY_KEY: Final = re.compile(r"#_\w+?_#")
_NUMBER: Final = r"[-+]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d+)?"
_GROUPED: Final = r"[-+]?\d[\d,]*(?:\.\d*)?"
_TAKES: Final = {
    "": "last",
    "NONE": "last",
    "AVERAGE": "mean",
    "MEAN": "mean",
    "GEOMETRIC_MEAN": "geometric_mean",
    "HARMONIC_MEAN": "harmonic_mean",
    "REPORT_ALL": "mean",
}
"""Which of several values counts; of a line graph, which has all of them, their mean."""


class UnknownRuleError(ValueError):
    """A rule that is not understood; the text says which element."""


@dataclass(frozen=True)
class Found:
    """How a result is found."""

    regex: str
    take: str
    scale: float
    inverse: bool = False
    after: str | None = None
    before: str | None = None
    decimal: str | None = None

    @property
    def rest(self) -> dict[str, str | bool]:
        """Keys of a metric that most rules do not need."""
        keys = {
            "inverse": self.inverse,
            "after": self.after,
            "before": self.before,
            "decimal": self.decimal,
        }
        return {key: value for key, value in keys.items() if value}


def found_by(rule: ResultRule, key: str) -> Found:
    """The expression that finds what the rule finds.

    Args:
        rule: of the results definition.
        key: what stands for the number in its template: ``#_RESULT_#``.

    Raises:
        UnknownRuleError: if the rule has an element that is not understood.
    """
    if rule.get("MultiMatch") not in _TAKES:
        raise UnknownRuleError(f"MultiMatch {rule.get('MultiMatch')} is not understood")
    if rule.get("FileFormat") not in ("", "CSV"):
        raise UnknownRuleError(f"FileFormat {rule.get('FileFormat')} is not understood")
    if key not in rule.template:
        raise UnknownRuleError(f"no {key} in its template")
    scale = Fraction(1)
    if divisor := rule.get("DivideResultBy"):
        scale /= _factor(divisor)
    inverse = rule.get("DivideResultDivisor")
    if inverse:
        scale = _factor(inverse) / scale
    if multiplier := rule.get("MultiplyResultBy"):
        scale *= _factor(multiplier)
    return Found(
        regex=_expression(rule, key),
        take=_TAKES[rule.get("MultiMatch")],
        scale=float(scale),
        inverse=bool(inverse),
        after=rule.get("DeleteOutputBefore") or None,
        before=rule.get("DeleteOutputAfter") or None,
        # Commas that are stripped part thousands.
        decimal="." if "," in rule.get("StripFromResult") else None,
    )


def key_of(rule: ResultRule, arguments: str, chosen: str) -> str:
    """What stands for the number in the template, with such arguments.

    Args:
        rule: of the results definition.
        arguments: all of the command line.
        chosen: those of the options.
    """
    text = {"PTS_TEST_ARGUMENTS": arguments, "PTS_USER_SET_ARGUMENTS": chosen}
    named = text.get(rule.get("ResultKey"))
    return "#_RESULT_#" if named is None else f"#_{named.replace(' ', '')}_#"


def any_key(rule: ResultRule) -> str:
    """The first key of the template, whatever is chosen."""
    match = _KEY.search(rule.template)
    return match[0] if match else "#_RESULT_#"


def matches(rule: ResultRule, arguments: str) -> bool:
    """Whether the rule is for a test with such arguments."""
    return rule.get("MatchToTestArguments") in arguments


def _factor(text: str) -> Fraction:
    try:
        factor = Fraction(text.strip())
    except ValueError as error:
        raise UnknownRuleError(f"{text!r} is not a factor") from error
    if factor <= 0:
        raise UnknownRuleError(f"{text!r} is not a factor")
    return factor


def _expression(rule: ResultRule, key: str) -> str:
    before, _, after = rule.template.rpartition(key)
    line = f"{before.rpartition(chr(10))[2]}{key}{after.partition(chr(10))[0]}"
    blanks = "()\t" + ("," if rule.get("FileFormat") == "CSV" else "")
    if before.endswith("/") or after.startswith("/"):
        blanks += "/"
    parts = _parts(line.replace(":#", " #"), blanks)
    turned = rule.get("TurnCharsToSpace")
    if len(turned) > 1:
        raise UnknownRuleError(f"TurnCharsToSpace {turned!r} is not understood")
    gap = f"[ {re.escape(blanks + turned)}]"
    ends = f"(?={gap}|=|$)"
    part = f"(?:=|[^ \\n={re.escape(blanks + turned)}]++)"
    number = _number(rule)
    if name := rule.get("ResultBeforeString"):
        place = rf".*?(?:(?<==)|(?<={gap}))({number[0]}){number[1]}{gap}+{re.escape(name)}{ends}"
    elif name := rule.get("ResultAfterString"):
        skipped = f"(?:[:,\\-=]{gap}*)*"
        start = rf"(?:^|(?<={gap}))"
        place = rf".*?{start}{re.escape(name)}{ends}{gap}*{skipped}({number[0]}){number[1]}{ends}"
    else:
        skipped = rf"(?:{part}{gap}*){{{_place(parts, key)}}}"
        place = rf"{gap}*{skipped}({number[0]}){number[1]}{ends}"
    return _on_its_line(rule, line, parts, place)


def _on_its_line(rule: ResultRule, line: str, parts: list[str], place: str) -> str:
    """The place of the number, on the line that the hints name."""
    if hint := rule.get("LineBeforeHint"):
        return rf"{re.escape(hint)}.*\n{place}"
    if hint := rule.get("LineAfterHint"):
        return rf"^{place}(?=.*\n.*{re.escape(hint)})"
    hint = rule.get("LineHint")
    if hint and hint in line:
        return rf"^(?=.*{re.escape(hint.strip() or hint)}){place}"
    first = _ANY_KEY.split(line)[0].strip()
    with_colon = next((part for part in parts if ":" in part and len(part) > 1), "")
    if with_colon and re.search(r"\d", first):
        first = with_colon
    if first:
        return rf"^(?=.*{re.escape(first)}){place}"
    return rf"\A\s*({_number(rule)[0]}){_number(rule)[1]}(?=\s|$)"


def _number(rule: ResultRule) -> tuple[str, str]:
    """The number, and what stands right behind it and is stripped."""
    stripped = [rule.get("StripFromResult").strip(), rule.get("StripResultPostfix").strip()]
    if "," in stripped[0]:
        stripped[0] = stripped[0].replace(",", "")
        pattern = _GROUPED
    else:
        pattern = _NUMBER
    behind = "".join(f"(?:{re.escape(text)})?" for text in stripped if text)
    return pattern, f"{behind},?" if pattern is _GROUPED else behind


def _parts(line: str, blanks: str) -> list[str]:
    return line.translate({ord(sign): " " for sign in blanks}).replace("=", " = ").split()


def _place(parts: list[str], key: str) -> int:
    """The place of the key among the parts of its line.

    Where it is only a piece of a part (``#_RESULT_#s``), the suite takes the first part whose place
    n has it that it holds the n-th sign of the key; so that is done here.
    """
    if key in parts:
        return parts.index(key)
    pieces = (place for place, part in enumerate(parts) if place < len(key) and key[place] in part)
    return next(pieces, 0)
