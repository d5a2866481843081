//! The course of a trial: setup, servers, executions that are thrown away, those that are
//! measured, cleanup.

use std::collections::BTreeSet;
use std::fs;

use kit::failure::{failure, interrupted};
use kit::{clock, stop, EventSink};
use wire::{Event, Execution, Failure, FailureKind, Output, Programs, Step};

use crate::execute::{Bounds, Executed, Executor};
use crate::group::{self, Group};
use crate::guardian::Guardian;
use crate::params::{Commands, Layout, Same};
use crate::plan::{self, Planned, SHELL};
use crate::prepare::{Padding, Scene};
use crate::reap::{Ended, Used};
use crate::room::Room;
use crate::servers::{self, Running};
use crate::{measures, output, reason, signals, words};

/// Cleanup after a wish to stop has this long.
const LAST_S: f64 = 10.0;
/// Empty shells whose start is measured; the median counts.
const SHELL_STARTS: u32 = 11;
/// How often progress is told at most.
const PROGRESS_NS: u64 = 500_000_000;
/// A steady state (Georges, Buytaert and Eeckhout 2007): so many executions in a row, the
/// coefficient of variation of their times, and how many are waited for it at most.
const STEADY_WINDOW: usize = 10;
const STEADY_VARIATION: f64 = 0.02;
const STEADY_MOST: usize = 100;
/// The group of commands.
const GROUP: &str = "program";

/// Carries a trial out.
///
/// # Errors
/// Whatever kept it from being done as declared.
pub fn run(planned: &Planned, sink: &mut EventSink) -> Result<(), Failure> {
    let params = &planned.params;
    let no_memory = |error: std::io::Error| {
        let message = format!("cannot start programs: {error}");
        failure(FailureKind::HostLacks, message)
    };
    let account = planned.account.as_ref();
    let room = Room::make(&planned.directory, params.place.as_deref(), account)?;
    let names = (0..params.servers.len()).map(servers::name);
    let groups = names
        .chain([GROUP.to_owned()])
        .flat_map(|name| group::places(&name));
    let groups: Vec<_> = groups.map(|(_, directory)| directory).collect();
    let guardian = Guardian::start(&groups).map_err(no_memory)?;
    let mut executor = Executor::new(Group::make(GROUP)).map_err(no_memory)?;
    executor.staying.push(guardian.pid());
    let mut course = Course {
        scene: Scene::new(planned, &room)?,
        planned,
        executor,
        sink,
        servers: Vec::new(),
        told: BTreeSet::new(),
        stdout: None,
        shell: None,
        variation: None,
        padding: Padding::new(clock::now_ns()),
        killed_for_memory: reason::killed_for_memory(),
        told_ns: 0,
    };
    let done = course.carry_out();
    course.end_servers();
    let cleaned = course.once(Step::Cleanup, &params.cleanup);
    let recorded = course.record();
    drop(course);
    drop(guardian);
    let mounts = room.unmount();
    done.and(cleaned).and(recorded)?;
    match mounts.first() {
        None => Ok(()),
        Some(point) => Err(reason::broken(format!(
            "left mounted: {}; unmounted. Fix: unmount it in cleanup",
            point.display()
        ))),
    }
}

/// A trial as it goes on.
struct Course<'a, 'b> {
    planned: &'a Planned,
    scene: Scene<'a>,
    executor: Executor,
    sink: &'a mut EventSink<'b>,
    servers: Vec<Running>,
    /// Hashes of the outputs that were handed over.
    told: BTreeSet<String>,
    /// What the first execution printed.
    stdout: Option<String>,
    /// What the start of an empty shell takes.
    shell: Option<(f64, Used)>,
    /// How much times varied before they were measured.
    variation: Option<f64>,
    padding: Padding,
    killed_for_memory: u64,
    told_ns: u64,
}

