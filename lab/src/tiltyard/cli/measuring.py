"""How much a typed comparison measures: options that stand in the file of its study."""

import re
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Annotated, Final, Literal

from cyclopts import Parameter

from tiltyard.cli.commands import Becomes

if TYPE_CHECKING:
    from tiltyard.study.compare import Asked

BLOCKS_MAX: Final = 1000
"""Of a study."""
_CPUS: Final = re.compile(r"\d{1,4}(-\d{1,4})?(,\d{1,4}(-\d{1,4})?)*")


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
        blocks: Exactly so many blocks, 6 or more; by default 7 to 20, until everything is decided;
            with a budget, and of commands alone, to 100.
        budget: Go on with what is open until this time is used up: "45 min". By default there is
            no limit, but commands alone begin blocks after the 20th in the first 2 min only.
        seed: Seed of the random order; by default drawn.
        disturbed: What becomes of a block in which other programs used the host: "replace" runs a
            replacement block for it, "keep" (the default of commands) lets it count; "adapt" (the
            default) replaces one in five and lets further ones count. A verdict that rests on
            disturbed blocks is marked "under load".
        scale: Make sizes, counts and durations smaller by this fraction: more than 0, at most 1, as
            "1/8" or "0.125". Plan and report say what became of them.
        isolate: Keep the work of others off these CPUs, on which is measured: "1" or "2-3,6". Needs
            root and control groups of version 2; otherwise it is said, and goes on without.
    """

    blocks: Annotated[int | None, Becomes("precision.blocks")] = None
    budget: Annotated[str | None, Becomes("precision.budget")] = None
    seed: Annotated[int | None, Becomes("seed")] = None
    disturbed: Annotated[
        Literal["adapt", "replace", "keep"] | None,
        Parameter(name=["--disturbed"]),
        Becomes("noise.disturbed"),
    ] = None
    scale: Annotated[str | None, Becomes("scale")] = None
    isolate: Annotated[str | None, Becomes("conditions.isolate", "conditions.cpus")] = None

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
            isolate=_cpus(self.isolate),
        )


def _cpus(text: str | None) -> list[int] | None:
    from tiltyard.errors import UsageError
    from tiltyard.host.cpus import parse_cpus

    if text is None:
        return None
    if not _CPUS.fullmatch(text) or not (cpus := sorted({*parse_cpus(text)})):
        raise UsageError(f'--isolate "{text}": is a list of CPUs, as 1 or 2-3,6')
    return cpus


AS_USUAL: Final = Measuring()
