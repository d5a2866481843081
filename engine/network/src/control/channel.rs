//! A control connection: messages with patience. It waits for nothing without an end, and heeds a
//! stop.

use std::io::{self, ErrorKind, Write};
use std::net::{IpAddr, Shutdown, SocketAddr, TcpStream};
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::event::{poll, PollFd, PollFlags, Timespec};
use serde::de::DeserializeOwned;
use serde::Serialize;
use socket2::{SockRef, TcpKeepalive};

use super::frame::{self, Inbox};
use crate::stop::Stop;

/// Between two looks at a stop request.
const LOOK: Duration = Duration::from_millis(100);
/// How long the other host may be silent before the kernel ends the connection.
const SILENCE: Duration = Duration::from_secs(10);
/// As [`SILENCE`], while datagrams may drown all else: so many probes are not lost by chance.
const SILENCE_IN_FLOOD: Duration = Duration::from_secs(60);
/// A connection that is idle for so long is probed, again and again.
const PROBE_AFTER: Duration = Duration::from_secs(4);
const PROBE_EVERY: Duration = Duration::from_secs(1);

/// One end of a control connection. It ends when this is dropped, also where threads with
/// descriptors of their own still hold it open.
#[derive(Debug)]
pub struct Channel {
    line: Line,
    inbox: Inbox,
}

/// A control connection, for who only looks at it.
#[derive(Debug, Clone)]
pub struct Line {
    stream: Arc<TcpStream>,
    stop: Stop,
}

/// What there is to be heard.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Heard {
    /// Nothing yet.
    Nothing,
    /// A word, or a part of one.
    Data,
    /// The other end has gone away.
    End,
}

impl Channel {
    /// Of a connected socket.
    ///
    /// # Errors
    /// Those of setsockopt(2).
    pub fn new(stream: TcpStream, stop: Stop) -> io::Result<Self> {
        stream.set_nonblocking(true)?;
        stream.set_nodelay(true)?;
        let probes = TcpKeepalive::new()
            .with_time(PROBE_AFTER)
            .with_interval(PROBE_EVERY);
        SockRef::from(&stream).set_tcp_keepalive(&probes)?;
        let line = Line {
            stream: Arc::new(stream),
            stop,
        };
        line.set_tcp_user_timeout(false)?;
        Ok(Self {
            line,
            inbox: Inbox::default(),
        })
    }

    /// For who only looks.
    pub fn line(&self) -> &Line {
        &self.line
    }

    /// The own address.
    ///
    /// # Errors
    /// Those of getsockname(2).
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        self.line.stream.local_addr()
    }

    /// The address of the other end.
    ///
    /// # Errors
    /// Those of getpeername(2).
    pub fn peer_addr(&self) -> io::Result<SocketAddr> {
        self.line.stream.peer_addr()
    }

    /// Sends a message as a whole, within `patience`.
    ///
    /// # Errors
    /// `TimedOut` when the other end does not take it, `Interrupted` when this end is to stop;
    /// else as write(2).
    pub fn send(&mut self, message: &impl Serialize, patience: Duration) -> io::Result<()> {
        let until = Instant::now() + patience;
        let frame = frame::encode(message)?;
        let mut rest = &frame[..];
        while !rest.is_empty() {
            match (&*self.line.stream).write(rest) {
                Ok(count) => rest = &rest[count..],
                Err(error) => self.wait(error, PollFlags::OUT, until)?,
            }
        }
        Ok(())
    }

    /// Receives a message of at most `limit_bytes` that is here as a whole within `patience`.
    ///
    /// # Errors
    /// `TimedOut` when it was slow, `Interrupted` when this end is to stop; else as
    /// [`Inbox::take`].
    pub fn receive<M: DeserializeOwned>(
        &mut self,
        limit_bytes: usize,
        patience: Duration,
    ) -> io::Result<M> {
        let until = Instant::now() + patience;
        loop {
            match self.take(limit_bytes) {
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    self.wait(error, PollFlags::IN, until)?;
                }
                taken => return taken,
            }
        }
    }

    /// Takes what there is of a message; see [`Inbox::take`].
    ///
    /// # Errors
    /// `WouldBlock` when more has to come.
    pub fn take<M: DeserializeOwned>(&mut self, limit_bytes: usize) -> io::Result<M> {
        self.inbox.take(&mut &*self.line.stream, limit_bytes)
    }

    /// After `error`, waits until the socket is as wanted, if that is all.
    fn wait(&self, error: io::Error, wanted: PollFlags, until: Instant) -> io::Result<()> {
        if !is_for_later(&error) {
            return Err(error);
        }
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(ErrorKind::TimedOut.into());
        }
        wait_for(
            &mut [PollFd::new(self.line.stream(), wanted)],
            left.min(LOOK),
        );
        match self.line.is_stopped() {
            true => Err(ErrorKind::Interrupted.into()),
            false => Ok(()),
        }
    }
}

