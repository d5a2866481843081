//! Nothing is allocated while data flow: however many messages there are, a thread of the client
//! allocates the same.

mod common;

use std::sync::atomic::{AtomicU64, Ordering};

use common::Served;
use kit::team::{Finish, Member};
use kit::{OperationProbe, PassProbe, Probe};
use network::client::{LocalPart, ServerConnection};
use network::control::message::{Limit, Messages, Receive, Role, Send, Work};
use network::flow::{part, Flow};
use network::placement::Wanted;
use network::socket::SocketOptions;
use network::socket::Transport;
use testing::{allocations, Counting};

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// What the client does.
#[derive(Debug, Clone, Copy)]
enum Act {
    Send,
    SendUncopied,
    SendFile,
    SendPaced,
    Receive,
}

const ACTS: [(Transport, Act); 7] = [
    (Transport::Tcp, Act::Send),
    (Transport::Unix, Act::Send),
    (Transport::Udp, Act::Send),
    (Transport::Udp, Act::SendPaced),
    (Transport::Tcp, Act::SendUncopied),
    (Transport::Tcp, Act::SendFile),
    (Transport::Tcp, Act::Receive),
];

/// Allocations of a thread of the client that moves so many messages.
fn allocations_of<P: Probe + Default + std::marker::Send>(
    transport: Transport,
    act: Act,
    flows: u32,
    messages: u64,
) -> u64 {
    let served = Served::at("127.0.0.1");
    let sizes = Messages {
        bytes: 100,
        width: None,
    };
    let send = Send {
        zerocopy: matches!(act, Act::SendUncopied),
        rate: matches!(act, Act::SendPaced).then_some(1e9),
        ..Send::plain(sizes, Limit::Operations(messages))
    };
    let receive = Receive {
        messages: sizes,
        skip_copy: false,
        gro: false,
    };
    let work = Work {
        transport,
        role: match act {
            Act::Receive => Role::Send(send),
            _ => Role::Receive(receive),
        },
        flows,
        threads: 1,
        options: SocketOptions::default(),
        placement: Wanted::default(),
        longest_s: 5.0,
        look_s: 0.1,
        held: false,
    };
    let local = LocalPart {
        options: SocketOptions::default(),
        threads: 1,
        finish: Finish::Everyone,
    };
    let seen = AtomicU64::new(0);
    let attend = |flows: &[Flow], member: &mut Member<P>| {
        let before = allocations::of_this_thread();
        let done = match act {
            Act::Receive => part::receive(&receive, transport, flows, member),
            Act::SendFile => part::send_file(&send, None, flows, member),
            _ => part::send(&send, transport, flows, member),
        };
        seen.store(allocations::of_this_thread() - before, Ordering::Relaxed);
        done
    };
    let mut far = ServerConnection::open(&served.far()).unwrap();
    far.measure::<P, _>(&work, &local, attend).unwrap();
    seen.into_inner()
}

fn check<P: Probe + Default + std::marker::Send>() {
    for (transport, act) in ACTS {
        for flows in [1, 2] {
            let of = |messages| allocations_of::<P>(transport, act, flows, messages);
            assert_eq!(of(10), of(500), "{transport:?}, {act:?}, flows: {flows}");
        }
    }
}

#[test]
fn nothing_is_allocated_while_data_flow() {
    check::<PassProbe>();
}

#[test]
fn nothing_is_allocated_while_each_operation_is_timed() {
    check::<OperationProbe>();
}

#[test]
fn the_counter_counts() {
    allocations::assert_counted();
}
