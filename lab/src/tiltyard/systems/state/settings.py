"""Setting ``state``: ``"fresh"``, ``{ filled = "80%" }``, ``{ aged = "mail-spool", seed = 1 }``."""

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import (
    BeforeValidator,
    Field,
    PlainSerializer,
    WithJsonSchema,
    field_validator,
    model_validator,
)

from tiltyard.frozen import Frozen
from tiltyard.study.problems import not_a, shown
from tiltyard.systems.state.profiles import FILLING, PROFILES, Profile, profile
from tiltyard.units import parse_percent

FRESH = "fresh"
_FULLEST = 0.95
_FORMS = f'"{FRESH}", {{ filled = "80%" }}, or {{ aged = "{PROFILES[0].name}", seed = 1 }}'


def _share(typed: object) -> float:
    """A percentage, or the share that it has become in a plan."""
    if isinstance(typed, float) and 0 < typed <= _FULLEST:
        return typed
    if not isinstance(typed, str):
        raise ValueError(f'{shown(typed)} has no unit. Write it like "80%"')
    share = parse_percent(typed)
    if not 0 < share <= _FULLEST:
        raise ValueError(f"{shown(typed)} is out of range: more than 0% and at most 95%")
    return share


Share = Annotated[
    float,
    BeforeValidator(_share),
    WithJsonSchema({"type": "string", "pattern": r"^\s*[0-9]+(\.[0-9]+)?\s*%\s*$"}),
]
"""``"80%"`` in the file, 0.8 from here on."""


class StateSettings(Frozen):
    """What a file system has gone through before its turn."""

    filled: Share | None = Field(
        default=None, description="Filled with large files up to this share of its space."
    )
    aged: str | None = Field(
        default=None,
        description="Aged by a history of this profile: "
        + "; ".join(f"{entry.name} ({entry.about})" for entry in PROFILES)
        + ".",
        json_schema_extra={"enum": [entry.name for entry in PROFILES]},
    )
    seed: int = Field(default=1, ge=0, lt=2**63, description="Of all that is drawn in the history.")
    full: Share | None = Field(
        default=None, description="How full it is at the end; the profile's if left out."
    )
    turnover: float | None = Field(
        default=None,
        gt=0,
        le=100,
        description="Bytes written in all, in units of its capacity; the profile's if left out.",
    )

    @field_validator("aged")
    @classmethod
    def _known(cls, name: str | None) -> str | None:
        """One of the profiles."""
        names = [entry.name for entry in PROFILES]
        if name is not None and name not in names:
            raise ValueError(not_a(name, "profile", names))
        return name

    @model_validator(mode="after")
    def _is_one(self) -> "StateSettings":
        """Fresh, filled or aged; what belongs to ageing goes with ageing."""
        if self.filled is not None and self.aged is not None:
            raise ValueError("a state is filled or aged, not both; how full an aged one is: full")
        if self.aged is None and (self.full is not None or self.turnover is not None):
            raise ValueError("full and turnover belong to an aged state: aged is missing")
        return self

    @property
    def is_fresh(self) -> bool:
        """Whether nothing happened to it."""
        return self.filled is None and self.aged is None

    @property
    def profile(self) -> Profile:
        """What happens to it; not of a fresh one."""
        return profile(self.aged) if self.aged else FILLING

    @property
    def share(self) -> float:
        """How full it is at the end."""
        return self.filled or self.full or self.profile.full

    @property
    def capacities(self) -> float:
        """Bytes written in all at least, in units of the capacity."""
        return self.turnover or self.profile.turnover

    def __str__(self) -> str:
        """As a person reads it."""
        if self.is_fresh:
            return FRESH
        what = f"aged: {self.aged}" if self.aged else "filled"
        return f"{what}, seed {self.seed}"


def _typed(typed: object) -> object:
    """A word or a table."""
    if isinstance(typed, StateSettings):
        return typed
    if typed == FRESH:
        return {}
    if not isinstance(typed, Mapping):
        raise ValueError(f"{shown(typed)} is not a state. One of: {_FORMS}")
    if not {"filled", "aged"} & typed.keys():
        raise ValueError(f"{shown(typed)} is not a state. One of: {_FORMS}")
    return typed


def _dumped(state: StateSettings) -> Any:
    """As it is typed."""
    if state.is_fresh:
        return FRESH
    return {key: value for key, value in state.__dict__.items() if value is not None}


State = Annotated[
    StateSettings,
    BeforeValidator(_typed),
    PlainSerializer(_dumped),
    WithJsonSchema({"anyOf": [{"enum": [FRESH]}, StateSettings.model_json_schema()]}),
]
