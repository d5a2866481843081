//! The local end as it stands before the remote end is asked: socket, buffers, and a file to send.

use std::fs::File;
use std::io::{self, Read, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::fd::{AsFd, BorrowedFd};
use std::path::Path;

use kit::failure::{bad_parameter, failure, io_failure};
use kit::splitmix::SplitMix;
use rustix::fs::{memfd_create, MemfdFlags};
use socket2::Socket;
use wire::{Failure, FailureKind};

use super::test::{Kind, Moves, Test};
use crate::data::socket::{self, Options};
use crate::data::{link, named, CallError, Called};
use network::flow::ring::{Ring, Shape};

/// The longest UDP payload over IPv4, in bytes.
const DATAGRAM_BYTES_MAX: u32 = 65_507;
/// Requests on the way at most, besides the one that is waited for.
const BURST_MAX: u32 = 65_536;

/// The local end.
pub struct LocalEnd<'a> {
    /// What it is to do.
    pub test: &'a Test,
    /// Where the data go, or come from.
    pub remote: SocketAddr,
    /// Options of its sockets.
    pub options: Options,
    /// Its address; unspecified for any.
    pub address: IpAddr,
    /// Its socket, not yet connected, until it is taken. A connection test makes others.
    pub socket: Option<Socket>,
    /// `SO_SNDBUF` and `SO_RCVBUF` before there is a connection, in bytes.
    pub initial: (u32, u32),
    /// What it sends from.
    pub send: Option<Ring>,
    /// What it receives into.
    pub receive: Option<Ring>,
    /// What it sends with sendfile(2), and how much with each call, in bytes.
    pub file: Option<(SourceFile, u32)>,
}

impl<'a> LocalEnd<'a> {
    /// Gets everything ready. `local` is the address of this end of the control connection.
    ///
    /// # Errors
    /// `BadJob` for what cannot be, `Io` and `HostLacks` from the kernel.
    pub fn prepare(test: &'a Test, remote: SocketAddr, local: IpAddr) -> Result<Self, Failure> {
        check(test)?;
        let options = options_of(test);
        let address = address_of(test, remote, local)?;
        let refused = |error: CallError| failure(FailureKind::Io, format!("data socket: {error}"));
        let socket = socket::open(remote, test.kind.is_udp(), &options).map_err(refused)?;
        bind(&socket, test, address).map_err(refused)?;
        let initial = socket::buffers(&socket).map_err(refused)?;
        let mut end = Self {
            test,
            remote,
            options,
            address,
            socket: Some(socket),
            initial,
            send: None,
            receive: None,
            file: None,
        };
        end.make_buffers()?;
        Ok(end)
    }

    /// The address and port of the data socket, as far as it is bound.
    pub fn bound(&self) -> SocketAddr {
        let local = self.socket.as_ref().and_then(|socket| {
            let local = socket.local_addr().ok()?;
            local.as_socket()
        });
        local.unwrap_or_else(|| SocketAddr::new(self.address, 0))
    }

    fn make_buffers(&mut self) -> Result<(), Failure> {
        let (test, local) = (self.test, &self.test.local);
        let (send_buffer, receive_buffer) = self.initial;
        let is_exchange = test.kind.is_exchange();
        let size_of = |moves: &Moves, buffer: u32, message: u32| match moves.size {
            _ if is_exchange => message,
            Some(size) if size > 0 => size,
            _ if test.kind.is_udp() => buffer.min(DATAGRAM_BYTES_MAX),
            _ => buffer,
        };
        let shape_of = |moves: &Moves, size: u32, buffer: u32| {
            let shape = Shape {
                size,
                align: moves.align,
                offset: moves.offset,
                width: moves.width.unwrap_or(1),
            };
            match moves.width {
                None if !is_exchange => shape.wide_enough_for(buffer.into()),
                _ => shape,
            }
        };
        let send_size = size_of(&local.send, send_buffer, test.request_size);
        let send_shape = shape_of(&local.send, send_size, send_buffer);
        if test.kind == Kind::TcpSendfile {
            let bytes = u64::from(send_size) * u64::from(send_shape.width);
            let file = SourceFile::new(local.fill.as_deref(), bytes)?;
            self.file = Some((file, send_size));
        } else if test.kind.sends() {
            self.send = Some(source_ring(send_shape, local.fill.as_deref())?);
        }
        if test.kind.receives() {
            let size = size_of(&local.receive, receive_buffer, test.response_size);
            let shape = shape_of(&local.receive, size, receive_buffer);
            self.receive = Some(source_ring(shape, None)?);
        }
        Ok(())
    }
}

fn check(test: &Test) -> Result<(), Failure> {
    if test.burst > BURST_MAX {
        let message = format!("burst: at most {BURST_MAX}, not {}", test.burst);
        return Err(bad_parameter("burst", message));
    }
    if test.kind.is_exchange() && (test.request_size == 0 || test.response_size == 0) {
        let message = "request_size, response_size: at least 1 byte each";
        return Err(bad_parameter("request_size", message));
    }
    if test.kind.is_connection_test() && test.client_ports.is_empty() {
        let message = format!("client_ports: none in {:?}", test.client_ports);
        return Err(bad_parameter("client_ports", message));
    }
    Ok(())
}

