//! The table: one row for each pass.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::PathBuf;

use kit::append::append;
use kit::failure::io_failure;
use rustix::fs::statvfs;
use wire::{End, Event, Failure, Hello, Sample};

use super::METHODS;
use crate::bench::Printer;
use crate::date;
use crate::tool::{Settings, Target};

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

/// Makes rows of samples as they come, and adds them to the log.
pub struct Table {
    settings: Settings,
    /// Where the fill level is looked at.
    directory: PathBuf,
    /// Of the pass under way, by metric.
    samples: BTreeMap<String, Sample>,
    files: u64,
    text: String,
}

impl Table {
    pub fn new(settings: Settings, target: &Target) -> Self {
        let first = settings.words_of("directories")[0];
        Self {
            directory: target.directory.join(first),
            settings,
            samples: BTreeMap::new(),
            files: 0,
            text: String::new(),
        }
    }

    fn head(&self, hello: &Hello) -> String {
        let number = |name| self.settings.number(name);
        let [name_length, random_characters] = ["name_length", "random_characters"].map(number);
        let stamp = name_length - random_characters;
        let words = self
            .settings
            .words
            .iter()
            .map(|word| word.to_string_lossy());
        let line = ["fs_mark".into()].into_iter().chain(words);
        let mut methods = METHODS.iter();
        let sync = self.settings.word("sync");
        let method = methods
            .find(|method| method.name == sync)
            .expect("-S took one of them");
        let mut text = format!(
            "\n# {}\n\
             #\tTable laid out as by Version 3.3, {} thread(s) starting at {}\n\
             #\tSync method: {}: {}\n\
             #\tDirectories:  {}\n\
             #\tFile names: {name_length} bytes long: {stamp} with the time, \
             {random_characters} at random\n\
             #\tFiles info: size {} bytes, {} bytes per write\n\
             #\tApp overhead: microseconds outside of system calls on files, of all threads\n",
            line.map(|word| format!(" {word} ")).collect::<String>(),
            hello.effective["threads"],
            date::now(date::CTIME),
            method.label,
            method.about,
            self.directories(),
            number("size"),
            number("write_block"),
        );
        let mut columns = COLUMNS.to_owned();
        if self.settings.has("-v") {
            text += "#\tTimes of system calls are in microseconds.\n";
            for (_, name) in CALLS {
                columns += &format!(" {:>26}", format!("{name} (Min/Avg/Max)"));
            }
        }
        text + "\n" + &columns + "\n"
    }

    fn directories(&self) -> String {
        let [subdirectories, files_per_subdirectory] =
            ["subdirectories", "files_per_subdirectory"].map(|name| self.settings.number(name));
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
            self.settings.number("size"),
            native(Some(files)),
            native(samples.get("overhead")),
        );
        if self.settings.has("-v") {
            for (metric, _) in CALLS {
                let [min, avg, max] =
                    times_us(metric, samples.get(metric), self.settings.word("sync"));
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

impl Printer for Table {
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
            _ => String::new(),
        };
        self.text += &text;
        text
    }

    fn finish(&mut self, _: bool) -> Result<Vec<String>, Failure> {
        let log = self.settings.path(&["-l"]);
        if !self.text.is_empty() {
            append(&log, |log| log.write_all(self.text.as_bytes()))
                .map_err(|error| io_failure("write", &log, &error))?;
        }
        Ok(Vec::new())
    }
}

fn native(sample: Option<&Sample>) -> f64 {
    let native = sample.and_then(|sample| sample.native.as_ref());
    native.map_or(0.0, |native| native.value)
}

/// Least, average and longest time of a kind of call, in whole µs, as the original has them: it
/// knows only the average of a sync, or of the one fsync that may follow it.
fn times_us(metric: &str, sample: Option<&Sample>, sync: &str) -> [u64; 3] {
    let avg_us = native(sample) as u64;
    let is_single = metric == "sync" || metric == "fsync" && sync == "sync-first";
    match sample.and_then(|sample| sample.latency_ns.as_ref()) {
        Some(times) if !is_single => [times.min / 1_000, avg_us, times.max / 1_000],
        _ => [0, avg_us, 0],
    }
}
