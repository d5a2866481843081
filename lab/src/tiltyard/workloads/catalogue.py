"""What can be run: the engine's own workloads, and the profiles beside them."""

import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, Final, Self

from pydantic import ConfigDict, Field, JsonValue, PrivateAttr, TypeAdapter, ValidationError

from tiltyard.errors import HiddenProfileWarning, HostLacksError, UsageError
from tiltyard.executors.engine import Engine
from tiltyard.folder import StudyFolder
from tiltyard.registry import PluginWarning
from tiltyard.study.load import read_text
from tiltyard.study.locate import locate
from tiltyard.study.model import WorkloadSpec
from tiltyard.study.problems import Flaw, located, one_of
from tiltyard.study.program import PROGRAM, Metrics, ProgramCard
from tiltyard.wire import Card, Catalogue
from tiltyard.workloads.expand import environment, expand, values_of
from tiltyard.workloads.file import Sort
from tiltyard.workloads.inputs import read_inputs
from tiltyard.workloads.load import Profile, find_profiles, lacking
from tiltyard.workloads.values import Value, schema_of

_OF_THE_LAB: Final = ("read", "metrics")
_METRICS: Final[TypeAdapter[Metrics]] = TypeAdapter(Metrics)


class ProfileCard(ProgramCard):
    """A profile, as a workload."""

    model_config = ConfigDict(arbitrary_types_allowed=True)

    profile: Profile = Field(exclude=True)
    roots: tuple[Path, ...] = Field(exclude=True)
    """Where relative paths that a study names begin."""

    @classmethod
    def of(cls, profile: Profile, program: Card, places: Sequence[Path]) -> Self:
        """The card of a profile.

        Args:
            profile: the profile.
            program: the engine's own card of programs.
            places: where relative paths that a study names begin.

        Raises:
            UsageError: if the template is not one of that workload, or what it reads is unknown.
        """
        file = profile.file
        metrics, grid = _measured(profile, program)
        properties = {name: schema_of(table) for name, table in file.parameters.items()}
        required = [name for name, each in properties.items() if "default" not in each]
        return cls(
            name=profile.name,
            title=file.title or "",
            target=program.target,
            about=file.about,
            lineage=file.lineage,
            timing=program.timing,
            description="\n\n".join(
                paragraph.replace("\n", " ") for paragraph in file.description.strip().split("\n\n")
            ),
            parameters={
                "type": "object",
                "additionalProperties": False,
                "properties": properties,
                "required": required,
            },
            metrics=list(metrics),
            grid=list(grid),
            usual=_paths(profile, file.usual),
            smoke=_paths(profile, file.smoke),
            argument=file.argument,
            profile=profile,
            roots=tuple(places) or (Path(),),
        )

    @property
    def brought(self) -> bool:
        """Whether it comes with the study, and its commands with it."""
        return self.profile.origin == "study"

    def files_of(self, parameters: Mapping[str, JsonValue], name: str) -> list[Path]:
        """The files that a study means by a parameter, with those that they include."""
        profile, values = self.profile, self._values(parameters)
        if profile.file.parameters[name].type == "path":
            return [Path(str(values[name]))]
        return read_inputs(profile.file, values).of(name)

    def from_shell(self, parameters: Mapping[str, JsonValue]) -> dict[str, list[str]]:
        """Variables that its files name, as the parameter that gives them."""
        profile = self.profile
        if not any(table.environment for table in profile.file.parameters.values()):
            return {}
        values = self._values(parameters)
        passed = environment(profile.file, values, read_inputs(profile.file, values))
        words = [f"{name}={value}" for name, value in passed.items()]
        into = next(filter(None, (one.environment for one in profile.file.parameters.values())))
        return {into: words} if words else {}

    def expand(self, parameters: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
        """The program table of such parameters; raises ``JobRefused``."""
        profile = self.profile
        table = expand(profile.file, parameters, beside=profile.beside, roots=self.roots)
        return profile.adapted(table)

    def _values(self, parameters: Mapping[str, JsonValue]) -> dict[str, Value]:
        profile = self.profile
        return values_of(profile.file, parameters, beside=profile.beside, roots=self.roots)


class _WithProfiles(Catalogue):
    """The engine's workloads, and behind them profiles: each is read when it is asked for."""

    _profiles: Mapping[str, Profile] = PrivateAttr()
    _card: Callable[[str], ProfileCard] = PrivateAttr()

    @classmethod
    def of(
        cls,
        catalogue: Catalogue,
        profiles: Mapping[str, Profile],
        program: Card,
        places: Sequence[Path],
    ) -> "_WithProfiles":
        """A catalogue with profiles by name; see :meth:`ProfileCard.of`."""
        found = cls.model_construct(**dict(catalogue))
        found._profiles = profiles
        found._card = cache(lambda name: ProfileCard.of(profiles[name], program, places))
        return found

    def workload(self, name: str) -> Card | None:
        """The workload of that name, if there is one.

        Raises:
            UsageError: if its profile is none; it names file, line and key.
        """
        return self._card(name) if name in self._profiles else super().workload(name)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of all workloads."""
        return (*super().names, *self._profiles)

    def whole(self) -> Catalogue:
        """The same with every workload in it; raises as :meth:`workload` does.

        That one of a package is none is a warning.
        """
        cards = list(self.workloads)
        for name, profile in self._profiles.items():
            try:
                cards.append(self._card(name))
            except UsageError as error:
                if profile.plugin is None:
                    raise
                warnings.warn(PluginWarning(f"{profile.plugin.of}: {error}"), stacklevel=2)
        return Catalogue.model_construct(**{**dict(self), "workloads": cards})


def catalogue_of(engine: Engine, study: StudyFolder | None = None) -> Catalogue:
    """Everything that can be run: the engine's catalogue with the profiles behind its own.

    Args:
        engine: what executes all of it.
        study: a study, which may have profiles.

    Raises:
        UsageError: if a profile has the name of a workload of the engine. That one is none is
            raised when it is asked for.
    """
    places = () if study is None else _places(study)
    return with_profiles(engine.describe(), find_profiles(places).values(), places)


def with_profiles(
    catalogue: Catalogue, profiles: Iterable[Profile], places: Sequence[Path] = ()
) -> Catalogue:
    """A catalogue with profiles behind its own workloads; like :func:`catalogue_of`.

    Args:
        catalogue: the engine's.
        profiles: the profiles.
        places: where relative paths that a study names begin; by default where one stands.
    """
    program = catalogue.workload(PROGRAM)
    if program is None:
        return catalogue
    found = {profile.name: profile for profile in profiles}
    for name, profile in found.items():
        if catalogue.workload(name) is not None:
            raise UsageError(
                f"{profile.source}: the engine has a workload {name}. "
                "Fix: give the file another name"
            )
    return _WithProfiles.of(catalogue, found, program, places)


def _places(study: StudyFolder) -> tuple[Path, Path]:
    """A study's folder, and where its file was written: beside the folder, unless it says so."""
    folder = study.study_root.absolute()
    return folder, (study.written_in or folder.parent).absolute()


def require_installed(
    workloads: Iterable[WorkloadSpec], catalogue: Catalogue, *, elsewhere: bool = False
) -> None:
    """Refuse to go on where the programs of profiles are not there.

    Args:
        workloads: of a study.
        catalogue: the profiles.
        elsewhere: whether other hosts or guests execute them, which may have what is missing here.

    Raises:
        HostLacksError: naming all that is missing, and the one command that installs it.
        JobRefused: if a parameter is not what it must be.
    """
    missing: dict[str, str] = {}
    for spec in workloads:
        card = catalogue.workload(spec.use)
        if isinstance(card, ProfileCard):
            if card.profile.hides:
                hidden = ", ".join(map(str, card.profile.hides))
                text = f"{spec.use} is {card.profile.source}, which hides {hidden}"
                warnings.warn(HiddenProfileWarning(text), stacklevel=2)
            if not elsewhere:
                missing |= lacking(card.profile, spec.parameters, card.roots)
    if missing:
        packages = " ".join(sorted(set(missing.values())))
        raise HostLacksError(f"not installed: {', '.join(missing)}. Fix: apt install {packages}")


def _measured(profile: Profile, program: Card) -> tuple[tuple[Any, ...], tuple[str, ...]]:
    """Metrics and grid; what of the template the workload does not know is refused."""
    from tiltyard.importers.live import cards

    table = profile.file.program
    known = {*program.parameters.get("properties", {}), *_OF_THE_LAB}
    flaws = [
        Flaw(("program", key), f"there is no such key. {one_of(key, known)}")
        for key in table.model_fields_set | (table.model_extra or {}).keys()
        if key not in known
    ]
    try:
        metrics = _METRICS.validate_python(table.metrics)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = tuple(step for step in first["loc"] if step in table.metrics)
        flaws.append(Flaw(("program", "metrics", *where), first["msg"]))
    if not flaws:
        try:
            return cards(table.read, metrics, program.metrics)
        except UsageError as error:
            flaws.append(Flaw(("program", "read" if table.read else "metrics"), str(error)))
    raise located(profile.source, locate(read_text(profile.source)), flaws)


def _paths(profile: Profile, parameters: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
    """Parameters in which paths are whole: those of a profile begin at its file."""
    sorts = {name: table.type for name, table in profile.file.parameters.items()}

    def whole(sort: Sort, value: JsonValue) -> JsonValue:
        if sort == "files" and isinstance(value, list):
            return [whole("file", each) for each in value]
        is_path = sort in ("path", "file") and isinstance(value, str) and value
        return str(profile.beside / str(value)) if is_path else value

    return {name: whole(sorts[name], value) for name, value in parameters.items()}
