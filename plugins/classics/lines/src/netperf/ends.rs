//! Where the connections of a test begin and end.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use kit::failure::bad_parameter;
use netperf::client::Test;
use wire::Failure;

use super::request::{Family, Host, Request};

/// One end of the data connection, as banner and selectors print it.
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
    pub local: End,
    pub remote: End,
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
    pub remote: Vec<SocketAddr>,
    pub local: Option<SocketAddr>,
}

impl Request {
    /// Resolves the names of the control connection.
    ///
    /// # Errors
    /// `BadJob`: a name leads nowhere.
    pub fn route(&self) -> Result<Route, Failure> {
        let local = self.control.local.addresses("-L")?;
        let mut place = self.control.remote.clone();
        if place.family == Family::Any {
            place.family = local.first().map_or(self.control.local.family, Family::of);
        }
        place
            .name
            .get_or_insert_with(|| host(place.family).to_owned());
        let remote = place.addresses("-H")?;
        let port = self.control.local_port;
        let any = (port > 0).then(|| any(&remote[0]));
        let local = local.first().copied().or(any);
        Ok(Route {
            remote: remote
                .into_iter()
                .map(|address| SocketAddr::new(address, self.control.port))
                .collect(),
            local: local.map(|address| SocketAddr::new(address, port)),
        })
    }

    /// The ends of the data connection, beside a control connection to `remote`; they are filled in
    /// in `test`.
    ///
    /// # Errors
    /// `BadJob`: a name leads nowhere.
    pub fn ends(&self, remote: IpAddr, test: &mut Test) -> Result<Ends, Failure> {
        let remote_name = self.control.remote.name.as_deref();
        let remote_name = remote_name.unwrap_or(host(Family::of(&remote)));
        let is_said = self.remote_data != Host::default();
        let remote_place = Host {
            name: self
                .remote_data
                .name
                .clone()
                .or(Some(remote_name.to_owned())),
            family: match self.remote_data.family {
                Family::Any => Family::of(&remote),
                said => said,
            },
        };
        let remote_data = match is_said {
            true => remote_place.addresses("-H")?.first().copied(),
            false => None,
        };
        let remote_address = remote_data.unwrap_or(remote);
        let local_place = match self.local_data.name {
            Some(_) => &self.local_data,
            None => &self.control.local,
        };
        let local_address = local_place.addresses("-L")?;
        let same = |address: &&IpAddr| Family::of(address) == Family::of(&remote_address);
        let local_data = local_address.iter().find(same).copied();
        if local_data.is_none() && !local_address.is_empty() {
            let message = "option -L: the data connection begins and ends in different families";
            return Err(bad_parameter("-L", message));
        }
        test.remote.address = remote_data;
        test.local.address = local_data;
        let any = any(&remote_address);
        Ok(Ends {
            local: End {
                name: match &local_place.name {
                    Some(name) => name.clone(),
                    None if any.is_ipv6() => "::0".to_owned(),
                    None => any.to_string(),
                },
                address: local_data.unwrap_or(any),
                port: test.local.port,
            },
            remote: End {
                name: remote_place.name.unwrap_or_default(),
                address: remote_address,
                port: test.remote.port,
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::netperf::specimen::request;

    /// Where the control connection of `line` may go, and where it comes from.
    fn route(line: &str) -> (Vec<String>, Option<String>) {
        let route = request(line).route().unwrap();
        let remote = route.remote.iter().map(SocketAddr::to_string).collect();
        (remote, route.local.map(|address| address.to_string()))
    }

    /// Both ends of the data connection of `line`, and the addresses that the test is given.
    fn ends(line: &str, remote: &str) -> (Ends, [Option<String>; 2]) {
        let request = request(line);
        let mut test = request.test.clone();
        let ends = request.ends(remote.parse().unwrap(), &mut test).unwrap();
        let given = [test.local.address, test.remote.address];
        (ends, given.map(|address| address.map(|ip| ip.to_string())))
    }

    #[test]
    fn the_control_connection_goes_where_it_is_told_to() {
        let to = |address: &str| vec![address.to_owned()];
        assert_eq!(route("-H 10.0.0.2"), (to("10.0.0.2:12865"), None));
        assert_eq!(route("-6"), (to("[::1]:12865"), None));
        let (remote, local) = route("-H 10.0.0.2 -L 10.0.0.1 -p 5,6");
        assert_eq!(
            (remote, local.as_deref()),
            (to("10.0.0.2:5"), Some("10.0.0.1:6"))
        );
        assert_eq!(route("-H ::1 -p 5,6").1.as_deref(), Some("[::]:6"));
        // A name is resolved in the family of the other end.
        assert_eq!(
            route("-L ::1"),
            (to("[::1]:12865"), Some("[::1]:0".to_owned()))
        );
    }

    #[test]
    fn the_data_connection_follows_the_control_connection_unless_told_otherwise() {
        let (both, given) = ends("-H 127.0.0.1", "127.0.0.1");
        assert_eq!(both, crate::netperf::specimen::ends());
        assert_eq!(given, [None, None]);
        let (both, given) = ends("-H ::1 -- -P 7,8", "::1");
        assert_eq!((both.local.name.as_str(), both.local.port), ("::0", 7));
        assert_eq!((both.remote.name.as_str(), both.remote.port), ("::1", 8));
        assert_eq!(given, [None, None]);
        let address = |text: &str| Some(text.to_owned());
        let (_, given) = ends("-H 10.0.0.2 -L 10.0.0.1", "10.0.0.2");
        assert_eq!(given, [address("10.0.0.1"), None]);
        let (both, given) = ends(
            "-H 10.0.0.2 -L 10.0.0.1 -- -H 10.1.0.2 -L 10.1.0.1",
            "10.0.0.2",
        );
        assert_eq!(given, [address("10.1.0.1"), address("10.1.0.2")]);
        assert_eq!(both.remote.name, "10.1.0.2");
        let (both, given) = ends("-H localhost -- -6 -H ::1", "127.0.0.1");
        assert_eq!(given, [None, address("::1")]);
        assert_eq!(both.remote.family_number(), libc::AF_INET6);
    }

    #[test]
    fn families_that_do_not_fit_are_refused() {
        let request = request("-H 127.0.0.1 -- -L ::1");
        let mut test = request.test.clone();
        let remote = Ipv4Addr::LOCALHOST.into();
        let failure = request.ends(remote, &mut test).unwrap_err();
        assert!(
            failure.message.contains("different families"),
            "{}",
            failure.message
        );
    }
}
