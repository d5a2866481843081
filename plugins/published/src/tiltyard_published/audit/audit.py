"""Every derived number of a printed study and every claim of it, held against its tables.

A derived number of a table is a claim by itself; sentences are transcribed in ``claims.toml``
beside the tables (:mod:`tiltyard_published.claims`).
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Final

from tiltyard.analysis.collected.limits import limits
from tiltyard.collected.audited import Audited
from tiltyard.collected.model import Collection
from tiltyard.collected.stated import Stated
from tiltyard.study.problems import Flaw
from tiltyard_published.audit.kind import Held
from tiltyard_published.audit.kinds import REGISTRY, advantage, mean, undecidable
from tiltyard_published.audit.scene import AbsentError, Scene, UnfitError, Where
from tiltyard_published.claims import Claim
from tiltyard_published.derived import Derived

GENERAL: Final = "what-was-not-kept"
"""The finding that every study has: what its tables leave open of all claims."""


class UnfitClaimsError(Exception):
    """Claims name what the study does not have."""

    def __init__(self, flaws: Sequence[Flaw]) -> None:
        self.flaws = tuple(flaws)
        super().__init__(self.flaws)


def audit(
    collection: Collection, derived: Sequence[Derived] = (), claims: Sequence[Claim] = ()
) -> tuple[Audited, ...]:
    """Everything that a study states, in the order of its tables and then of its claims; pure.

    Args:
        collection: its numbers.
        derived: what its tables calculate from them.
        claims: its sentences.

    Raises:
        UnfitClaimsError: if claims name what is not there; all of those.
    """
    scene = Scene(collection, tuple(derived))
    kinds = {kind.name: kind for kind in REGISTRY}
    found = [_of_derived(one, scene) for one in derived]
    names = {one.id for one in derived}
    flaws = [
        Flaw(("claim", place, "id"), f'"{claim.id}" is the name of a derived number')
        for place, claim in enumerate(claims)
        if claim.id in names
    ]
    for place, claim in enumerate(claims):
        try:
            found.append(_audited(claim, kinds[claim.kind].hold(claim.states, scene)))
        except AbsentError as error:
            held = Held("open", "", "", f"Not verifiable: {error.text}.")
            found.append(_audited(claim, held))
        except UnfitError as error:
            key = ("claim", place, error.key)
            flaws.append(Flaw(key, f'in "{claim.id}": {error.text}'))
    if flaws:
        raise UnfitClaimsError(flaws)
    return (*found, *_general(collection))


def _audited(claim: Claim, held: Held) -> Audited:
    return Audited(
        id=claim.id,
        where=claim.where,
        kind=claim.kind,
        claim=claim.text,
        stated=held.stated,
        found=held.found,
        outcome=held.outcome,
        sentence=f"{held.sentence} {claim.remark}." if claim.remark else held.sentence,
    )


def _of_derived(one: Derived, scene: Scene) -> Audited:
    """A number that a table calculates: a claim whose sentence is the table."""
    kind, text, hold = _stated_by(one)
    printed = f"{Stated(one.text).digits_of(Stated(one.text).value)} {one.printed.unit}"
    try:
        held = hold(scene)
    except UnfitError as error:
        sentence = f"Not all that it is calculated of is printed: {error.text}."
        held = Held("open", printed, "", sentence)
    at = "".join(f", {name} {level}" for name, level in one.at.items())
    claim = Claim(one.id, one.where, f"{text}, {one.workload}{at}: {printed}", kind, one)
    return _audited(claim, held)


def _stated_by(one: Derived) -> tuple[str, str, Callable[[Scene], Held]]:
    """Its kind, its subject in words, and how it is held against the numbers."""
    where = Where(workload=(one.workload,), metric=(one.metric,), at=dict(one.at))
    if one.kind != "advantage":
        average = mean.States(**dict(where), number=one.text, system=one.system, of=one.kind)
        text = f"{mean.NAMES[one.kind]} of {one.system}"
        return mean.KIND.name, text, lambda scene: mean.KIND.hold(average, scene)
    lead = advantage.States(
        **dict(where),
        percent=one.text,
        system=one.system,
        against=one.against or "",
        of=one.of if one.of != "advantage" else None,
    )
    text = f"{one.system} against {one.against}"
    return advantage.KIND.name, text, lambda scene: advantage.KIND.hold(lead, scene)


def _general(collection: Collection) -> Iterator[Audited]:
    """What no claim about these numbers can be held against."""
    own = collection.model_copy(update={"kept": collection.kept.model_copy(update={"limits": ()})})
    sentences = list(limits(own))
    if not any(workload.readings for workload in collection.workloads):
        sentences = ["No result is printed as a number: nothing can be compared."]
    if sentences:
        yield Audited(
            id=GENERAL,
            where="all tables",
            kind=undecidable.KIND.name,
            claim="Every comparison of the study",
            stated="",
            found="",
            outcome="open",
            sentence=" ".join(sentences),
        )
