"""The sentences of a printed study, as data: ``claims.toml`` beside its tables.

Which kinds of claims there are, and which keys each has, is handed in: a claim is data here, and
what it means belongs to the analysis.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from pydantic import Field, ValidationError

from tiltyard.frozen import Frozen
from tiltyard.study.file import Text
from tiltyard.study.load import parsed, read_text
from tiltyard.study.locate import locate
from tiltyard.study.problems import Flaw, StudyFileError, located, not_a
from tiltyard.study.wording import flaws_of

NAME: Final = "claims.toml"


class Head(Frozen):
    """The keys that every claim has."""

    id: Text = Field(description="Unique in the file: `in-cache-ext4-optimized`.")
    where: Text = Field(description="Where it is printed: `page 4`, `In conclusion`.")
    text: Text = Field(description="The sentence, or the part of it that states this.")
    kind: Text = Field(description="How it is recomputed; the kind has its own keys.")
    remark: Text | None = Field(
        None,
        description="What a fair reader should know beside the outcome: how a slip may have come "
        "about, or which way it goes. A sentence without its full stop.",
    )


@dataclass(frozen=True)
class Claim:
    """One thing that a study states."""

    id: str
    where: str
    text: str
    kind: str
    states: Frozen
    """In the form of its kind."""
    remark: str | None = None
    """What stands after the outcome's own sentence."""


@dataclass(frozen=True)
class ClaimsFile:
    """All claims of a file, and where in it they stand."""

    path: Path
    text: str
    claims: tuple[Claim, ...]

    def error(self, flaws: tuple[Flaw, ...]) -> StudyFileError:
        """What is wrong with claims, with line, claim and key."""
        return located(self.path, locate(self.text), flaws)


def read_claims(path: Path, kinds: Mapping[str, type[Frozen]]) -> ClaimsFile:
    """The claims of a file.

    Args:
        path: ``claims.toml``.
        kinds: which kinds there are, and what the keys of each are.

    Raises:
        StudyFileError: if the file is not one of claims; it names line, claim, key and what would
            be right.
        UsageError: if the file cannot be read.
    """
    text = read_text(path)
    document = parsed(text, path)
    flaws = [Flaw((key,), not_a(key, "key", ["claim"])) for key in document if key != "claim"]
    typed = document.get("claim", [])
    if not isinstance(typed, list) or not all(isinstance(one, dict) for one in typed):
        flaws.append(Flaw(("claim",), "claims stand under headers [[claim]]"))
        raise located(path, locate(text), flaws)
    claims, seen = [], set[str]()
    for place, one in enumerate(typed):
        own = list(_flaws(one, kinds, seen))
        flaws += [Flaw(("claim", place, *flaw.path), _named(one, flaw.text)) for flaw in own]
        if not own:
            claims.append(_claim(one, kinds))
        if isinstance(one.get("id"), str):
            seen.add(one["id"])
    if flaws:
        raise located(path, locate(text), flaws)
    return ClaimsFile(path, text, tuple(claims))


def _flaws(
    one: dict[str, Any], kinds: Mapping[str, type[Frozen]], seen: set[str]
) -> Iterator[Flaw]:
    head, states = _halves(one)
    try:
        Head.model_validate(head)
    except ValidationError as error:
        yield from flaws_of(error, Head)
        return
    if one["id"] in seen:
        yield Flaw(("id",), "another claim has the same")
    if one["kind"] not in kinds:
        yield Flaw(("kind",), not_a(one["kind"], "kind of claim", kinds))
        return
    model = kinds[one["kind"]]
    try:
        model.model_validate(states)
    except ValidationError as error:
        yield from flaws_of(error, model)


def _claim(one: dict[str, Any], kinds: Mapping[str, type[Frozen]]) -> Claim:
    head, states = _halves(one)
    return Claim(**head, states=kinds[head["kind"]].model_validate(states))


def _halves(one: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """What every claim has, and what its kind asks for."""
    head = {key: value for key, value in one.items() if key in Head.model_fields}
    return head, {key: value for key, value in one.items() if key not in head}


def _named(one: dict[str, Any], text: str) -> str:
    name = one.get("id")
    return f'in "{name}": {text}' if isinstance(name, str) else text
