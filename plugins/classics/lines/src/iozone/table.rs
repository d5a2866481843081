//! The table of a single stream: a row for each size of file and record, printed figure by
//! figure as they come.

use std::collections::BTreeSet;

use classic_workloads::iozone::grid::Grid;
use kit::Size;
use wire::{Event, Sample, Warning};

use super::columns::{Column, Test};
use crate::bench::Printer;

/// One figure of the table.
#[derive(Debug, Clone, PartialEq)]
pub struct Figure {
    /// Size of the file, in bytes.
    pub file: u64,
    /// Size of a record, in bytes.
    pub record: u64,
    pub metric: String,
    pub value: f64,
}

/// The table as far as it is printed.
pub struct Table {
    /// Printed before the first figure.
    banner: String,
    /// Every test that has a column or the room of one.
    all: Vec<(&'static Test, bool)>,
    /// Where the row that is being printed stands.
    row: Option<Row>,
    /// All figures so far.
    pub figures: Vec<Figure>,
    /// Sizes that are asked for, in bytes.
    pub files: Vec<u64>,
    pub records: Vec<u64>,
    /// Codes of the warnings that were printed.
    told: BTreeSet<String>,
}

#[derive(Debug, PartialEq)]
struct Row {
    file: u64,
    record: u64,
    /// Number of the field that comes next.
    next: usize,
}

/// A part of a row.
enum Field {
    Column(&'static Column, usize),
    Blanks(usize),
}

impl Table {
    /// A table for `tests` among `all` that have columns, over a grid.
    pub fn new(
        banner: String,
        all: Vec<&'static Test>,
        tests: &[&'static Test],
        grid: &Grid,
    ) -> Self {
        let bytes = |sizes: &[Size]| sizes.iter().map(|size| size.bytes()).collect();
        let is_wanted = |test: &Test| tests.iter().any(|wanted| wanted.number == test.number);
        let all: Vec<_> = all
            .into_iter()
            .map(|test| (test, is_wanted(test)))
            .collect();
        let banner = banner + &heading(&all);
        Self {
            banner,
            all,
            row: None,
            figures: Vec::new(),
            files: bytes(&grid.files),
            records: bytes(&grid.records),
            told: BTreeSet::new(),
        }
    }

    fn add(&mut self, sample: &Sample) -> String {
        let size = |name: &str| {
            sample
                .at
                .get(name)
                .and_then(|size| size.as_u64())
                .unwrap_or(0)
        };
        let (file, record) = (size("file"), size("record"));
        let value = sample.native.as_ref().map_or(0.0, |native| native.value);
        self.figures.push(Figure {
            file,
            record,
            metric: sample.metric.clone(),
            value,
        });
        let mut text = String::new();
        let goes_on = |row: &Row| (row.file, row.record) == (file, record);
        if !self.row.as_ref().is_some_and(goes_on) {
            text += &self.end_row();
            text += &format!("{:>16}{:>8}", file / 1024, record / 1024);
            let next = 0;
            self.row = Some(Row { file, record, next });
        }
        text + &self.fill_up_to(Some(&sample.metric)) + &shown(value)
    }

    /// The rest of the row.
    pub fn end_row(&mut self) -> String {
        if self.row.is_none() {
            return String::new();
        }
        let rest = self.fill_up_to(None);
        self.row = None;
        rest + "\n"
    }

    /// Fields up to that of `metric`, with zeros for what was not measured, as the original has
    /// for second passes that were not done.
    fn fill_up_to(&mut self, metric: Option<&str>) -> String {
        let Some(row) = &mut self.row else {
            return String::new();
        };
        let mut text = String::new();
        for field in fields(&self.all).into_iter().skip(row.next) {
            row.next += 1;
            match field {
                Field::Blanks(count) => text += &" ".repeat(count),
                Field::Column(column, indent) => {
                    text += &" ".repeat(indent);
                    if Some(column.metric) == metric {
                        break;
                    }
                    text += &shown(0.0);
                }
            }
        }
        text
    }
}

impl Printer for Table {
    fn text_of(&mut self, event: &Event) -> String {
        match event {
            Event::Hello(_) => std::mem::take(&mut self.banner),
            Event::Sample(sample) => self.add(sample),
            // A row may be the work of several jobs.
            _ => String::new(),
        }
    }

