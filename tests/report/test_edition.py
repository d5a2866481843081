"""report.toml: what an editor adds, in every format, checked as generated text is."""

import json
import re
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest
from PIL import Image

from support.papers import texts_of
from support.printed_verdicts import READERS, contradictions, text_in
from support.shapes import Shape, card
from support.synthetic import SHAPES as KNOWN
from support.synthetic import synthetic_study
from tiltyard.analysis.findings import analyse
from tiltyard.analysis.model import Findings
from tiltyard.analysis.pairs import turned
from tiltyard.analysis.weighted import gain_of, spendings
from tiltyard.app.report import Concluded, concluded, write_report
from tiltyard.charts.theme import FONTS, LIGHT
from tiltyard.errors import EditorsTextWarning, UsageError
from tiltyard.report.document import Document, Figure, Section
from tiltyard.report.edition.apply import Edited, edited
from tiltyard.report.edition.file import Edition
from tiltyard.report.edition.look import contrast
from tiltyard.report.formats import FORMATS
from tiltyard.report.styles import STYLES

GUIDE = Path(__file__).resolve().parents[2] / "docs/guides/own-name.md"
STUDIES = Path(__file__).resolve().parents[2] / "studies"
SHAPES = {
    "postmark": KNOWN["postmark"],
    "chore": Shape((card("time", "total time", "s", "lower"),), {"time": 3.0}),
}
SVG = b'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 4 4"><path d="M0 0h4v4z"/>%s</svg>'


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


def remarks(folder: Path, words: str, more: str = "") -> list[str]:
    found = made(folder, f'[[text]]\ntext = """\n{words}\n"""\n{more}').remarks
    return [f"{one.line}: {one.text}" for one in found]


def test_the_example_of_the_guide_is_one(tmp_path: Path) -> None:
    text = re.search(r"```toml\n(.*?)```", GUIDE.read_text(), re.DOTALL)
    assert text
    found = made(tmp_path, text[1])
    assert [one.text for one in found.remarks] == []
    document = found.document
    assert document.title == "A file system for our mail hosts"
    assert document.subtitle == study().question
    assert sections(document)[0] == "method"
    assert {"weighted-mean", "cost", "authors-1"} <= {*sections(document)}
    assert "rules" not in sections(document)
    facts = dict(document.colophon)
    assert facts["left out by the authors"] == "The rules of reporting"
    assert facts["numbers from elsewhere"] == "4,000"


def test_the_example_of_a_ready_study_is_one() -> None:
    own = Edition.read(STUDIES / "database/report.toml").file
    assert (STUDIES / "database.toml").is_file()
    assert own.title
    assert own.text


@pytest.mark.parametrize("style", [style.name for style in STYLES])
def test_every_format_prints_the_words_of_the_authors(tmp_path: Path, style: str) -> None:
    text = '[[text]]\ntitle = "Our <view>"\nbefore = "limits"\n'
    text += 'text = """\nAs *agreed* with [them](https://a.example/b).\n\n1. one\n2. two\n"""'
    document = made(tmp_path, f'title = "Ours"\nauthors = ["Ann Other", "Ben"]\n{text}', style)
    own = without_pictures(document.document)
    at = sections(own).index("authors-0")
    assert sections(own)[at + 1] == "limits"
    for name in ("html", "markdown", "xlsx", "json", *(["pdf"] if style == "article" else [])):
        shown = " ".join(text_in(name, own, study()).split())
        for words in ("Ours", "Ann Other, Ben", "As agreed with them (https://a.example/b)."):
            assert words in shown.replace("\\", ""), (name, words)


def test_a_number_that_no_table_holds_is_pointed_out_with_its_line(tmp_path: Path) -> None:
    found = remarks(tmp_path, "All is well.\n\nWe saw 471,117 of them.")
    assert len(found) == 1
    assert found[0].startswith("5: 471,117 stands in no table")
    assert "nearest is" in found[0]
    assert 'from_elsewhere = ["471,117"]' in found[0]
    assert remarks(tmp_path, "We saw 471,117.", 'from_elsewhere = ["471,117"]') == []
    assert "does not stand in the text" in refusal(
        tmp_path, '[[text]]\ntext = "Words."\nfrom_elsewhere = ["7"]'
    )


def test_numbers_that_state_no_amount_are_none(tmp_path: Path) -> None:
    words = "On 2031-01-17 ext4 ran version 61.77.3 (table 8713, https://a.example/98765).\n\n"
    assert remarks(tmp_path, f"{words}1. first\n2. second\n\nThe 9871st.") == []


def test_a_percentage_on_two_systems_is_one_of_theirs(tmp_path: Path) -> None:
    pair = study().workloads[0].index.comparisons[0]
    assert pair.ratio
    right = 100 * abs((pair.ratio if pair.system == "xfs" else 1 / pair.ratio) - 1)
    say = "In postmark xfs is {} % faster than ext4."
    assert remarks(tmp_path, say.format(f"{right:.0f}")) == []
    assert "stands in no table" in remarks(tmp_path, say.format(f"{right + 40:.0f}"))[0]


