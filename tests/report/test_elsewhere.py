"""A study that was not run here: what does not exist is left out, and what is known is shown."""

import pytest

from support.in_print import printed_grids
from support.pages import page_of, part_of, rows_of
from support.reading import Reading
from tiltyard.analysis.collected import analyse_collection
from tiltyard.analysis.model import Findings
from tiltyard.analysis.statements.registry import rules
from tiltyard.collected.audited import Audited

CLAIMS = (
    ("a", "contradicted", "38.4 %", "33.4 %"),
    ("b", "open", "faster", ""),
    ("c", "follows", "7.8 %", "7.8 %"),
)


@pytest.fixture(scope="module")
def elsewhere() -> Findings:
    """Printed grids with three claims."""
    claims = tuple(
        Audited.model_validate(
            {
                "id": id,
                "where": f"page {id}",
                "kind": "delta",
                "claim": f"Claim {id} <1>.",
                "stated": stated,
                "found": found,
                "outcome": outcome,
                "sentence": f"What follows of {id}.",
            }
        )
        for id, outcome, stated, found in CLAIMS
    )
    return analyse_collection(printed_grids(), claims)


@pytest.fixture(scope="module")
def page(elsewhere: Findings) -> str:
    return page_of(elsewhere)


def test_sections_without_anything_to_tell_are_left_out(page: str) -> None:
    for id in ("order", "disturbed", "deviations", "trials", "record", "calibration"):
        assert f'id="{id}"' not in page
    text = Reading(page).text
    for words in ("seed", "trials kept", "Nothing that was recorded differs", "kernel said"):
        assert words not in text


def test_the_origin_and_its_limits_are_told(elsewhere: Findings, page: str) -> None:
    assert elsewhere.provenance is not None
    assert elsewhere.provenance.title in Reading(part_of(page, "origin")).text
    limits = Reading(part_of(page, "limits")).text
    assert "Limitations of these data" in limits
    assert [n.text for n in elsewhere.notices if " ".join(n.text.split()) not in limits] == []


def test_claims_stand_by_outcome_the_gravest_first(page: str) -> None:
    rows = rows_of(part_of(page, "audit"))
    own = [row for row in rows if row.startswith("page")]
    assert [row.split()[1] for row in own] == ["a", "b", "c"]
    assert own[0] == "page a Claim a <1>. 38.4 % 33.4 % What follows of a."
    assert own[1] == "page b Claim b <1>. faster What follows of b."


def test_every_rule_has_its_line(elsewhere: Findings, page: str) -> None:
    rows = rows_of(part_of(page, "rules"))
    for rule in rules(elsewhere):
        assert any(
            row.startswith(f"{rule.number} ") and f" {rule.outcome} {rule.sentence}" in row
            for row in rows
        ), rule.number
