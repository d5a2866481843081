//! `netserver`: its options, over the remote end of netperf's own wire.
//!
//! Differences from the original: every client has a thread instead of a process, and of more than
//! thirty-two at a time, or twenty-four of one host, the rest waits a moment and is refused as
//! busy; silent clients are dropped; a test that asks for more than an hour is
//! refused; there is no log, and it is not started by inetd.

use std::ffi::OsString;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener};

use engine::Protocol;
use kit::failure::{bad_parameter, failure};
use netperf::server::Limits;
use wire::{Failure, FailureKind};

use crate::bench::Bench;
use crate::netperf::{fitting, refuse_json, release, version, Family, Host, CONTROL_PORT};
use crate::options::{self, Choice, Line};
use crate::{help, Tool};

const CHOICES: &[Choice] = &[
    Choice::flag("-D", "stay in the foreground"),
    Choice::flag("-f", "serve one client at a time"),
    Choice::value(
        "-L",
        "NAME,FAMILY",
        "listen at this address only; family 4 or 6 (all addresses of the host)",
    ),
    Choice::flag("-4", "listen for IPv4 only"),
    Choice::flag("-6", "listen for IPv6"),
    Choice::value("-p", "PORT", "listen on this port (12865)"),
    Choice::value(
        "-Z",
        "WORD",
        "serve only those who say this passphrase first",
    ),
    Choice::value(
        "--allow",
        "NETWORK",
        "serve only clients of this network, such as 10.0.0.0/8; several times if wanted (all)",
    ),
    Choice::value(
        "--release",
        "VERSION",
        "release of the netperfs that come: 2.6, or 2.7 and later (2.7); 2.4 is noticed",
    ),
    Choice::value("-n", "N", "number of CPUs; found out without it"),
    Choice::value("-v", "N", "has no effect; nothing is told of the tests"),
    Choice::flag("-d", "has no effect; there are no messages for debugging"),
    Choice::flag("-N", "has no effect; there never are any"),
    Choice::flag("-V", "print the version"),
    Choice::flag("-h", "print this list"),
];

/// What `serve --speak netperf` speaks.
pub static PROTOCOL: Protocol = Protocol {
    name: "netperf",
    port: CONTROL_PORT,
    serve: |listeners, config, networks| {
        let limits = Limits {
            clients: config.limits.flows as usize,
            test: config.limits.time,
            bytes: config.limits.bytes,
            memory_bytes: config.limits.memory_bytes,
            networks,
            data_ports: config.data_ports.clone(),
            passphrase: config.secret.clone(),
            ..Limits::default()
        };
        netperf::server::serve(listeners, &limits)
    },
};

/// The tool.
pub struct Netserver;

impl Tool for Netserver {
    fn names(&self) -> &'static [&'static str] {
        &["netserver"]
    }

    fn about(&self) -> &'static str {
        "the remote end of netperf, for any number of clients"
    }

    fn choices(&self) -> &'static [Choice] {
        CHOICES
    }

    fn run(&self, arguments: Vec<OsString>, bench: &mut Bench) -> Result<(), Failure> {
        refuse_json(bench)?;
        let line = options::read(CHOICES, arguments)?;
        if line.has("-h") {
            bench.print(&help::of(self));
            return Ok(());
        }
        if line.has("-V") {
            bench.print(&version("Netserver"));
            return Ok(());
        }
        let request = Request::of(&line)?;
        let listeners = request.listen()?;
        bench.print(&request.greeting());
        if !bench.stay(request.in_background)? {
            return Ok(());
        }
        netperf::server::serve(&listeners, &request.limits)
    }
}

/// A command line, understood.
struct Request {
    place: Host,
    port: u16,
    limits: Limits,
    in_background: bool,
}

