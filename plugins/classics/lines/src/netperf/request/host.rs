//! Names, addresses and families of the two ends.

use std::net::{IpAddr, ToSocketAddrs};

use kit::failure::bad_parameter;
use wire::Failure;

use super::values::Pair;
use crate::options::Given;

/// The family of an address.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Family {
    /// Whichever a name resolves to first.
    #[default]
    Any,
    V4,
    V6,
}

/// One end of a connection, as the command line names it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Host {
    pub name: Option<String>,
    pub family: Family,
}

impl Family {
    /// As in the original: whatever has a 6 in it is version 6.
    fn read(given: &Given, text: &str) -> Result<Self, Failure> {
        match text.to_lowercase().as_str() {
            text if text.contains('6') => Ok(Self::V6),
            "4" => Ok(Self::V4),
            text if text.starts_with("inet") => Ok(Self::V4),
            text if text == "0" || text.starts_with("unspec") => Ok(Self::Any),
            _ => Err(given.wrong(format!("\"{text}\" is not a family; write 4, 6 or 0"))),
        }
    }

    /// That of `address`.
    pub fn of(address: &IpAddr) -> Self {
        match address {
            IpAddr::V4(_) => Self::V4,
            IpAddr::V6(_) => Self::V6,
        }
    }

    fn admits(self, address: &IpAddr) -> bool {
        match self {
            Self::Any => true,
            Self::V4 => address.is_ipv4(),
            Self::V6 => address.is_ipv6(),
        }
    }
}

impl Host {
    /// Reads `NAME,FAMILY`; either may be missing.
    ///
    /// # Errors
    /// `BadJob`, naming the option.
    pub fn take(&mut self, given: &Given) -> Result<(), Failure> {
        let text = given.text().to_string_lossy();
        let pair = Pair::separate(&text);
        if let Some(name) = pair.first {
            if name.contains('/') {
                let message = "addresses are not made up at random; name one without a mask";
                return Err(given.wrong(message));
            }
            self.name = Some(name.to_owned());
        }
        if let Some(family) = pair.second {
            self.family = Family::read(given, family)?;
        }
        Ok(())
    }

    /// The addresses of its name that are of its family, of which there is one at least; none when
    /// it has no name. `option` is to blame for a name that leads nowhere.
    ///
    /// # Errors
    /// `BadJob`, naming the option.
    pub fn addresses(&self, option: &str) -> Result<Vec<IpAddr>, Failure> {
        let Some(name) = &self.name else {
            return Ok(Vec::new());
        };
        let wrong =
            |reason: String| bad_parameter(option, format!("option {option}: \"{name}\" {reason}"));
        let addresses = (name.as_str(), 0)
            .to_socket_addrs()
            .map_err(|error| wrong(format!("is not a host: {error}")))?;
        let addresses = addresses.map(|address| address.ip());
        let addresses: Vec<IpAddr> = addresses
            .filter(|address| self.family.admits(address))
            .collect();
        match addresses.is_empty() {
            true => Err(wrong("has no address of that family".to_owned())),
            false => Ok(addresses),
        }
    }
}
