//! `serve`: this engine as the far end of a network trial.

use std::fs;
use std::io::Read;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use kit::failure::{bad_parameter, failure};
use kit::{stop, Size};
use network::serve::{Limits, Offer, Server};
use serde::Serialize;
use wire::{Failure, FailureKind, FAR_PORT, PROTOCOL};

use crate::output::Output;
use crate::registry::VERSION;
use crate::session;

/// What the far end is told on the command line.
#[derive(Debug, Args)]
pub struct ServeArguments {
    /// Address to listen at, several times if wanted [default: 127.0.0.1 and ::1]
    #[arg(long, value_name = "ADDRESS")]
    bind: Vec<IpAddr>,
    /// Port of the control connection; 0 takes any that is free
    #[arg(long, value_name = "PORT", default_value_t = FAR_PORT)]
    port: u16,
    /// Ports of data connections, such as 20000-20063, for firewalls [default: any that is free]
    #[arg(long, value_name = "FIRST-LAST", value_parser = ports)]
    data_ports: Option<RangeInclusive<u16>>,
    /// File whose first line clients must know; it never passes the network
    #[arg(long, value_name = "FILE")]
    secret_file: Option<PathBuf>,
    /// Longest time that data may flow, in seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 3_600.0)]
    time_limit: f64,
    /// Most connections for data at once
    #[arg(long, value_name = "COUNT", default_value_t = 256)]
    connections: u32,
    /// Most bytes of one measurement, such as 100G [default: no limit]
    #[arg(long, value_name = "SIZE")]
    byte_limit: Option<Size>,
    /// End after the first client
    #[arg(long)]
    once: bool,
    /// End when standard input does
    #[arg(long)]
    until_eof: bool,
}

/// The line that says where it listens.
#[derive(Serialize)]
#[serde(tag = "type", content = "data", rename_all = "snake_case")]
enum Said {
    Listening {
        addresses: Vec<SocketAddr>,
        engine: &'static str,
        protocol: u32,
    },
}

/// Serves until a stop is asked for.
///
/// # Errors
/// `BadJob` for arguments that cannot be, `Io` or `HostLacks` when it cannot listen.
pub fn run(arguments: &ServeArguments, output: &mut Output) -> Result<(), Failure> {
    session::heed_signals()?;
    let server = Server::bind(offer(arguments)?)?;
    output.line(&Said::Listening {
        addresses: server.addresses(),
        engine: VERSION,
        protocol: PROTOCOL,
    });
    if arguments.until_eof {
        stop_at_eof()?;
    }
    server.run();
    Ok(())
}

fn offer(arguments: &ServeArguments) -> Result<Offer, Failure> {
    let loopback = [Ipv4Addr::LOCALHOST.into(), Ipv6Addr::LOCALHOST.into()];
    let time = Duration::try_from_secs_f64(arguments.time_limit)
        .ok()
        .filter(|time| !time.is_zero())
        .ok_or_else(|| bad_parameter("time-limit", "--time-limit: use more than 0 seconds"))?;
    Ok(Offer {
        engine: VERSION.to_owned(),
        bind: match arguments.bind.is_empty() {
            true => loopback.to_vec(),
            false => arguments.bind.clone(),
        },
        port: arguments.port,
        data_ports: arguments.data_ports.clone(),
        secret: arguments.secret_file.as_ref().map(secret).transpose()?,
        limits: Limits {
            time,
            flows: arguments.connections,
            bytes: arguments.byte_limit.map(Size::bytes),
        },
        once: arguments.once,
    })
}

fn secret(path: &PathBuf) -> Result<String, Failure> {
    let text = fs::read_to_string(path).map_err(|error| {
        let message = format!("--secret-file {}: {error}", path.display());
        bad_parameter("secret-file", message)
    })?;
    match text.lines().next().map(str::trim) {
        Some(secret) if !secret.is_empty() => Ok(secret.to_owned()),
        _ => {
            let message = format!("--secret-file {}: its first line is empty", path.display());
            Err(bad_parameter("secret-file", message))
        }
    }
}

fn ports(text: &str) -> Result<RangeInclusive<u16>, String> {
    let (first, last) = text.split_once('-').unwrap_or((text, text));
    match (first.parse::<u16>(), last.parse::<u16>()) {
        (Ok(first), Ok(last)) if 0 < first && first <= last => Ok(first..=last),
        _ => Err("use two ports in ascending order, such as 20000-20063".to_owned()),
    }
}

/// Whoever started us keeps our standard input open for as long as we are needed.
fn stop_at_eof() -> Result<(), Failure> {
    let wait = || {
        let mut stdin = std::io::stdin().lock();
        let mut heard = [0; 64];
        while stdin.read(&mut heard).is_ok_and(|count| count > 0) {}
        stop::request();
    };
    let thread = std::thread::Builder::new().name("stdin".into()).spawn(wait);
    thread.map(drop).map_err(|error| {
        failure(
            FailureKind::HostLacks,
            format!("cannot watch standard input: {error}"),
        )
    })
}
