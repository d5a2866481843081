//! The tests, by the names that -t takes.

use kit::params::unknown_name;
use network::netperf::client::Kind;
use wire::Failure;

use crate::options::Given;

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
