//! The course of a trial: setup, servers, executions that are thrown away, those that are
//! measured, cleanup.

use std::collections::BTreeSet;
use std::fs::File;
use std::path::{Path, PathBuf};

use kit::failure::{failure, interrupted, io_failure};
use kit::splitmix::SplitMix;
use kit::{clock, stop, EventSink};
use rustix::fd::AsFd;
use wire::{Event, Execution, Failure, FailureKind, Output, Step};

use crate::execute::{Bounds, Executed, Executor};
use crate::group::Group;
use crate::params::{Commands, Layout, Same};
use crate::plan::{Planned, SHELL};
use crate::reap::Ended;
use crate::room::Room;
use crate::spawn::{self, Recipe, Strings};
use crate::{measures, output, reason, signals, words};

/// Cleanup after a wish to stop has this long.
const LAST_S: f64 = 10.0;
/// Empty shells whose start is measured; the median counts.
const SHELL_STARTS: u32 = 11;
/// Sizes of the padding: so many, so many bytes apart.
const PADDINGS: u64 = 256;
const PADDING_STEP: u64 = 16;
const PADDING: &str = "TILTYARD_PADDING";
/// What is given away at least, so that progress is not told after each short execution.
const PROGRESS_NS: u64 = 500_000_000;

/// Carries a trial out.
///
/// # Errors
/// Whatever kept it from being done as declared.
pub fn run(planned: &Planned, sink: &mut EventSink) -> Result<(), Failure> {
    let params = &planned.params;
    let account = planned.account.as_ref();
    let room = Room::make(&planned.directory, params.place.as_deref(), account)?;
    let place = match &params.place {
        Some(place) => words::fill("where", place, &planned.values(&room.path, 0))?,
        None => room.path.display().to_string(),
    };
    let executor = Executor::new(Group::make("program")).map_err(|error| no_memory(&error))?;
    let mut course = Course {
        planned,
        place: place.into(),
        stdin: String::new(),
        executor,
        sink,
        told: BTreeSet::new(),
        stdout: None,
        shell: Execution::default(),
        padding: SplitMix::new(clock::now_ns()).draw(),
        killed_for_memory: reason::killed_for_memory(),
        told_ns: 0,
        room: &room,
    };
    let done = course.carry_out();
    let cleaned = course.once(Step::Cleanup, &params.cleanup);
    let mounts = room.unmount();
    done.and(cleaned)?;
    match mounts.first() {
        None => Ok(()),
        Some(point) => Err(reason::broken(format!(
            "left mounted: {}; unmounted. Fix: unmount it in cleanup",
            point.display()
        ))),
    }
}

fn no_memory(error: &std::io::Error) -> Failure {
    failure(
        FailureKind::HostLacks,
        format!("no memory for a trial: {error}"),
    )
}

/// A trial as it goes on.
struct Course<'a, 'b> {
    planned: &'a Planned,
    place: PathBuf,
    stdin: String,
    executor: Executor,
    sink: &'a mut EventSink<'b>,
    room: &'a Room,
    /// Hashes of the outputs that were handed over.
    told: BTreeSet<String>,
    /// What the first execution printed.
    stdout: Option<String>,
    /// What the start of an empty shell takes.
    shell: Execution,
    padding: u64,
    killed_for_memory: u64,
    told_ns: u64,
}

impl Course<'_, '_> {
    fn carry_out(&mut self) -> Result<(), Failure> {
        let params = &self.planned.params;
        self.once(Step::Setup, &params.setup)?;
        self.measure_shell()?;
        for number in 1..=params.warmup {
            self.whole(Step::Warmup, number)?;
        }
        let (mut executions, mut sum_s) = (Vec::new(), 0.0);
        while executions.len() < params.executions as usize || sum_s < params.at_least {
            let done = self.whole(Step::Measure, executions.len() as u32 + 1)?;
            sum_s += done.elapsed_s;
            executions.push(done);
            self.progress(executions.len(), sum_s);
        }
        measures::report(&executions, self.sink);
        Ok(())
    }

    fn progress(&mut self, executions: usize, sum_s: f64) {
        let params = &self.planned.params;
        let now_ns = clock::now_ns();
        if now_ns - self.told_ns < PROGRESS_NS {
            return;
        }
        self.told_ns = now_ns;
        let of_number = executions as f64 / f64::from(params.executions);
        let of_time = match params.at_least > 0.0 {
            true => sum_s / params.at_least,
            false => 1.0,
        };
        let done = of_number.min(of_time).min(1.0);
        self.sink.progress(done, format!("execution {executions}"));
    }

