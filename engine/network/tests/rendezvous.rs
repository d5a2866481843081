//! Flows of every transport find each other, over IPv4, IPv6 and names, and nobody else gets in.

mod common;

use std::net::{Shutdown, UdpSocket};

use common::Served;
use kit::team::{Finish, Member};
use kit::PassProbe;
use network::client::{LocalPart, ServerConnection};
use network::control::message::{Messages, Receive, Role, Work};
use network::flow::{Flow, Notes};
use network::placement::Wanted;
use network::socket::SocketOptions;
use network::socket::Transport;
use wire::Failure;

const MESSAGE: &[u8] = b"eight by";

fn work(transport: Transport, options: SocketOptions) -> Work {
    let messages = Messages {
        bytes: 4_096,
        width: None,
    };
    Work {
        transport,
        role: Role::Receive(Receive {
            messages,
            skip_copy: false,
            gro: false,
        }),
        flows: 3,
        threads: 3,
        options,
        placement: Wanted::default(),
        longest_s: 5.0,
        look_s: 0.1,
        held: false,
    }
}

/// Each flow sends its number of messages and one more.
fn send(flows: &[Flow], member: &mut Member<PassProbe>) -> Result<Notes, Failure> {
    member.start()?;
    for flow in flows {
        for _ in 0..=flow.number {
            let sent = match &flow.peer {
                Some(peer) => flow.socket.send_to(MESSAGE, peer),
                None => flow.socket.send(MESSAGE),
            };
            assert_eq!(sent.unwrap(), MESSAGE.len());
        }
        let _ = flow.socket.shutdown(Shutdown::Write);
    }
    Ok(Notes::new())
}

fn received_bytes(ip: &str, transport: Transport, options: SocketOptions) -> u64 {
    let served = Served::at(ip);
    let mut far = ServerConnection::open(&served.far()).unwrap();
    let work = work(transport, options.clone());
    let local = LocalPart {
        options,
        threads: 2,
        finish: Finish::Everyone,
    };
    let measured = far.measure(&work, &local, send);
    measured.unwrap().far.side.received_bytes
}

#[test]
fn flows_meet_whatever_moves_the_data() {
    for ip in ["127.0.0.1", "::1"] {
        for transport in [Transport::Tcp, Transport::Udp, Transport::Unix] {
            let bytes = received_bytes(ip, transport, SocketOptions::default());
            assert_eq!(bytes, 6 * MESSAGE.len() as u64, "{ip}, {transport:?}");
        }
    }
}

#[test]
fn datagrams_need_no_connection() {
    let options = SocketOptions {
        unconnected: true,
        ..SocketOptions::default()
    };
    for ip in ["127.0.0.1", "::1"] {
        let bytes = received_bytes(ip, Transport::Udp, options.clone());
        assert_eq!(bytes, 6 * MESSAGE.len() as u64, "{ip}");
    }
}

/// Does the work of [`send`] while somebody else sends to the server's socket, too.
fn send_among_strangers(flows: &[Flow], member: &mut Member<PassProbe>) -> Result<Notes, Failure> {
    let stranger = UdpSocket::bind("127.0.0.1:0").unwrap();
    for flow in flows {
        let far = flow.socket.peer_addr().unwrap().as_socket().unwrap();
        for words in [&b"not for you"[..], b""] {
            // Its own socket may be told that nobody is there.
            let _ = stranger.send_to(words, far);
        }
    }
    send(flows, member)
}

#[test]
fn datagrams_of_strangers_do_not_count() {
    let served = Served::at("127.0.0.1");
    let mut far = ServerConnection::open(&served.far()).unwrap();
    let options = SocketOptions::default();
    let local = LocalPart {
        options: options.clone(),
        threads: 1,
        finish: Finish::Everyone,
    };
    let measured = far.measure(&work(Transport::Udp, options), &local, send_among_strangers);
    let received = measured.unwrap().far.side.received_bytes;
    assert_eq!(received, 6 * MESSAGE.len() as u64);
}
