//! One command of a trial: executed, handed over, and held against what is expected.

use std::collections::BTreeSet;
use std::rc::Rc;

use kit::failure::interrupted;
use kit::reach::Kind;
use kit::{barrier, stop, EventSink};
use wire::{Event, Execution, Failure, Output, Step};

use crate::execute::{Added, Bounds, Executed, Executor};
use crate::output::contents;
use crate::params::{Any, Exit, Layout, Same, COMPARE};
use crate::plan::{with_outputs, Planned, COMPARED, SHELL};
use crate::prepare::{ExecContext, Padding};
use crate::reap::{Ended, Used};
use crate::servers::Running;
use crate::{output, reason, signals, words};

/// Cleanup after a wish to stop has this long.
pub const LAST_S: f64 = 10.0;
/// Where outputs are, in the trial's directory, as long as they are compared by a command.
const DIRECTORY: &str = "tiltyard-compare";
const LINES_QUOTED: usize = 3;

/// A trial as it goes on.
pub struct Course<'a, 'b> {
    pub planned: &'a Planned,
    pub context: ExecContext<'a>,
    pub executor: Executor,
    pub sink: &'a mut EventSink<'b>,
    pub servers: Vec<Running>,
    /// Hashes of the outputs that were handed over.
    pub told: BTreeSet<String>,
    /// Bytes of outputs that may still be handed over.
    pub room_bytes: u64,
    /// What the first execution printed.
    pub stdout: Option<String>,
    /// What others are compared with by a command.
    pub expected: Option<Output>,
    /// Hashes of what a command found to be the same.
    pub same: BTreeSet<String>,
    /// What the start of an empty shell takes.
    pub shell: Option<(f64, Used)>,
    /// How much times varied before they were measured.
    pub variation: Option<f64>,
    pub padding: Padding,
    pub killed_for_memory: u64,
    pub told_ns: u64,
}

