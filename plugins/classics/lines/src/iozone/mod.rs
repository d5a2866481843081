//! `iozone`: its options, its table, its matrices.
//!
//! Differences from the original: the table is laid out as by 3.498 and later, and figures never
//! touch; the lines before it are ours, one for each option; sizes that are no sizes, words that
//! belong to no option and options that have no meaning beside others are refused; lists of sizes
//! are sorted; with -I the tests on C streams, which ignore it in the original too, are jobs of
//! their own through the page cache, and a line below the table says so; a file in the way is refused, and read (and kept) when only reading tests are asked for;
//! figures of many children are printed when all phases are done.

mod banner;
mod children;
mod choices;
mod columns;
mod jobs;
mod logs;
mod matrices;
mod request;
mod table;

use std::ffi::OsString;
use std::path::Path;

use classic_workloads::iozone;
use kit::failure::failure;
use wire::{Failure, FailureKind};

use self::children::Blocks;
use self::columns::{LAST_USUAL, TESTS};
use self::request::{Asks, Request};
use self::table::Table;
use crate::bench::Bench;
use crate::options::Choice;
use crate::sheet::Sheet;
use crate::{help, overwrite, Tool};

const COMPLETE: &str = "\niozone test complete.\n";

/// The tool.
pub struct Iozone;

impl Tool for Iozone {
    fn names(&self) -> &'static [&'static str] {
        &["iozone"]
    }

    fn about(&self) -> &'static str {
        "thirteen ways to write and read the records of a file, by one stream or many children"
    }

    fn choices(&self) -> &'static [Choice] {
        choices::CHOICES
    }

    fn run(&self, arguments: Vec<OsString>, bench: &mut Bench) -> Result<(), Failure> {
        let line = command_line(&arguments);
        let request = Request::read(arguments)?;
        match request.asks {
            Some(Asks::Help) => bench.print(&help::of(self)),
            Some(Asks::Version) => bench.print(&banner::version()),
            None => {
                for (number, why) in request.left_out()? {
                    let remark = format!("option -i {number}: {why}; left out, as in the original");
                    bench.remark(&remark);
                }
                prepare_spreadsheet(&request, bench)?;
                match request.is_throughput() {
                    true => many(&request, &line, bench)?,
                    false => single(&request, &line, bench)?,
                }
            }
        }
        Ok(())
    }
}

fn single(request: &Request, line: &str, bench: &mut Bench) -> Result<(), Failure> {
    let single = request.single()?;
    logs::prepare(&single.jobs, iozone::Iozone::logs, bench)?;
    make_room(&single.paths, bench)?;
    let is_shown =
        |number: u32| number <= LAST_USUAL || single.tests.iter().any(|test| test.number >= number);
    let shown = TESTS.iter().filter(|test| is_shown(test.number)).collect();
    let banner = banner::of(request, line) + "\n";
    let mut table = Table::new(banner, shown, &single.tests, &single.grid);
    let done = single
        .jobs
        .iter()
        .try_for_each(|job| bench.execute(job, &mut table));
    bench.print(&table.end_row());
    done?;
    if single.has_streams_apart {
        let streams = single.tests.iter().filter(|test| test.is_stream);
        let columns = streams.flat_map(|test| test.columns);
        bench.print(&streams_apart(columns.map(|column| column.metric)));
    }
    bench.print(COMPLETE);
    if request.matrices {
        bench.print(&matrices::text(&table, &single.tests));
    }
    let unit = banner::unit(request.figures);
    write_spreadsheet(request, || {
        matrices::sheet(&table, &single.tests, line, unit)
    })
}

/// Which figures are not direct, below those that are.
fn streams_apart(names: impl Iterator<Item = &'static str>) -> String {
    let names: Vec<_> = names.collect();
    format!(
        "\tNot direct, but through the page cache: {}.\n",
        names.join(", ")
    )
}

fn many(request: &Request, line: &str, bench: &mut Bench) -> Result<(), Failure> {
    let jobs = request.throughput()?;
    let all = jobs.iter().flat_map(|many| &many.jobs);
    logs::prepare(all, iozone::Throughput::logs, bench)?;
    let mut heading = banner::of(request, line) + &children::heading(request, &jobs);
    let mut series = Vec::new();
    for many in &jobs {
        make_room(&many.paths, bench)?;
        let above = std::mem::replace(&mut heading, "\n\n".to_owned());
        let mut blocks = Blocks::new(request, many, above);
        for job in &many.jobs {
            bench.execute(job, &mut blocks)?;
        }
        series.push(blocks.figures);
    }
    let Some(first) = jobs.first() else {
        return Ok(());
    };
    if first.has_streams_apart {
        let streams = first.phases.iter().filter(|phase| phase.is_stream());
        bench.print("\n");
        bench.print(&streams_apart(streams.map(|phase| phase.metric)));
    }
    let matrix = children::Matrix {
        phases: &first.phases,
        series: &series,
        record_bytes: first.record_bytes,
        unit: banner::unit(request.figures),
        threads: request.threads,
    };
    if request.matrices {
        bench.print(&children::text(&matrix));
    }
    bench.print(COMPLETE);
    write_spreadsheet(request, || children::sheet(&matrix, line))
}

fn make_room(paths: &[impl AsRef<Path>], bench: &Bench) -> Result<(), Failure> {
    match bench.force() {
        true => overwrite::remove(paths.iter()),
        false => Ok(()),
    }
}

/// Looks before hours of measuring whether the spreadsheet may be written.
fn prepare_spreadsheet(request: &Request, bench: &Bench) -> Result<(), Failure> {
    let Some(path) = &request.spreadsheet else {
        return Ok(());
    };
    make_room(&[path], bench)?;
    if path.symlink_metadata().is_ok() {
        let path = path.display();
        let message = format!("{path} already exists and would be overwritten; name another one");
        return Err(failure(FailureKind::Refused, message));
    }
    Ok(())
}

fn write_spreadsheet(request: &Request, sheet: impl FnOnce() -> Sheet) -> Result<(), Failure> {
    match &request.spreadsheet {
        Some(path) => sheet().write(path),
        None => Ok(()),
    }
}

fn command_line(arguments: &[OsString]) -> String {
    let words = arguments.iter().map(|word| word.to_string_lossy());
    let line = ["iozone".into()].into_iter().chain(words);
    line.collect::<Vec<_>>().join(" ")
}
