"""The software bill of materials: every crate in the engine, every package that the lab needs.

CycloneDX 1.6 as JSON, by the project's own library. Crates are those that Cargo resolves for the
engine without what only builds and tests use; packages are those that the lab's own requirements
lead to, in the versions of ``requirements.lock``.
"""

import importlib.metadata
import json
import subprocess
import tomllib
import uuid
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from cyclonedx.model import HashAlgorithm, HashType, Property
from cyclonedx.model.bom import Bom
from cyclonedx.model.component import Component, ComponentType
from cyclonedx.model.license import DisjunctiveLicense
from cyclonedx.output.json import JsonV1Dot6
from packageurl import PackageURL
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from release.python import DEBIAN_PYTHON, locked
from release.version import ROOT, epoch

_NAMES: Final = uuid.UUID("6f9b1e52-4a5c-5d0c-9a44-7d3b1c1f6a10")
"""Serial numbers of bills are names in this space."""
_LINUX: Final = "x86_64-unknown-linux-gnu"
"""Every architecture has the same crates."""


def write_sbom(version: str, toolchain: Mapping[str, str], path: Path) -> None:
    """Write the bill; the same locks and the same toolchain give the same bytes.

    Args:
        version: by PEP 440.
        toolchain: what the engine was compiled and linked with → its version.
        path: of the JSON file.
    """
    bom = Bom(serial_number=uuid.uuid5(_NAMES, version))
    bom.metadata.timestamp = datetime.fromtimestamp(epoch(), UTC)
    top = _component("pypi", "tiltyard", version, "MIT", ComponentType.APPLICATION)
    bom.metadata.component = top
    for name, used in toolchain.items():
        bom.metadata.properties.add(Property(name=f"tiltyard:build:{name}", value=used))
    for parts, first in (_packages(), _crates()):
        for component, _ in parts.values():
            bom.components.add(component)
        bom.register_dependency(top, [parts[name][0] for name in first])
        for component, needs in parts.values():
            bom.register_dependency(component, [parts[name][0] for name in needs])
    path.write_text(JsonV1Dot6(bom).output_as_string(indent=2) + "\n")


Parts = dict[str, tuple[Component, list[str]]]
"""Key → component, and the keys of those that it needs."""


def _packages() -> tuple[Parts, list[str]]:
    """The Python packages that the lab leads to, and those that it names itself."""
    pins = {name: pin.split()[0].partition("==")[2] for name, pin in locked().items()}

    def component(name: str) -> Component:
        about = importlib.metadata.metadata(name).json
        licence = str(about.get("license_expression") or about.get("license") or "not stated")
        return _component("pypi", name, pins[name], licence.splitlines()[0])

    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project.get("optional-dependencies", {}).values()
    first = _names([*project["dependencies"], *(line for extra in extras for line in extra)])
    needs = _reached(first, lambda name: _names(importlib.metadata.requires(name) or ()))
    return {name: (component(name), needed) for name, needed in needs.items()}, first


def _names(requirements: Iterable[str]) -> list[str]:
    """What these requirements ask for where the lab is installed."""
    host = {"extra": "", "python_version": DEBIAN_PYTHON, "sys_platform": "linux"}
    parsed = map(Requirement, requirements)
    asked = (one for one in parsed if one.marker is None or one.marker.evaluate(host))
    return sorted({canonicalize_name(one.name) for one in asked})


def _crates() -> tuple[Parts, list[str]]:
    """The crates that are linked into the engine by Cargo's identifiers, and the engine's own."""
    command = ("cargo", "metadata", "--locked", "--format-version=1", f"--filter-platform={_LINUX}")
    done = subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE)
    metadata = json.loads(done.stdout)
    about = {package["id"]: package for package in metadata["packages"]}
    nodes = {node["id"]: node["deps"] for node in metadata["resolve"]["nodes"]}
    lock = tomllib.loads((ROOT / "Cargo.lock").read_text())["package"]
    checksums = {(one["name"], one["version"]): one.get("checksum") for one in lock}

    def linked(name: str) -> list[str]:
        """Those that are neither for the build nor for tests alone."""
        needed = (
            one for one in nodes[name] if any(kind["kind"] is None for kind in one["dep_kinds"])
        )
        return sorted(one["pkg"] for one in needed)

    def component(name: str) -> Component:
        crate = about[name]
        made = _component("cargo", crate["name"], crate["version"], crate["license"])
        if checksum := checksums.get((crate["name"], crate["version"])):
            made.hashes.add(HashType(alg=HashAlgorithm.SHA_256, content=checksum))
        return made

    engine = [name for name in nodes if about[name]["name"] == "tiltyard-whole"]
    return {
        name: (component(name), needs) for name, needs in _reached(engine, linked).items()
    }, engine


def _reached(first: Iterable[str], needs: Callable[[str], list[str]]) -> dict[str, list[str]]:
    """Everything that these lead to → what it needs."""
    found: dict[str, list[str]] = {}
    waiting = list(first)
    while waiting:
        name = waiting.pop()
        if name not in found:
            found[name] = needs(name)
            waiting += found[name]
    return dict(sorted(found.items()))


def _component(
    kind: str,
    name: str,
    version: str,
    licence: str | None,
    of: ComponentType = ComponentType.LIBRARY,
) -> Component:
    """One component with its package URL."""
    url = PackageURL(kind, None, name, version)
    licences = [DisjunctiveLicense(name=licence)] if licence else []
    return Component(
        type=of, name=name, version=version, purl=url, bom_ref=str(url), licenses=licences
    )
