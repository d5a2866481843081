"""The audits of the printed studies, made once, and a small study whose claims tests make up."""

import pytest

from support.collections import KB, metric
from support.publications import PUBLISHED, STUDIES
from tiltyard.collected.audited import Audited
from tiltyard.collected.model import (
    CollectedSystem,
    CollectedWorkload,
    Collection,
    Origin,
    PrintedAs,
    Reading,
)
from tiltyard_published.audit.audit import audit
from tiltyard_published.audit.kind import Held
from tiltyard_published.audit.kinds import REGISTRY
from tiltyard_published.audit.scene import Scene
from tiltyard_published.claims import Claim
from tiltyard_published.derived import Derived
from tiltyard_published.read import read_publication
from tiltyard_published.study import audited

KIB = 1024
MICROSECONDS = PrintedAs(unit="µs", factor=1e-6, decimals=1)


@pytest.fixture(scope="session")
def audits() -> dict[str, tuple[Audited, ...]]:
    """Every printed study by name."""
    return {name: audited(PUBLISHED / name, read_publication(PUBLISHED / name)) for name in STUDIES}


def small() -> Collection:
    """Two systems: rates over three record sizes, and a time with its spread."""
    rates = {"old": (100, 200, 400), "new": (150, 250, 401)}
    times = {"old": (9.0, 0.5), "new": (8.0, 0.5)}
    return Collection(
        question="Which is faster?",
        origin=Origin(title="A small study"),
        systems=tuple(CollectedSystem(name=name, levels={"system": name}) for name in rates),
        baseline="old",
        workloads=(
            CollectedWorkload(
                name="writes",
                use="iozone",
                grid=("record",),
                metrics=(metric("throughput", printed=KB),),
                readings=tuple(
                    Reading(
                        metric="throughput",
                        system=name,
                        at={"record": size * KIB},
                        mean=value * KIB,
                    )
                    for name, values in rates.items()
                    for size, value in zip((4, 8, 16), values, strict=True)
                ),
            ),
            CollectedWorkload(
                name="reads",
                use="iozone",
                metrics=(metric("time", "s", MICROSECONDS),),
                readings=tuple(
                    Reading(metric="time", system=name, mean=mean * 1e-6, sd=sd * 1e-6, n=10)
                    for name, (mean, sd) in times.items()
                ),
            ),
        ),
    )


def hold(
    kind: str,
    states: dict[str, object],
    collection: Collection | None = None,
    derived: tuple[Derived, ...] = (),
) -> Held:
    """One claim, as it would stand in a file, held against the small study."""
    own = next(one for one in REGISTRY if one.name == kind)
    held: Held = own.hold(own.states.model_validate(states), Scene(collection or small(), derived))
    return held


def audited_claims(collection: Collection, *claims: Claim) -> tuple[Audited, ...]:
    """Claims without the finding that every study has."""
    return audit(collection, (), claims)[: len(claims)]
