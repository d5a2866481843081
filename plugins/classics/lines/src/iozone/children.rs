//! What many children came to: a block of lines for each phase.

use std::collections::BTreeMap;

use kit::Size;
use wire::Event;

use super::columns::Phase;
use super::jobs::Many;
use super::request::{Figures, Request};
use crate::bench::Printer;
use crate::sheet::{Cell, Sheet};

/// The blocks of one number of children, printed when all phases of a job are done, because only
/// then is it known what the children moved.
pub struct Blocks<'a> {
    request: &'a Request,
    many: &'a Many,
    /// Printed first.
    heading: String,
    has_begun: bool,
    /// Figures of the original by metric; what is missing was 0.
    pub figures: BTreeMap<String, f64>,
    counters: BTreeMap<String, u64>,
}

impl<'a> Blocks<'a> {
    /// Nothing yet.
    pub fn new(request: &'a Request, many: &'a Many, heading: String) -> Self {
        Self {
            request,
            many,
            heading,
            has_begun: false,
            figures: BTreeMap::new(),
            counters: BTreeMap::new(),
        }
    }

    fn begin(&mut self) -> String {
        self.has_begun = true;
        let [file_kb, record_kb] = [self.many.file_bytes, self.many.record_bytes].map(kb);
        std::mem::take(&mut self.heading)
            + &format!(
                "\tEach {} writes a {file_kb} kByte file in {record_kb} kByte records\n",
                self.request.child()
            )
    }

    fn block(&self, phase: &Phase) -> String {
        let (Some(least), children) = (self.counter(phase, "least_bytes"), self.many.children)
        else {
            return String::new();
        };
        let each = self.request.child();
        let padded = match phase.is_padded {
            true => format!("{children:>2}"),
            false => children.to_string(),
        };
        let (who, tabs) = phase.children;
        let who = format!("{padded} {who}");
        let rate = |ending: &str| {
            let metric = format!("{}{ending}", phase.metric);
            let value = self.figures.get(&metric).copied().unwrap_or(0.0);
            format!("= {value:>10.2} {}", self.rate_unit())
        };
        let [seen, parent] = tabs;
        let mut text = format!("\n\tChildren see throughput for {who} {seen}{}\n", rate(""));
        text += &format!(
            "\tParent sees throughput for {who} {parent}{}\n",
            rate("_parent")
        );
        for (word, ending, end) in [
            ("Min", "_child_min", " \n"),
            ("Max", "_child_max", "\n"),
            ("Avg", "_child_mean", "\n"),
        ] {
            text += &format!("\t{word} throughput per {each} \t\t\t{}{end}", rate(ending));
        }
        text += &format!("\tMin xfer \t\t\t\t\t= {}\n", self.moved(least));
        for child in 0..children {
            text += &self.child(phase, child);
        }
        text
    }

    /// The line of one child; empty unless they are asked for.
    fn child(&self, phase: &Phase, child: u32) -> String {
        let count = |what: &str| self.counter(phase, &format!("child_{child}_{what}"));
        let (Some(bytes), Some(elapsed_ns)) = (count("bytes"), count("elapsed_ns")) else {
            return String::new();
        };
        let rate = self.amount(bytes) * 1e9 / elapsed_ns.max(1) as f64;
        let (moved, unit) = (self.moved(bytes), self.rate_unit());
        format!("\tChild[{child}] xfer count = {moved}, Throughput = {rate:>10.2} {unit}\n")
    }

    fn counter(&self, phase: &Phase, what: &str) -> Option<u64> {
        let [file, record] = [self.many.file_bytes, self.many.record_bytes].map(Size);
        let name = format!(
            "{}.{file}.{record}.{}.{what}",
            phase.metric, self.many.children
        );
        self.counters.get(&name).copied()
    }

    fn amount(&self, bytes: u64) -> f64 {
        match self.request.figures {
            Figures::Operations => (bytes / self.many.record_bytes) as f64,
            _ => bytes as f64 / 1024.0,
        }
    }

