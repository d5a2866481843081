"""What shells complete beyond verbs and options: systems, workloads, studies and other names.

Each function is called when a person presses Tab; what it costs is the time that they wait, so
nothing is imported before.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeAlias

from cyclopts import Parameter

if TYPE_CHECKING:
    from cyclopts.completion._engine import CompletionContext

    from tiltyard.wire import Catalogue

Names: TypeAlias = Iterator[str | tuple[str, str]]


def studies(context: "CompletionContext") -> Names:
    """Study folders and study files, and folders on the way to them."""
    for path in _paths(context.incomplete):
        if path.is_dir():
            is_study = any((path / name).exists() for name in ("study.toml", "collection.json"))
            yield str(path) if is_study else f"{path}/"
        elif path.suffix == ".toml":
            yield str(path)


def systems(context: "CompletionContext") -> Names:
    """File systems, settings of networks, directories."""
    from tiltyard.systems.filesystems import FILESYSTEMS
    from tiltyard.systems.pair.settings import PairSettings

    yield from FILESYSTEMS.names
    for name, field in PairSettings.model_fields.items():
        yield f"{name}=", field.description or ""
    yield from (f"{path}/" for path in _paths(context.incomplete) if path.is_dir())


def workloads(context: "CompletionContext") -> Names:
    """Workloads; behind ``NAME:`` their parameters, and behind ``NAME:PARAMETER=`` its choices."""
    from tiltyard.cli.catalogue import choices, flowing
    from tiltyard.study.compare import workload_parts

    catalogue = _catalogue()
    name, typed = workload_parts(context.incomplete, catalogue)
    card = catalogue.workload(name)
    if card is None or context.incomplete == name:
        yield from workload_names(context)
        return
    done, comma, last = typed.rpartition(",")
    before = f"{name}:{done}{comma}"
    parameter, sign, _ = last.partition("=")
    properties = card.parameters.get("properties", {})
    if not sign:
        yield from ((f"{before}{key}=", flowing(own)) for key, own in properties.items())
    elif parameter in properties:
        for choice, about in choices(card, properties[parameter]):
            yield f"{before}{parameter}={choice}", about


def workload_names(_: "CompletionContext") -> Names:
    """Workloads alone."""
    yield from ((card.name, card.about) for card in _catalogue().whole().workloads)


def _catalogue() -> "Catalogue":
    """Those of the engine, and the profiles that are there, installed tests among them."""
    from tiltyard.executors.engine import Engine
    from tiltyard.folder import StudyFolder
    from tiltyard.workloads.catalogue import catalogue_of

    return catalogue_of(Engine.find(), StudyFolder(Path()))


def templates(_: "CompletionContext") -> Names:
    """Templates and ready studies."""
    from tiltyard.study.ready import ready_studies
    from tiltyard.study.templates import template_names

    yield from template_names()
    yield from ((study.name, study.question) for study in ready_studies())


def purposes(_: "CompletionContext") -> Names:
    """What ready studies are for."""
    from tiltyard.study.ready import ready_studies

    yield from dict.fromkeys(own for study in ready_studies() for own in study.purposes)


def styles(_: "CompletionContext") -> Names:
    """Styles of reports."""
    from tiltyard.report.styles import STYLES

    yield from ((style.name, style.about) for style in STYLES)


def formats(_: "CompletionContext") -> Names:
    """Forms of reports."""
    from tiltyard.report.formats import FORMATS

    yield from ((one.name, one.about) for one in FORMATS)
    yield "all"


def export_formats(_: "CompletionContext") -> Names:
    """Formats of other tools."""
    from tiltyard.exporters import EXPORTERS

    yield from ((one.name, one.about) for one in EXPORTERS)


def tuning_profiles(_: "CompletionContext") -> Names:
    """Ready tuning profiles."""
    from tiltyard.tuning.load import ready_names

    yield from ready_names()


def words(_: "CompletionContext") -> Names:
    """Whatever can be explained: words, keys of studies, settings, exit codes."""
    from tiltyard.app.explain import meanings

    yield from ((one.word, one.says) for one in meanings())


def _paths(typed: str) -> list[Path]:
    """What lies where a path is being typed; hidden ones only if that is begun."""
    folder = Path(typed if typed.endswith("/") else Path(typed).parent if typed else "")
    begun = "" if typed.endswith("/") or not typed else Path(typed).name
    try:
        found = sorted(folder.expanduser().iterdir())
    except (OSError, RuntimeError):  # nor a home of that name
        return []
    return [
        folder / path.name
        for path in found
        if path.name.startswith(begun) and (begun or not path.name.startswith("."))
    ]


Study: TypeAlias = Annotated[Path, Parameter(completer=studies)]
"""A study folder or a study file on a command line."""
