//! One client: one control connection, any number of tests.

use std::net::TcpStream;
use std::time::Duration;

use kit::{clock, place};
use rustix::param::clock_ticks_per_second;
use rustix::thread::CpuSet;

use super::plan::Errno;
use super::shared::SharedState;
use super::test::run_test;
use super::Limits;
use crate::control::{Control, Patience};
use crate::message::{Message, Type, Words};
use network::cpu::Times;

/// A whole message comes within this, once it has begun.
const WHOLE_MESSAGE: Duration = Duration::from_secs(5);
/// A client thinks no longer between two messages: netperf asks for the next test at once.
const NEXT_WORD: Duration = Duration::from_secs(60);
/// The passphrase comes within this.
const PASSPHRASE: Duration = Duration::from_secs(20);
/// The errno for an unknown test.
const UNKNOWN_TEST: i32 = 998;

/// Serves one client until it has gone, or said what is not a message, or taken too long.
pub fn attend(stream: TcpStream, shared: &SharedState) {
    let limits = shared.limits;
    let begin_ns = clock::now_ns();
    let Ok(mut control) = Control::adapting(stream, limits.generation) else {
        return;
    };
    if !knows_passphrase(&mut control, limits) {
        return;
    }
    loop {
        let elapsed = Duration::from_nanos(clock::now_ns() - begin_ns);
        let patience = patience(limits.session.saturating_sub(elapsed).min(NEXT_WORD));
        let Ok(message) = control.receive(patience) else {
            return;
        };
        if respond(&message, &mut control, shared).is_err() {
            return;
        }
    }
}

fn patience(begin: Duration) -> Patience {
    Patience {
        begin,
        whole: WHOLE_MESSAGE,
        after_stop: Duration::ZERO,
    }
}

/// Whether this client may be served.
fn knows_passphrase(control: &mut Control, limits: &Limits) -> bool {
    let Some(passphrase) = &limits.passphrase else {
        return true;
    };
    // What does not fit into a message cannot be asked for.
    let expected = Message::passphrase(passphrase);
    control.receive(patience(PASSPHRASE)).is_ok_and(|message| {
        message.type_word == expected.type_word
            && message.to_passphrase() == expected.to_passphrase()
    })
}

/// The client cannot be answered.
struct Gone;

fn respond(message: &Message, control: &mut Control, shared: &SharedState) -> Result<(), Gone> {
    if let Some(cpu) = message
        .cpu()
        .filter(|&cpu| (cpu as usize) < CpuSet::MAX_CPU)
    {
        // As the original: what is impossible is ignored silently.
        let _ = place::pin_to(cpu);
    }
    let answer = match Type::of(message.type_word) {
        Some(Type::Test(test)) => {
            let request = message.to_request(test);
            return match run_test(test, &request, control, shared) {
                Ok(()) => Ok(()),
                Err(Errno(errno)) => send(control, &Message::new(test.response(), errno)),
            };
        }
        Some(Type::Passphrase | Type::DebugOk) => return Ok(()),
        Some(Type::DebugOn | Type::DebugOff) => Message::new(Type::DebugOk.word(), 0),
        Some(Type::Calibrate) => calibration(),
        Some(Type::System) => system(),
        None => Message::new(message.type_word, UNKNOWN_TEST),
    };
    send(control, &answer)
}

fn send(control: &mut Control, answer: &Message) -> Result<(), Gone> {
    control.send(answer).map_err(|_| Gone)
}

/// How fast CPUs idle, which on Linux is how fast their clocks tick, and how many there are.
fn calibration() -> Message {
    let mut answer = Message::new(Type::Calibrate.word(), 0);
    let cpus = Times::now().map_or(1, |times| times.cpus());
    let mut words = answer.writer();
    words.float(&mut (clock_ticks_per_second() as f32));
    words.unsigned(&mut { cpus });
    answer
}

/// Four fields about the system, which the original no longer fills in either.
fn system() -> Message {
    let mut answer = Message::new(Type::System.word() + 1, 0);
    let mut text = *b",Deprecated,Deprecated,Deprecated,Deprecated";
    answer.writer().bytes(&mut text);
    answer
}
