//! Parameters that belong to one end of any workload, and how its figures are told.

use kit::failure::bad_parameter;
use kit::Size;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wire::Failure;

use crate::socket::SocketOptions;

/// Size of a socket's buffer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum BufferSize {
    /// As the kernel has it; TCP tunes it by itself.
    Auto(Auto),
    /// So many bytes are asked for; the kernel doubles and caps them, and TCP tunes no more.
    Bytes(Size),
}

/// The word for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Auto {
    /// As the kernel has it.
    Auto,
}

impl BufferSize {
    /// As the kernel has it.
    pub const AUTO: Self = Self::Auto(Auto::Auto);

    /// What is asked for, if anything.
    pub fn bytes(self) -> Option<u64> {
        match self {
            Self::Auto(_) => None,
            Self::Bytes(size) => Some(size.bytes()),
        }
    }
}

/// What can be said of one end.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct EndParams {
    /// CPUs of its threads, in order. Empty: of the near end as the job's conditions say, of the
    /// far end where its scheduler puts them.
    pub cpus: Vec<u32>,
    /// Name of the congestion control of its sockets; the host's default where left out.
    pub congestion: Option<String>,
    /// Microseconds for which a receiver looks for packets itself before it sleeps
    /// (SO_BUSY_POLL).
    pub busy_poll_us: Option<u32>,
}

impl EndParams {
    /// Looks at what can be seen from here.
    ///
    /// # Errors
    /// `BadJob`, naming the parameter.
    pub fn check(&self, end: &str) -> Result<(), Failure> {
        match &self.congestion {
            // TCP_CA_NAME_MAX of Linux, with the zero at its end.
            Some(name) if name.is_empty() || name.len() > 15 => {
                let parameter = format!("{end}.congestion");
                let message = format!(
                    "parameter \"{parameter}\": {name:?} is no congestion control; those of a \
                     host are in /proc/sys/net/ipv4/tcp_available_congestion_control"
                );
                Err(bad_parameter(&parameter, message))
            }
            _ => Ok(()),
        }
    }

    /// The options of its sockets that are said here.
    pub fn options(&self) -> SocketOptions {
        SocketOptions {
            congestion: self.congestion.clone(),
            busy_poll_us: self.busy_poll_us,
            ..SocketOptions::default()
        }
    }
}
