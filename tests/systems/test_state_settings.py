"""What a study may say of a state, what a plan keeps of it, and how a mistake reads."""

from pathlib import Path

import pytest

from support.catalogue import CATALOGUE
from tiltyard.study.load import load_study
from tiltyard.study.problems import StudyFileError
from tiltyard.systems import KINDS, kind

STUDY = """question = "?"
[factors]
state = { default = "fresh", other = OTHER }
[systems]
filesystem = "ext4"
"""


@pytest.mark.parametrize(
    ("typed", "kept"),
    [
        ("fresh", "fresh"),
        ({"filled": "80%"}, {"filled": 0.8, "seed": 1}),
        ({"aged": "downloads", "seed": 4}, {"aged": "downloads", "seed": 4}),
        (
            {"aged": "mail-spool", "full": "60 %", "turnover": 5},
            {"aged": "mail-spool", "seed": 1, "full": 0.6, "turnover": 5.0},
        ),
    ],
)
def test_a_plan_keeps_what_was_typed(typed: object, kept: object) -> None:
    settings = kind("loop-image").Settings
    first = settings.model_validate({"filesystem": "ext4", "state": typed})
    document = first.model_dump(mode="json")
    assert document["state"] == kept
    assert settings.model_validate(document) == first


@pytest.mark.parametrize(
    ("typed", "words"),
    [
        ('"old"', '"old" is not a state. One of: "fresh", { filled'),
        ('{ filled = "180%" }', '"180%" is out of range: more than 0% and at most 95%'),
        ("{ filled = 80 }", '80 has no unit. Write it like "80%"'),
        ("{ filled = 1.5 }", '1.5 has no unit. Write it like "80%"'),
        ('{ aged = "mailspool" }', 'Did you mean "mail-spool"?'),
        ('{ aged = "downloads", sed = 1 }', 'seed, full, turnover. Did you mean "seed"?'),
        ('{ aged = "downloads", turnover = 0 }', "0 is too small: more than 0"),
        ('{ full = "80%" }', '{"full": "80%"} is not a state'),
        ('{ filled = "80%", turnover = 2 }', "full and turnover belong to an aged state"),
        ('{ filled = "80%", aged = "downloads" }', "a state is filled or aged, not both"),
    ],
)
def test_a_mistake_is_named_with_its_line(tmp_path: Path, typed: str, words: str) -> None:
    path = tmp_path / "study.toml"
    path.write_text(STUDY.replace("OTHER", typed))
    with pytest.raises(StudyFileError) as raised:
        load_study(path, CATALOGUE, KINDS)
    assert str(raised.value).startswith(f"{path}:3: factors.state.other")
    assert words in str(raised.value)
