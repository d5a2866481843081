"""One study has one clock."""

from pathlib import Path
from typing import Literal

import pytest
from pydantic import BaseModel, ConfigDict

from support.catalogue import CATALOGUE
from tiltyard.study.load import read_study
from tiltyard.study.model import Clock
from tiltyard.study.problems import StudyFileError


class _Settings(BaseModel):
    model_config = ConfigDict(extra="forbid")
    kernel: str = "6.1"
    clock: Clock = "time"


class _Guest:
    """A kind whose clock is a setting."""

    name = "guest"
    Settings = _Settings
    target: Literal["directory", "far"] = "directory"
    far_host = False

    def redraws(self, settings: _Settings) -> str:
        return ""

    def clock(self, settings: _Settings) -> Clock:
        return settings.clock


def test_the_clock_of_a_system_is_known() -> None:
    text = 'question = "q"\nfactors.kernel = ["6.1", "6.12"]\nsystems.clock = "instructions"\n'
    study = read_study(text, Path("study.toml"), CATALOGUE, [_Guest()])
    assert {system.clock for system in study.systems} == {"instructions"}


def test_time_and_instructions_are_not_compared() -> None:
    text = 'question = "q"\n\nfactors.clock = ["time", "instructions"]\n'
    with pytest.raises(StudyFileError) as caught:
        read_study(text, Path("study.toml"), CATALOGUE, [_Guest()])
    assert str(caught.value) == (
        "study.toml:3: factors.clock: all systems of a study have one clock: a count of "
        "instructions is no time"
    )
