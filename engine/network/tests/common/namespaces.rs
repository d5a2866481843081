//! Two network namespaces joined by a pair of veth, for tests; they are removed again.

use std::fs::File;
use std::net::SocketAddr;
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread::{self, JoinHandle};

use network::server::{Server, ServerConfig};
use network::stop::Stop;
use rustix::thread::{move_into_link_name_space, LinkNameSpaceType};
use wire::FarEnd;

use super::config;

/// What a server wants to hear that others could reach.
const SECRET: &str = "in the lists";

/// Address of the client.
pub const NEAR: &str = "10.77.0.1";
/// Address of the server.
pub const FAR: &str = "10.77.0.2";

static COUNT: AtomicU32 = AtomicU32::new(0);

/// A pair of namespaces.
pub struct Pair {
    near: String,
    far: String,
}

impl Pair {
    /// Makes it; `None` for who may not, which is told.
    #[allow(clippy::print_stderr)]
    pub fn new() -> Option<Self> {
        if !rustix::process::geteuid().is_root() {
            eprintln!("not tested: making network namespaces needs root");
            return None;
        }
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let id = format!("tiltyard-{}-{number}", std::process::id());
        let pair = Self {
            near: format!("{id}-near"),
            far: format!("{id}-far"),
        };
        let (near, far) = (&pair.near, &pair.far);
        ip(&format!("netns add {near}"));
        ip(&format!("netns add {far}"));
        ip(&format!(
            "link add veth0 netns {near} type veth peer name veth0 netns {far}"
        ));
        for (name, address) in [(near, NEAR), (far, FAR)] {
            ip(&format!("-n {name} address add {address}/24 dev veth0"));
            ip(&format!("-n {name} link set veth0 up"));
            ip(&format!("-n {name} link set lo up"));
        }
        Some(pair)
    }

    /// Executes `ip` on the client.
    pub fn near_ip(&self, line: &str) {
        ip(&format!("-n {} {line}", self.near));
    }

    /// Executes `tc` on the client.
    pub fn near_tc(&self, line: &str) {
        execute("tc", &format!("-n {} {line}", self.near));
    }

    /// Does something in the namespace of the client.
    pub fn near<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> JoinHandle<T> {
        within(&self.near, work)
    }

    /// Does something in the namespace of the server.
    pub fn far<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> JoinHandle<T> {
        within(&self.far, work)
    }

    /// A server there.
    pub fn serve(&self) -> FarThere {
        let server = self
            .far(|| {
                let secret = Some(SECRET.to_owned());
                let config = ServerConfig {
                    secret,
                    ..config(FAR)
                };
                Server::bind(config).unwrap()
            })
            .join()
            .unwrap();
        let (address, stop) = (server.addresses()[0], server.stop());
        FarThere {
            address,
            stop,
            thread: Some(self.far(move || server.run())),
        }
    }
}

impl Drop for Pair {
    fn drop(&mut self) {
        for name in [&self.near, &self.far] {
            // Nothing else could be done about it, and the other one is to go, too.
            let _ = Command::new("ip").args(["netns", "delete", name]).status();
        }
    }
}

/// A server in its namespace, until it is dropped.
pub struct FarThere {
    address: SocketAddr,
    stop: Stop,
    thread: Option<JoinHandle<()>>,
}

impl FarThere {
    /// As a job names it.
    pub fn end(&self) -> FarEnd {
        FarEnd {
            address: self.address.ip().to_string(),
            port: self.address.port(),
            secret: Some(SECRET.to_owned()),
            local: None,
        }
    }
}

impl Drop for FarThere {
    fn drop(&mut self) {
        self.stop.request();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// A thread in a namespace; those that it starts are there, too.
fn within<T: Send + 'static>(
    name: &str,
    work: impl FnOnce() -> T + Send + 'static,
) -> JoinHandle<T> {
    let space = File::open(format!("/run/netns/{name}")).unwrap();
    thread::spawn(move || {
        let kind = Some(LinkNameSpaceType::Network);
        move_into_link_name_space(std::os::fd::AsFd::as_fd(&space), kind).unwrap();
        work()
    })
}

fn ip(line: &str) {
    execute("ip", line);
}

fn execute(program: &str, line: &str) {
    let status = Command::new(program).args(line.split(' ')).status();
    assert!(
        status.is_ok_and(|status| status.success()),
        "{program} {line}"
    );
}
