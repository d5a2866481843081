"""Each kind of claim: true, false, and at the edge of rounding."""

from typing import Any

import pytest
from plugins.published.tests.audit.conftest import audited_claims, hold, small

from support.collections import KB
from tiltyard.collected.audited import Outcome
from tiltyard_published.audit.kinds import REGISTRY
from tiltyard_published.audit.scene import AbsentError, UnfitError
from tiltyard_published.claims import Claim
from tiltyard_published.derived import Derived

WRITES: dict[str, Any] = {"workload": "writes"}
READS: dict[str, Any] = {"workload": "reads"}
NEW = {"system": "new", "against": "old"}
AT_4 = {**WRITES, "at": {"record": "4KB"}}
TIMES = {**NEW, **WRITES, "word": "over", "reading": "as much", "times": "1"}
ORDER = {"better": "new", "than": "old"}
SUM = {"operation": "sum", "terms": ["17", "3"]}
RECORDS = {"operation": "quotient", "terms": ["16 GB", "1 MB"]}

CASES: list[tuple[str, dict[str, Any], Outcome]] = [
    # The geometric mean of 100, 200 and 400 is 200; rounding leaves 199.4 to 200.6 possible.
    ("mean", {**WRITES, "system": "old", "number": "200"}, "follows"),
    ("mean", {**WRITES, "system": "old", "number": "201"}, "rounding"),
    ("mean", {**WRITES, "system": "old", "number": "202"}, "contradicted"),
    ("mean", {**WRITES, "system": "old", "number": "233", "of": "mean"}, "follows"),
    ("mean", {**WRITES, "system": "old", "number": "235", "of": "mean"}, "contradicted"),
    # 150 / 100, but perhaps 149.5 / 100.5 or 150.5 / 99.5.
    ("advantage", {**NEW, **AT_4, "percent": "50.0"}, "follows"),
    ("advantage", {**NEW, **AT_4, "percent": "51.2"}, "rounding"),
    ("advantage", {**NEW, **AT_4, "percent": "51.4"}, "contradicted"),
    # Of a time it is what is saved: 1 - 8.0 / 9.0 = 11.1 %.
    ("advantage", {**NEW, **READS, "percent": "11.1"}, "follows"),
    ("advantage", {**NEW, **READS, "percent": "12.5"}, "contradicted"),
    # 1.5, 1.25 and 1.0025 times as much; the last may be less than 1 by rounding.
    ("times", TIMES, "follows"),
    ("times", {**TIMES, "times": "1.003"}, "rounding"),
    ("times", {**TIMES, "times": "1.2"}, "contradicted"),
    ("times", {**TIMES, "at": AT_4["at"], "word": "about", "times": "1.4"}, "follows"),
    ("times", {**TIMES, "at": AT_4["at"], "word": "nearly", "times": "1.5"}, "follows"),
    ("times", {**TIMES, "at": AT_4["at"], "word": "nearly", "times": "1.4"}, "contradicted"),
    ("times", {**TIMES, "at": AT_4["at"], "word": "at least", "times": "1.5"}, "follows"),
    ("times", {**TIMES, "at": AT_4["at"], "word": "at least", "times": "1.51"}, "rounding"),
    ("times", {**TIMES, "at": AT_4["at"], "word": "at least", "times": "1.52"}, "contradicted"),
    ("times", {**TIMES, "word": "up to", "times": "1.5"}, "follows"),
    ("times", {**TIMES, "word": "up to", "times": "1"}, "rounding"),
    ("times", {**TIMES, "word": "up to", "times": "2"}, "rounding"),
    ("times", {**TIMES, "word": "up to", "times": "3"}, "contradicted"),
    ("times", {**TIMES, "word": "up to", "times": "1.2"}, "contradicted"),
    ("times", {**TIMES, "word": "up to", "times": "1.4"}, "contradicted"),
    ("times", {**TIMES, "reading": "more", "word": "up to", "times": "0.5"}, "follows"),
    ("extreme", {**NEW, "of": "geometric-mean", "percent": "23.4"}, "follows"),
    ("extreme", {**NEW, "of": "geometric-mean", "percent": "24.5"}, "contradicted"),
    ("order", ORDER, "follows"),
    ("order", {**ORDER, "better": "old", "than": "new"}, "contradicted"),
    ("order", {**ORDER, "holds": "everywhere"}, "follows"),
    ("order", {**ORDER, "holds": "everywhere", "much": True}, "contradicted"),
    ("order", {**ORDER, "holds": "mostly", "much": True}, "follows"),
    ("order", {**ORDER, "much": True, "holds": "somewhere"}, "follows"),
    # 400 and 401 may both be 400.5, but not the other way round.
    ("order", {"better": "old", "than": "new", "holds": "somewhere"}, "contradicted"),
    ("order", {**ORDER, **READS, "much": True}, "follows"),
    ("similar", {**NEW, **READS}, "contradicted"),
    ("similar", {**NEW, **WRITES, "at": {"record": "16KB"}}, "follows"),
    ("flat", {**WRITES, "over": "record"}, "contradicted"),
    ("trend", {**WRITES, "over": "record", "change": "rises", "much": True}, "follows"),
    ("trend", {**WRITES, "over": "record", "change": "falls"}, "contradicted"),
    (
        "trend",
        {**WRITES, "over": "record", "system": "old", "change": "rises", "about_percent": "280"},
        "follows",
    ),
    (
        "trend",
        {**WRITES, "over": "record", "system": "old", "change": "rises", "about_percent": "100"},
        "contradicted",
    ),
    ("quoted", {**WRITES, "system": "new", "number": ["150", "250", "401"]}, "follows"),
    ("quoted", {**WRITES, "system": "new", "number": ["150", "205", "401"]}, "contradicted"),
    ("quoted", {**AT_4, "system": "new", "number": "151"}, "contradicted"),
    ("quoted", {**AT_4, "system": "new", "number": "150.4"}, "rounding"),
    ("same", {"says": "250,000", "elsewhere": "250000", "place": "a script"}, "follows"),
    ("same", {"says": "28M", "elsewhere": "8M", "place": "a command"}, "contradicted"),
    ("count", {"count": 2, "of": "systems"}, "follows"),
    ("count", {**WRITES, "count": 4, "of": "points"}, "contradicted"),
    ("count", {"count": 2, "of": "metrics"}, "follows"),
    ("count", {"count": 3, "of": "items", "items": ["a", "b", "c"]}, "follows"),
    ("arithmetic", {**SUM, "result": "20"}, "follows"),
    ("arithmetic", {**SUM, "result": "21"}, "contradicted"),
    ("arithmetic", {**RECORDS, "result": "16,384"}, "follows"),
    ("arithmetic", {**RECORDS, "result": "16,000"}, "contradicted"),
    ("arithmetic", {**RECORDS, "result": "16,000", "rounded_to": "1,000"}, "rounding"),
    ("deviation", {**READS, "less_than_percent": "7"}, "follows"),
    ("deviation", {**READS, "less_than_percent": "6.25"}, "rounding"),
    ("deviation", {**READS, "less_than_percent": "5"}, "contradicted"),
    ("extent", {**WRITES, "over": "record", "from": "4KB", "to": "16KB"}, "follows"),
    ("extent", {**WRITES, "over": "record", "from": "4KB", "to": "64KB"}, "contradicted"),
    ("listed", {"item": "8", "among": ["1", "8"], "place": "there"}, "follows"),
    ("listed", {"item": "30", "among": ["1", "8"], "place": "there"}, "contradicted"),
    ("columns", {"fields": 2, "besides": 1, "ranges": ["1-8", "9-16", "17-24"]}, "follows"),
    ("columns", {"fields": 3, "ranges": ["1-8", "9-16", "10-24"]}, "contradicted"),
    ("columns", {"fields": 4, "ranges": ["1-8", "9-16", "17-24"]}, "contradicted"),
    ("columns", {"fields": 3, "ranges": ["17-24", "1-8", "9-16"]}, "follows"),
    # 9.0 and 8.0 with standard errors of 0.16 are apart; without a spread nothing is.
    ("separated", READS, "follows"),
    ("separated", WRITES, "open"),
    ("undecidable", {"lacks": "numbers", "because": "It is a picture"}, "open"),
]


