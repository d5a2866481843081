//! `serve`: this engine as the server of a network trial.

use std::fs::File;
use std::io::{self, Read};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, UdpSocket};
use std::ops::RangeInclusive;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;
use kit::failure::{bad_parameter, failure};
use kit::Size;
use network::networks::Network;
use network::server::{listen, Limits, Server, ServerConfig, MEMORY_BYTES};
use serde::Serialize;
use wire::{Failure, FailureKind, FAR_PORT, PROTOCOL};

use crate::output::{caution, Output};
use crate::registry::{self, Protocol, VERSION};
use crate::session;

/// Longest time that can be allowed: about 30 years.
const TIME_LIMIT_MAX_S: f64 = 1e9;
/// A secret is a line; more than this is another file.
const SECRET_FILE_BYTES: u64 = 4 << 10;

/// The command line of the server.
#[derive(Debug, Args)]
pub struct ServeArguments {
    /// Address to listen at, several times if wanted; one that other hosts reach wants a
    /// --secret-file [default: 127.0.0.1 and ::1]
    #[arg(long, value_name = "ADDRESS")]
    bind: Vec<IpAddr>,
    /// Port of the control connection; 0 takes any that is free [default: 12866, or what another
    /// protocol has]
    #[arg(long, value_name = "PORT")]
    port: Option<u16>,
    /// Ports of data connections, such as 20000-20063, for firewalls [default: any that is free]
    #[arg(long, value_name = "FIRST-LAST", value_parser = ports)]
    data_ports: Option<RangeInclusive<u16>>,
    /// File whose first line clients must know; it never passes the network
    #[arg(long, value_name = "FILE")]
    secret_file: Option<PathBuf>,
    /// Longest time that data may flow, in seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 3_600.0, value_parser = seconds)]
    time_limit: f64,
    /// Most connections for data at once
    #[arg(long, value_name = "COUNT", default_value_t = 256,
        value_parser = clap::value_parser!(u32).range(1..=4_096))]
    connections: u32,
    /// Most bytes of one measurement, such as 100G [default: no limit]
    #[arg(long, value_name = "SIZE")]
    byte_limit: Option<Size>,
    /// Most memory of all buffers: of one measurement, with --speak of all clients together
    #[arg(long, value_name = "SIZE", default_value_t = Size(MEMORY_BYTES))]
    memory_limit: Size,
    /// Serve so many clients at once; others wait for their turn
    #[arg(long, value_name = "COUNT", default_value_t = 1, conflicts_with = "speak",
        value_parser = clap::value_parser!(u32).range(1..=100))]
    clients: u32,
    /// End after the first client
    #[arg(long, conflicts_with = "clients")]
    once: bool,
    /// Speak another protocol instead, such as netperf, for a stock netperf 2.6 or later; wants
    /// --bind. Its passphrase, the secret, passes the network as it is
    #[arg(long, value_name = "PROTOCOL", conflicts_with = "once")]
    speak: Option<String>,
    /// Network whose clients of that protocol are served, such as 10.0.0.0/8, several times if
    /// wanted; needed where other hosts reach the address
    #[arg(long, value_name = "NETWORK", requires = "speak")]
    allow: Vec<Network>,
    /// End when standard input does
    #[arg(long)]
    until_eof: bool,
}

/// The line that says where it listens.
#[derive(Serialize)]
#[serde(tag = "type", content = "data", rename_all = "snake_case")]
enum Announcement {
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
    let speaks = arguments.speak.as_deref().map(registry::protocol);
    let speaks = speaks.transpose()?;
    let config = config(arguments, speaks.map_or(FAR_PORT, |protocol| protocol.port))?;
    if arguments.until_eof {
        stop_at_eof()?;
    }
    if let Some(protocol) = speaks {
        return speak(protocol, &config, arguments, output);
    }
    let server = Server::bind(config)?;
    tell(server.addresses(), output);
    server.run();
    Ok(())
}

/// Asks for a stop when standard input ends, which the caller keeps open while it wants a server:
/// a signal, or the death of the parent, reaches only a process of the same host, the end of the
/// input also another one, when the ssh connection is closed or lost.
fn stop_at_eof() -> Result<(), Failure> {
    let wait = || {
        let mut stdin = io::stdin().lock();
        let mut ignored = [0; 64];
        while stdin.read(&mut ignored).is_ok_and(|count| count > 0) {}
        kit::stop::request();
    };
    let thread = std::thread::Builder::new().name("stdin".into()).spawn(wait);
    thread.map(drop).map_err(|error| {
        failure(
            FailureKind::HostLacks,
            format!("cannot watch standard input: {error}"),
        )
    })
}

