//! What is printed: the shape of the tree, and for each phase its times and rates.

use std::collections::BTreeMap;
use std::ffi::CStr;
use std::path::PathBuf;

use wire::{End, Event, Sample};

use crate::bench::Printer;
use crate::date;
use crate::tool::{Settings, Target};

const DATE: &CStr = c"%a %b %e %H:%M:%S %Z %Y";
const KIB: u64 = 1_024;

/// A phase, and the words for it.
struct Phase {
    /// Its rate, and the start of the names of its counters.
    metric: &'static str,
    title: &'static str,
    rate: &'static str,
}

const PHASES: [Phase; 4] = [
    phase(
        "directories_created",
        "DIRECTORY CREATE TIME IN, OUT, TOTAL =",
        "Directory creates per second =",
    ),
    phase(
        "files_created",
        "FILE CREATE TIME IN, OUT, TOTAL      =",
        "File creates per second      =",
    ),
    phase(
        "files_removed",
        "FILE REMOVE TIME IN, OUT, TOTAL      =",
        "File removals per second     =",
    ),
    phase(
        "directories_removed",
        "DIRECTORY REMOVE TIME IN, OUT, TOTAL =",
        "Directory removals per second =",
    ),
];
/// Beside the rate of creating files.
const DATA: &str = "data_written";
const DATA_RATE: &str = "KiB per second               =";

const fn phase(metric: &'static str, title: &'static str, rate: &'static str) -> Phase {
    Phase {
        metric,
        title,
        rate,
    }
}

/// Gathers what the phases found; the seconds that the original counts are known at the end.
pub struct Report {
    settings: Settings,
    root: PathBuf,
    /// When the phase under way began.
    begun: String,
    samples: BTreeMap<String, Found>,
}

/// A figure, and the dates around its phase.
struct Found {
    sample: Sample,
    begun: String,
    ended: String,
}

impl Report {
    pub fn new(settings: Settings, target: &Target) -> Self {
        Self {
            root: target.directory.join(settings.word("root")),
            settings,
            begun: String::new(),
            samples: BTreeMap::new(),
        }
    }

    /// To be asked for only when the job has been accepted: then all that is counted is small.
    fn head(&self) -> String {
        let number = |name| self.settings.number(name);
        let [levels, directories, files] = ["levels", "directories", "files"].map(number);
        let directories_all: u64 = (0..=levels)
            .map(|level| directories.pow(level as u32))
            .sum();
        let files_all = directories_all * files;
        let file_kib = number("size") / KIB;
        format!(
            "fdtree-1.0.2: starting at {}/\n\
             \tcreating/deleting {levels} directory levels with {directories} directories at each level\n\
             \tfor a total of {directories_all} directories\n\
             \twith {files} files of size {file_kib}KiB per directory\n\
             \tfor a total of {files_all} files and {}KiB\n",
            self.root.display(),
            files_all * file_kib,
        )
    }

    fn phases(&self, end: &End) -> String {
        let mut text = String::new();
        let mut out_s = 0.0;
        for phase in PHASES {
            let Some(found) = self.samples.get(phase.metric) else {
                continue;
            };
            let times = if self.settings.has("--in-process") {
                let in_s = out_s;
                out_s += found.sample.elapsed_s;
                [in_s, out_s, found.sample.elapsed_s].map(|s| format!("{s:.3}"))
            } else {
                let second = |at| {
                    let counter = end.counters.get(&format!("{}_{at}_s", phase.metric));
                    counter.copied().unwrap_or_default()
                };
                let (in_s, out_s) = (second("in"), second("out"));
                [in_s, out_s, out_s.saturating_sub(in_s)].map(|s| s.to_string())
            };
            text += &format!(
                "{}\n{}\n{} {}\n\t{}  {}\n",
                found.begun,
                found.ended,
                phase.title,
                times.join(", "),
                phase.rate,
                self.figure(&found.sample, 1.0),
            );
            if phase.metric == "files_created" {
                // Files without bytes have no such rate, and this line all the same.
                let data = self.samples.get(DATA);
                let kib = data.map_or(0, |data| self.figure(&data.sample, KIB as f64));
                text += &format!("\t{DATA_RATE}  {kib}\n");
            }
        }
        text
    }

    /// The original's figure, or the exact one in multiples of `unit`, as a whole number.
    fn figure(&self, sample: &Sample, unit: f64) -> u64 {
        match &sample.native {
            Some(native) if !self.settings.has("--in-process") => native.value as u64,
            _ => (sample.value / unit) as u64,
        }
    }
}

impl Printer for Report {
    fn text_of(&mut self, event: &Event) -> String {
        match event {
            Event::Hello(_) => return self.head(),
            Event::Progress(_) => self.begun = date::now(DATE),
            Event::Sample(sample) => {
                let found = Found {
                    sample: sample.clone(),
                    begun: self.begun.clone(),
                    ended: date::now(DATE),
                };
                self.samples.insert(sample.metric.clone(), found);
            }
            Event::End(end) if end.failure.is_none() => return self.phases(end),
            _ => {}
        }
        String::new()
    }
}