impl Request {
    fn of(line: &Line) -> Result<Self, Failure> {
        if let Some(operand) = line.operands.first() {
            let operand = operand.to_string_lossy();
            let message = format!("\"{operand}\" belongs to no option; --help lists them");
            return Err(bad_parameter("options", message));
        }
        let mut request = Self {
            place: Host::default(),
            port: CONTROL_PORT,
            limits: Limits::default(),
            in_background: true,
        };
        for given in &line.options {
            let text = given.text().to_string_lossy();
            match given.name {
                "-D" => request.in_background = false,
                "-f" => request.limits.clients = 1,
                "-L" => request.place.take(given)?,
                "-4" => request.place.family = Family::V4,
                "-6" => request.place.family = Family::V6,
                "-p" => request.port = fitting(given, &text)?,
                "--allow" => {
                    let network = text.parse().map_err(|error| given.wrong(error))?;
                    let networks = &mut request.limits.networks;
                    networks.get_or_insert_default().push(network);
                }
                "--release" => request.limits.generation = release(given)?,
                "-Z" => request.limits.passphrase = Some(text.into_owned()),
                _ => {}
            }
        }
        Ok(request)
    }

    /// Listens at every address that is asked for.
    fn listen(&self) -> Result<Vec<TcpListener>, Failure> {
        let named = self.place.addresses("-L")?;
        if !named.is_empty() {
            return named
                .into_iter()
                .map(|address| self.listen_at(address))
                .collect();
        }
        let all_v4 = IpAddr::from(Ipv4Addr::UNSPECIFIED);
        let all = IpAddr::from(Ipv6Addr::UNSPECIFIED);
        let listener = match self.place.family {
            Family::V4 => self.listen_at(all_v4)?,
            Family::V6 => self.listen_at(all)?,
            // A socket for all addresses of version 6 takes those of version 4 too; a host
            // without version 6 has none.
            Family::Any => self.listen_at(all).or_else(|_| self.listen_at(all_v4))?,
        };
        Ok(vec![listener])
    }

    fn listen_at(&self, address: IpAddr) -> Result<TcpListener, Failure> {
        let address = SocketAddr::new(address, self.port);
        TcpListener::bind(address).map_err(|error| {
            let message = format!("cannot listen at {address}: {error}");
            failure(FailureKind::HostLacks, message)
        })
    }

    /// As the original says it.
    fn greeting(&self) -> String {
        let host = self.place.name.as_deref().unwrap_or("IN(6)ADDR_ANY");
        let family = match self.place.family {
            Family::Any => "AF_UNSPEC",
            Family::V4 => "AF_INET",
            Family::V6 => "AF_INET6",
        };
        format!(
            "Starting netserver with host '{host}' port '{}' and family {family}\n",
            self.port
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(line: &str) -> Request {
        let words = line.split_whitespace().map(OsString::from).collect();
        Request::of(&options::read(CHOICES, words).unwrap()).unwrap_or_else(|failure| {
            panic!("{line}: {}", failure.message);
        })
    }

    #[test]
    fn it_leaves_for_the_background_unless_told_to_stay() {
        assert!(request("").in_background);
        let request = request("-4 -L 127.0.0.1 -p 22865 -D -f -Z word -n 2 -v 1 -d -N");
        assert!(!request.in_background);
        assert_eq!((request.limits.clients, request.limits.networks), (1, None));
        let allowed = self::request("--allow 10.0.0.0/8 --allow ::1")
            .limits
            .networks;
        assert_eq!(allowed.unwrap().len(), 2);
        let request = self::request("-L 127.0.0.1 -4 -p 22865 -Z word");
        assert_eq!(request.limits.passphrase.as_deref(), Some("word"));
        assert_eq!(
            request.greeting(),
            "Starting netserver with host '127.0.0.1' port '22865' and family AF_INET\n"
        );
    }

    #[test]
    fn it_listens_where_it_is_told_to() {
        let at = |line: &str| {
            let listeners = request(line).listen().unwrap();
            let addresses = listeners
                .iter()
                .map(|listener| listener.local_addr().unwrap().ip());
            addresses
                .map(|address| address.to_string())
                .collect::<Vec<_>>()
        };
        assert_eq!(at("-p 0 -L 127.0.0.1"), ["127.0.0.1"]);
        assert_eq!(at("-p 0 -4"), ["0.0.0.0"]);
        assert_eq!(at("-p 0").len(), 1);
    }

    #[test]
    fn a_port_that_is_taken_is_named() {
        let taken = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = taken.local_addr().unwrap().port();
        let failure = request(&format!("-L 127.0.0.1 -p {port}"))
            .listen()
            .unwrap_err();
        let begin = format!("cannot listen at 127.0.0.1:{port}: ");
        assert!(failure.message.starts_with(&begin), "{}", failure.message);
    }
}