impl Drop for Channel {
    fn drop(&mut self) {
        // One that has ended already is as good.
        let _ = self.line.stream.shutdown(Shutdown::Both);
    }
}

impl Line {
    /// For who waits for several sockets at once.
    pub fn stream(&self) -> &TcpStream {
        &self.stream
    }

    /// The address of the other end, without its port; an IPv4-mapped one as IPv4.
    ///
    /// # Errors
    /// Those of getpeername(2).
    pub fn peer_ip(&self) -> io::Result<IpAddr> {
        Ok(self.stream.peer_addr()?.ip().to_canonical())
    }

    /// Whether this end is to stop.
    pub fn is_stopped(&self) -> bool {
        self.stop.requested()
    }

    /// What there is to be heard, without taking it.
    pub fn heard(&self) -> Heard {
        match self.stream.peek(&mut [0]) {
            Ok(1..) => Heard::Data,
            Err(error) if is_for_later(&error) => Heard::Nothing,
            Ok(_) | Err(_) => Heard::End,
        }
    }

    /// Whether a flood of datagrams is to come, which the probes may not survive.
    ///
    /// # Errors
    /// Those of setsockopt(2).
    pub fn set_tcp_user_timeout(&self, is_coming: bool) -> io::Result<()> {
        let silence = match is_coming {
            true => SILENCE_IN_FLOOD,
            false => SILENCE,
        };
        // With a time, the number of probes decides nothing any more.
        SockRef::from(&self.stream).set_tcp_user_timeout(Some(silence))
    }
}

/// Waits until one of `fds` is ready, at most for `longest`; less if a signal arrives.
pub fn wait_for(fds: &mut [PollFd], longest: Duration) {
    let longest = Timespec {
        tv_sec: longest.as_secs() as i64,
        tv_nsec: i64::from(longest.subsec_nanos()),
    };
    // Whoever waits looks himself at what he waits for.
    let _ = poll(fds, Some(&longest));
}

fn is_for_later(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted)
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;

    fn pair() -> [Channel; 2] {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let server = listener.accept().unwrap().0;
        [client, server].map(|stream| Channel::new(stream, Stop::default()).unwrap())
    }

    const PATIENCE: Duration = Duration::from_secs(300);
    const SHORT: Duration = Duration::from_millis(20);

    #[test]
    fn words_are_heard_before_the_end() {
        let [mut client, mut server] = pair();
        assert_eq!(server.line().heard(), Heard::Nothing);
        client.send(&"one", PATIENCE).unwrap();
        client.send(&"two", PATIENCE).unwrap();
        drop(client);
        for word in ["one", "two"] {
            wait_for(
                &mut [PollFd::new(server.line().stream(), PollFlags::IN)],
                PATIENCE,
            );
            assert_eq!(server.line().heard(), Heard::Data);
            assert_eq!(server.receive::<String>(10, PATIENCE).unwrap(), word);
        }
        let end = server.receive::<String>(10, PATIENCE).unwrap_err();
        assert_eq!(end.kind(), ErrorKind::UnexpectedEof);
        assert_eq!(server.line().heard(), Heard::End);
    }

    #[test]
    fn patience_has_an_end_for_both() {
        let [mut client, mut server] = pair();
        (&*client.line.stream)
            .write_all(&[0, 0, 0, 5, b'"'])
            .unwrap();
        let late = server.receive::<String>(10, SHORT).unwrap_err();
        assert_eq!(late.kind(), ErrorKind::TimedOut);
        let long = "x".repeat(8 << 20);
        let full = client.send(&long, SHORT).unwrap_err();
        assert_eq!(full.kind(), ErrorKind::TimedOut);
    }

    #[test]
    fn a_stop_ends_waiting() {
        let [_near, mut server] = pair();
        server.line.stop.request();
        let stopped = server.receive::<String>(10, PATIENCE).unwrap_err();
        assert_eq!(stopped.kind(), ErrorKind::Interrupted);
    }
}
