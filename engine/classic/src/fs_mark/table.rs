//! The table: one row for each pass.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;

use rustix::fs::statvfs;
use wire::{End, Event, Hello, Sample};

use super::request::Request;
use crate::bench::Printer;
use crate::date;

const COLUMNS: &str = "FSUse%        Count         Size    Files/sec     App Overhead";
/// Metrics of the further columns, and what these are called.
const CALLS: [(&str, &str); 6] = [
    ("create", "CREAT"),
    ("write", "WRITE"),
    ("fsync", "FSYNC"),
    ("sync", "SYNC"),
    ("close", "CLOSE"),
    ("unlink", "UNLINK"),
];

/// Makes rows of samples as they come.
pub struct Table<'a> {
    request: &'a Request,
    line: String,
    /// Where the fill level is looked at.
    directory: PathBuf,
    /// Of the pass under way, by metric.
    samples: BTreeMap<String, Sample>,
    files: u64,
    text: String,
}

impl<'a> Table<'a> {
    /// Of the command line `arguments`.
    pub fn new(request: &'a Request, arguments: &[OsString]) -> Self {
        let words = arguments.iter().map(|word| word.to_string_lossy());
        let words = ["fs_mark".into()].into_iter().chain(words);
        Self {
            request,
            line: words.map(|word| format!(" {word} ")).collect(),
            directory: request.places.paths().next().unwrap_or_default(),
            samples: BTreeMap::new(),
            files: 0,
            text: String::new(),
        }
    }

    /// All that was printed.
    pub fn text(&self) -> &str {
        &self.text
    }

    fn head(&self, hello: &Hello) -> String {
        let Request {
            method,
            name_length,
            random_characters,
            size,
            write_block,
            ..
        } = self.request;
        let stamp = name_length.saturating_sub(*random_characters);
        let mut text = format!(
            "\n# {}\n\
             #\tTable laid out as by Version 3.3, {} thread(s) starting at {}\n\
             #\tSync method: {}: {}\n\
             #\tDirectories:  {}\n\
             #\tFile names: {name_length} bytes long: {stamp} with the time, \
             {random_characters} at random\n\
             #\tFiles info: size {} bytes, {} bytes per write\n\
             #\tApp overhead: microseconds outside of system calls on files, of all threads\n",
            self.line,
            hello.effective["threads"],
            date::now(date::CTIME),
            method.label,
            method.about,
            self.directories(),
            size.bytes(),
            write_block.bytes(),
        );
        let mut columns = COLUMNS.to_owned();
        if self.request.is_verbose {
            text += "#\tTimes of system calls are in microseconds.\n";
            for (_, name) in CALLS {
                columns += &format!(" {:>26}", format!("{name} (Min/Avg/Max)"));
            }
        }
        text + "\n" + &columns + "\n"
    }

    fn directories(&self) -> String {
        let Request {
            subdirectories,
            files_per_subdirectory,
            ..
        } = self.request;
        match (subdirectories, files_per_subdirectory) {
            (0, _) => "no subdirectories used".to_owned(),
            (_, 0) => format!("{subdirectories} subdirectories, 180 seconds each, by the clock"),
            _ => format!("{subdirectories} subdirectories, {files_per_subdirectory} files each"),
        }
    }

    /// The row of the pass that is over, if one is.
    fn row(&mut self, used_percent: u64) -> String {
        let samples = std::mem::take(&mut self.samples);
        let Some(files) = samples.get("files") else {
            return String::new();
        };
        self.files += files.operations;
        let mut row = format!(
            "{used_percent:6} {:12} {:12} {:12.1} {:16.0}",
            self.files,
            self.request.size.bytes(),
            native(Some(files)),
            native(samples.get("overhead")),
        );
        if self.request.is_verbose {
            for (metric, _) in CALLS {
                let [min, avg, max] = times_us(metric, samples.get(metric), self.request);
                row += &format!(" {min:8} {avg:8} {max:8}");
            }
        }
        row + "\n"
    }

    fn used_percent(&self) -> u64 {
        statvfs(&self.directory).map_or(0, |state| {
            let used = state.f_blocks.saturating_sub(state.f_bavail);
            100 * used / state.f_blocks.max(1)
        })
    }

    fn last_row(&mut self, end: &End) -> String {
        let used_percent = end.counters.get("used_percent").copied();
        self.row(used_percent.unwrap_or_default())
    }
}

impl Printer for Table<'_> {
    fn text_of(&mut self, event: &Event) -> String {
        let text = match event {
            Event::Hello(hello) => self.head(hello),
            // The next pass begins.
            Event::Progress(_) => self.row(self.used_percent()),
            Event::Sample(sample) => {
                self.samples.insert(sample.metric.clone(), sample.clone());
                String::new()
            }
            Event::End(end) => self.last_row(end),
            Event::Connection(_) | Event::Interval(_) | Event::Warning(_) => String::new(),
        };
        self.text += &text;
        text
    }
}

fn native(sample: Option<&Sample>) -> f64 {
    let native = sample.and_then(|sample| sample.native.as_ref());
    native.map_or(0.0, |native| native.value)
}

/// Least, average and longest time of a kind of call, in whole µs, as the original has them: it
/// knows only the average of a sync, or of the one fsync that may follow it.
fn times_us(metric: &str, sample: Option<&Sample>, request: &Request) -> [u64; 3] {
    let avg_us = native(sample) as u64;
    let is_single = metric == "sync" || metric == "fsync" && request.method.name == "sync-first";
    match sample.and_then(|sample| sample.latency_ns.as_ref()) {
        Some(times) if !is_single => [times.min / 1_000, avg_us, times.max / 1_000],
        _ => [0, avg_us, 0],
    }
}
