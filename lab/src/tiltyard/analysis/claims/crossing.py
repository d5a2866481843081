"""Which systems are held against each other: one factor's levels, all else being equal."""

from collections.abc import Mapping
from dataclasses import dataclass

from tiltyard.analysis.model import Findings, Pair


@dataclass(frozen=True)
class Crossing:
    """The systems as levels of one factor, within combinations of the others."""

    factor: str
    levels: tuple[str, ...]
    """The baseline's first, the others in the order of the study."""
    blocks: tuple[str, ...]
    """Levels of the other factors but the last one, joined; ``("",)`` if there are none."""
    groups: tuple[str, ...]
    """Levels of the last of the other factors; ``("",)`` if there is none."""
    systems: Mapping[tuple[str, str, str], str]
    """(level, block, group) → system; absent where that combination was not compared."""

    @property
    def base(self) -> str:
        """The level that the others are told relative to."""
        return self.levels[0]

    def pair(self, level: str, block: str, group: str) -> Pair | None:
        """A level against the base there; ``None`` where one of the two is absent."""
        system = self.systems.get((level, block, group))
        against = self.systems.get((self.base, block, group))
        if system is None or against is None:
            return None
        return Pair(system=system, against=against, within=" ".join(filter(None, (block, group))))

    @property
    def pairs(self) -> list[Pair]:
        """Every level against the base, block by block and group by group."""
        return [pair for level in self.levels[1:] for pair in self.pairs_of(level)]

    def pairs_of(self, level: str) -> list[Pair]:
        """One level against the base, wherever both were compared."""
        found = (self.pair(level, block, group) for block in self.blocks for group in self.groups)
        return [pair for pair in found if pair is not None]


def crossing(findings: Findings) -> Crossing:
    """The first factor of which levels can be compared, all other levels being the same."""
    levels = {system.name: system.levels for system in findings.systems}
    base = levels[findings.baseline]
    factor = next((own.factor for own in findings.advantages if own.pairs), next(iter(base)))
    *outer, inner = [name for name in base if name != factor] or [""]
    places = {
        name: (own[factor], " ".join(own[other] for other in outer), own.get(inner, ""))
        for name, own in levels.items()
    }
    return Crossing(
        factor=factor,
        levels=tuple(dict.fromkeys((base[factor], *(place[0] for place in places.values())))),
        blocks=tuple(dict.fromkeys(place[1] for place in places.values())),
        groups=tuple(dict.fromkeys(place[2] for place in places.values())),
        systems={place: name for name, place in places.items()},
    )
