"""What installed packages add: all of it for the doctor, and what of it has a part in a study."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from tiltyard.executors.engine import Engine
from tiltyard.host.doctor import Check
from tiltyard.plan.model import Plan
from tiltyard.printable import one_line
from tiltyard.registry import Plugin, PluginError, Registry, contained, installed, object_of
from tiltyard.wire import Catalogue

REGISTRIES: Final = {
    "kinds": "tiltyard.systems:KINDS",
    "filesystems": "tiltyard.systems.filesystems:FILESYSTEMS",
    "knobs": "tiltyard.tuning.knobs:KNOBS",
    "sections": "tiltyard.host.record:SECTIONS",
    "readers": "tiltyard.importers:IMPORTERS",
    "charts": "tiltyard.charts:CHARTS",
    "styles": "tiltyard.report.styles:STYLES",
    "formats": "tiltyard.report.formats:FORMATS",
    "exporters": "tiltyard.exporters:EXPORTERS",
    "statements": "tiltyard.analysis.statements.foreign:FOREIGN",
    "verbs": "tiltyard.cli.installed:INSTALLED",
    "studies": "tiltyard.app.studies:INSTALLED",
    "engines": "tiltyard.executors.engine:ENGINES",
}
"""Group → where its registry is; of workloads there is none: a file is one."""


def examined() -> Iterator[Check]:
    """All that packages add and is not switched off; it is imported for that."""
    why = {group: _registry(path).broken() for group, path in REGISTRIES.items()}
    for plugin in installed():
        if not plugin.is_ours:
            wrong = plugin.wrong or why.get(plugin.group, {}).get(plugin.name, "")
            if plugin.group == "workloads" and not wrong:
                wrong = "; ".join(_wrong_workloads(plugin))
            meaning, _, fix = wrong.partition(" Fix: ")
            yield Check(
                f"plug-in {plugin.package}",
                "limited" if wrong else "ok",
                one_line(meaning) or str(plugin),
                fix or (f"update or remove {plugin.package}" if wrong else None),
            )


def _registry(path: str) -> Registry[Any]:
    found: Registry[Any] = object_of(path)
    return found


def _wrong_workloads(plugin: Plugin) -> Iterator[str]:
    """What is wrong with the files of a folder of workloads."""
    from tiltyard.errors import UsageError
    from tiltyard.workloads.load import folder_of, read_profile

    try:
        with contained(plugin, "cannot be imported"):
            folder = folder_of(plugin)
    except PluginError as error:
        yield str(error)
        return
    if not any(folder.glob("*.toml")):
        yield f"{folder}: no workload (NAME.toml) is there"
    for path in sorted(folder.glob("*.toml")):
        try:
            read_profile(path)
        except UsageError as error:
            yield str(error)


def used_by(plan: Plan, catalogue: Catalogue, engine: Engine, root: Path) -> dict[str, str]:
    """Packages that have a part in a plan → their versions.

    Args:
        plan: what is measured.
        catalogue: what it was made with.
        engine: what executes it.
        root: where paths of tuning profiles begin.
    """
    from tiltyard.host.record import SECTIONS
    from tiltyard.importers import IMPORTERS
    from tiltyard.systems import KINDS
    from tiltyard.systems.filesystems import FILESYSTEMS
    from tiltyard.tuning.knobs import KNOBS
    from tiltyard.workloads.catalogue import ProfileCard

    def named() -> Iterator[Plugin | None]:
        for system in plan.systems:
            yield KINDS.plugin(system.kind)
            yield FILESYSTEMS.plugin(str(system.settings.get("filesystem")))
            if any(map(KNOBS.plugin, KNOBS.names)):
                yield from map(KNOBS.plugin, _tables(system.kind, system.settings, root))
        for workload in plan.workloads:
            card = catalogue.workload(workload.spec.use)
            if isinstance(card, ProfileCard):
                yield card.profile.plugin
            else:
                yield engine.of(workload.spec.use).plugin
            if workload.readings and workload.readings.read:
                yield IMPORTERS.plugin(workload.readings.read)
        yield from map(SECTIONS.plugin, SECTIONS.names)

    return {one.package: one.version for one in named() if one}


def _tables(kind: str, settings: Mapping[str, Any], root: Path) -> Iterator[str]:
    """Tables of the tuning profiles that a system asks for."""
    from tiltyard.systems import KINDS
    from tiltyard.tuning.load import load_profiles

    if not (settings.get("tuning") or settings.get("server_tuning")):
        return
    asked = KINDS.named(kind).Settings.model_validate(settings)
    for profiles in (getattr(asked, "profiles", ()), getattr(asked, "server_tuning", ())):
        yield from load_profiles(profiles, root).tables
