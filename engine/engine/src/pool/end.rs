//! The last lines of all clients as one: sums, and of the cache state the worst.

use wire::{Access, AccessVerdict, End, Network, Side, Usage};

/// The common last line of clients, each with its name; `Err` is the place of one whose checksum is
/// none.
pub fn pooled(clients: &[(&str, &End)]) -> Result<End, usize> {
    let ends = Vec::from_iter(clients.iter().map(|&(_, end)| end));
    let mut both = ends[0].clone();
    let mut checksum = 0;
    for (place, end) in ends.iter().enumerate() {
        checksum ^= u64::from_str_radix(&end.checksum, 16).map_err(|_| place)?;
        if place > 0 {
            both.operations += end.operations;
            both.bytes += end.bytes;
            both.elapsed_s = both.elapsed_s.max(end.elapsed_s);
            for (name, count) in &end.counters {
                *both.counters.entry(name.clone()).or_default() += count;
            }
        }
    }
    both.checksum = format!("{checksum:016x}");
    both.access = access(clients);
    both.network = network(&ends);
    both.usage = usage(&ends);
    Ok(both)
}

fn access(clients: &[(&str, &End)]) -> Option<Access> {
    let named = clients
        .iter()
        .filter_map(|(name, end)| Some((name, end.access.as_ref()?)));
    let (name, worst) = named
        .clone()
        .min_by_key(|(_, access)| match access.verdict {
            AccessVerdict::Contradicted => 0,
            AccessVerdict::Unverified => 1,
            AccessVerdict::Confirmed => 2,
        })?;
    Some(Access {
        reason: format!("client {name}: {}", worst.reason),
        read_bytes: named.clone().map(|(_, access)| access.read_bytes).sum(),
        written_bytes: named.map(|(_, access)| access.written_bytes).sum(),
        ..worst.clone()
    })
}

/// What clients of one host took for the work of strangers is that of the other clients.
fn usage(ends: &[&End]) -> Usage {
    let of = |amount: fn(&Usage) -> u64| ends.iter().map(|end| amount(&end.usage)).sum();
    let time_s = |time: fn(&Usage) -> f64| ends.iter().map(|end| time(&end.usage)).sum::<f64>();
    let own_s = time_s(|usage| usage.user_s + usage.system_s);
    let strangers_s = ends.iter().filter_map(|end| {
        let others_s = own_s - end.usage.user_s - end.usage.system_s;
        Some(end.usage.foreign_s? - others_s)
    });
    Usage {
        user_s: time_s(|usage| usage.user_s),
        system_s: time_s(|usage| usage.system_s),
        foreign_s: strangers_s.reduce(f64::min).map(|least_s| least_s.max(0.0)),
        voluntary_switches: of(|usage| usage.voluntary_switches),
        involuntary_switches: of(|usage| usage.involuntary_switches),
        minor_faults: of(|usage| usage.minor_faults),
        major_faults: of(|usage| usage.major_faults),
        peak_memory_bytes: of(|usage| usage.peak_memory_bytes),
        ..ends[0].usage.clone()
    }
}

fn network(ends: &[&End]) -> Option<Network> {
    let found = Vec::from_iter(ends.iter().filter_map(|end| end.network.as_ref()));
    let added: fn(f64, f64) -> f64 = |one_s, other_s| one_s + other_s;
    Some(Network {
        near: side(found.iter().map(|network| &network.near), added)?,
        // The time that one process took serving all of them was seen by each.
        far: side(found.iter().map(|network| &network.far), f64::max)?,
    })
}

/// Amounts of all; the processors are those of one host, as the busiest saw them.
fn side<'a>(
    sides: impl Iterator<Item = &'a Side> + Clone,
    of_both: fn(f64, f64) -> f64,
) -> Option<Side> {
    let busiest = sides
        .clone()
        .reduce(|one, other| if other.busy > one.busy { other } else { one })?;
    let of = |amount: fn(&Side) -> u64| sides.clone().map(amount).sum();
    let time_s = |time: fn(&Side) -> f64| sides.clone().map(time).reduce(of_both);
    Some(Side {
        user_s: time_s(|side| side.user_s)?,
        system_s: time_s(|side| side.system_s)?,
        sent_bytes: of(|side| side.sent_bytes),
        received_bytes: of(|side| side.received_bytes),
        sends: of(|side| side.sends),
        receives: of(|side| side.receives),
        ..busiest.clone()
    })
}
