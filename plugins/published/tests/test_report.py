"""``tiltyard report published/…``: everything goes elsewhere, and nothing is made up."""

from pathlib import Path

import pytest

from support.publications import PUBLISHED
from tiltyard.analysis.collected import analyse_collection
from tiltyard.app.report import concluded, write_report
from tiltyard.errors import RefusedError, UsageError
from tiltyard_published.read import Publication


def test_a_report_goes_to_a_folder_of_its_name_here(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = tmp_path / "here"
    here.mkdir()
    monkeypatch.chdir(here)
    before = sorted(folder.rglob("*"))
    pages = write_report(concluded(folder, "study", None))
    assert pages == [Path("small/index.html")]
    assert pages[0].is_file()
    assert Path("small/findings.json").is_file()
    assert sorted(folder.rglob("*")) == before


def test_or_where_it_is_told(tmp_path: Path) -> None:
    found = concluded(PUBLISHED / "linux-3.13", "study", tmp_path / "page")
    assert found.folder == tmp_path / "page"
    write_report(found)
    assert (tmp_path / "page/findings.json").is_file()


@pytest.mark.parametrize("mark", ["published.toml", "study.toml"])
def test_never_over_another_study(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mark: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "linux-3.13").mkdir()
    (tmp_path / "linux-3.13" / mark).touch()
    with pytest.raises(RefusedError, match=r"linux-3\.13: a study is there; --output"):
        concluded(PUBLISHED / "linux-3.13", "study", None)


def test_a_study_without_numbers_has_no_verdict(publications: dict[str, Publication]) -> None:
    findings = analyse_collection(publications["postmark-systems"].collection)
    assert findings.answer == "No verdict on PostMark: fewer than two systems have values."
    assert any("prints its results as pictures" in notice.text for notice in findings.notices)
    assert all(workload.cells == () for workload in findings.workloads)


def test_what_a_study_did_not_keep_stands_beside_it(publications: dict[str, Publication]) -> None:
    for study in publications.values():
        findings = analyse_collection(study.collection)
        texts = [notice.text for notice in findings.notices]
        assert texts[-len(study.collection.kept.limits) :] == list(study.collection.kept.limits)


def test_a_style_that_is_none_is_told_with_its_file(folder: Path, tmp_path: Path) -> None:
    file = folder / "published.toml"
    file.write_text(file.read_text().replace('"article"', '"artcle"'))
    with pytest.raises(
        UsageError, match=r'published\.toml: style: "artcle" is not a style\. One of'
    ):
        concluded(folder, None, tmp_path / "page")


def test_pairs_are_those_that_the_white_paper_compares(
    publications: dict[str, Publication],
) -> None:
    study = publications["iozone-rhel6"]
    stated = {
        (n.system, n.against) for n in study.derived if n.kind == "advantage" and n.of is not None
    }
    systems, *_ = analyse_collection(study.collection).advantages
    assert {(pair.system, pair.against) for pair in systems.pairs} == stated
