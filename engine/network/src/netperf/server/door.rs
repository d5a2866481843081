//! Where data come in: a socket of its own for every test, on a port that the limits allow.

use std::net::SocketAddr;

use socket2::Socket;

use super::plan::{Errno, Plan};
use super::Limits;
use crate::netperf::data::socket;
use crate::netperf::data::{named, Called};

/// Connections that may wait to be accepted.
const BACKLOG: i32 = 128;

/// Opens the socket for `plan`, bound, and listening if it is for TCP.
///
/// # Errors
/// What the client is to be told: `EACCES` for a port that is not for data, `EADDRINUSE` when
/// all that are, are taken.
pub fn open(plan: &Plan, limits: &Limits) -> Result<Socket, Errno> {
    let asked = plan.address.port();
    let allowed = match &limits.data_ports {
        Some(ports) if asked > 0 && !ports.contains(&asked) => return Err(Errno(libc::EACCES)),
        Some(ports) if asked == 0 => ports.clone(),
        _ => asked..=asked,
    };
    for port in allowed {
        let mut address = plan.address;
        address.set_port(port);
        match open_at(address, plan) {
            Ok(socket) => return Ok(socket),
            Err(error) if error.errno() == libc::EADDRINUSE => {}
            Err(error) => return Err(Errno(error.errno())),
        }
    }
    Err(Errno(libc::EADDRINUSE))
}

fn open_at(address: SocketAddr, plan: &Plan) -> Called<Socket> {
    let socket = socket::open(address, plan.is_udp, &plan.options)?;
    named("bind", socket.bind(&address.into()))?;
    if !plan.is_udp {
        named("listen", socket.listen(BACKLOG))?;
    }
    Ok(socket)
}
