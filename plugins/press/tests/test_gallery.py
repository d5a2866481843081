"""Figures as files of their own, and a gallery of studies."""

import io
import re
from html import unescape
from pathlib import Path

import pytest
from PIL import Image

from support.publications import PUBLISHED
from tiltyard.analysis.model import Findings
from tiltyard.app.report import figures_of
from tiltyard.errors import UsageError
from tiltyard.report.document import Document
from tiltyard.report.figures import figure_files
from tiltyard.report.styles import study
from tiltyard_press.gallery import write_gallery

MM_PER_INCH = 25.4


@pytest.fixture(scope="module")
def first(findings: Findings) -> Document:
    """A document with the first figure of the demonstration."""
    document = study.compose(findings)
    figure = next(document.figures())
    return Document(style="x", title="x", front=(figure,))


def test_a_figure_is_a_file_with_its_title(first: Document) -> None:
    (figure,) = first.figures()
    files = figure_files(first, ["svg"])
    (picture,) = files.values()
    assert list(files) == [f"figures/{figure.id}.svg"]
    words = unescape(re.sub(r"<[^>]+>", " ", picture.decode()))
    for text in (figure.title, figure.subtitle):
        assert text
        assert " ".join(text.split()) in " ".join(words.split())


def test_on_paper_it_is_as_wide_as_the_text_of_a_page(first: Document) -> None:
    ((path, data),) = figure_files(first, ["png"]).items()
    assert path.endswith(".png")
    with Image.open(io.BytesIO(data)) as picture:
        dots = picture.info["dpi"][0]
        assert dots == pytest.approx(300, abs=1)
        assert 160 < picture.width / dots * MM_PER_INCH < 180


def test_only_known_forms_of_figures_are_made() -> None:
    assert figures_of(["svg,png", "svg"]) == ["svg", "png"]
    with pytest.raises(UsageError, match="One of: svg, png"):
        figures_of(["gif"])


def test_a_gallery_has_the_answer_and_the_picture_of_each_study(tmp_path: Path) -> None:
    home = write_gallery([PUBLISHED / "netperf-rhel6"], tmp_path / "g", "results", redact=True)
    page = home.read_text()
    (link,) = re.findall(r'<h2><a href="([^"]+)"', page)
    assert re.fullmatch(r"[a-z0-9-]+-[0-9a-f]{8}/index\.html", link)
    report = (home.parent / link).read_text()
    assert "Redacted: " in (home.parent / link).with_name("findings.json").read_text()
    lead = re.search(r'<p class="lead[^"]*">(.*?)</p>', page)
    assert lead
    assert lead[1] in report
    warning = re.search(r'<aside class="callout warning".*?<li>(.*?)</li>', page, re.DOTALL)
    assert warning, "what must be known before the answer stands above it here too"
    assert warning[1] in report
    assert warning.end() < lead.start()
    assert page.count("<svg") == 2, "for a desk and for a phone"
    assert not re.findall(r"<script|https?://(?!www\.w3\.org)", page)


def test_a_gallery_does_not_go_where_a_study_is(tmp_path: Path) -> None:
    with pytest.raises(UsageError):
        write_gallery([tmp_path / "nothing"], tmp_path / "g", None, redact=True)
    assert not (tmp_path / "g").exists()