@pytest.mark.parametrize(("kind", "states", "outcome"), CASES)
def test_the_outcome_of_a_claim(kind: str, states: dict[str, Any], outcome: Outcome) -> None:
    held = hold(kind, states)
    assert held.outcome == outcome, held.sentence
    assert held.sentence.endswith(".")


def test_every_kind_is_tried() -> None:
    assert {kind for kind, *_ in CASES} == {kind.name for kind in REGISTRY}


def test_a_difference_within_its_error_bars_is_open() -> None:
    collection = small()
    reads = collection.workloads[1]
    near = tuple(
        one.model_copy(update={"mean": mean})
        for one, mean in zip(reads.readings, (9.0e-6, 8.9e-6), strict=True)
    )
    disturbed = collection.model_copy(
        update={"workloads": (reads.model_copy(update={"readings": near}),)}
    )
    held = hold("separated", READS, disturbed)
    assert held.outcome == "open"
    assert held.found == "0 of 1 pair separated"
    assert "old / new" in held.sentence


def test_a_last_digit_that_was_rounded_twice_is_explained() -> None:
    held = hold("advantage", {**NEW, **READS, "percent": "11"})
    assert held.outcome == "follows"
    readings = tuple(
        one.model_copy(update={"mean": mean * 1024})
        for one, mean in zip(
            small().workloads[0].readings, (1e6, 1, 1, 1_651_462, 1, 1), strict=True
        )
    )
    writes = small().workloads[0].model_copy(update={"readings": readings})
    rounded = small().model_copy(update={"workloads": (writes,)})
    held = hold("advantage", {**NEW, **AT_4, "percent": "65.2"}, rounded)
    assert held.outcome == "rounding"
    assert "rounded to 65.15 and then again it becomes 65.2" in held.sentence
    for other in ("65.0", "65.3", "65.14"):
        held = hold("advantage", {**NEW, **AT_4, "percent": other}, rounded)
        assert held.outcome == "contradicted"
        assert "rounded to" not in held.sentence


