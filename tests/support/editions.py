"""A study with a file of its editor beside it, and the document that they make."""

from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest

from support.shapes import Shape, card
from support.synthetic import SHAPES as KNOWN
from support.synthetic import synthetic_study
from tiltyard.analysis.findings import analyse
from tiltyard.analysis.model import Findings
from tiltyard.errors import UsageError
from tiltyard.report.document import Document, Figure, Section
from tiltyard.report.edition.apply import Edited, edited
from tiltyard.report.edition.file import Edition
from tiltyard.report.styles import STYLES

SHAPES = {
    "postmark": KNOWN["postmark"],
    "chore": Shape((card("time", "total time", "s", "lower"),), {"time": 3.0}),
}


def without_pictures(document: Document) -> Document:
    """Without figures, which take long to draw."""

    def plain(section: Section) -> Section:
        blocks = tuple(one for one in section.blocks if not isinstance(one, Figure))
        return replace(section, blocks=blocks, sections=tuple(map(plain, section.sections)))

    front = tuple(one for one in document.front if not isinstance(one, Figure))
    return replace(document, front=front, sections=tuple(map(plain, document.sections)))


@cache
def study() -> Findings:
    return analyse(
        *synthetic_study(
            workloads=("postmark", "chore"),
            effects={"xfs": 1.2, "btrfs": 0.8},
            noise=0.03,
            shapes=SHAPES,
        )
    )


def edition(folder: Path, text: str) -> Edition:
    path = folder / "report.toml"
    path.write_text(text)
    return Edition.read(path)


def made(folder: Path, text: str, style: str = "study") -> Edited:
    findings = study()
    composed = {one.name: one.compose(findings) for one in STYLES}
    return edited(composed[style], findings, edition(folder, text), composed.values)


def sections(document: Document) -> list[str]:
    return [section.id for section in document.sections]


def refusal(folder: Path, text: str) -> str:
    with pytest.raises(UsageError) as error:
        made(folder, text)
    return str(error.value).removeprefix(f"{folder}/")


def study_document() -> Document:
    """The study before an editor changes it."""
    return STYLES[0].compose(study())
