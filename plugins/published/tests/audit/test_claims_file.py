"""``claims.toml``: errors name file, line, claim and key, and what would be right."""

from pathlib import Path

import pytest
from plugins.published.tests.audit.conftest import small

from tiltyard.collected.model import PrintedAs
from tiltyard.errors import UsageError
from tiltyard_published.audit.kinds import REGISTRY
from tiltyard_published.claims import read_claims
from tiltyard_published.derived import Derived
from tiltyard_published.read import Publication
from tiltyard_published.study import audited

KINDS = {kind.name: kind.states for kind in REGISTRY}
GOOD = """\
# What the study states.
[[claim]]
id      = "half-as-much-again"
where   = "page 1"
text    = "the new one wrote 50.0 percent more"
kind    = "advantage"
percent = "50.0"
system  = "new"
against = "old"
workload = "writes"
at      = { record = "4KB" }
"""


def audit_of(folder: Path, text: str, derived: tuple[Derived, ...] = ()) -> list[str]:
    (folder / "claims.toml").write_text(text)
    found = audited(folder, Publication(collection=small(), style="article", derived=derived))
    return [f"{one.id}: {one.outcome}" for one in found]


def test_a_claim_is_read_and_held(tmp_path: Path) -> None:
    assert audit_of(tmp_path, GOOD) == ["half-as-much-again: follows", "what-was-not-kept: open"]


def test_a_study_without_claims_has_its_derived_numbers(tmp_path: Path) -> None:
    found = audited(tmp_path, Publication(collection=small(), style="article", derived=()))
    assert [one.id for one in found] == ["what-was-not-kept"]


@pytest.mark.parametrize(
    ("typed", "instead", "message"),
    [
        (
            'kind    = "advantage"',
            'kind    = "advantages"',
            '6: claim.kind: in "half-as-much-again": "advantages" is not a kind of claim. One of: ',
        ),
        ('percent = "50.0"', "percent = 50.0", '7: claim.percent: in "half-as-much-again": 50.0'),
        ('percent = "50.0"', 'percent = "half"', '"half" is not a printed number. Write it like'),
        ('percent = "50.0"\n', "", '2: claim.percent: in "half-as-much-again": is missing.'),
        (
            "[[claim]]",
            '[[claim]]\npercents = "1"',
            '3: claim.percents: in "half-as-much-again": there is no such key. One of: ',
        ),
        (
            'system  = "new"',
            'system  = "now"',
            '8: claim.system: in "half-as-much-again": "now" is',
        ),
        ('system  = "new"', 'system  = "now"', 'One of: old, new. Did you mean "new"?'),
        ('"writes"', '"write"', '10: claim.workload: in "half-as-much-again": "write" is not a'),
        ('record = "4KB"', 'records = "4KB"', '11: claim.at: in "half-as-much-again": "records"'),
        ('record = "4KB"', 'record = "5KB"', "11: claim.at: "),
        ('record = "4KB"', "record = { from = 1 }", "11: claim.at.record: "),
        ('record = "4KB"', "record = { from = 1, to = true }", "true is neither a point nor a"),
        ("[[claim]]", "[[claims]]", "2: claims: "),
        ("[[claim]]", "[claim]", "2: claim: claims stand under headers [[claim]]"),
        ('where   = "page 1"\n', "", "2: claim.where: "),
        ('"page 1"', '"page 1', "4: this is not TOML"),
    ],
)
def test_an_error_names_line_claim_and_key(
    tmp_path: Path, typed: str, instead: str, message: str
) -> None:
    assert typed in GOOD
    with pytest.raises(UsageError) as error:
        audit_of(tmp_path, GOOD.replace(typed, instead))
    assert str(error.value).startswith(f"{tmp_path}/claims.toml:")
    assert message in str(error.value)


def test_a_name_that_is_no_text(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r'claims\.toml:3: claim\.id: \["x"\] is not text'):
        audit_of(tmp_path, GOOD.replace('"half-as-much-again"', '["x"]'))


def test_claims_that_are_no_file(tmp_path: Path) -> None:
    (tmp_path / "claims.toml").mkdir()
    with pytest.raises(UsageError, match=r"claims\.toml: Is a directory"):
        audited(tmp_path, Publication(collection=small(), style="article", derived=()))


def test_what_could_be_printed_and_is_not_leaves_a_claim_open(tmp_path: Path) -> None:
    collection = small()
    writes = collection.workloads[0]
    fewer = writes.model_copy(update={"readings": writes.readings[1:]})
    partial = collection.model_copy(update={"workloads": (fewer,)})
    (tmp_path / "claims.toml").write_text(GOOD)
    publication = Publication(collection=partial, style="article", derived=())
    found, _ = audited(tmp_path, publication)
    assert found.outcome == "open"
    assert found.sentence.endswith("old has no number at throughput, 4 KiB record.")


def test_two_claims_of_one_name(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"claims\.toml:13: claim\.id: .* another claim has the"):
        audit_of(tmp_path, GOOD + GOOD.partition("\n")[2])


def test_a_claim_may_not_take_the_name_of_a_derived_number(tmp_path: Path) -> None:
    derived = Derived(
        id="half-as-much-again",
        where="table 1",
        kind="mean",
        workload="writes",
        metric="throughput",
        system="new",
        text="267",
        value=267 * 1024,
        printed=PrintedAs(unit="KB/s", factor=1024, decimals=0),
    )
    with pytest.raises(UsageError, match=r":3: claim\.id: .* name of a derived number"):
        audit_of(tmp_path, GOOD, (derived,))


def test_a_derived_number_without_its_cells_is_open(tmp_path: Path) -> None:
    collection = small()
    writes = collection.workloads[0]
    fewer = collection.model_copy(
        update={"workloads": (writes.model_copy(update={"readings": writes.readings[:5]}),)}
    )
    derived = Derived(
        id="mean-of-new",
        where="table 1",
        kind="mean",
        workload="writes",
        metric="throughput",
        system="new",
        text="267",
        value=267 * 1024,
        printed=PrintedAs(unit="KB/s", factor=1024, decimals=0),
    )
    publication = Publication(collection=fewer, style="article", derived=(derived,))
    found, _ = audited(tmp_path, publication)
    assert found.outcome == "open"
    assert "Not all that it is calculated of is printed" in found.sentence


def test_nothing_in_a_claim_is_executed(tmp_path: Path) -> None:
    text = GOOD.replace('"50.0"', "\"__import__('os')\"")
    with pytest.raises(UsageError, match="is not a printed number"):
        audit_of(tmp_path, text)


def test_a_file_that_is_no_text(tmp_path: Path) -> None:
    path = tmp_path / "claims.toml"
    path.write_bytes(b"\xff\xfe")
    with pytest.raises(UsageError, match="not a text file"):
        read_claims(path, KINDS)
