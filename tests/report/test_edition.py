"""report.toml: what an editor adds, in every format, checked as generated text is."""

import json
import re
from io import BytesIO
from pathlib import Path

import pptx
import pytest

from support.editions import (
    SHAPES,
    edition,
    made,
    refusal,
    sections,
    study,
    study_document,
    without_pictures,
)
from support.printed_verdicts import READERS, contradictions, text_in
from support.sessions import synthetic_sessions
from support.shapes import Shape, card
from support.synthetic import SHAPES as KNOWN
from support.synthetic import synthetic_study
from tiltyard.analysis.findings import analyse
from tiltyard.analysis.pairs import turned
from tiltyard.analysis.sessions import analyse_sessions
from tiltyard.analysis.weighted import gain_of, spendings
from tiltyard.app import report
from tiltyard.app.report import Concluded, concluded, write_report
from tiltyard.errors import EditorsTextWarning, UsageError
from tiltyard.folder import StudyFolder
from tiltyard.report.document import Column, Document, Entry, Paragraph, Section, Table, texts_of
from tiltyard.report.edition.apply import edited
from tiltyard.report.formats import FORMATS
from tiltyard.report.redaction import redacted
from tiltyard.report.sections.entries import MISSING
from tiltyard.report.styles import STYLES

GUIDE = Path(__file__).resolve().parents[2] / "docs/guides/own-name.md"
STUDIES = Path(__file__).resolve().parents[2] / "studies"
LOAD = Shape((card("heap", "heap", "B", "lower"),), {"heap": 3.0})


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


def test_the_example_of_a_ready_study_is_one(tmp_path: Path) -> None:
    assert (STUDIES / "database.toml").is_file()
    document = made(tmp_path, (STUDIES / "database/report.toml").read_text()).document
    assert document.title != study_document().title
    assert "authors-1" in sections(document)


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
        ('[sections]\nonly = ["limits"]\nfirst = ["rules"]', "Fix: leave out first and leave_out"),
        ('[sections]\nonly = ["limits"]\nleave_out = ["rules"]', "Fix: leave out first and"),
        ('[sections]\nfirst = ["PART"]', "Fix: name a section of the first level"),
        ('[sections]\nleave_out = ["PART"]', "Fix: name a section of the first level"),
        ('[[text]]\ntext = "x"\ntitle = "y"\nbefore = "front"', 'Fix: after = "front"'),
        ('[[note]]\ntext = """\n- a\n\n> b\n"""\nsystem = "xfs"', "Fix: use [[text]]"),
        ('[[note]]\ntext = "`a`\\n\\n    b"\nsystem = "xfs"', "Fix: use [[text]]"),
        ('[[text]]\ntext = "Some 4,731."\nfrom_elsewhere = ["31"]', "does not stand in the text"),
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
    part = next(one for section in study_document().sections for one in section.sections)
    message = refusal(tmp_path, text.replace("PART", part.id))
    assert re.match(r"report\.toml:\d+: ", message)
    assert says in message


def test_texts_and_notes_of_one_place_stand_in_the_order_of_the_file(tmp_path: Path) -> None:
    places = [
        f'{side} = "{where}"' for side in ("before", "after") for where in ("front", "limits")
    ]
    texts = [f'[[text]]\ntext = "{one}"\n{place}\n{title}' for place in places
             for title in ("", 'title = "T"\n') for one in ("One.", "Two.")
             if not (title and place == 'before = "front"')]  # fmt: skip
    notes = [f'[[note]]\nworkload = "chore"\ntext = "{one}"\n' for one in ("One.", "Two.")]
    document = made(tmp_path, "".join(texts + notes)).document
    said = [one.rpartition(" ")[2] for one in texts_of(document.blocks())]
    assert [one for one in said if one in ("One.", "Two.")] == ["One.", "Two."] * 8
    assert isinstance(document.front[0], Paragraph)
    assert document.front[0].text == "One."


def test_a_section_is_printed_once_and_figures_left_out_are_named(tmp_path: Path) -> None:
    figure = next(study_document().figures()).id
    text = f'[sections]\nfirst = ["limits", "Limitations"]\n[figures]\nleave_out = ["{figure}"]'
    document = made(tmp_path, text).document
    assert sections(document)[0] == "limits"
    assert sections(document).count("limits") == 1
    assert dict(document.colophon)["left out by the authors"] == figure


def test_a_note_on_a_workload_without_a_section_stands_at_its_first_table(tmp_path: Path) -> None:
    workloads = tuple(one.model_copy(update={"title": f"{one.name.title()} test"})
                      for one in study().workloads)  # fmt: skip
    findings = study().model_copy(update={"workloads": workloads})
    table = Table("own", "Tests", (Column("Test", figures=False),), ((Entry("Chore test"),),))
    document = Document("study", "T", sections=(Section("all", "All", (table,)),))
    note = edition(tmp_path, '[[note]]\nworkload = "chore"\ntext = "Ours."')
    (made_of,) = edited(document, findings, note, lambda: [document]).document.tables()
    assert made_of.caption == "Note on Chore test: Ours."


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