    fn moved(&self, bytes: u64) -> String {
        let unit = match self.request.figures {
            Figures::Operations => "ops",
            _ => "kB",
        };
        format!("{:>10.2} {unit}", self.amount(bytes))
    }

    fn rate_unit(&self) -> &'static str {
        match self.request.figures {
            Figures::Operations => "ops/sec",
            _ => "kB/sec",
        }
    }
}

impl Printer for Blocks<'_> {
    fn text_of(&mut self, event: &Event) -> String {
        match event {
            Event::Hello(_) if !self.has_begun => return self.begin(),
            Event::Hello(_) => {}
            Event::Sample(sample) => {
                if let Some(native) = &sample.native {
                    self.figures.insert(sample.metric.clone(), native.value);
                }
            }
            Event::End(end) => {
                self.counters = end.counters.clone();
                return self
                    .many
                    .phases
                    .iter()
                    .map(|phase| self.block(phase))
                    .collect();
            }
            _ => {}
        }
        String::new()
    }
}

/// Stands once above all blocks, as in the original: of several numbers of children after -t it
/// names the last, of a range the first.
pub fn heading(request: &Request, all: &[Many]) -> String {
    let children = match request.children.last() {
        Some(&last) => last,
        None => all.first().map_or(0, |many| many.children),
    };
    let child = request.child();
    let kind = match (request.threads, children) {
        (_, 1) => child,
        (true, _) => "threads",
        (false, _) => "processes",
    };
    let mut text = String::new();
    if let (Some(least), Some(most), true) = (all.first(), all.last(), request.has_range()) {
        let [least, most] = [least, most].map(|many| many.children);
        text += &format!("\tMin {child} = {least} \n\tMax {child} = {most} \n");
    }
    text + &format!("\tThroughput test with {children} {kind}\n")
}

/// What the children saw, by number of children.
pub type Series = Vec<BTreeMap<String, f64>>;

/// Phases by numbers of children.
pub struct Matrix<'a> {
    pub phases: &'a [&'static Phase],
    pub series: &'a Series,
    pub record_bytes: u64,
    pub unit: &'a str,
    /// Whether the children are threads.
    pub threads: bool,
}

impl Matrix<'_> {
    /// The three lines above the rows.
    fn captions(&self) -> [String; 3] {
        let children = if self.threads { "threads" } else { "processes" };
        let axes = "Throughput report Y-axis is type of test X-axis is number of";
        [
            format!("{axes} {children}"),
            format!("Record size = {} kBytes", kb(self.record_bytes)),
            format!("Output is in {}", self.unit),
        ]
    }

    fn row(&self, phase: &Phase) -> impl Iterator<Item = f64> + '_ {
        let metric = phase.metric;
        let figure = move |figures: &BTreeMap<String, f64>| figures.get(metric).copied();
        self.series
            .iter()
            .map(move |figures| figure(figures).unwrap_or(0.0))
    }
}

/// The matrix of -R.
pub fn text(matrix: &Matrix) -> String {
    let [axes, record, unit] = matrix.captions();
    let mut text = format!("\n\"{axes}\"\n\"{record} \"\n\"{unit}\"\n\n");
    for phase in matrix.phases {
        text += &format!("\"{:>15} \"", phase.report);
        for value in matrix.row(phase) {
            text += &format!(" {value:>10.2} ");
        }
        text += "\n\n";
    }
    text
}

/// The same as a spreadsheet. `line` is the command line.
pub fn sheet(matrix: &Matrix, line: &str) -> Sheet {
    let mut sheet = Sheet::default();
    sheet.push(vec![Cell::Text(line.to_owned())]);
    for caption in matrix.captions() {
        sheet.push(vec![Cell::Text(caption)]);
    }
    for phase in matrix.phases {
        let title = Cell::Text(format!("{:>15} ", phase.report));
        let figures = matrix.row(phase).map(Cell::Number);
        sheet.push([title, Cell::Empty].into_iter().chain(figures).collect());
    }
    sheet
}

fn kb(bytes: u64) -> u64 {
    bytes / 1024
}
