//! The line that a test begins with.

use std::net::IpAddr;

use super::confidence::Goal;
use super::ends::{End, Ends};
use super::request::{Name, Request};

/// Longer addresses have no room in the original, which prints none.
const ADDRESS_BYTES: usize = 7;

/// The title, both ends, and what is special about the test.
pub fn banner(request: &Request, ends: &Ends) -> String {
    let test = &request.test;
    let mut tags = String::new();
    if let Some(goal) = &request.goal {
        tags += &confidence(goal);
    }
    if test.no_delay {
        tags += " : nodelay";
    }
    tags += " : histogram : interval : demo";
    let title = title(request);
    if title.contains("REQUEST/RESPONSE") {
        tags += &format!(" : first burst {}", test.burst);
    }
    if request.cpu.is_some() || test.remote.cpu.is_some() {
        tags += " : cpu bind";
    }
    format!(
        "{title} from {} to {}{tags}\n",
        end(&ends.local),
        end(&ends.remote)
    )
}

fn title(request: &Request) -> String {
    match request.name {
        Name::Omni => format!("OMNI {} TEST", request.direction()),
        name => name.title().to_owned(),
    }
}

/// Half the width, to either side.
fn confidence(goal: &Goal) -> String {
    let only = match goal.result_only {
        true => " on result only",
        false => "",
    };
    let percent = goal.level.percent();
    format!(
        " : +/-{:.3}% @ {percent:2}% conf. {only}",
        50.0 * goal.width
    )
}

fn end(end: &End) -> String {
    let address = end.address.to_string();
    let address = match address.len() <= ADDRESS_BYTES {
        true => address,
        false => String::new(),
    };
    let family = match end.address {
        IpAddr::V4(_) => "AF_INET",
        IpAddr::V6(_) => "AF_INET6",
    };
    format!("{} ({address}) port {} {family}", end.name, end.port)
}