@pytest.mark.parametrize(
    ("words", "contradicted"),
    [
        ("In postmark, xfs is slower than ext4.", True),
        ("btrfs beats xfs.", True),
        ("Here XFS is faster\nthan ext4.", False),
        ("xfs is not slower than ext4.", False),
        ("Is xfs slower than ext4, or btrfs?", False),
        ("We like slower systems: xfs and ext4.", False),
    ],
)
def test_a_direction_is_held_against_the_verdict(
    tmp_path: Path, words: str, contradicted: bool
) -> None:
    found = remarks(tmp_path, words)
    assert bool(found) == contradicted, found
    assert all("is not what the verdict says" in one for one in found)


def test_text_cannot_bear_out_text(tmp_path: Path) -> None:
    both = '[[text]]\ntext = "We saw 471,117."\n[[text]]\ntext = "As said, 471,117."\n'
    assert len(made(tmp_path, both).remarks) == 2


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ('tittle = "x"', 'report.toml:1: tittle: there is no such key. One of: title'),
        ('[sections]\nfirst = ["limit"]', 'Did you mean "limits"?'),
        ('[sections]\nleave_out = ["Limitations"]', "stays in every report. Fix: leave it in"),
        ('[figures]\nonly = ["figure-x"]', "is not a figure of this report"),
        ('[[text]]\ntext = "x"\nafter = "a"\nbefore = "b"', "Fix: keep one of them"),
        ('[[text]]\ntext = """\na\n\n<b>x</b>\n"""', "report.toml:5: text.text: HTML is not"),
        ('[[text]]\ntext = "# Head"', "Fix: use the key title of [[text]]"),
        ('[[note]]\ntext = "x"', "Fix: give one of system, workload, metric"),
        ('[[note]]\ntext = "x"\nsystem = "xsf"', 'Did you mean "xfs"?'),
        ('[weights]\npostmak = 2', 'Did you mean "postmark"?'),
        ('[weights]\npostmark = 0\nchore = 0', "all weights are 0"),
        ('[cost.price]\next5 = 2', 'Did you mean "ext4"?'),
        ('[look]\naccent = "#cccccc"', 'Fix: "#'),
        ('[look]\naccent = "red"', "look.accent"),
        ('[look]\nlogo = "no.svg"\nlogo_text = "x"', "No such file"),
        ('[look]\nlogo = "no.svg"', 'Fix: logo_text = "…"'),
        ('[look]\nlogo = "../x.svg"\nlogo_text = "x"', "Fix: copy it there"),
    ],
)  # fmt: skip
def test_what_is_wrong_names_line_and_key_and_what_is_right(
    tmp_path: Path, text: str, says: str
) -> None:
    message = refusal(tmp_path, text)
    assert re.match(r"report\.toml:\d+: ", message)
    assert says in message


def test_a_section_of_another_style_is_no_mistake(tmp_path: Path) -> None:
    text = '[[text]]\ntext = "Words."\nafter = "verdict"\n[sections]\nleave_out = ["rules"]'
    document = made(tmp_path, text, "whitepaper").document
    at = sections(document).index("authors-0")
    assert document.sections[at].title == "From the authors"
    assert document.sections[at + 1].appendix