impl Course<'_, '_> {
    fn carry_out(&mut self) -> Result<(), Failure> {
        let params = &self.planned.params;
        self.once(Step::Setup, &params.setup)?;
        self.start_servers()?;
        self.measure_shell()?;
        for number in 1..=params.warmup {
            self.whole(Step::Warmup, number)?;
        }
        if params.steady {
            self.wait_until_steady()?;
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

    /// Throws executions away until a window of them varies little.
    fn wait_until_steady(&mut self) -> Result<(), Failure> {
        let mut times_s: Vec<f64> = Vec::new();
        while times_s.len() < STEADY_MOST {
            let number = self.planned.params.warmup + times_s.len() as u32 + 1;
            times_s.push(self.whole(Step::Warmup, number)?.elapsed_s);
            let window = times_s.last_chunk::<STEADY_WINDOW>();
            self.variation = window.map(|window| variation(window));
            if self
                .variation
                .is_some_and(|found| found <= STEADY_VARIATION)
            {
                return Ok(());
            }
        }
        let found = self.variation.unwrap_or_default();
        self.sink.warning(
            "not_steady",
            format!(
                "not steady after {STEADY_MOST} executions: their times still vary by {:.1} % \
                 (coefficient of variation of the last {STEADY_WINDOW})",
                100.0 * found
            ),
            Some("measure more executions, or find what differs between them"),
        );
        Ok(())
    }

    fn start_servers(&mut self) -> Result<(), Failure> {
        let params = &self.planned.params;
        for (number, server) in params.servers.iter().enumerate() {
            let running = Running::start(server, number, &self.scene, &mut self.executor)?;
            self.servers.push(running);
            let (scene, timeout_ns) = (&self.scene, (server.timeout * 1e9) as u64);
            let running = &self.servers[number];
            let probe = |executor: &mut Executor, words: &[String]| {
                let what = format!("{}, its probe {}", running.what(), reason::shown(words));
                let prepared = scene.prepare(&what, words, 1, 0)?;
                let bounds = bounds(scene, timeout_ns, true);
                let done = executor.execute(&prepared.recipe(scene.planned), &bounds);
                let done = done.map_err(|why| prepared.not_started(&what, scene, &why))?;
                Ok(done.ended == Ended::Exit(0) && done.cut.is_none())
            };
            running.wait_until_ready(server, scene, &mut self.executor, probe)?;
        }
        Ok(())
    }

    /// The last one that was started ends first.
    fn end_servers(&mut self) {
        while let Some(mut running) = self.servers.pop() {
            let server = &self.planned.params.servers[self.servers.len()];
            let signal = signals::number(&server.stop).unwrap_or(libc::SIGTERM);
            let timeout_s = match stop::requested() {
                true => server.timeout.min(LAST_S),
                false => server.timeout,
            };
            let timeout_ns = (timeout_s * 1e9) as u64;
            if running.end(signal, timeout_ns, &mut self.executor) {
                let (what, signal) = (running.what(), &server.stop);
                let message = format!("{what}: still there {timeout_s} s after {signal}; killed");
                let advice = "name the signal that ends it as \"stop\"";
                self.sink.warning("server_killed", message, Some(advice));
            }
        }
    }

    /// How programs were held, for the last line.
    fn record(&mut self) -> Result<(), Failure> {
        let randomize = fs::read_to_string("/proc/sys/kernel/randomize_va_space");
        self.sink.totals.programs = Some(Programs {
            held_by: self.executor.group.held_by(),
            environment: self.scene.environment(1)?,
            cpus: plan::numbers_of(&self.planned.cpus),
            randomize_va_space: randomize.ok().and_then(|text| text.trim().parse().ok()),
            shell_s: self.shell.map(|(start_s, _)| start_s),
            variation: self.variation,
        });
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
        let done = self.command(step, number, number, &params.command);
        // A server that has ended is why its client failed.
        for server in &self.servers {
            server.check(&mut self.executor)?;
        }
        let done = done?;
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
        let words = self.scene.filled(words, execution)?;
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
                let name = words::fill("files", file, &self.scene.values(execution))?;
                let path = self.scene.place.join(name);
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
        let params = &self.planned.params;
        let padding_bytes = match params.layout {
            Layout::Varied if matches!(step, Step::Measure | Step::Warmup) => self.padding.draw(),
            _ => 0,
        };
        let prepared = self.scene.prepare(what, words, execution, padding_bytes)?;
        let timeout_ns = (self.timeout_s(step) * 1e9) as u64;
        let bounds = bounds(&self.scene, timeout_ns, step != Step::Cleanup);
        let done = self
            .executor
            .execute(&prepared.recipe(self.planned), &bounds);
        let mut done = done.map_err(|why| prepared.not_started(what, &self.scene, &why))?;
        done.padding_bytes = padding_bytes;
        Ok(done)
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
        let shell = self.shell.filter(|_| is_main);
        let (shell_s, shell) = shell.unwrap_or_default();
        let less = |value: f64, start: f64| (value - start).max(0.0);
        let [stdout, stderr] = done.outputs;
        let (exit, signal) = match done.ended {
            Ended::Exit(code) => (Some(code), None),
            Ended::Signal { number, .. } => (None, Some(signals::name(number))),
        };
        let mut execution = Execution {
            step,
            number,
            elapsed_s: less(done.elapsed_ns as f64 / 1e9, shell_s),
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
            padding_bytes: done.padding_bytes,
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
        let median = |value: fn(&(f64, Used)) -> f64| {
            let mut values: Vec<f64> = starts.iter().map(value).collect();
            values.sort_by(f64::total_cmp);
            values[values.len() / 2]
        };
        let used = Used {
            user_s: median(|start| start.1.user_s),
            system_s: median(|start| start.1.system_s),
            ..Used::default()
        };
        self.shell = Some((median(|start| start.0), used));
        Ok(())
    }
}

fn bounds<'a>(scene: &Scene<'a>, timeout_ns: u64, heeds_stop: bool) -> Bounds<'a> {
    let params = &scene.planned.params;
    Bounds {
        timeout_ns,
        keep_bytes: params.keep.bytes(),
        flood_bytes: params.flood.bytes(),
        room: scene.room,
        heeds_stop,
    }
}

/// Standard deviation by mean.
fn variation(values: &[f64]) -> f64 {
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    (squares / (count - 1.0)).sqrt() / mean
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