fn options_of(test: &Test) -> Options {
    let is_udp = test.kind.is_udp();
    Options {
        send_buffer: test.local.send_buffer,
        receive_buffer: test.local.receive_buffer,
        no_delay: test.no_delay,
        cork: test.cork,
        keep_alive: test.keep_alive,
        dont_route: !test.routing,
        priority: test.local.priority,
        tos: test.local.tos,
        congestion: test.local.congestion.clone(),
        mtu_discovery: test.mtu_discovery,
        segment_size: test.segment_size,
        pacing_rate: test.pacing_rate,
        receive_timeout: test.patience.filter(|_| is_udp),
        report_drops: is_udp && test.kind.sends(),
        reuse_address: test.kind.is_connection_test() || test.local.port > 0,
        ..Options::default()
    }
}

/// The address that data sockets of this end are bound to. A remote end that sends datagrams has
/// to be told one.
fn address_of(test: &Test, remote: SocketAddr, local: IpAddr) -> Result<IpAddr, Failure> {
    let address = match test.local.address {
        Some(address) => address,
        None if test.kind == Kind::UdpMaerts => local,
        None if remote.is_ipv6() => Ipv6Addr::UNSPECIFIED.into(),
        None => Ipv4Addr::UNSPECIFIED.into(),
    };
    if address.is_ipv6() == remote.is_ipv6() {
        return Ok(address);
    }
    let message = format!(
        "local.address: {address} and {} are of two families",
        remote.ip()
    );
    Err(bad_parameter("local.address", message))
}

/// TCP is bound only if there is something to bind it to.
fn bind(socket: &Socket, test: &Test, address: IpAddr) -> Called<()> {
    let is_told = test.local.port > 0 || test.local.address.is_some();
    if test.kind.is_connection_test() || !(test.kind.is_udp() || is_told) {
        return Ok(());
    }
    let wanted = SocketAddr::new(address, test.local.port);
    named("bind", socket.bind(&wanted.into()))
}

/// The seed of a file that nobody named: its content is arbitrary, and always the same.
const SEED: u64 = 12_865;

/// A ring of `shape`, filled with the begin of the file at `fill` if one is named. The file may
/// be endless.
///
/// # Errors
/// `BadJob` for a shape that may not be, and for a file that is empty; `Io` if it cannot be read.
fn source_ring(shape: Shape, fill: Option<&str>) -> Result<Ring, Failure> {
    let refused = |message| bad_parameter("local", format!("local: {message}"));
    shape.check().map_err(refused)?;
    let mut content = Vec::new();
    if let Some(path) = fill.map(Path::new) {
        let needed = u64::from(shape.size) * u64::from(shape.width);
        File::open(path)
            .and_then(|file| file.take(needed).read_to_end(&mut content))
            .map_err(|error| io_failure("read", path, &error))?;
        if content.is_empty() {
            return Err(empty(path));
        }
    }
    link::ring(shape, &content).map_err(kit::failure::no_memory)
}

fn empty(path: &Path) -> Failure {
    let message = format!("local.fill: {} is empty", path.display());
    bad_parameter("local.fill", message)
}

/// A file to be sent with sendfile(2).
pub struct SourceFile {
    file: File,
    /// Its size, in bytes.
    pub bytes: u64,
}

impl SourceFile {
    /// The file at `path`, or one in memory, of `bytes`.
    ///
    /// # Errors
    /// `BadJob` for one that is empty or not a plain file; `Io` and `HostLacks` from the kernel.
    pub fn new(path: Option<&str>, bytes: u64) -> Result<Self, Failure> {
        let Some(path) = path.map(Path::new) else {
            let file = in_memory(bytes).map_err(|error| {
                let message = format!("no memory for a file of {bytes} bytes: {error}");
                failure(FailureKind::HostLacks, message)
            })?;
            return Ok(Self { file, bytes });
        };
        let cannot = |error: io::Error| io_failure("open", path, &error);
        let file = File::open(path).map_err(cannot)?;
        let metadata = file.metadata().map_err(cannot)?;
        if !metadata.is_file() {
            let message = format!("local.fill: {} is not a plain file", path.display());
            return Err(bad_parameter("local.fill", message));
        }
        match metadata.len() {
            0 => Err(empty(path)),
            bytes => Ok(Self { file, bytes }),
        }
    }
}

impl AsFd for SourceFile {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}

/// A file of random bytes that has no name and leaves nothing behind.
fn in_memory(bytes: u64) -> io::Result<File> {
    let mut file = File::from(memfd_create("netperf", MemfdFlags::CLOEXEC)?);
    let mut random = SplitMix::new(SEED);
    let mut block = [0; 65_536];
    let mut left = bytes;
    while left > 0 {
        for word in block.chunks_exact_mut(8) {
            word.copy_from_slice(&random.draw().to_ne_bytes());
        }
        let length = left.min(block.len() as u64);
        file.write_all(&block[..length as usize])?;
        left -= length;
    }
    Ok(file)
}
