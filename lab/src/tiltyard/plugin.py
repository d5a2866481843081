"""What a package of your own imports: the classes that its entry points name, and what they need.

`docs/guides/plug-ins.md` shows a package. An entry point of the group ``tiltyard.v1.GROUP`` names
an object of the class of that group, whose ``name`` is that of the entry point:

========== ============================================= =======================================
group      object                                        its function gets → gives
========== ============================================= =======================================
readers    :class:`Reader`                               bytes, name of the file → `Imported`
charts     `Chart`, `SystemChart` or `StudyChart`        findings → a Vega-Lite specification
styles     :class:`Style`                                findings → `Document`
formats    :class:`Format`                               document, findings → files
exporters  :class:`Exporter`                             findings → bytes of one file
filesystems :class:`Filesystem`                          (data)
knobs      :class:`Knob`                                 its table, `Scene` → settings
sections   :class:`Section`                              `Seen` → facts
kinds      :class:`Kind`                                 settings, `Site` → `System`
statements :class:`Statement`                            `Evidence` → notices, `Scene` → results
verbs      a function, with docstring and annotations    its parameters → an exit code
studies    :class:`StudyKind`                            a folder → findings
workloads  a package in which ``NAME.toml`` lie          (data)
engines    the path of a program                         (the wire: ``schema/wire.schema.json``)
========== ============================================= =======================================

Within version 1 of the groups names stay, and new fields have defaults. Whatever an entry does
wrong is said with the name of its package, and harms nothing but what was asked of it. Two things
are no plug-in points: what a change of a host is taken back by (that must be possible after the
package has gone), and estimators and the tests of our own family of further findings (another one
would move every p-value). A class is loaded when it is asked for, so that a reader costs a reader.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from tiltyard.analysis.model import Findings, Notice, WorkloadFindings
    from tiltyard.analysis.statements.evidence import Candidate, Evidence, Result
    from tiltyard.analysis.statements.evidence import Scene as Tested
    from tiltyard.analysis.statements.statement import Statement, statement
    from tiltyard.app.studies import StudyKind
    from tiltyard.charts.chart import Chart, Spec, StudyChart, SystemChart
    from tiltyard.collected.model import CollectedMetric as Metric
    from tiltyard.errors import HostLacksError, RefusedError, TiltyardError, UsageError
    from tiltyard.exporters.exporter import Exporter
    from tiltyard.host.op import AttachLoop, Link, MakeDirectory, Mount, PutText, PutZeros, Run
    from tiltyard.host.packages import Tool
    from tiltyard.host.place import Place
    from tiltyard.host.record.section import Section, Seen
    from tiltyard.host.steps import Step, Steps
    from tiltyard.importers.importer import Imported, ImportedWorkload, Measured, single
    from tiltyard.importers.importer import Importer as Reader
    from tiltyard.importers.quantities import Unit, metric, unit_named
    from tiltyard.importers.reading import Line, lines_of
    from tiltyard.report.document import Block, Column, Document, Entry, Figure, Paragraph, Table
    from tiltyard.report.formats.format import Format
    from tiltyard.report.styles.style import Style
    from tiltyard.systems.filesystems.driver import KernelDriver
    from tiltyard.systems.filesystems.filesystem import Filesystem
    from tiltyard.systems.filesystems.server import ServerDriver
    from tiltyard.systems.kind import Kind, Problem, Site, System, SystemSettings, Up
    from tiltyard.tuning.knob import Knob, KnobTable
    from tiltyard.tuning.setting import Scene, Setting

__all__ = [
    "AttachLoop",
    "Block",
    "Candidate",
    "Chart",
    "Column",
    "Document",
    "Entry",
    "Evidence",
    "Exporter",
    "Figure",
    "Filesystem",
    "Findings",
    "Format",
    "HostLacksError",
    "Imported",
    "ImportedWorkload",
    "KernelDriver",
    "Kind",
    "Knob",
    "KnobTable",
    "Line",
    "Link",
    "MakeDirectory",
    "Measured",
    "Metric",
    "Mount",
    "Notice",
    "Paragraph",
    "Place",
    "Problem",
    "PutText",
    "PutZeros",
    "Reader",
    "RefusedError",
    "Result",
    "Run",
    "Scene",
    "Section",
    "Seen",
    "ServerDriver",
    "Setting",
    "Site",
    "Spec",
    "Statement",
    "Step",
    "Steps",
    "StudyChart",
    "StudyKind",
    "Style",
    "System",
    "SystemChart",
    "SystemSettings",
    "Table",
    "Tested",
    "TiltyardError",
    "Tool",
    "Unit",
    "Up",
    "UsageError",
    "WorkloadFindings",
    "lines_of",
    "metric",
    "single",
    "statement",
    "unit_named",
]

_PROMISED: Final = {
    "analysis.model": "Findings Notice WorkloadFindings",
    "analysis.statements.evidence": "Candidate Evidence Result Tested=Scene",
    "analysis.statements.statement": "Statement statement",
    "app.studies": "StudyKind",
    "charts.chart": "Chart Spec StudyChart SystemChart",
    "collected.model": "Metric=CollectedMetric",
    "errors": "HostLacksError RefusedError TiltyardError UsageError",
    "exporters.exporter": "Exporter",
    "host.op": "AttachLoop Link MakeDirectory Mount PutText PutZeros Run",
    "host.packages": "Tool",
    "host.place": "Place",
    "host.record.section": "Section Seen",
    "host.steps": "Step Steps",
    "importers.importer": "Imported ImportedWorkload Measured Reader=Importer single",
    "importers.quantities": "Unit metric unit_named",
    "importers.reading": "Line lines_of",
    "report.document": "Block Column Document Entry Figure Paragraph Table",
    "report.formats.format": "Format",
    "report.styles.style": "Style",
    "systems.filesystems.driver": "KernelDriver",
    "systems.filesystems.filesystem": "Filesystem",
    "systems.filesystems.server": "ServerDriver",
    "systems.kind": "Kind Problem Site System SystemSettings Up",
    "tuning.knob": "Knob KnobTable",
    "tuning.setting": "Scene Setting",
}
"""Module → what is promised of it, ``name`` or ``name=as it is called there``."""
_PLACES: Final = {
    word.partition("=")[0]: (module, word.rpartition("=")[2])
    for module, words in _PROMISED.items()
    for word in words.split()
}


def __getattr__(name: str) -> Any:
    """Load a class when it is asked for."""
    if name not in _PLACES:
        raise AttributeError(f"module {__name__} promises no {name}")
    module, own = _PLACES[name]
    return getattr(import_module(f"tiltyard.{module}"), own)