    /// The commands of a step that is not repeated.
    fn once(&mut self, step: Step, commands: &Commands) -> Result<(), Failure> {
        for (number, words) in (1..).zip(&commands.0) {
            self.command(step, number, number, words)?;
        }
        Ok(())
    }

    /// One execution with what comes before and after it.
    fn whole(&mut self, step: Step, number: u32) -> Result<Execution, Failure> {
        let params = &self.planned.params;
        for words in &params.prepare.0 {
            self.command(Step::Prepare, number, number, words)?;
        }
        let done = self.command(step, number, number, &params.command)?;
        for words in &params.conclude.0 {
            self.command(Step::Conclude, number, number, words)?;
        }
        Ok(done)
    }

    /// Executes a command, hands over what it did, and holds it against what is expected.
    fn command(
        &mut self,
        step: Step,
        number: u32,
        execution: u32,
        words: &[String],
    ) -> Result<Execution, Failure> {
        let params = &self.planned.params;
        let is_main = matches!(step, Step::Measure | Step::Warmup);
        if stop::requested() && step != Step::Cleanup {
            return Err(interrupted());
        }
        let values = self.planned.values(&self.room.path, execution);
        let fill = |word: &String| words::fill("command", word, &values);
        let words: Vec<String> = words.iter().map(fill).collect::<Result<_, _>>()?;
        let what = format!("{} {number}, {}", name_of(step), reason::shown(&words));
        let words = match params.shell {
            true => vec![SHELL.to_owned(), "-c".to_owned(), words.join(" ")],
            false => words,
        };
        if step == Step::Measure {
            // Settles where that is wanted; the program takes the first instant itself.
            clock::begin_ns();
        }
        let done = self.execute(step, &what, &words, execution)?;
        let expected = if is_main {
            &params.expect.exit[..]
        } else {
            &[0]
        };
        let killed = reason::killed_for_memory_since(self.killed_for_memory, &done);
        let timeout_s = self.timeout_s(step);
        let flood_bytes = params.flood.bytes();
        let wrong = reason::wrong(&what, &done, expected, timeout_s, flood_bytes, killed);
        let mut files = Vec::new();
        let mut missing = None;
        if is_main && wrong.is_none() {
            for file in &params.files {
                let path = self.place.join(words::fill("files", file, &values)?);
                match output::of_file(&path, params.keep.bytes()) {
                    Ok(found) => files.push((file.clone(), found)),
                    Err(error) => missing = Some((path, error)),
                }
            }
        }
        let told = self.tell(step, number, done, files);
        if let Some(failure) = wrong {
            return Err(failure);
        }
        if let Some((path, error)) = missing {
            let path = path.display();
            return Err(reason::broken(format!("{what}: no file {path}: {error}")));
        }
        if is_main {
            self.compare(&what, &told)?;
        }
        Ok(told)
    }

    /// What is expected to be the same is.
    fn compare(&mut self, what: &str, done: &Execution) -> Result<(), Failure> {
        let first = self.stdout.get_or_insert_with(|| done.stdout.clone());
        if self.planned.params.expect.stdout == Same::Any || *first == done.stdout {
            return Ok(());
        }
        Err(reason::broken(format!(
            "{what}: printed something else than the first execution ({} and {} in the record). \
             Fix: let it print the same, or leave expect.stdout out; a program that prints its \
             environment needs layout = \"fixed\"",
            &done.stdout[..12],
            &first[..12],
        )))
    }

    fn timeout_s(&self, step: Step) -> f64 {
        let timeout_s = self.planned.params.timeout;
        match step == Step::Cleanup && stop::requested() {
            true => timeout_s.min(LAST_S),
            false => timeout_s,
        }
    }

