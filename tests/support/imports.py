"""Genuine result files, and what becomes of them when they are read."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tiltyard.collected.model import Collection
from tiltyard.importers import IMPORTERS, csv_table
from tiltyard.importers.assemble import ImportOptions, ReadFile, assemble
from tiltyard.importers.importer import Imported, Importer
from tiltyard.importers.sniff import read_with

ROOT = Path(__file__).resolve().parents[2]
GOLDEN = {
    path.name: path
    for place in ("tests/importers/golden", "plugins/readers/tests/golden")
    for path in sorted((ROOT / place).iterdir())
    if path.name in IMPORTERS.names
}
"""A folder for each importer, named after it, of files that the tool wrote; beside each file what
is read of it, as ``FILE.json``; beside a CSV its mapping, as ``.toml``."""


def golden(path: str) -> Path:
    """A file of one importer: ``fio/two-jobs.json``."""
    importer, _, name = path.partition("/")
    return GOLDEN[importer] / name


@dataclass(frozen=True)
class Genuine:
    """One result file of a tool."""

    path: Path

    @property
    def name(self) -> str:
        return f"{self.path.parent.name}/{self.path.name}"

    @property
    def data(self) -> bytes:
        return self.path.read_bytes()

    @property
    def expected(self) -> Path:
        return self.path.with_name(f"{self.path.name}.expected.json")

    @property
    def importer(self) -> Importer:
        if self.path.parent.name == "csv":
            return csv_table.importer(self.path.with_suffix(".toml"))
        return next(one for one in IMPORTERS if one.name == self.path.parent.name)

    def read(self, data: bytes | None = None) -> Imported:
        return read_with(self.importer, self.data if data is None else data, self.path.name)


GENUINE = [
    Genuine(path)
    for _, place in sorted(GOLDEN.items())
    for path in sorted(place.iterdir())
    if not path.name.endswith(".expected.json") and path.suffix != ".toml"
]


def collected(imported: Imported, importer: str = "any", name: str = "a.txt") -> Collection:
    """A collection of one file; of a system "a" where the file does not name its own."""
    named = any(one.system for workload in imported.workloads for one in workload.measured)
    file = ReadFile(name, b"", None if named else "a", importer, imported)
    return assemble([file], ImportOptions())


def told(imported: Imported) -> dict[str, Any]:
    """What was read, as it stands in the expected files: short enough to be looked at."""
    return {
        "facts": dict(imported.facts),
        "system_facts": {name: dict(own) for name, own in imported.system_facts.items()},
        "limits": list(imported.limits),
        "workloads": [
            {
                "name": workload.name,
                "use": workload.use,
                "lineage": workload.lineage,
                "parameters": dict(workload.parameters),
                "commands": list(workload.commands),
                "metrics": {
                    one.name: [
                        one.label,
                        one.unit,
                        one.direction,
                        "compared" if one.headline else "detail",
                        one.printed and [one.printed.unit, one.printed.decimals],
                    ]
                    for one in workload.metrics
                    if one.name in {measured.metric for measured in workload.measured}
                },
                "measured": [
                    [
                        one.metric,
                        dict(one.at),
                        list(one.values),
                        {
                            key: value
                            for key, value in (
                                ("system", one.system),
                                ("blocks", list(one.blocks)),
                                ("mean", one.mean),
                                ("sd", one.sd),
                                ("se", one.se),
                                ("n", one.n),
                                ("percentiles", dict(one.percentiles)),
                            )
                            if value
                        },
                    ]
                    for one in workload.measured
                ],
            }
            for workload in imported.workloads
        ],
    }


def written(found: dict[str, Any]) -> str:
    """The same as text: one measurement a line."""
    measured = [workload.pop("measured") for workload in found["workloads"]]
    for number, workload in enumerate(found["workloads"]):
        workload["measured"] = f"@{number}@"
    text = json.dumps(found, indent=1, ensure_ascii=False)
    for number, own in enumerate(measured):
        lines = ",\n".join(f"    {json.dumps(one, ensure_ascii=False)}" for one in own)
        text = text.replace(f'"@{number}@"', f"[\n{lines}\n   ]")
    return f"{text}\n"
