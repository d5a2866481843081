"""What can be run: the engine's own workloads, and the profiles beside them."""

import warnings
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, Self

from pydantic import ConfigDict, Field, JsonValue, TypeAdapter, ValidationError

from tiltyard.errors import HiddenProfileWarning, HostLacksError, UsageError
from tiltyard.executors.engine import Engine
from tiltyard.folder import StudyFolder
from tiltyard.importers.live import cards
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
from tiltyard.workloads.load import Profile, lacking, load_profiles
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
        return table if profile.adapt is None else profile.adapt(table)

    def _values(self, parameters: Mapping[str, JsonValue]) -> dict[str, Value]:
        profile = self.profile
        return values_of(profile.file, parameters, beside=profile.beside, roots=self.roots)


def catalogue_of(engine: Engine, study: StudyFolder | None = None) -> Catalogue:
    """Everything that can be run: the engine's catalogue with the profiles behind its own.

    Args:
        engine: what executes all of it.
        study: a study, which may have profiles.

    Raises:
        UsageError: if a profile is none, or has the name of a workload of the engine.
    """
    places = () if study is None else _places(study)
    return with_profiles(engine.describe(), load_profiles(places).values(), places)


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
    found: list[Card] = []
    for profile in profiles:
        if catalogue.workload(profile.name) is not None:
            raise UsageError(
                f"{profile.source}: the engine has a workload {profile.name}. "
                "Fix: give the file another name"
            )
        try:
            found.append(ProfileCard.of(profile, program, places))
        except UsageError as error:
            if profile.plugin is None:
                raise
            warnings.warn(PluginWarning(f"{profile.plugin.of}: {error}"), stacklevel=2)
    return catalogue.model_copy(update={"workloads": [*catalogue.workloads, *found]})


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