    fn execute(
        &mut self,
        step: Step,
        what: &str,
        words: &[String],
        execution: u32,
    ) -> Result<Executed, Failure> {
        let planned = self.planned;
        let params = &planned.params;
        let values = planned.values(&self.room.path, execution);
        let mut environment = planned.environment.clone();
        environment.insert("TMPDIR".to_owned(), self.room.path.display().to_string());
        for (name, value) in &params.env {
            environment.insert(name.clone(), words::fill("env", value, &values)?);
        }
        if params.layout == Layout::Varied {
            environment.insert(PADDING.to_owned(), self.next_padding());
        }
        let program = reason::find(&words[0], &self.place, planned.path());
        let Some(program) = program else {
            return Err(reason::missing(what, &words[0], planned.path()));
        };
        let stdin = match &params.stdin {
            Some(path) => words::fill("stdin", path, &values)?,
            None => "/dev/null".to_owned(),
        };
        let opened = File::open(&stdin);
        let opened = opened.map_err(|error| io_failure("open", Path::new(&stdin), &error))?;
        self.stdin = stdin;
        let text = |path: &Path| spawn::c_text(path.display().to_string());
        let variables = environment.into_iter();
        let recipe = Recipe {
            path: &text(&program),
            arguments: &Strings::of(words.iter().cloned()),
            environment: &Strings::of(variables.map(|(name, value)| format!("{name}={value}"))),
            directory: &text(&self.place),
            stdin: opened.as_fd(),
            cpus: &planned.cpus,
            numa: params.numa,
            account: planned.account.as_ref().map(|account| &account.ids),
        };
        let bounds = Bounds {
            timeout_ns: (self.timeout_s(step) * 1e9) as u64,
            keep_bytes: params.keep.bytes(),
            flood_bytes: params.flood.bytes(),
            room: self.room,
            heeds_stop: step != Step::Cleanup,
        };
        let place = self.place.display().to_string();
        self.executor
            .execute(&recipe, &bounds)
            .map_err(|why| reason::not_started(what, &program, &place, &why))
    }

    /// A text of another length each time: in the order of van der Corput, from a start that
    /// differs between trials.
    fn next_padding(&mut self) -> String {
        let turn = u64::from((self.padding as u8).reverse_bits());
        let steps = ((self.padding >> 8) + turn) % PADDINGS;
        self.padding = (self.padding & !0xFF) | u64::from((self.padding as u8).wrapping_add(1));
        "x".repeat((steps * PADDING_STEP) as usize)
    }

    /// Hands over an execution, and what it printed where that is new.
    fn tell(
        &mut self,
        step: Step,
        number: u32,
        done: Executed,
        files: Vec<(String, Output)>,
    ) -> Execution {
        let is_main = matches!(step, Step::Measure | Step::Warmup);
        let shell = match is_main {
            true => self.shell.clone(),
            false => Execution::default(),
        };
        let less = |value: f64, start: f64| (value - start).max(0.0);
        let [stdout, stderr] = done.outputs;
        let (exit, signal) = match done.ended {
            Ended::Exit(code) => (Some(code), None),
            Ended::Signal { number, .. } => (None, Some(signals::name(number))),
        };
        let mut execution = Execution {
            step,
            number,
            elapsed_s: less(done.elapsed_ns as f64 / 1e9, shell.elapsed_s),
            user_s: less(done.used.user_s, shell.user_s),
            system_s: less(done.used.system_s, shell.system_s),
            peak_memory_bytes: done.used.peak_memory_bytes,
            minor_faults: done.used.minor_faults,
            major_faults: done.used.major_faults,
            voluntary_switches: done.used.voluntary_switches,
            involuntary_switches: done.used.involuntary_switches,
            read_bytes: done.used.moved_bytes.map(|[read, _]| read),
            written_bytes: done.used.moved_bytes.map(|[_, written]| written),
            exit,
            signal,
            stdout: self.hand_over(stdout),
            stderr: self.hand_over(stderr),
            ..Execution::default()
        };
        for (path, file) in files {
            let hash = self.hand_over(file);
            execution.files.insert(path, hash);
        }
        self.sink.event(Event::Execution(execution.clone()));
        execution
    }

    fn hand_over(&mut self, output: Output) -> String {
        let hash = output.sha256.clone();
        if self.told.insert(hash.clone()) {
            self.sink.event(Event::Output(output));
        }
        hash
    }

    /// The start of an empty shell, to be subtracted.
    fn measure_shell(&mut self) -> Result<(), Failure> {
        if !self.planned.params.shell {
            return Ok(());
        }
        let words = [SHELL, "-c", ""].map(str::to_owned);
        let mut starts = Vec::new();
        for number in 0..SHELL_STARTS {
            let done = self.execute(Step::Prepare, "empty shell", &words, number)?;
            starts.push((done.elapsed_ns as f64 / 1e9, done.used));
        }
        let median = |value: fn(&(f64, crate::reap::Used)) -> f64| {
            let mut values: Vec<f64> = starts.iter().map(value).collect();
            values.sort_by(f64::total_cmp);
            values[values.len() / 2]
        };
        self.shell.elapsed_s = median(|start| start.0);
        self.shell.user_s = median(|start| start.1.user_s);
        self.shell.system_s = median(|start| start.1.system_s);
        Ok(())
    }
}

fn name_of(step: Step) -> &'static str {
    match step {
        Step::Setup => "setup",
        Step::Prepare => "prepare",
        Step::Warmup => "warm-up execution",
        Step::Measure => "execution",
        Step::Conclude => "conclude",
        Step::Cleanup => "cleanup",
    }
}