def test_sentences_say_by_which_bound_a_word_was_judged() -> None:
    nearly = {**TIMES, "at": AT_4["at"], "word": "nearly", "times": "2"}
    assert "nearly 2, taken as 1.7 to 2" in hold("times", nearly).sentence
    assert "up to 10 %" in hold("flat", {**WRITES, "over": "record"}).sentence


def test_what_goes_against_a_claim_that_holds_on_average_is_told() -> None:
    held = hold("order", {**ORDER, "much": True, **WRITES})
    assert held.outcome == "follows"
    assert "not at 1" in held.sentence
    assert "16 KiB record" in held.sentence


@pytest.mark.parametrize(
    ("kind", "states", "key"),
    [
        ("mean", {**WRITES, "system": "newer", "number": "1"}, "system"),
        ("mean", {"workload": "write", "system": "new", "number": "1"}, "workload"),
        ("mean", {"system": "new", "number": "1"}, "metric"),
        ("mean", {**WRITES, "metric": "rate", "system": "new", "number": "1"}, "metric"),
        ("mean", {**WRITES, "at": {"file": 1}, "system": "new", "number": "1"}, "at"),
        ("mean", {**WRITES, "at": {"record": 1}, "system": "new", "number": "1"}, "at"),
        ("mean", {**WRITES, "at": {"record": "big"}, "system": "new", "number": "1"}, "at"),
        ("advantage", {**NEW, **WRITES, "percent": "1"}, "at"),
        ("flat", {**WRITES, "over": "file"}, "over"),
        ("flat", {**AT_4, "over": "record"}, "over"),
        ("quoted", {**WRITES, "system": "new", "number": "150"}, "number"),
        ("count", {"count": 1, "of": "items"}, "items"),
        ("same", {"says": ["a", "b"], "elsewhere": "a", "place": "there"}, "elsewhere"),
        ("separated", {**READS, "system": "new", "against": ["old", "new"]}, "against"),
        ("deviation", {**WRITES, "less_than_percent": "1"}, "workload"),
        ("order", {"better": ["old", "new"], "than": "new"}, "than"),
        ("times", {**TIMES, "against": "new"}, "against"),
        ("extent", {**WRITES, "over": "record", "from": "4KB", "to": "more"}, "to"),
        (
            "arithmetic",
            {**SUM, "terms": ["9" * 300, "9" * 300], "operation": "product", "result": "1"},
            "terms",
        ),
    ],
)
def test_a_claim_about_what_is_not_there(kind: str, states: dict[str, Any], key: str) -> None:
    with pytest.raises(UnfitError) as error:
        hold(kind, states)
    assert error.value.key == key


def test_ranges_that_overlap_are_told_together() -> None:
    """`cut` joins all that share a column, not only neighbours."""
    ranges = ["25-32", "33-40", "41-49", "40-58", "59-66", "66-70"]
    held = hold("columns", {"fields": 6, "ranges": ranges})
    assert "33-40, 41-49, 40-58; 59-66, 66-70 overlap and come out as one" in held.sentence


def test_what_is_not_varied_does_not_count_for_how_far_it_was_varied() -> None:
    collection = small()
    one = collection.workloads[0]
    wide = one.model_copy(
        update={
            "name": "wide",
            "readings": (one.readings[0].model_copy(update={"at": {"record": 1 << 20}}),),
        }
    )
    both = collection.model_copy(update={"workloads": (one, wide)})
    held = hold("extent", {"over": "record", "from": "4KB", "to": "16KB"}, both)
    assert held.outcome == "follows"
    assert "not varied: wide 1 MiB" in held.sentence
    alone = {"workload": "wide", "over": "record", "from": "4KB", "to": "1MB"}
    assert hold("extent", alone, both).outcome == "contradicted"


