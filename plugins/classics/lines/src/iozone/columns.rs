//! The tests by their numbers, with the columns of the table that they fill and the phases that
//! they are for many children.

/// The highest number of a test.
pub const LAST_TEST: u32 = 12;

/// One column of the table.
#[derive(Debug)]
pub struct Column {
    /// Metric of the workload.
    pub metric: &'static str,
    /// Heading, on two lines.
    pub heading: [&'static str; 2],
    /// Title of its matrix.
    pub report: &'static str,
}

/// A test of a single stream.
#[derive(Debug)]
pub struct Test {
    pub number: u32,
    /// Name in the workload's parameter `tests`.
    pub name: &'static str,
    pub columns: &'static [Column],
    /// Blanks before its first column, beyond the one that every column begins with.
    pub indent: usize,
    /// Blanks that stand for it when it is not executed.
    pub blanks: usize,
    pub only_reads: bool,
    /// Whether it uses C streams.
    pub is_stream: bool,
}

/// A phase of many children.
#[derive(Debug)]
pub struct Phase {
    /// Number of the test that it belongs to.
    pub test: u32,
    /// Name in the workload's parameter `phases`.
    pub name: &'static str,
    /// Metric of what the children see; the others begin with it.
    pub metric: &'static str,
    /// What the children are called, with the tabs behind it where the children see their
    /// throughput and where the parent does.
    pub children: (&'static str, [&'static str; 2]),
    /// Whether the number of children is padded before that.
    pub is_padded: bool,
    /// Title of its row in the matrix.
    pub report: &'static str,
    pub is_retest: bool,
}

impl Phase {
    /// Whether it uses C streams.
    pub fn is_stream(&self) -> bool {
        STREAMS.contains(&self.test)
    }
}

/// The tests on C streams.
const STREAMS: [u32; 2] = [6, 7];

const fn column(metric: &'static str, heading: [&'static str; 2], report: &'static str) -> Column {
    Column {
        metric,
        heading,
        report,
    }
}

const WRITE: &[Column] = &[
    column("write", ["", "write"], "Writer"),
    column("rewrite", ["", "rewrite"], "Re-writer"),
];
const READ: &[Column] = &[
    column("read", ["", "read"], "Reader"),
    column("reread", ["", "reread"], "Re-Reader"),
];
const RANDOM: &[Column] = &[
    column("random_read", ["random", "read"], "Random read"),
    column("random_write", ["random", "write"], "Random write"),
];
const BACKWARD: &[Column] = &[column("backward_read", ["bkwd", "read"], "Backward read")];
const RECORD: &[Column] = &[column(
    "record_rewrite",
    ["record", "rewrite"],
    "Record rewrite",
)];
const STRIDE: &[Column] = &[column("stride_read", ["stride", "read"], "Stride read")];
const FWRITE: &[Column] = &[
    column("fwrite", ["", "fwrite"], "Fwrite"),
    column("frewrite", ["", "frewrite"], "Re-Fwrite"),
];
const FREAD: &[Column] = &[
    column("fread", ["", "fread"], "Fread"),
    column("freread", ["", "freread"], "Re-Fread"),
];
const PWRITE: &[Column] = &[
    column("pwrite", ["", "pwrite"], "Pwrite"),
    column("repwrite", ["", "repwrite"], "Re-Pwrite"),
];
const PREAD: &[Column] = &[
    column("pread", ["", "pread"], "Pread"),
    column("repread", ["", "repread"], "Re-Pread"),
];
const PWRITEV: &[Column] = &[
    column("pwritev", ["", "pwritev"], "Pwritev"),
    column("repwritev", ["", "repwritev"], "Re-Pwritev"),
];
const PREADV: &[Column] = &[
    column("preadv", ["", "preadv"], "Preadv"),
    column("repreadv", ["", "repreadv"], "Re-Preadv"),
];

const fn test(
    number: u32,
    name: &'static str,
    columns: &'static [Column],
    (indent, blanks): (usize, usize),
    only_reads: bool,
) -> Test {
    Test {
        number,
        name,
        columns,
        indent,
        blanks,
        only_reads,
        is_stream: number == STREAMS[0] || number == STREAMS[1],
    }
}

/// The tests of a single stream, in the order of their columns; widths are those of 3.498.
pub const TESTS: &[Test] = &[
    test(0, "write", WRITE, (0, 18), false),
    test(1, "read", READ, (0, 18), true),
    test(2, "random", RANDOM, (0, 18), false),
    test(3, "backward", BACKWARD, (0, 9), true),
    test(4, "record-rewrite", RECORD, (1, 10), false),
    test(5, "stride", STRIDE, (1, 10), true),
    test(6, "fwrite", FWRITE, (0, 18), false),
    test(7, "fread", FREAD, (0, 17), true),
    test(9, "pwrite", PWRITE, (0, 18), false),
    test(10, "pread", PREAD, (0, 18), true),
    test(11, "pwritev", PWRITEV, (0, 18), false),
    test(12, "preadv", PREADV, (0, 18), true),
];

/// The last test that is executed unless others are asked for.
pub const LAST_USUAL: u32 = 7;

/// The last test that the original has for mapped files and for queues.
pub const LAST_MOTION: u32 = 5;

/// The tests that are added by -E.
pub const POSITIONED: [u32; 2] = [9, 10];

const fn phase(
    (test, is_retest): (u32, bool),
    (name, metric): (&'static str, &'static str),
    (children, is_padded, tabs): (&'static str, bool, [&'static str; 2]),
    report: &'static str,
) -> Phase {
    Phase {
        test,
        name,
        metric,
        children: (children, tabs),
        is_padded,
        report,
        is_retest,
    }
}

const ONE: [&str; 2] = ["\t", "\t"];
const TWO: [&str; 2] = ["\t\t", "\t\t"];
const LATE: [&str; 2] = ["\t", "\t\t"];

/// The phases of many children, in the order in which they are executed.
#[rustfmt::skip]
pub const PHASES: &[Phase] = &[
    phase((0, false), ("write", "initial_write"), ("initial writers", true, ONE), "Initial write"),
    phase((0, true), ("rewrite", "rewrite"), ("rewriters", true, ONE), "Rewrite"),
    phase((1, false), ("read", "read"), ("readers", true, TWO), "Read"),
    phase((1, true), ("reread", "reread"), ("re-readers", false, ONE), "Re-read"),
    phase((3, false), ("backward", "reverse_read"), ("reverse readers", false, ONE), "Reverse Read"),
    phase((5, false), ("stride", "stride_read"), ("stride readers", false, ONE), "Stride read"),
    phase((2, false), ("random-read", "random_read"), ("random readers", false, ONE), "Random read"),
    phase((8, false), ("mixed", "mixed"), ("mixed workload", false, ONE), "Mixed workload"),
    phase((2, false), ("random-write", "random_write"), ("random writers", false, ONE), "Random write"),
    phase((9, false), ("pwrite", "pwrite"), ("pwrite writers", false, ONE), "Pwrite"),
    phase((10, false), ("pread", "pread"), ("pread readers", false, ONE), "Pread"),
    phase((6, false), ("fwrite", "fwrite"), ("fwriters", true, LATE), "Fwrite"),
    phase((7, false), ("fread", "fread"), ("freaders", true, LATE), "Fread"),
];
