//! The course of a trial: setup, servers, executions that are thrown away, those that are
//! measured, cleanup.

use std::collections::BTreeSet;
use std::fs;

use kit::failure::failure;
use kit::{barrier, clock, stop, EventSink, Trial};
use serde_json::{Map, Value};
use wire::{Execution, Failure, FailureKind, Part, Programs, Step, Timing};

use crate::execute::{Added, Executor};
use crate::group::{self, Group};
use crate::params::Commands;
use crate::plan::{numbers_of, Planned, SHELL};
use crate::prepare::{ExecContext, Padding};
use crate::reap::{Ended, Used};
use crate::servers::{self, Running};
use crate::step::{bounds, Course, LAST_S};
use crate::trial_dir::TrialDir;
use crate::watchdog::Watchdog;
use crate::{measures, reason, signals};

/// Empty shells whose start is measured; the median counts.
const SHELL_STARTS: u32 = 11;
/// How often progress is told at most.
const PROGRESS_NS: u64 = 500_000_000;
/// A steady state (Georges, Buytaert and Eeckhout 2007): so many executions in a row, the
/// coefficient of variation of their times, and how many are waited for it at most.
const STEADY_WINDOW: usize = 10;
const STEADY_VARIATION: f64 = 0.02;
const STEADY_MOST: usize = 100;
/// Outputs of a trial are handed over up to so much; of what comes then, only the hashes are.
const OUTPUTS_BYTES: u64 = 64 << 20;
/// Executions of a trial: a reader of the record has limits, too.
const MOST: usize = 100_000;
/// The group of commands.
const GROUP: &str = "program";

impl Trial for Planned {
    fn effective(&self) -> Map<String, Value> {
        kit::params::effective(&self.params)
    }

    fn timing(&self) -> Timing {
        Timing::Operation
    }

    fn cpus(&self) -> Option<Vec<u32>> {
        Some(numbers_of(&self.cpus))
    }

    fn run(self: Box<Self>, sink: &mut kit::EventSink) -> Result<(), Failure> {
        run(&self, sink)
    }
}

/// Carries a trial out.
///
/// # Errors
/// Whatever kept it from being done as declared.
fn run(planned: &Planned, sink: &mut EventSink) -> Result<(), Failure> {
    let params = &planned.params;
    let no_memory = |error: std::io::Error| {
        let message = format!("cannot start programs: {error}");
        failure(FailureKind::HostLacks, message)
    };
    let account = planned.account.as_ref();
    let stage = planned.stage.as_ref();
    let trial_dir = TrialDir::make(&planned.directory, params.place.as_deref(), account, stage)?;
    let own = group::places(GROUP);
    let names = (0..params.servers.len()).map(servers::name);
    let of_servers = names.flat_map(|name| group::places(&name));
    let groups = of_servers.chain(own.clone());
    let groups: Vec<_> = groups.map(|(_, directory)| directory).collect();
    let mut watchdog = Watchdog::start(&groups).map_err(no_memory)?;
    let mut executor = Executor::new(Group::make(own)).map_err(no_memory)?;
    executor.staying.push(watchdog.pid());
    let mut course = Course {
        context: ExecContext::new(planned, &trial_dir)?,
        planned,
        executor,
        sink,
        servers: Vec::new(),
        told: BTreeSet::new(),
        room_bytes: OUTPUTS_BYTES,
        stdout: None,
        expected: planned.expected.clone(),
        same: BTreeSet::new(),
        shell: None,
        variation: None,
        padding: Padding::new(clock::now_ns()),
        killed_for_memory: reason::killed_for_memory(),
        told_ns: 0,
    };
    let none = Commands::default();
    let (done, cleanup) = match stage.map_or(Part::Trial, |stage| stage.part) {
        Part::Trial => (course.carry_out(), &params.cleanup),
        Part::StudySetup => (course.once(Step::Setup, &params.study.setup), &none),
        Part::TurnSetup => (course.once(Step::Setup, &params.turn.setup), &none),
        Part::StudyCleanup => (Ok(()), &params.study.cleanup),
        Part::TurnCleanup => (Ok(()), &params.turn.cleanup),
    };
    course.end_servers();
    let cleaned = course.once(Step::Cleanup, cleanup);
    let recorded = course.record();
    drop(course);
    // It ends while the directory is removed.
    watchdog.release();
    let unmounted = match trial_dir.unmount().first() {
        None => Ok(()),
        Some(point) => Err(reason::broken(format!(
            "left mounted: {}; unmounted. Fix: unmount it in cleanup",
            point.display()
        ))),
    };
    let removed = trial_dir.remove();
    drop(watchdog);
    done.and(cleaned).and(recorded).and(unmounted).and(removed)
}

impl Course<'_, '_> {
    fn carry_out(&mut self) -> Result<(), Failure> {
        let params = &self.planned.params;
        self.context.trial_dir.write(&params.inputs)?;
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
        // What is subtracted takes its time all the same.
        let shell_s = self.shell.map_or(0.0, |(start_s, _)| start_s);
        let is_enough = |done: usize, sum_s: f64| {
            done >= params.executions as usize && (sum_s >= params.at_least || done >= MOST)
        };
        while !is_enough(executions.len(), sum_s) {
            let done = self.whole(Step::Measure, executions.len() as u32 + 1)?;
            sum_s += done.elapsed_s + shell_s;
            executions.push(done);
            self.progress(executions.len(), sum_s);
        }
        measures::report(&executions, self.sink);
        self.tell_mostly_shell(sum_s / executions.len() as f64 - shell_s, shell_s);
        Ok(())
    }

    /// What takes less than its shell is lost in how much the start of a shell varies.
    fn tell_mostly_shell(&mut self, mean_s: f64, shell_s: f64) {
        if mean_s < shell_s {
            let (mean_ms, shell_ms) = (1e3 * mean_s, 1e3 * shell_s);
            let message = format!(
                "takes {mean_ms:.2} ms, and the start of its shell {shell_ms:.2} ms, which is \
                 subtracted and varies"
            );
            let advice = "execute it without a shell";
            self.sink.warning("mostly_shell", message, Some(advice));
        }
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
            let running = Running::start(server, number, &self.context, &mut self.executor)?;
            self.servers.push(running);
            let (context, timeout_ns) = (&self.context, (server.timeout * 1e9) as u64);
            let running = &self.servers[number];
            let probe = |executor: &mut Executor, words: &[String]| {
                let what = format!("{}, its probe {}", running.what(), reason::shown(words));
                let prepared = context.prepare(&what, words, 1, Added::default())?;
                let bounds = bounds(context, timeout_ns, true);
                let done = executor.execute(&prepared.recipe(context.planned), &bounds);
                let done = done.map_err(|why| prepared.not_started(&what, context, &why))?;
                Ok(done.ended == Ended::Exit(0) && done.cut.is_none())
            };
            running.wait_until_ready(server, context, &mut self.executor, probe)?;
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
            environment: self.context.environment(1)?,
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
        if step == Step::Measure {
            barrier::await_turn();
        }
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
        let mut middle = |value: fn(&(f64, Used)) -> f64| {
            starts.sort_by(|one, other| value(one).total_cmp(&value(other)));
            starts[starts.len() / 2]
        };
        let (_, used) = middle(|(_, used)| used.user_s + used.system_s);
        self.shell = Some((middle(|(elapsed_s, _)| *elapsed_s).0, used));
        Ok(())
    }
}

/// Standard deviation by mean.
fn variation(values: &[f64]) -> f64 {
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    (squares / (count - 1.0)).sqrt() / mean
}
