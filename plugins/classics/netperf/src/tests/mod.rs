//! Our client against our server, over loopback, and each of them against the worst.

mod hostile_client;
mod hostile_server;
mod limits;
mod pairs;
mod recorded;
mod session;

use std::net::{SocketAddr, TcpListener};
use std::thread;
use std::time::{Duration, Instant};

use wire::Failure;

use super::client::{Extent, Kind, Netserver, Outcome, Site, Test};
use super::message::Generation;
use super::server::{serve, Limits};

/// Where a server with `limits` listens. It ends with the process of the tests: a stop would be
/// one for all of them.
fn server_at(address: &str, limits: Limits) -> SocketAddr {
    let listener = TcpListener::bind(address).unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || serve(&[listener], &limits));
    address
}

fn server(limits: Limits) -> SocketAddr {
    server_at("127.0.0.1:0", limits)
}

fn site(remote: SocketAddr) -> Site {
    Site {
        remote,
        local: None,
        passphrase: None,
        generation: Generation::default(),
    }
}

/// Of a client that has another address.
fn site_from(local: &str, remote: SocketAddr) -> Site {
    Site {
        local: Some(SocketAddr::new(local.parse().unwrap(), 0)),
        ..site(remote)
    }
}

fn run_at(site: Site, test: &Test) -> Result<Outcome, Failure> {
    Netserver::connect(site)?.run(test, &mut |_| {})
}

/// Runs `test` against a server of its own.
fn run(test: &Test) -> Outcome {
    run_at(site(server(Limits::default())), test).unwrap_or_else(|failure| {
        panic!("{:?}: {}", test.kind, failure.message);
    })
}

/// `count` bytes or transactions of `kind`, with sizes that any socket takes.
fn counted(kind: Kind, count: u64) -> Test {
    let mut test = Test::new(kind, Extent::Count(count));
    test.local.send.size = Some(1_000);
    test.remote.send.size = Some(1_000);
    test.request_size = 100;
    test.response_size = 200;
    test
}

/// What is sure to come has come by then, however busy the machine is.
const PATIENCE: Duration = Duration::from_secs(300);

/// What `attempt` gives once it succeeds: a place is free a moment after its client has gone.
fn soon<T>(mut attempt: impl FnMut() -> Option<T>) -> Option<T> {
    let begin = Instant::now();
    loop {
        let result = attempt();
        if result.is_some() || begin.elapsed() > PATIENCE {
            return result;
        }
        thread::sleep(Duration::from_millis(10));
    }
}
