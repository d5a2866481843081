"""How much a typed comparison measures: options that stand in the file of its study."""

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Annotated, Final, Literal

from cyclopts import Parameter

if TYPE_CHECKING:
    from tiltyard.study.compare import Asked

BLOCKS_MAX: Final = 1000
"""Of a study."""


def require_blocks(blocks: int | None) -> None:
    """That a study can have so many, as the option that asks for them says it."""
    from tiltyard.errors import UsageError
    from tiltyard.stats.looks import FEWEST

    if blocks is not None and not FEWEST <= blocks <= BLOCKS_MAX:
        raise UsageError(f"--blocks {blocks}: is a number from {FEWEST} to {BLOCKS_MAX}")


@Parameter(name="*")
@dataclass(frozen=True)
class Measuring:
    """Options of how much is measured.

    Attributes:
        blocks: Exactly so many blocks, 6 or more; by default 7 to 20, until everything is decided.
        budget: Begin no further block after this time: "45 min".
        seed: Seed of the random order; by default drawn.
        disturbed: What becomes of a block in which other programs used the host: "replace" runs a
            replacement block for it, "keep" (the default of commands) lets it count; "adapt" (the
            default) replaces one in five and lets further ones count. A verdict that rests on
            disturbed blocks is marked "under load".
        scale: Make sizes, counts and durations smaller by this fraction: more than 0, at most 1, as
            "1/8" or "0.125". Plan and report say what became of them.
    """

    blocks: int | None = None
    budget: str | None = None
    seed: int | None = None
    disturbed: Annotated[
        Literal["adapt", "replace", "keep"] | None, Parameter(name=["--disturbed", "--spoiled"])
    ] = None
    scale: str | None = None

    @property
    def given(self) -> dict[str, object]:
        """Option → its value, of all of them."""
        return {f"--{own.name}": getattr(self, own.name) for own in fields(self)}

    def asked(self, *, of_commands: bool) -> "Asked":
        """What is asked of any study, as it stands in its file."""
        from tiltyard.study.compare import Asked
        from tiltyard.study.scaling import parse_scale

        fraction = None if self.scale is None else parse_scale(self.scale)
        # A desktop and a CI runner are never idle, and so many executions were asked for.
        return Asked(
            blocks=self.blocks,
            budget=self.budget,
            seed=self.seed,
            disturbed=self.disturbed or ("keep" if of_commands else "adapt"),
            scale=None if fraction in (None, 1) else str(fraction),
        )


AS_USUAL: Final = Measuring()
