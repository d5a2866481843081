//! What an omni test does: its own options say it, and others imply it.

use network::netperf::client::Kind;
use wire::Failure;

use kit::failure::bad_parameter;

use crate::netperf::words::Pair;
use crate::options::{Given, Line};

/// Bits of -d.
const SEND: u32 = 2;
const RECEIVE: u32 = 4;

/// The choices of an omni test.
#[derive(Debug, Default)]
pub struct Omni {
    /// What -d says.
    said: Option<u32>,
    /// What the sizes imply.
    implied: u32,
    connects: bool,
    is_udp: bool,
}

impl Omni {
    /// Takes an option that only an omni test has; `omni` is `None` for another.
    ///
    /// # Errors
    /// `BadJob`, naming the option.
    pub fn take(omni: &mut Option<Self>, given: &Given) -> Result<bool, Failure> {
        if !matches!(given.name, "-c" | "-d" | "-t" | "-T") {
            return Ok(false);
        }
        let omni = omni
            .as_mut()
            .ok_or_else(|| given.wrong("only -t OMNI takes it; the others are what they are"))?;
        let text = given.text().to_string_lossy().to_lowercase();
        let unknown = |right: &str| given.wrong(format!("\"{text}\" is not known; use {right}"));
        match given.name {
            "-c" => omni.connects = true,
            "-d" => {
                let bits = text.split('|').map(direction);
                let bits = bits.collect::<Option<Vec<u32>>>();
                let bits = bits.ok_or_else(|| unknown("send, receive, rr, or 2, 4, 6"))?;
                omni.said = Some(bits.iter().fold(0, |all, bits| all | bits));
            }
            "-t" => {
                omni.is_udp = match text.as_str() {
                    "stream" => false,
                    "dgram" => true,
                    _ => return Err(unknown("stream or dgram")),
                }
            }
            _ => {
                omni.is_udp = match text.as_str() {
                    "tcp" => false,
                    "udp" => true,
                    _ => return Err(unknown("tcp or udp")),
                }
            }
        }
        Ok(true)
    }

    /// Sizes say what is done with them.
    pub fn imply(&mut self, line: &Line) {
        for given in &line.options {
            let text = given.text().to_string_lossy();
            let pair = Pair::separate(&text);
            let (first, second) = (pair.first.is_some(), pair.second.is_some());
            match given.name {
                "-m" | "-M" => {
                    self.implied |= if first { SEND } else { 0 };
                    self.implied |= if second { RECEIVE } else { 0 };
                }
                "-r" => self.implied |= SEND | RECEIVE,
                _ => {}
            }
        }
    }

    /// The test that comes of all.
    ///
    /// # Errors
    /// `BadJob`: there is none.
    pub fn kind(&self) -> Result<Kind, Failure> {
        let direction = self.said.unwrap_or(self.implied);
        match (self.is_udp, self.connects, direction) {
            (false, false, 0 | SEND) => Ok(Kind::TcpStream),
            (false, false, RECEIVE) => Ok(Kind::TcpMaerts),
            (false, false, _) => Ok(Kind::TcpRr),
            (false, true, 0) => Ok(Kind::TcpCc),
            (false, true, 6) => Ok(Kind::TcpCrr),
            (true, false, 0 | SEND) => Ok(Kind::UdpStream),
            (true, false, RECEIVE) => Ok(Kind::UdpMaerts),
            (true, false, _) => Ok(Kind::UdpRr),
            (_, true, _) => Err(bad_parameter(
                "-c",
                "option -c: a connection for each transaction is one of TCP, with -d rr or no -d",
            )),
        }
    }
}

fn direction(text: &str) -> Option<u32> {
    match text {
        "send" | "xmit" | "stream" | "transmit" => Some(SEND),
        "recv" | "receive" | "maerts" => Some(RECEIVE),
        "rr" => Some(SEND | RECEIVE),
        number => number.parse().ok().filter(|bits| *bits <= SEND | RECEIVE),
    }
}
