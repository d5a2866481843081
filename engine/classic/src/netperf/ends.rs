//! Where the connections of a test begin and end.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use kit::failure::bad_parameter;
use network::netperf::client::Test;
use wire::Failure;

use super::request::{Family, Place, Request};

/// One end of the data connection, as banner and selectors tell it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct End {
    /// As it was named.
    pub name: String,
    pub address: IpAddr,
    pub port: u16,
}

/// Both.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ends {
    pub near: End,
    pub far: End,
}

impl End {
    /// The number of its family in Linux.
    pub fn family_number(&self) -> i32 {
        match self.address {
            IpAddr::V4(_) => libc::AF_INET,
            IpAddr::V6(_) => libc::AF_INET6,
        }
    }
}

/// Addresses of the control connection.
pub struct Route {
    /// Where a netserver may be; the first that answers is taken.
    pub far: Vec<SocketAddr>,
    pub near: Option<SocketAddr>,
}

impl Request {
    /// Resolves the names of the control connection.
    ///
    /// # Errors
    /// `BadJob`: a name leads nowhere.
    pub fn route(&self) -> Result<Route, Failure> {
        let near = self.control.near.addresses("-L")?;
        let mut place = self.control.far.clone();
        if place.family == Family::Any {
            place.family = near.first().map_or(self.control.near.family, Family::of);
        }
        place
            .name
            .get_or_insert_with(|| host(place.family).to_owned());
        let far = place.addresses("-H")?;
        let port = self.control.near_port;
        let any = (port > 0).then(|| any(&far[0]));
        let near = near.first().copied().or(any);
        Ok(Route {
            far: far
                .into_iter()
                .map(|address| SocketAddr::new(address, self.control.port))
                .collect(),
            near: near.map(|address| SocketAddr::new(address, port)),
        })
    }

    /// The ends of the data connection, beside a control connection to `far`; they are filled in
    /// in `test`.
    ///
    /// # Errors
    /// `BadJob`: a name leads nowhere.
    pub fn ends(&self, far: IpAddr, test: &mut Test) -> Result<Ends, Failure> {
        let far_name = self.control.far.name.as_deref();
        let far_name = far_name.unwrap_or(host(Family::of(&far)));
        let is_said = self.far_data != Place::default();
        let far_place = Place {
            name: self.far_data.name.clone().or(Some(far_name.to_owned())),
            family: self.far_data.family,
        };
        let far_data = match is_said {
            true => far_place.addresses("-H")?.first().copied(),
            false => None,
        };
        let far_address = far_data.unwrap_or(far);
        let near_place = match self.near_data.name {
            Some(_) => &self.near_data,
            None => &self.control.near,
        };
        let near_address = near_place.addresses("-L")?;
        let same = |address: &&IpAddr| Family::of(address) == Family::of(&far_address);
        let near_data = near_address.iter().find(same).copied();
        if near_data.is_none() && !near_address.is_empty() {
            let message = "option -L: the data connection begins and ends in different families";
            return Err(bad_parameter("-L", message));
        }
        test.far.address = far_data;
        test.near.address = near_data;
        let any = any(&far_address);
        Ok(Ends {
            near: End {
                name: match &near_place.name {
                    Some(name) => name.clone(),
                    None if any.is_ipv6() => "::0".to_owned(),
                    None => any.to_string(),
                },
                address: near_data.unwrap_or(any),
                port: test.near.port,
            },
            far: End {
                name: far_place.name.unwrap_or_default(),
                address: far_address,
                port: test.far.port,
            },
        })
    }
}

/// This host, for those who name none.
fn host(family: Family) -> &'static str {
    match family {
        Family::V6 => "::1",
        Family::Any | Family::V4 => "localhost",
    }
}

fn any(like: &IpAddr) -> IpAddr {
    match like {
        IpAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
        IpAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
    }
}