def test_verdicts_on_means_and_costs_are_marked_as_all_others_are(tmp_path: Path) -> None:
    text = "[weights]\npostmark = 3\n[cost]\nprice = { ext4 = 100, xfs = 250, btrfs = 300 }\n"
    findings = study().model_copy(update={"under_load": "2 of the 10 blocks were disturbed"})
    document = STYLES[0].compose(findings)
    told = edited(document, findings, edition(tmp_path, text), lambda: [document]).document
    tables = {table.id: table for table in told.tables()}
    for name in ("weighted-mean", "cost-price"):
        words = {row[-1].text for row in tables[name].rows} - {"undecided", "–"}
        assert words, name
        assert all(word.endswith(", under load") for word in words), words


def test_equal_prices_have_the_verdicts_of_the_findings() -> None:
    several = analyse(
        *synthetic_study(
            workloads=("iozone", "chore", "load"), effects={"xfs": 1.04}, noise=0.03,
            shapes={**SHAPES, "iozone": KNOWN["iozone"], "load": LOAD},
        )
    )  # fmt: skip
    assert several.workloads[0].by_metric
    found = [*spendings(several, "price", {"ext4": 7, "xfs": 7, "btrfs": 7})]
    assert [one.index.name for one in found] == ["iozone", "chore"]
    turned_round = {"faster": "slower", "slower": "faster"}
    for one in found:
        for own in one.systems[1:]:
            assert own.ratio
            verdict = gain_of(one.index, own.system, "ext4").verdict
            assert own.ratio.verdict == turned_round.get(verdict, verdict)


def test_where_the_baseline_has_no_price_nothing_is_relative_to_it(tmp_path: Path) -> None:
    document = made(tmp_path, "[cost]\nprice = { xfs = 150, btrfs = 9 }\n").document
    (table,) = (one for one in document.tables() if one.id == "cost-price")
    assert {row[2].text for row in table.rows} == {"xfs", "btrfs"}
    assert {row[4] for row in table.rows} == {MISSING}


def test_notes_digits_and_figures(tmp_path: Path) -> None:
    ids = [figure.id for figure in study_document().figures()]
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
    before = {t.id: t for t in study_document().tables()}
    shorter = [
        (old.text, new.text)
        for table in document.tables()
        for row, was in zip(table.rows, before[table.id].rows, strict=True)
        for new, old in zip(row, was, strict=True)
        if new.text != old.text
    ]
    assert shorter
    for old, new in ((float(o.replace(",", "")), float(n.replace(",", ""))) for o, n in shorter):
        assert new == float(f"{new:.2g}")
        assert new == pytest.approx(old, rel=0.051)


def test_slides_have_the_authors(tmp_path: Path) -> None:
    document = without_pictures(made(tmp_path, 'authors = ["Ann Other", "Ben"]').document)
    (slides,) = (one for one in FORMATS if one.name == "pptx")
    deck = pptx.Presentation(BytesIO(slides.render(document, study())["report.pptx"]))
    assert deck.core_properties.author == "Ann Other, Ben"


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


def test_a_run_ends_with_the_report_in_the_style_of_the_editor(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sessions = synthetic_sessions((0.1,), 1)
    monkeypatch.setattr(report, "read_sessions", lambda _: sessions)
    edition(tmp_path, 'style = "article"')
    article = next(one for one in STYLES if one.name == "article")
    wanted = sections(article.compose(report.conclude(StudyFolder(tmp_path))))
    page = (tmp_path / "report/index.html").read_text()
    assert wanted != sections(STYLES[0].compose(analyse_sessions(sessions)))
    assert [id for id in re.findall(r'<section id="([^"]+)"', page) if id in wanted] == wanted


def test_what_is_taken_out_of_findings_is_taken_out_of_text(tmp_path: Path) -> None:
    text = 'style = "article"\nauthors = ["Ann Other of build07"]\ntitle = "On build07"\n'
    text += (
        '[[text]]\ntext = "As ann was planning on build07: 10.1.2.3, /srv/ann, --token=pst-1."\n'
    )
    text += '[look]\nlogo = "build07/l.svg"\nlogo_text = "build07"\nfonts = ["build07/a.otf"]\n'
    text += 'systems = { build07 = "#102030" }\n'
    cleaned = redacted(study(), hosts=["build07"], users=["ann"])
    own = edition(tmp_path, text).without(cleaned.clean).file
    assert (own.title, own.authors, own.style) == (
        "On [host 1]",
        ("Ann Other of build07",),
        "article",
    )
    assert own.text[0].text.startswith(
        "As [user 1] was planning on [host 1]: [address 1], [path 1], "
    )
    assert own.text[0].text.endswith("--token=[secret 1]")
    assert own.look.logo_text == "[host 1]"
    assert (own.look.logo, own.look.fonts) == ("build07/l.svg", ("build07/a.otf",))
    assert [*own.look.systems] == ["[host 1]"]
    assert {"[address 1]  10.1.2.3", "[path 1]  /srv/ann"} <= {*cleaned.lines}
