//! The tests, by the names that -t takes; what an omni test does, its own options say or imply.

use kit::failure::bad_parameter;
use kit::params::unknown_name;
use netperf::client::Kind;
use wire::Failure;

use super::values::Pair;
use crate::options::{Given, Line};

/// A test, as it was called for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Name {
    TcpStream,
    TcpMaerts,
    TcpSendfile,
    TcpRr,
    TcpCrr,
    TcpCc,
    UdpStream,
    UdpRr,
    /// Whatever its own options make of it.
    Omni,
}

/// As -t takes them, and as the banner calls them.
const NAMES: [(Name, &str, &str); 9] = [
    (Name::TcpStream, "TCP_STREAM", "MIGRATED TCP STREAM TEST"),
    (Name::TcpMaerts, "TCP_MAERTS", "MIGRATED TCP MAERTS TEST"),
    (Name::TcpSendfile, "TCP_SENDFILE", "TCP SENDFILE TEST"),
    (Name::TcpRr, "TCP_RR", "MIGRATED TCP REQUEST/RESPONSE TEST"),
    (
        Name::TcpCrr,
        "TCP_CRR",
        "MIGRATED TCP Connect/Request/Response TEST",
    ),
    (Name::TcpCc, "TCP_CC", "TCP Connect/Close TEST"),
    (Name::UdpStream, "UDP_STREAM", "MIGRATED UDP STREAM TEST"),
    (Name::UdpRr, "UDP_RR", "MIGRATED UDP REQUEST/RESPONSE TEST"),
    (Name::Omni, "OMNI", "OMNI"),
];

/// Of the original; why they are not here.
const LEFT_OUT: [(&str, &str); 4] = [
    (
        "TCP_MSS",
        "ask for it with -t TCP_STREAM -- -o TRANSPORT_MSS",
    ),
    (
        "LOC_CPU",
        "use of the CPUs is read from /proc/stat, which has no rate to be found first",
    ),
    (
        "REM_CPU",
        "use of the CPUs is read from /proc/stat, which has no rate to be found first",
    ),
    ("UUID", "every test has one: -- -o UUID"),
];

/// Beginnings of the names of families that are not here.
const FAMILIES_LEFT_OUT: [(&str, &str); 9] = [
    ("STREAM_", "use the workloads unix_stream and unix_rr"),
    ("DG_", "use the workloads unix_stream and unix_rr"),
    ("SCTP_", "only TCP and UDP are done"),
    ("SDP_", "only TCP and UDP are done"),
    ("DCCP_", "only TCP and UDP are done"),
    ("XTI_", "only TCP and UDP are done"),
    ("DLCO_", "only TCP and UDP are done"),
    ("DLCL_", "only TCP and UDP are done"),
    ("EXS_", "only TCP and UDP are done"),
];

impl Name {
    /// The test that `given` names, in letters of either case.
    ///
    /// # Errors
    /// `BadJob`: there is none.
    pub fn read(given: &Given) -> Result<Self, Failure> {
        let text = given.text().to_string_lossy().to_uppercase();
        if let Some((name, ..)) = NAMES.iter().find(|(_, spelt, _)| *spelt == text) {
            return Ok(*name);
        }
        let test = LEFT_OUT.iter().find(|(name, _)| *name == text);
        let family = || {
            FAMILIES_LEFT_OUT
                .iter()
                .find(|(begin, _)| text.starts_with(begin))
        };
        if let Some((_, instead)) = test.or_else(family) {
            return Err(given.wrong(format!("{text} is left out here: {instead}")));
        }
        let names: Vec<String> = NAMES
            .iter()
            .map(|(_, spelt, _)| (*spelt).to_owned())
            .collect();
        Err(given.wrong(unknown_name("test", &text, &names)))
    }

    /// As the banner calls it; of an omni test, the first word.
    pub fn title(self) -> &'static str {
        NAMES
            .iter()
            .find(|(name, ..)| *name == self)
            .map_or("", |(.., title)| title)
    }

    /// What is done; `None` for an omni test, which says so itself.
    pub fn kind(self) -> Option<Kind> {
        Some(match self {
            Self::TcpStream => Kind::TcpStream,
            Self::TcpMaerts => Kind::TcpMaerts,
            Self::TcpSendfile => Kind::TcpSendfile,
            Self::TcpRr => Kind::TcpRr,
            Self::TcpCrr => Kind::TcpCrr,
            Self::TcpCc => Kind::TcpCc,
            Self::UdpStream => Kind::UdpStream,
            Self::UdpRr => Kind::UdpRr,
            Self::Omni => return None,
        })
    }
}

/// Bits of -d.
const SEND: u32 = 2;
const RECEIVE: u32 = 4;

/// The choices of an omni test.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Omni {
    /// What -d says.
    direction: Option<u32>,
    /// What the sizes imply.
    implied: u32,
    pub connects: bool,
    is_udp: bool,
}

impl Omni {
    /// Takes `-d`.
    ///
    /// # Errors
    /// `BadJob`, naming the option.
    pub fn set_direction(&mut self, given: &Given, text: &str) -> Result<(), Failure> {
        let text = text.to_lowercase();
        let bits = text.split('|').map(direction).collect::<Option<Vec<u32>>>();
        let bits = bits.ok_or_else(|| unknown(given, &text, "send, receive, rr, or 2, 4, 6"))?;
        self.direction = Some(bits.iter().fold(0, |all, bits| all | bits));
        Ok(())
    }

    /// Takes `-t` or `-T`, which know the names of TCP and of UDP.
    ///
    /// # Errors
    /// `BadJob`, naming the option.
    pub fn set_protocol(
        &mut self,
        given: &Given,
        text: &str,
        [tcp, udp]: [&str; 2],
    ) -> Result<(), Failure> {
        let text = text.to_lowercase();
        self.is_udp = match text {
            text if text == tcp => false,
            text if text == udp => true,
            text => return Err(unknown(given, &text, &format!("{tcp} or {udp}"))),
        };
        Ok(())
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
        let direction = self.direction.unwrap_or(self.implied);
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

fn unknown(given: &Given, text: &str, right: &str) -> Failure {
    given.wrong(format!("\"{text}\" is not known; use {right}"))
}