impl Course<'_, '_> {
    /// Executes a command, hands over what it did, and holds it against what is expected.
    pub fn command(
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
        let words = self.context.filled(words, execution)?;
        let what = format!("{} {number}, {}", name_of(step), reason::shown(&words));
        let words = match params.shell {
            true => vec![SHELL.to_owned(), "-c".to_owned(), words.join(" ")],
            false => words,
        };
        if step == Step::Measure {
            // Settles where that is wanted; the program takes the first instant itself.
            barrier::begin_ns();
        }
        let mut done = self.execute(step, &what, &words, execution)?;
        let expected = is_main.then_some(&params.expect.exit);
        let killed = reason::killed_for_memory_since(self.killed_for_memory, &done);
        let timeout_s = self.timeout_s(step);
        let flood_bytes = params.flood.bytes();
        let wrong = reason::wrong(&what, &done, expected, timeout_s, flood_bytes, killed);
        let mut files = Vec::new();
        let mut missing = None;
        if is_main && wrong.is_none() {
            if let Some(path) = self.context.stdout(execution)? {
                match self.context.read(&path, Kind::OrNothing) {
                    Ok(Some(found)) => done.outputs[0] = Rc::new(found),
                    Ok(None) => {}
                    Err(error) => missing = Some((path, error)),
                }
            }
            for file in &params.files {
                let name = words::fill("files", file, &self.context.values(execution))?;
                let path = self.context.place.join(name);
                match self.context.read(&path, Kind::Regular) {
                    Ok(found) => files.extend(found.map(|found| (file.clone(), found))),
                    Err(error) => missing = Some((path, error)),
                }
            }
        }
        let is_compared = is_main && !params.expect.compare.is_empty();
        let printed = is_compared.then(|| Output::clone(&done.outputs[0]));
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
            if let Some(printed) = printed {
                self.compare_by_command(&what, &told, printed)?;
            }
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

    /// Has an output compared with what is expected by a command of the study's, which finds both
    /// as files; exit code 0 means that they are the same. Executed once for each that differs.
    fn compare_by_command(
        &mut self,
        what: &str,
        done: &Execution,
        printed: Output,
    ) -> Result<(), Failure> {
        let Some(expected) = &self.expected else {
            whole(what, &printed)?;
            self.expected = Some(printed);
            return Ok(());
        };
        if expected.sha256 == printed.sha256 || self.same.contains(&printed.sha256) {
            return Ok(());
        }
        let both = [
            whole("the expected output", expected)?,
            whole(what, &printed)?,
        ];
        let hashes = format!("{} and {}", &expected.sha256[..12], &printed.sha256[..12]);
        let trial_dir = self.context.trial_dir;
        let directory = trial_dir.path.join(DIRECTORY).display().to_string();
        let values = with_outputs(self.context.values(done.number), &directory);
        let words = &self.planned.params.expect.compare;
        let words = words.iter().map(|word| words::fill(COMPARE, word, &values));
        let words: Vec<String> = words.collect::<Result<_, _>>()?;
        let by = reason::shown(&words);
        let files = [0, 1].map(|which| (COMPARED[which], &both[which][..]));
        let compared = trial_dir.with_files(DIRECTORY, files, || {
            self.execute(Step::Compare, &by, &words, done.number)
        })?;
        let said = compared.outputs.each_ref().map(|output| {
            let text = output.text.as_deref().unwrap_or_default();
            output::last_lines(text.as_bytes(), LINES_QUOTED)
        });
        let said = said.into_iter().filter(|said| !said.is_empty());
        let said: String = said.map(|said| format!("; it said: {said}")).collect();
        let differs = matches!(compared.ended, Ended::Exit(code) if code != 0);
        let (timeout_s, flood_bytes) = (self.planned.params.timeout, self.planned.params.flood);
        let any = Exit::Any(Any::Any);
        let broken = reason::wrong(
            &by,
            &compared,
            Some(&any),
            timeout_s,
            flood_bytes.bytes(),
            0,
        );
        let told = self.tell(Step::Compare, done.number, compared, Vec::new());
        if let Some(failure) = broken {
            return Err(failure);
        }
        if differs {
            let code = told.exit.unwrap_or_default();
            return Err(reason::broken(format!(
                "{what}: printed something else than expected ({hashes} in the record), says \
                 {by}: exit code {code}{said}"
            )));
        }
        self.same.insert(printed.sha256);
        Ok(())
    }

    fn timeout_s(&self, step: Step) -> f64 {
        let timeout_s = self.planned.params.timeout;
        match step == Step::Cleanup && stop::requested() {
            true => timeout_s.min(LAST_S),
            false => timeout_s,
        }
    }

    /// Executes a command; its words have no placeholders any more.
    pub fn execute(
        &mut self,
        step: Step,
        what: &str,
        words: &[String],
        execution: u32,
    ) -> Result<Executed, Failure> {
        let params = &self.planned.params;
        let layout = match params.layout {
            Layout::Varied if matches!(step, Step::Measure | Step::Warmup) => self.padding.draw(),
            _ => Added::default(),
        };
        let mut prepared = self.context.prepare(what, words, execution, layout)?;
        if matches!(step, Step::Measure | Step::Warmup) {
            if let Some(path) = self.context.stdout(execution)? {
                prepared.print_to(&path, &self.context)?;
            }
        }
        let timeout_ns = (self.timeout_s(step) * 1e9) as u64;
        let bounds = bounds(&self.context, timeout_ns, step != Step::Cleanup);
        let done = self
            .executor
            .execute(&prepared.recipe(self.planned), &bounds);
        let mut done = done.map_err(|why| prepared.not_started(what, &self.context, &why))?;
        done.layout = prepared.layout;
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
        let [user_s, system_s] = done.used.cpu_less(&shell);
        let [stdout, stderr] = done.outputs;
        let (exit, signal) = match done.ended {
            Ended::Exit(code) => (Some(code), None),
            Ended::Signal { number, .. } => (None, Some(signals::name(number))),
        };
        let mut execution = Execution {
            step,
            number,
            elapsed_s: less(done.elapsed_ns as f64 / 1e9, shell_s),
            user_s,
            system_s,
            peak_memory_bytes: done.used.peak_memory_bytes,
            minor_faults: done.used.minor_faults,
            major_faults: done.used.major_faults,
            voluntary_switches: done.used.voluntary_switches,
            involuntary_switches: done.used.involuntary_switches,
            read_bytes: done.used.moved_bytes.map(|[read, _]| read),
            written_bytes: done.used.moved_bytes.map(|[_, written]| written),
            exit,
            signal,
            padding_bytes: done.layout.environment,
            path_bytes: done.layout.path,
            stdout: self.hand_over(&stdout),
            stderr: self.hand_over(&stderr),
            ..Execution::default()
        };
        for (path, file) in files {
            let hash = self.hand_over(&file);
            execution.files.insert(path, hash);
        }
        self.sink.event(Event::Execution(execution.clone()));
        execution
    }

    /// Hands over an output that was not seen before; gives its hash.
    fn hand_over(&mut self, output: &Output) -> String {
        let hash = output.sha256.clone();
        if self.told.insert(hash.clone()) {
            let mut output = output.clone();
            let length = |text: &Option<String>| text.as_ref().map_or(0, String::len) as u64;
            let kept_bytes = length(&output.text) + length(&output.base64);
            match self.room_bytes.checked_sub(kept_bytes) {
                Some(left_bytes) => self.room_bytes = left_bytes,
                None => {
                    (output.text, output.base64) = (None, None);
                    output.truncated = true;
                }
            }
            self.sink.event(Event::Output(output));
        }
        hash
    }
}

/// The bounds of an execution.
pub fn bounds<'a>(context: &ExecContext<'a>, timeout_ns: u64, heeds_stop: bool) -> Bounds<'a> {
    let params = &context.planned.params;
    Bounds {
        timeout_ns,
        keep_bytes: params.keep.bytes(),
        flood_bytes: params.flood.bytes(),
        trial_dir: context.trial_dir,
        heeds_stop,
    }
}

fn name_of(step: Step) -> &'static str {
    match step {
        Step::Setup => "setup",
        Step::Prepare => "prepare",
        Step::Warmup => "warm-up execution",
        Step::Measure => "execution",
        Step::Compare => "compare",
        Step::Conclude => "conclude",
        Step::Cleanup => "cleanup",
    }
}

/// What an output holds, of which nothing may be missing.
fn whole(what: &str, output: &Output) -> Result<Vec<u8>, Failure> {
    contents(output).ok_or_else(|| {
        reason::broken(format!(
            "{what}: its output of {} bytes is compared, and only the beginning was kept. Fix: \
             keep = \"4M\", or let it print less",
            output.bytes
        ))
    })
}