    /// Jobs of many rows would say the same of each.
    fn passes_on(&mut self, warning: &Warning) -> bool {
        self.told.insert(warning.code.clone())
    }
}

fn fields(all: &[(&'static Test, bool)]) -> Vec<Field> {
    let mut fields = Vec::new();
    for (test, is_wanted) in all {
        if *is_wanted {
            let indents = std::iter::once(test.indent).chain(std::iter::repeat(0));
            let columns = test.columns.iter().zip(indents);
            fields.extend(columns.map(|(column, indent)| Field::Column(column, indent)));
        } else {
            fields.push(Field::Blanks(test.blanks));
        }
    }
    fields
}

/// A figure in a column of ten, never touching the one before it.
fn shown(value: f64) -> String {
    format!(" {value:>9.0}")
}

/// The names of all columns, also of those that are not asked for, as in the original: there are
/// programs that count them. Right above their figures where all are.
fn heading(all: &[(&'static Test, bool)]) -> String {
    let whole: Vec<_> = all.iter().map(|(test, _)| (*test, true)).collect();
    let fields = fields(&whole);
    let line = |row: usize, beginning: &str| {
        let names = fields.iter().map(|field| match field {
            Field::Blanks(count) => " ".repeat(*count),
            Field::Column(column, indent) => {
                format!("{} {:>9}", " ".repeat(*indent), column.heading[row])
            }
        });
        let line = beginning.to_owned() + &names.collect::<String>();
        format!("{}\n", line.trim_end())
    };
    let sizes = format!("{:>16}{:>8}", "kB", "reclen");
    line(0, &" ".repeat(sizes.len())) + &line(1, &sizes)
}

#[cfg(test)]
pub(super) mod tests {
    use serde_json::json;
    use wire::{Direction, Native, Unit};

    use super::super::columns::TESTS;
    use super::*;

    fn sample(metric: &str, file_kb: u64, record_kb: u64, figure: f64) -> Sample {
        let at = json!({"file": file_kb << 10, "record": record_kb << 10});
        Sample {
            metric: metric.to_owned(),
            value: figure,
            unit: Unit::BytesPerSecond,
            direction: Direction::Higher,
            at: at.as_object().cloned().unwrap_or_default(),
            operations: 1,
            bytes: 1,
            elapsed_s: 1.0,
            native: Some(Native {
                value: figure,
                unit: "kB/s".to_owned(),
            }),
            latency_ns: None,
        }
    }

    /// The tests write and backward of three cells, the last of them cut short.
    pub fn table() -> (Table, Vec<&'static Test>, String) {
        let all: Vec<&'static Test> = TESTS[..4].iter().collect();
        let tests = vec![&TESTS[0], &TESTS[3]];
        let sizes = vec![Size(64 << 10), Size(128 << 10)];
        let grid = Grid {
            files: sizes.clone(),
            records: sizes,
            cells: Vec::new(),
        };
        let mut table = Table::new(String::new(), all, &tests, &grid);
        let mut text = std::mem::take(&mut table.banner);
        for (metric, file_kb, record_kb, figure) in [
            ("write", 64, 64, 1_232_453.0),
            ("rewrite", 64, 64, 9_999_999_999.0),
            ("backward_read", 64, 64, 7.0),
            ("write", 128, 64, 10.0),
            ("backward_read", 128, 64, 11.0),
            ("write", 128, 128, 12.0),
        ] {
            let sample = sample(metric, file_kb, record_kb, figure);
            text += &table.text_of(&Event::Sample(sample));
        }
        text += &table.end_row();
        (table, tests, text)
    }

    /// Ten wide, blanks where a test is left out, zeros for what was not measured; figures never
    /// touch.
    #[test]
    fn rows_have_the_widths_of_the_original_and_grow_figure_by_figure() {
        let (_, _, text) = table();
        let gap = " ".repeat(18 + 18);
        let expected = [
            format!("{}    random    random      bkwd", " ".repeat(64)),
            "              kB  reclen     write   rewrite      read    reread      read     write      read"
                .to_owned(),
            format!("              64      64   1232453 9999999999{gap}         7"),
            format!("             128      64        10         0{gap}        11"),
            format!("             128     128        12         0{gap}         0"),
        ];
        assert_eq!(text, expected.join("\n") + "\n");
    }
}
