"""A document with everything that a document can hold, for tests of formats."""

from tiltyard.report.document import (
    Callout,
    Column,
    Commands,
    Document,
    Entry,
    Facts,
    Figure,
    Fold,
    Paragraph,
    Section,
    Sentences,
    SheetChart,
    Table,
)

BARS = {
    "data": {"values": [{"system": "ext4", "value": 14.1}, {"system": "xfs", "value": 18.4}]},
    "mark": "bar",
    "width": 400,
    "encoding": {
        "y": {"field": "system", "type": "nominal", "title": None},
        "x": {"field": "value", "type": "quantitative", "title": "throughput, MB/s"},
    },
}
SIGNS = {"ext4": ("●", "series-1"), "xfs": ("■", "series-2")}


def everything() -> Document:
    """Each kind of block at least once; texts that every markup language must escape."""
    return Document(
        style="study",
        title="Is xfs < ext4 & 100 % \\ faster_than #1 “really”?",
        subtitle="A specimen $x^2$ ~ {braces}",
        byline="tests, 2026",
        signs=SIGNS,
        front=(
            Paragraph("XFS does 24–39 % more on this host.", "lead"),
            Facts((("blocks", "7"), ("trials kept", "21 of 21")), large=True),
            _figure(),
        ),
        sections=(
            Section(
                "throughput",
                "Throughput",
                (
                    _table(),
                    Paragraph("Medians over blocks.", "note"),
                    Sentences(("xfs is faster.", "ext4 is <not> faster & slower.")),
                    Fold("Every cell", (Paragraph("Folded text."), _plain())),
                    Callout("warning", "Mind", (Paragraph("Steal was 3 %."),)),
                ),
                sections=(Section("deeper", "Deeper", (Paragraph("A level below."),)),),
            ),
            Section(
                "configuration",
                "Configuration",
                (
                    Facts((("kernel", "6.1.0_x"), ("mount", "rw,noatime")), title="Host"),
                    Commands(("mkfs.ext4 -q $DEVICE", "mount -o noatime /dev/x /mnt")),
                    Callout("limits", "Limitations", (Sentences(("One host.",)),)),
                ),
                appendix=True,
            ),
        ),
        colophon=(("plan", "abc123"), ("tiltyard", "0")),
    )


def _figure() -> Figure:
    return Figure(
        id="ranking",
        title="Who is ahead",
        caption="Bars: medians.",
        alt="xfs 18.4 MB/s, ext4 14.1 MB/s.",
        wide=BARS,
        narrow={**BARS, "width": 260},
    )


def _table() -> Table:
    return Table(
        id="throughput-systems",
        title="Throughput by system",
        columns=(
            Column("System", figures=False),
            Column("write", "MB/s", under="Out-of-box"),
            Column("read", "MB/s", under="Out-of-box", spare=True),
            Column("verdict", figures=False),
        ),
        rows=(
            (
                Entry("ext4", kind="system"),
                Entry("14.1", 14.1234, beneath="± 0.2", beneath_value=0.21),
                Entry("30.0", 30.0),
                Entry("baseline", quiet=True),
            ),
            (
                Entry("xfs", kind="system"),
                Entry("18.4", 18.42, strong=True, shade="better-2"),
                Entry("–", None),
                Entry("faster", kind="verdict", verdict="faster"),
            ),
            (Entry("average"), Entry("16.3", 16.27), Entry("30.0", 30.0), Entry("")),
        ),
        caption="The deviation stands beneath.",
        closing=1,
        charts=(SheetChart("bar", 0, (1, 2), "Throughput", "MB/s"),),
    )


def _plain() -> Table:
    return Table(
        id="plain",
        title="Plain & simple",
        columns=(Column("record", "KiB"), Column("value", "µs")),
        rows=tuple((Entry(str(n), float(n)), Entry(f"{n * 1.5:g}", n * 1.5)) for n in (4, 8, 16)),
        charts=(SheetChart("line", 0, (1,), "Latency", "µs", log=True),),
    )