/// Serves those who speak another protocol, if it is said who may be served.
fn speak(
    protocol: &Protocol,
    config: &ServerConfig,
    arguments: &ServeArguments,
    output: &mut Output,
) -> Result<(), Failure> {
    let allowed = &arguments.allow;
    if arguments.bind.is_empty() {
        let name = protocol.name;
        let message =
            format!("--speak {name}: the address to serve is missing. Fix: add --bind ADDRESS");
        return Err(bad_parameter("bind", message));
    }
    if let (Some(address), true) = (listen::open_to_others(&config.bind), allowed.is_empty()) {
        let message = format!(
            "--bind {address}: whoever reaches that address could use this server. Fix: add \
             --allow NETWORK, such as --allow 10.0.0.0/8, or bind a loopback address"
        );
        return Err(bad_parameter("bind", message));
    }
    let listeners = listen::at(&config.bind, config.port)?;
    let addresses = listeners.iter().map(TcpListener::local_addr);
    tell(addresses.filter_map(io::Result::ok).collect(), output);
    let networks = (!allowed.is_empty()).then(|| allowed.clone());
    (protocol.serve)(&listeners, config, networks)
}

fn tell(addresses: Vec<SocketAddr>, output: &mut Output) {
    output.line(&Announcement::Listening {
        addresses,
        engine: VERSION,
        protocol: PROTOCOL,
    });
}

fn config(arguments: &ServeArguments, port: u16) -> Result<ServerConfig, Failure> {
    let secret_file = arguments.secret_file.as_deref();
    Ok(ServerConfig {
        engine: VERSION.to_owned(),
        bind: match arguments.bind.is_empty() {
            true => loopback(),
            false => arguments.bind.clone(),
        },
        port: arguments.port.unwrap_or(port),
        data_ports: arguments.data_ports.clone(),
        secret: secret_file.map(secret).transpose()?,
        limits: Limits {
            time: Duration::from_secs_f64(arguments.time_limit),
            flows: arguments.connections,
            bytes: arguments.byte_limit.map(Size::bytes),
            memory_bytes: arguments.memory_limit.bytes(),
        },
        clients: arguments.clients as usize,
        once: arguments.once,
    })
}

/// The loopback addresses; a host need not have IPv6.
fn loopback() -> Vec<IpAddr> {
    let v4 = IpAddr::from(Ipv4Addr::LOCALHOST);
    let v6 = IpAddr::from(Ipv6Addr::LOCALHOST);
    let has_v6 = UdpSocket::bind((v6, 0)).is_ok();
    [v4].into_iter().chain(has_v6.then_some(v6)).collect()
}

fn secret(path: &Path) -> Result<String, Failure> {
    let wrong = |what: &dyn std::fmt::Display| {
        let message = format!("--secret-file {}: {what}", path.display());
        bad_parameter("secret-file", message)
    };
    let read = || -> io::Result<(u32, String)> {
        let file = File::open(path)?;
        let mode = file.metadata()?.permissions().mode();
        let mut text = String::new();
        file.take(SECRET_FILE_BYTES).read_to_string(&mut text)?;
        Ok((mode, text))
    };
    let (mode, text) = read().map_err(|error| wrong(&error))?;
    if mode & 0o077 != 0 {
        let path = path.display();
        caution(&format!(
            "--secret-file {path}: others on this host may read it; \"chmod 600\" it"
        ));
    }
    let secret = text.lines().next().unwrap_or_default().trim();
    match secret.is_empty() || secret.contains(char::is_control) {
        true => Err(wrong(&"its first line is to be the secret, in letters")),
        false => Ok(secret.to_owned()),
    }
}

fn ports(text: &str) -> Result<RangeInclusive<u16>, String> {
    let (first, last) = text.split_once('-').unwrap_or((text, text));
    match (first.parse::<u16>(), last.parse::<u16>()) {
        (Ok(first), Ok(last)) if 0 < first && first <= last => Ok(first..=last),
        _ => Err("use two ports in ascending order, such as 20000-20063".to_owned()),
    }
}

fn seconds(text: &str) -> Result<f64, String> {
    let seconds = text.parse::<f64>().ok();
    seconds
        .filter(|&seconds| seconds > 0.0 && seconds <= TIME_LIMIT_MAX_S)
        .ok_or_else(|| format!("use more than 0 seconds and up to {TIME_LIMIT_MAX_S}"))
}
