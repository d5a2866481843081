"""A package of a stranger: one of each, in as few lines as it takes. A test installs it."""

import json
import re

from tiltyard.plugin import (
    Chart,
    Document,
    Evidence,
    Exporter,
    Filesystem,
    Findings,
    Format,
    Imported,
    Kind,
    Knob,
    KnobTable,
    MakeDirectory,
    Measured,
    Notice,
    Paragraph,
    Problem,
    Reader,
    Section,
    Site,
    Spec,
    Statement,
    Step,
    Steps,
    Style,
    System,
    SystemSettings,
    Tool,
    Unit,
    Up,
    WorkloadFindings,
    metric,
    single,
    unit_named,
)

_SECONDS = unit_named("s")
assert isinstance(_SECONDS, Unit)
_METRICS = (metric("lap", _SECONDS, 3),)


def _read(data: bytes, name: str) -> Imported:
    laps = tuple(float(lap) for lap in re.findall(rb"^lap (\S+) s$", data, re.MULTILINE))
    return single("turbo", _METRICS, (Measured("lap", {}, laps),))


READER = Reader(
    name="turbo",
    about="what turbo prints",
    left_out="nothing",
    cut_off="laps that are whole are kept",
    repeats="laps",
    recognises=lambda head: head.startswith("turbo 1\n"),
    read=_read,
    metrics=_METRICS,
)


def _draw(findings: Findings, workload: WorkloadFindings, width_px: int) -> Spec:
    names = [system.name for system in findings.systems]
    return {
        "width": width_px // 2,
        "data": {"values": [{"system": name, "place": n} for n, name in enumerate(names)]},
        "mark": "bar",
        "encoding": {"x": {"field": "system"}, "y": {"field": "place", "type": "quantitative"}},
    }


CHART = Chart(
    name="podium",
    places=("verdict", "overview", "values", "grid"),
    title="The podium of turbo",
    caption="Who stands where.",
    draw=_draw,
    alt=lambda findings, workload: f"A podium of {workload.name}.",
)


def _compose(findings: Findings) -> Document:
    return Document("leaflet", findings.question, front=(Paragraph("By turbo."),))


STYLE = Style(name="leaflet", about="a leaflet", compose=_compose)
FORMAT = Format(
    name="txt",
    about="plain text",
    file="report.txt",
    render=lambda document, findings: {"report.txt": document.title.encode()},
)
EXPORTER = Exporter(
    name="laps",
    about="names as JSON",
    file="laps.json",
    render=lambda findings: json.dumps([one.name for one in findings.systems]).encode(),
)
FILESYSTEM = Filesystem(
    name="turbofs",
    about="a fast one",
    tool=Tool("mkfs.turbofs", "turbofs-tools", ("-V",)),
    flags=("-q",),
    min_bytes=2**20,
    typical_bytes=2**29,
)


class TurboTable(KnobTable):
    """Its table of a tuning profile."""

    boost: bool = False


KNOB = Knob(
    name="turbo", about="Boosts.", Table=TurboTable, of="host", settings=lambda table, scene: []
)
SECTION = Section(
    name="turbo",
    tell=lambda seen: {"release": seen.file("/proc/sys/kernel/osrelease")},
    files=("/proc/sys/kernel/osrelease",),
)


class TurboSettings(SystemSettings):
    """What its kind can be told."""

    gear: int


class Turbo(System):
    """A directory in the folder of the study."""

    def __init__(self, name: str, settings: TurboSettings, site: Site) -> None:
        """Nothing is touched yet."""
        self.steps = Steps(site.ledger, site.check, site.note, site.place)
        self._directory = site.work / site.ledger.name(f"turbo-{name}")
        self._gear = settings.gear

    def problems(self) -> list[Problem]:
        """None."""
        return []

    def steps_up(self) -> list[Step]:
        """A directory."""
        return [MakeDirectory(path=self._directory)]

    def look(self) -> Up:
        """It."""
        return Up(self._directory, (), {"gear": str(self._gear)})


KIND = Kind(name="turbo", about="geared", Settings=TurboSettings, target="directory", open=Turbo)


def _notices(evidence: Evidence) -> list[Notice]:
    return [Notice(severity="note", text="Turbo was there.")]


STATEMENT = Statement(
    name="turbo was there", shown="notice", says="Turbo was there.", test="Always.", make=_notices
)


def lap(count: int = 1, /) -> int:
    """Count laps.

    Args:
        count: How many.
    """
    print(f"laps: {count}")  # noqa: T201
    return 6
