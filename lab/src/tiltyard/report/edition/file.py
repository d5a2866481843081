"""The keys of ``report.toml``; an error names file, line, key and what would be right."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path
from typing import Annotated, Final, Literal, Self

from pydantic import Field, ValidationError, model_validator

from tiltyard.frozen import Frozen
from tiltyard.study.file import Text
from tiltyard.study.load import parsed, read_text
from tiltyard.study.locate import KeyPath, Lines, locate
from tiltyard.study.problems import Flaw, Problem, StudyFileError, dotted, located, not_a
from tiltyard.study.wording import flaws_of

NAME: Final = "report.toml"
FRONT: Final = "front"
"""The first page, as a place of own text."""

Amount = Annotated[float, Field(gt=0, lt=1e15, allow_inf_nan=False)]
Colour = Annotated[str, Field(pattern=r"^#[0-9a-fA-F]{6}$")]


class OwnText(Frozen):
    """``[[text]]``: own words, before or after a section, or as a section."""

    text: Text = Field(
        description="Markdown: paragraphs, lists, tables, code, quotations. Emphasis is printed "
        "plain, an address stands behind its link."
    )
    before: Text | None = Field(None, description="Id or title of the section that follows it.")
    after: Text | None = Field(
        None,
        description="Id or title of the section it stands behind; `front` is the first page. "
        "Without `before` and `after` it ends the report.",
    )
    title: Text | None = Field(None, description="Makes it a section under this heading.")
    from_elsewhere: tuple[Text, ...] = Field(
        (),
        description="Numbers in it that no measurement of this study gives, as they are typed: "
        '`["2019", "4,000"]`. The colophon lists them.',
    )

    @model_validator(mode="after")
    def _one_place(self) -> Self:
        if self.before and self.after:
            raise ValueError("before and after are two places. Fix: keep one of them")
        if self.title and (self.before or "").casefold() == FRONT:
            raise ValueError('no section stands before the first page. Fix: after = "front"')
        return self


class Note(Frozen):
    """``[[note]]``: an annotation of a system, a workload or a metric."""

    text: Text = Field(
        description="One paragraph. It stands below the first table that has the system or metric, "
        "or at the beginning of the workload's section."
    )
    system: Text | None = Field(None, description="Name of the system it is about.")
    workload: Text | None = Field(None, description="Name of the workload it is about.")
    metric: Text | None = Field(None, description="Name of the metric it is about.")
    from_elsewhere: tuple[Text, ...] = Field((), description="As in `[[text]]`.")

    @property
    def about(self) -> tuple[Literal["system", "workload", "metric"], str]:
        """What it is about, and its name."""
        if self.system:
            return "system", self.system
        return ("workload", self.workload) if self.workload else ("metric", self.metric or "")

    @model_validator(mode="after")
    def _one_thing(self) -> Self:
        if sum(one is not None for one in (self.system, self.workload, self.metric)) != 1:
            raise ValueError("a note is about one thing. Fix: give one of system, workload, metric")
        return self


class Chosen(Frozen):
    """``[sections]``: which ones, in which order; by id or title."""

    first: tuple[Text, ...] = Field((), description="These, in this order, before all others.")
    only: tuple[Text, ...] = Field((), description="These, in this order, and no others.")
    leave_out: tuple[Text, ...] = Field(
        (), description="Without these. The colophon lists what is left out."
    )

    @model_validator(mode="after")
    def _one_choice(self) -> Self:
        if self.only and (self.first or self.leave_out):
            raise ValueError("only has all that is printed. Fix: leave out first and leave_out")
        return self


class Figures(Frozen):
    """``[figures]``: which ones, by id."""

    only: tuple[Text, ...] = Field((), description="These and no others, by id.")
    leave_out: tuple[Text, ...] = Field((), description="Without these, by id.")


class Look(Frozen):
    """``[look]``: a house's colours, typeface and logo; contrast and sizes are checked."""

    logo: Text | None = Field(
        None, description="PNG or SVG beside this file, at most 256 KiB; embedded."
    )
    logo_text: Text | None = Field(
        None, description="What it shows, for those who cannot see it. Needed with `logo`."
    )
    accent: Colour | None = Field(
        None, description="`#rrggbb` of links and emphasis: contrast 4.5 on paper."
    )
    systems: dict[str, Colour] = Field(
        default_factory=dict, description="System → `#rrggbb` of it: contrast 3 on paper."
    )
    fonts: tuple[Text, ...] = Field(
        (),
        description="OpenType or TrueType files beside this file, one family, at most 1 MiB each, "
        "for the text of page and PDF; embedded. Pictures keep theirs.",
    )

    @model_validator(mode="after")
    def _described(self) -> Self:
        if self.logo and not self.logo_text:
            raise ValueError('a logo needs words for those who cannot see it. Fix: logo_text = "…"')
        return self