def test_as_much_is_not_more_but_the_other_reading_is_told() -> None:
    nearly = {**NEW, **AT_4, "word": "nearly", "times": "0.5"}
    held = hold("times", {**nearly, "reading": "as much"})
    assert held.outcome == "contradicted"
    assert "the ratio is 150 / 100 = 1.500" in held.sentence
    assert "the ratio less 1, 0.50, would fit" in held.sentence
    assert hold("times", {**nearly, "reading": "more"}).outcome == "follows"


def test_an_advantage_shows_what_it_was_calculated_with() -> None:
    sentence = hold("advantage", {**NEW, **AT_4, "percent": "50.0"}).sentence
    assert "150 KB/s against 100 KB/s" in sentence


def test_an_advantage_may_rest_on_the_printed_means() -> None:
    """The means of the cells are 267 and 233; a table prints others, and its own advantage."""
    means = tuple(
        Derived(
            id=name,
            where="table 1",
            kind="mean",
            workload="writes",
            metric="throughput",
            system=name,
            text=text,
            value=int(text) * 1024,
            printed=KB,
        )
        for name, text in (("new", "300"), ("old", "200"))
    )
    states = {**NEW, **WRITES, "of": "mean"}
    for percent, outcome in (("14.4", "follows"), ("50.0", "follows"), ("30.0", "contradicted")):
        held = hold("advantage", {**states, "percent": percent}, derived=means)
        assert held.outcome == outcome
        assert "from the printed means, 300 and 200, 50.000 %" in held.sentence
    assert hold("advantage", {**states, "percent": "50.0"}).outcome == "contradicted"
    zero = (means[0], means[1].model_copy(update={"text": "0"}))
    held = hold("advantage", {**states, "percent": "14.4"}, derived=zero)
    assert "printed means" not in held.sentence


def test_a_largest_advantage_that_was_rounded_twice_is_explained() -> None:
    readings = tuple(
        one.model_copy(update={"mean": mean * 1024})
        for one, mean in zip(
            small().workloads[0].readings, (1e6, 1e6, 1e6, *[1_651_462] * 3), strict=True
        )
    )
    writes = small().workloads[0].model_copy(update={"readings": readings})
    rounded = small().model_copy(update={"workloads": (writes,)})
    held = hold("extreme", {**NEW, "of": "geometric-mean", "percent": "65.2"}, rounded)
    assert held.outcome == "rounding"
    assert "rounded to 65.15 and then again it becomes 65.2" in held.sentence


def test_a_remark_stands_after_the_sentence() -> None:
    own = next(one for one in REGISTRY if one.name == "count")
    states = own.states.model_validate({"count": 3, "of": "systems"})
    claim = Claim("three", "page 1", "Three were tried", "count", states, "One was left out")
    (found,) = audited_claims(small(), claim)
    assert found.sentence == "There are 2: old, new. One was left out."


@pytest.mark.parametrize("kind", ["order", "separated", "similar"])
def test_what_is_printed_of_one_alone_decides_nothing(kind: str) -> None:
    collection = small()
    reads = collection.workloads[1]
    alone = reads.model_copy(update={"readings": reads.readings[:1]})
    states = {"order": ORDER, "similar": NEW, "separated": {"system": ["old", "new"]}}[kind]
    with pytest.raises(AbsentError):
        hold(kind, {**READS, **states}, collection.model_copy(update={"workloads": (alone,)}))


def test_nothing_is_a_share_of_zero() -> None:
    collection = small()
    writes = collection.workloads[0]
    zero = writes.readings[0].model_copy(update={"mean": 0.0})
    none = writes.model_copy(update={"readings": (zero, *writes.readings[1:])})
    with pytest.raises(AbsentError, match="old has no positive number at throughput, 4 KiB record"):
        hold("order", {**ORDER, **WRITES}, collection.model_copy(update={"workloads": (none,)}))


def test_a_number_without_digits_after_the_point_was_not_rounded_twice() -> None:
    held = hold("mean", {**READS, "system": "old", "number": "1" + 30 * "0"})
    assert held.outcome == "contradicted"
    collection = small()
    reads = collection.workloads[1]
    huge = reads.model_copy(
        update={"readings": (reads.readings[0].model_copy(update={"mean": 1e200}),)}
    )
    collection = collection.model_copy(update={"workloads": (huge,)})
    assert hold("mean", {**READS, "system": "old", "number": "1.0"}, collection).outcome == (
        "contradicted"
    )


def test_an_audited_claim_keeps_what_was_printed() -> None:
    own = next(one for one in REGISTRY if one.name == "count")
    states = own.states.model_validate({"count": 2, "of": "systems"})
    (found,) = audited_claims(small(), Claim("two", "page 1", "Two were tried", "count", states))
    assert (found.id, found.where, found.claim) == ("two", "page 1", "Two were tried")
    assert (found.stated, found.found, found.outcome) == ("2", "2", "follows")