def test_weights_and_costs_have_the_intervals_of_their_verdicts(tmp_path: Path) -> None:
    text = "[weights]\npostmark = 3\n[cost]\nprice = { ext4 = 100, xfs = 150 }\n"
    text += "watts = { ext4 = 50, xfs = 40, btrfs = 40 }\n"
    findings = study()
    document = made(tmp_path, text).document
    tables = {table.id: table for table in document.tables()}
    rows = tables["cost-price"].rows
    assert [row[2].text for row in rows] == ["ext4", "xfs"] * (len(rows) // 2)
    for one in spendings(findings, "price", {"ext4": 100, "xfs": 150}):
        (other,) = (spent for spent in one.systems if spent.ratio)
        (pair,) = (p for p in one.index.comparisons if {p.system, p.against} == {"xfs", "ext4"})
        pair = pair if pair.system == "xfs" else turned(pair)
        assert pair.low
        assert pair.high
        assert other.ratio
        better = [pair.low, pair.high]
        if one.index.direction == "lower":
            better = [1 / pair.high, 1 / pair.low]
        assert other.ratio.low == pytest.approx(1.5 / better[1])
        assert other.ratio.high == pytest.approx(1.5 / better[0])
    means = {row[0].text: row for row in tables["weighted-mean"].rows}
    gains = [gain_of(one.index, "xfs", "ext4") for one in findings.workloads]
    expected = (gains[0].ratio or 0) ** 0.75 * (gains[1].ratio or 0) ** 0.25
    assert means["xfs"][1].value == pytest.approx(expected)
    assert means["xfs"][3].text == "faster"
    own = {row[-2].text for name in ("cost-price", "cost-watts", "weighted-mean")
           for row in tables[name].rows}  # fmt: skip
    plain = without_pictures(document)
    for name in [one for one in READERS if one != "pdf"]:
        wrong = contradictions(text_in(name, plain, findings), findings)
        assert [one for one in wrong if one.partition(" is ")[0] not in own] == [], name


def test_notes_digits_and_figures(tmp_path: Path) -> None:
    ids = [figure.id for figure in STYLES[0].compose(study()).figures()]
    text = f'digits = 2\n[figures]\nleave_out = ["{ids[0]}"]\n'
    text += '[[note]]\nsystem = "xfs"\ntext = "Ours *since* long."\n'
    text += '[[note]]\nworkload = "postmark"\ntext = "As mail."\n'
    document = made(tmp_path, text).document
    assert [figure.id for figure in document.figures()] == ids[1:]
    captions = [table.caption for table in document.tables() if "Note on xfs" in table.caption]
    assert len(captions) == 1
    assert captions[0].endswith("Note on xfs: Ours since long.")
    assert "Note on postmark: As mail." in json.dumps(
        [getattr(block, "text", "") for block in document.blocks()]
    )
    before = {t.id: t for t in STYLES[0].compose(study()).tables()}
    shorter = [
        (old.text, new.text)
        for table in document.tables()
        for row, was in zip(table.rows, before[table.id].rows, strict=True)
        for new, old in zip(row, was, strict=True)
        if new.text != old.text
    ]
    assert shorter
    assert all(len(re.sub(r"[^1-9]", "", new)) <= 2 for _, new in shorter), shorter[:5]


def test_a_house_has_logo_colours_and_typeface(tmp_path: Path) -> None:
    (tmp_path / "logo.svg").write_bytes(SVG % b"")
    Image.new("RGB", (8, 8)).save(tmp_path / "logo.png")
    (tmp_path / "a.otf").write_bytes((FONTS / "TiltyardSans-Regular.otf").read_bytes())
    text = '[look]\nlogo = "logo.{}"\nlogo_text = "A lance"\naccent = "#7a1f1f"\n'
    text += 'fonts = ["a.otf"]\nsystems = {{ xfs = "#102030" }}\n'
    document = without_pictures(made(tmp_path, text.format("svg")).document)
    pages = {one.name: one.render(document, study()) for one in FORMATS if one.name != "latex"}
    page = pages["html"]["index.html"].decode()
    assert 'alt="A lance"' in page
    assert "img-src data:;" in page
    assert "--accent: #7a1f1f;" in page
    assert "font-family: 'House'" in page
    assert document.look.painted(f'fill="{LIGHT[document.signs["xfs"][1]]}"') == 'fill="#102030"'
    night = document.look.colours["accent"][1]
    assert contrast(night, "#131618") >= 4.5
    assert pages["markdown"]["figures/logo.svg"] == SVG % b""
    assert texts_of(pages["pdf"]["report.pdf"])
    assert b"#7a1f1f" in pages["json"]["document.json"]
    assert made(tmp_path, text.format("png")).document.look.logo
    (tmp_path / "a.otf").write_bytes(b"no")
    assert "not an OpenType or TrueType font" in refusal(tmp_path, text.format("svg"))


@pytest.mark.parametrize(
    "inside",
    [
        b"<script>1</script>",
        b'<path onload="x"/>',
        b'<image href="http://a.example/"/>',
        b'<path style="fill:url(http://a.example/)"/>',
        b"<style>@import 'x'</style>",
        b"<open>",
    ],
)
def test_a_logo_neither_runs_nor_fetches(tmp_path: Path, inside: bytes) -> None:
    (tmp_path / "l.svg").write_bytes(SVG % inside)
    message = refusal(tmp_path, '[look]\nlogo = "l.svg"\nlogo_text = "x"')
    assert message.startswith("report.toml:2: look.logo: ")


PRINTED = Path(__file__).resolve().parents[2] / "published/linux-3.13"


def test_the_verb_warns_or_refuses_and_hides(tmp_path: Path) -> None:
    own = tmp_path / "own.toml"
    own.write_text('style = "article"\n[[text]]\nafter = "front"\ntext = "471,117 of them."\n')
    found = concluded(PRINTED, None, tmp_path / "out", edition=own)
    assert isinstance(found, Concluded)
    assert found.style.name == "article"
    with pytest.raises(UsageError, match=r"own\.toml:4: text\.text: 471,117 stands in no table"):
        write_report(found, (), strict=True)
    assert not (tmp_path / "out").exists()
    with pytest.warns(EditorsTextWarning, match=r"own\.toml:4"):
        document = found.document()
    assert "471,117" in dict(document.colophon)["not borne out"]


def test_what_is_taken_out_of_findings_is_taken_out_of_text(tmp_path: Path) -> None:
    own = edition(tmp_path, '[[text]]\ntext = "On /srv/ann and build07."\n')
    cleaned = own.without({"/srv/ann": "[path 1]", "build07": "[host 1]"})
    assert cleaned.file.text[0].text == "On [path 1] and [host 1]."
