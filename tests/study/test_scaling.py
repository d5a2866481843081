"""A study made smaller: what is an amount of work, and what is not."""

from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel, JsonValue

from support.catalogue import CATALOGUE, IOZONE
from tiltyard.errors import UsageError
from tiltyard.executors.engine import Engine
from tiltyard.study.amounts import larger
from tiltyard.study.load import read_study
from tiltyard.study.model import Study
from tiltyard.study.scaling import parse_scale, scaled
from tiltyard.systems import KINDS
from tiltyard.wire import Catalogue

SIZES = {"anyOf": [{"type": "integer"}, {"type": "array"}]}
WORK = IOZONE.model_copy(
    update={
        "name": "work",
        "parameters": {
            "type": "object",
            "properties": {
                "file": {**SIZES, "amount": "bytes", "least": 65536, "default": [1 << 30]},
                "record": {**SIZES, "within": "file", "default": [4096]},
                "files": {"type": "integer", "amount": "count", "minimum": 20, "default": 1000},
                "seconds": {"type": "number", "amount": "seconds", "least": 0.1, "default": 10.0},
                "bytes": {"type": ["integer", "null"], "amount": "bytes", "default": None},
                "auto": {"anyOf": [{"$ref": "#/$defs/Auto"}, {"type": "null"}], "default": None},
                "block": {"type": "integer", "default": 4096},
            },
            "$defs": {
                "Auto": {
                    "type": "object",
                    "properties": {"most": {**SIZES, "amount": "bytes"}, "by": {"type": "integer"}},
                }
            },
        },
    }
)
KNOWN = Catalogue(
    protocol=CATALOGUE.protocol, engine="test", backends=[], workloads=[*CATALOGUE.workloads, WORK]
)


def study(parameters: str, backing: str = "64G") -> Study:
    text = (
        'question = "Which?"\n'
        'factors.filesystem = ["ext4", "xfs"]\n'
        f'systems.backing = {{ image = "{backing}" }}\n'
        f'[[workload]]\nuse = "work"\n{parameters}\n'
    )
    return read_study(text, Path("study.toml"), KNOWN, KINDS)


def parameters(typed: str, fraction: str = "1/64") -> dict[str, Any]:
    return scaled(study(typed), Fraction(fraction), KNOWN, KINDS).workloads[0].parameters


@pytest.mark.parametrize(
    ("typed", "fraction"),
    [("1/64", Fraction(1, 64)), ("0.01", Fraction(1, 100)), (".5", Fraction(1, 2)), ("1", 1)],
)
def test_a_scale_is_a_part_of_the_whole(typed: str, fraction: Fraction) -> None:
    assert parse_scale(typed) == fraction


@pytest.mark.parametrize(
    "typed", ["0", "2", "1/0", "64/1", "-1/2", "1%", "half", "", "1e-3", "0.0"]
)
def test_and_nothing_else(typed: str) -> None:
    with pytest.raises(UsageError, match=r'--scale: ".*" is no part of the whole'):
        parse_scale(typed)


def test_files_of_a_grid_stay_powers_of_two_and_none_is_there_twice() -> None:
    found = parameters('file = ["1M", "2M", "8M", "16M", "1G", "2G"]\nseconds = 10.0')
    assert found["file"] == [65536, 131072, 262144, 1 << 24, 1 << 25]
    assert parameters('file = ["1G", "2G"]', "0.01")["file"] == [1 << 23, 1 << 24]


def test_other_sizes_are_whole_pages() -> None:
    assert parameters("file = 10_000_000", "1/10")["file"] == 1_000_000 // 4096 * 4096


def test_a_record_is_no_larger_than_the_largest_file() -> None:
    found = parameters('file = "1M"\nrecord = ["4k", "64k", "256k", "1M"]')
    assert found["record"] == [4096, 65536]
    assert parameters('file = "1G"\nrecord = ["4k", "1M"]')["record"] == ["4k", "1M"]


def test_counts_and_times_have_a_least() -> None:
    assert parameters("files = 64_000\nseconds = 64.0") == {
        "file": [1 << 24],
        "files": 1000,
        "seconds": 1.0,
    }
    assert parameters("files = 30\nseconds = 1")["files"] == 20
    assert parameters("files = 30\nseconds = 1")["seconds"] == 0.1