class Cost(Frozen):
    """``[cost]``: what systems cost, or draw; values per unit of money and power follow."""

    currency: Text = Field("EUR", description="In which `price` and `price_per_hour` are.")
    price: dict[str, Amount] = Field(default_factory=dict, description="System → what it costs.")
    price_per_hour: dict[str, Amount] = Field(
        default_factory=dict, description="System → what an hour of it costs."
    )
    watts: dict[str, Amount] = Field(
        default_factory=dict, description="System → mean power while it works, in W, measured or "
        "stated by you: it has no interval here."
    )  # fmt: skip


class EditionFile(Frozen):
    """The whole file; every key may be missing."""

    title: Text | None = Field(None, description="Instead of the question, which moves below it.")
    subtitle: Text | None = Field(None, description="Below the title.")
    authors: tuple[Text, ...] = Field((), description="Who answers for the report, one by one.")
    style: Text | None = Field(None, description="Style of the report where `--style` names none.")
    digits: Annotated[int, Field(ge=2, le=9)] | None = Field(
        None, description="Significant digits of measured values in tables, at most."
    )
    text: tuple[OwnText, ...] = Field((), description="`[[text]]`: own paragraphs.")
    note: tuple[Note, ...] = Field((), description="`[[note]]`: annotations.")
    sections: Chosen = Field(Chosen(), description="Choice and order of sections.")
    figures: Figures = Field(Figures(), description="Choice of figures.")
    look: Look = Field(Look(), description="Logo, colours, typeface.")
    weights: dict[str, Annotated[float, Field(ge=0, lt=1e6)]] = Field(
        default_factory=dict,
        description="Workload → how much it counts in a weighted mean; others count 1.",
    )
    cost: Cost = Field(Cost(), description="Price and power of the systems.")


@dataclass(frozen=True)
class Edition:
    """A file that was read, with the lines of its keys."""

    path: Path
    file: EditionFile
    source: str
    """The file's text."""
    lines: Lines

    @classmethod
    def read(cls, path: Path) -> Self:
        """Read a file.

        Raises:
            StudyFileError: if it is none; it names line, key and what would be right.
            UsageError: if the file cannot be read.
        """
        text = read_text(path)
        document, lines = parsed(text, path), locate(text)
        try:
            return cls(path, EditionFile.model_validate(document), text, lines)
        except ValidationError as error:
            raise located(path, lines, flaws_of(error, EditionFile)) from error

    @property
    def sha256(self) -> str:
        """Of the file's text."""
        return sha256(self.source.encode()).hexdigest()

    def error(self, *flaws: Flaw) -> StudyFileError:
        """The error of such flaws, with file, line and key."""
        return located(self.path, self.lines, flaws)

    def error_at(self, line: int, path: KeyPath, text: str) -> StudyFileError:
        """The error of one line of a text."""
        return StudyFileError(self.path, [Problem(line, dotted(path), text)])

    def require_names(self, path: KeyPath, known: tuple[str, ...], what: str) -> None:
        """The keys of a table, or one value, are names that there are.

        Raises:
            StudyFileError: if one is not; it names the nearest.
        """
        found = self._at(path)
        typed = (
            {(*path, name): name for name in found} if isinstance(found, dict) else {path: found}
        )
        flaws = [
            Flaw(at, not_a(name, what, known)) for at, name in typed.items() if name not in known
        ]
        if flaws:
            raise self.error(*flaws)

    def without(self, clean: Callable[[object], object]) -> "Edition":
        """The same for others.

        Args:
            clean: takes out of a value, its keys among it, what others are not to see.
        """
        file = self.file
        document = file.model_dump(exclude_unset=True)
        for key in ("style", "authors"):
            document.pop(key, None)
        cleaned = EditionFile.model_validate(clean(document))
        paths = {"logo": file.look.logo, "fonts": file.look.fonts}
        look = cleaned.look.model_copy(update=paths)
        kept = {"style": file.style, "authors": file.authors, "look": look}
        return replace(self, file=cleaned.model_copy(update=kept))

    def line_of(self, path: KeyPath, at: int) -> int:
        """The line of the file in which a letter of a text stands.

        Args:
            path: key of the text.
            at: place of the letter in the text.
        """
        line = self.lines.of(path)
        text = self._at(path)
        rows = self.source.splitlines()
        begins = rows[line - 1].rstrip().endswith(('"""', "'''"))
        found = line + begins + str(text).count("\n", 0, at)
        return found if found <= len(rows) else line

    def _at(self, path: KeyPath) -> object:
        found: object = self.file
        for step in path:
            if isinstance(step, int):
                found = found[step]  # type: ignore[index]
            elif isinstance(found, dict):
                found = found[step]
            else:
                found = getattr(found, step)
        return found
