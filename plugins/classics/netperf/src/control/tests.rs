use std::net::TcpListener;
use std::thread;

use super::*;
use crate::message::Type;

/// For the rest of a message, and for nothing at all, that do not come. What begins does, however
/// busy the machine is.
const SHORT: Duration = Duration::from_millis(200);
const NO_REST: Patience = Patience {
    whole: SHORT,
    ..PATIENT
};
const NOTHING: Patience = Patience {
    begin: SHORT,
    ..PATIENT
};

/// For what comes, however busy the machine is.
const PATIENT: Patience = Patience {
    begin: Duration::from_secs(300),
    whole: Duration::from_secs(300),
    after_stop: Duration::ZERO,
};

fn pair() -> (TcpStream, TcpStream) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let local = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    (local, listener.accept().unwrap().0)
}

fn calibrate(generation: Generation) -> Vec<u8> {
    Message::new(Type::Calibrate.word(), -1).to_bytes(generation)
}

#[test]
fn a_message_in_pieces_is_a_message() {
    let (mut local, remote) = pair();
    let mut control = Control::adapting(remote, Generation::V2_7).unwrap();
    let writer = thread::spawn(move || {
        // None of them ends where a small message would.
        for piece in calibrate(Generation::V2_7).chunks(200) {
            local.write_all(piece).unwrap();
            thread::sleep(Duration::from_millis(20));
        }
        local
    });
    let message = control.receive(PATIENT).unwrap();
    assert_eq!(Type::of(message.type_word), Some(Type::Calibrate));
    assert_eq!(control.generation, Generation::V2_7);
    drop(writer.join().unwrap());
    assert!(matches!(control.receive(PATIENT), Err(NoMessage::Closed)));
}

#[test]
fn a_small_message_and_silence_tell_the_older_generation() {
    let (mut local, remote) = pair();
    let mut control = Control::adapting(remote, Generation::V2_7).unwrap();
    local.write_all(&calibrate(Generation::V2_4)).unwrap();
    control.receive(PATIENT).unwrap();
    assert_eq!(control.generation, Generation::V2_4);
    control.send(&Message::new(3, 0)).unwrap();
    let mut answer = vec![0; 256];
    io::Read::read_exact(&mut local, &mut answer).unwrap();
    assert_eq!(Message::from_bytes(&answer).type_word, 3);
}

#[test]
fn what_does_not_come_in_time_is_given_up() {
    let (mut local, remote) = pair();
    let mut control = Control::new(remote, Generation::V2_7).unwrap();
    assert!(matches!(control.receive(NOTHING), Err(NoMessage::Silent)));
    local.write_all(&[1; 100]).unwrap();
    let end = control.receive(NO_REST);
    assert!(matches!(end, Err(NoMessage::Partial(100))));
    local.write_all(&[1; 100]).unwrap();
    drop(local);
    assert!(matches!(
        control.receive(PATIENT),
        Err(NoMessage::Broken(_))
    ));
}

/// A byte now and then does not prolong the time that a message has.
#[test]
fn a_slow_message_does_not_hold_the_reader() {
    let (mut local, remote) = pair();
    let mut control = Control::new(remote, Generation::V2_7).unwrap();
    local.write_all(&[1]).unwrap();
    let writer = thread::spawn(move || {
        // Until the reader has had enough and closes.
        while local.write_all(&[1]).is_ok() {
            thread::sleep(Duration::from_millis(10));
        }
    });
    assert!(matches!(
        control.receive(NO_REST),
        Err(NoMessage::Partial(_))
    ));
    drop(control);
    writer.join().unwrap();
}