def test_what_is_small_already_stays() -> None:
    assert parameters('file = "4k"\nfiles = 20\nseconds = 0.05') == {
        "file": 4096,
        "files": 20,
        "seconds": 0.05,
    }


def test_what_is_no_amount_stays() -> None:
    assert parameters("block = 1_048_576")["block"] == 1_048_576


def test_amounts_that_are_not_typed_are_scaled_too() -> None:
    assert parameters("") == {"file": [1 << 24], "files": 20, "seconds": 10 / 64}


@pytest.mark.parametrize(
    ("typed", "found"),
    [
        ('bytes = "1M"', {"bytes": 16384}),
        ('auto = { most = "64M", by = 2 }', {"auto": {"most": 1 << 20, "by": 2}}),
    ],
)
def test_but_not_where_another_stands_in_for_them(typed: str, found: dict[str, object]) -> None:
    assert parameters(typed) == found


def test_images_are_scaled_and_hold_every_file_system() -> None:
    for fraction, image in (("1/64", 1 << 30), ("1/10000", 1 << 29)):
        found = scaled(study(""), Fraction(fraction), KNOWN, KINDS)
        assert [system.settings["backing"] for system in found.systems] == [
            {"image": image, "at": None}
        ] * 2


def test_settings_that_were_scaled_are_settings() -> None:
    kinds: dict[str, type[BaseModel]] = {kind.name: kind.Settings for kind in KINDS}
    for system in scaled(study(""), Fraction(1, 1000), KNOWN, KINDS).systems:
        kinds[system.kind].model_validate(system.settings)


def test_the_study_says_what_became_of_it() -> None:
    found = scaled(study('file = ["1G", "2G"]\nseconds = 10'), Fraction(1, 64), KNOWN, KINDS)
    assert found.question == "Which? (scaled by 1/64)"
    assert found.scaled is not None
    assert found.scaled.by == "1/64"
    assert found.scaled.sentence.startswith(
        "Scaled by 1/64: work, file: 1 GiB, 2 GiB → 16 MiB, 32 MiB; work, files: 1,000 → 20; "
        "work, seconds: 10 s → 0.15625 s; systems, backing.image: 64 GiB → 1 GiB. "
        "Not scaled below what is still that workload: work, files: 20. "
    )
    assert "not comparable" in found.scaled.sentence


def test_what_is_held_at_its_least_is_told_also_where_nothing_changes() -> None:
    found = scaled(study('file = "64k"\nfiles = 20\nseconds = 6.4'), Fraction(1, 64), KNOWN, KINDS)
    assert found.scaled is not None
    assert "Not scaled below what is still that workload: work, file: 64 KiB; " in (
        found.scaled.sentence
    )
    assert "work, files: 20; " not in found.scaled.sentence.partition("Not scaled")[0]
    assert "seconds: 0.1 s" not in found.scaled.sentence.partition("Not scaled")[2]


def test_the_whole_is_the_whole() -> None:
    whole = study("files = 64_000")
    assert scaled(whole, Fraction(1), KNOWN, KINDS) is whole


def test_every_workload_says_what_its_amount_of_work_is() -> None:
    for card in Engine.find().describe().workloads:
        properties = card.parameters["properties"]
        amounts = {name: each["amount"] for name, each in properties.items() if "amount" in each}
        assert amounts, card.name
        assert set(amounts.values()) <= {"bytes", "count", "seconds"}
        # One file, or one operation, is no fs_mark and no compilebench.
        assert not [name for name in amounts if "least" not in properties[name]], card.name
        wholes = {each["within"] for each in properties.values() if "within" in each}
        assert {amounts.get(whole) for whole in wholes} <= {"bytes"}


@pytest.mark.parametrize(
    ("value", "amount", "factor", "found"),
    [
        (2**20, "bytes", 3, "4M"),
        ("64k", "bytes", 2, "128k"),
        (2**20, "bytes", 1, "1M"),
        (10_000, "bytes", 2.5, "28k"),
        (500, "count", 6.25, 3200),
        (21_280, "count", 1, 21_280),
        (0.1, "seconds", 2.31, 0.24),
        (900, "count", 9, 1000),
    ],
)
def test_amounts_grow_to_what_a_person_would_type(
    value: JsonValue, amount: str, factor: float, found: JsonValue
) -> None:
    schema = {"amount": amount, "maximum": 1000 if value == 900 else 10**9}
    assert larger(value, schema, factor) == pytest.approx(found)
