//! One end: what its host and its kernel did while data flowed.

use std::collections::BTreeMap;
use std::fs;

use kit::gauges;
use wire::Side;

use crate::cpu::Times;

/// Counters of protocols in the network namespace of this thread: a line of names, a line of
/// values.
const TABLES: [&str; 2] = [
    "/proc/thread-self/net/snmp",
    "/proc/thread-self/net/netstat",
];
const BOOT: &str = "/proc/sys/kernel/random/boot_id";
const SNMP6: &str = "/proc/thread-self/net/snmp6";
const SOFTNET: &str = "/proc/thread-self/net/softnet_stat";

/// An end at an instant.
#[derive(Debug, Clone, Default)]
pub struct Sight {
    time: Times,
    own_s: [f64; 2],
    counters: BTreeMap<String, u64>,
}

impl Sight {
    /// Looks now.
    pub fn now() -> Self {
        let counters = TABLES
            .iter()
            .filter_map(|path| fs::read_to_string(path).ok())
            .flat_map(|text| parse_table(&text))
            .chain(
                fs::read_to_string(SNMP6)
                    .iter()
                    .flat_map(|text| parse_snmp6(text)),
            )
            .chain(
                fs::read_to_string(SOFTNET)
                    .ok()
                    .map(|text| parse_softnet(&text)),
            )
            .collect();
        Self {
            time: Times::now().unwrap_or_default(),
            own_s: gauges::own_cpu().map(|time| time.as_secs_f64()),
            counters,
        }
    }

    /// What happened since `before`; what was moved is for others to say.
    pub fn since(&self, before: &Self) -> Side {
        let (now, then) = (self.time.work_and_all(), before.time.work_and_all());
        let [work, all] = [0, 1].map(|index| now[index].saturating_sub(then[index]) as f64);
        let grown = |(name, &now): (&String, &u64)| {
            let more = now.saturating_sub(before.counters.get(name).copied().unwrap_or(0));
            (more > 0).then(|| (name.clone(), more))
        };
        Side {
            host: host(),
            cpus: self.time.cpus(),
            busy: match all > 0.0 {
                true => work / all,
                false => 0.0,
            },
            user_s: self.own_s[0] - before.own_s[0],
            system_s: self.own_s[1] - before.own_s[1],
            counters: self.counters.iter().filter_map(grown).collect(),
            ..Side::default()
        }
    }
}

/// Which host this is, for as long as it is up.
pub fn host() -> String {
    let id = fs::read_to_string(BOOT).unwrap_or_default();
    id.trim().to_owned()
}

/// Pairs of lines, `Udp: InDatagrams …` and `Udp: 5 …`, as `UdpInDatagrams`. Gauges may be
/// negative; only counters are kept.
fn parse_table(text: &str) -> Vec<(String, u64)> {
    let lines: Vec<&str> = text.lines().collect();
    let pairs = lines.chunks_exact(2).filter_map(|pair| {
        let (protocol, names) = pair[0].split_once(':')?;
        let (_, values) = pair[1].split_once(':')?;
        Some((
            protocol,
            names.split_whitespace().zip(values.split_whitespace()),
        ))
    });
    pairs
        .flat_map(|(protocol, fields)| {
            let protocol = protocol.trim_end_matches("Ext");
            fields.filter_map(move |(name, value)| {
                Some((format!("{protocol}{name}"), value.parse().ok()?))
            })
        })
        .collect()
}

/// A name and a value in each line.
fn parse_snmp6(text: &str) -> Vec<(String, u64)> {
    let fields = text.lines().filter_map(|line| {
        let (name, value) = line.split_once(char::is_whitespace)?;
        Some((name.to_owned(), value.trim().parse().ok()?))
    });
    fields.collect()
}

/// The second column, in hexadecimal digits, a line for each CPU: packets that found the backlog
/// full. It is of the host, not of a namespace.
fn parse_softnet(text: &str) -> (String, u64) {
    let dropped = text
        .lines()
        .filter_map(|line| u64::from_str_radix(line.split_ascii_whitespace().nth(1)?, 16).ok());
    ("SoftnetDropped".to_owned(), dropped.sum())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_have_the_names_of_their_protocols() {
        let snmp = "Udp: InDatagrams RcvbufErrors\nUdp: 5 2\nTcp: MaxConn RetransSegs\nTcp: -1 7\n";
        let named = |name: &str, value| (name.to_owned(), value);
        assert_eq!(
            parse_table(snmp),
            [
                named("UdpInDatagrams", 5),
                named("UdpRcvbufErrors", 2),
                named("TcpRetransSegs", 7)
            ]
        );
        assert_eq!(parse_table("TcpExt: A\nTcpExt: 3\n"), [named("TcpA", 3)]);
        assert_eq!(
            parse_snmp6("Udp6InDatagrams  \t 4\n"),
            [named("Udp6InDatagrams", 4)]
        );
        let softnet = "00000001 0000000a 0\n00000002 00000001 0\n";
        assert_eq!(parse_softnet(softnet), named("SoftnetDropped", 11));
    }

    #[test]
    fn only_what_changed_is_told() {
        let sight = |drops| Sight {
            counters: [("A".into(), drops), ("B".into(), 1)].into(),
            ..Sight::default()
        };
        let side = sight(7).since(&sight(5));
        assert_eq!(side.counters, [("A".to_owned(), 2)].into());
        assert_eq!(side.busy, 0.0);
    }
}
