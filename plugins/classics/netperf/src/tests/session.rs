//! What is said besides tests.

use std::io::{Read, Write};
use std::net::TcpStream;

use super::*;
use crate::message::{Message, Type, Words};
use network::cpu::Times;

/// A control connection, spoken to by hand.
struct Talk(TcpStream);

impl Talk {
    fn begin() -> Self {
        Self(TcpStream::connect(server(Limits::default())).unwrap())
    }

    fn say(&mut self, type_word: i32) {
        let message = Message::new(type_word, -1);
        self.0
            .write_all(&message.to_bytes(Generation::V2_7))
            .unwrap();
    }

    fn ask(&mut self, type_word: i32) -> Message {
        self.say(type_word);
        let mut answer = [0; 656];
        self.0.read_exact(&mut answer).unwrap();
        Message::from_bytes(&answer)
    }
}

#[test]
fn the_cpus_are_told() {
    let answer = Talk::begin().ask(Type::Calibrate.word());
    let (mut rate, mut cpus) = (0.0, 0);
    let mut words = answer.reader();
    words.float(&mut rate);
    words.unsigned(&mut cpus);
    assert!(rate > 0.0);
    assert_eq!(Some(cpus), Times::now().map(|times| times.cpus()));
}

#[test]
fn what_nobody_knows_is_answered_and_what_needs_no_answer_is_not() {
    let mut talk = Talk::begin();
    assert_eq!(talk.ask(4_711).status, 998);
    assert_eq!(
        talk.ask(Type::DebugOn.word()).type_word,
        Type::DebugOk.word()
    );
    assert_eq!(talk.ask(Type::System.word()).status, 0);
    talk.say(Type::Passphrase.word());
    assert_eq!(talk.ask(4_712).status, 998);
}
