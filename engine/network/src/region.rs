//! A timed region at one end: all flows start together, in a thread each or several in one, and
//! others look on.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use kit::slices::Slice;
use kit::team::{self, Finish, Member, Outcome};
use kit::{clock, place, Probe};
use wire::{Connection, Failure, Interval, Side, Timing, WhichEnd};

use crate::flow::{Flow, Notes};
use crate::side::Sight;
use crate::socket::tcp_info;

/// Looks are at most so many, of each flow: a long region is looked at less often.
const LOOKS_MAX: usize = 2_000;

/// What a region gave.
pub struct Region {
    /// What the threads did; its slices are the looks when the clock was read around the whole.
    pub outcome: Outcome<Notes>,
    /// The host meanwhile; what was moved and granted is for others to say.
    pub side: Side,
    /// How the kernel saw the connections.
    pub connections: Vec<Connection>,
}

impl Region {
    /// What was moved when.
    pub fn intervals(&self) -> Vec<Interval> {
        let slices = self.outcome.reading.slices.iter();
        let interval = |slice: &Slice| Interval {
            t_s: slice.end_ns as f64 / 1e9,
            operations: slice.operations,
            bytes: slice.bytes,
        };
        slices.map(interval).collect()
    }
}

/// Executes `work` in `threads`, among which `flows` are shared out, and looks at all of them every
/// `look`.
///
/// # Errors
/// The first failure of any thread; all flows are cut.
pub fn run<P, W>(
    end: WhichEnd,
    flows: &[Flow],
    threads: u32,
    finish: Finish,
    look: Duration,
    work: W,
) -> Result<Region, Failure>
where
    P: Probe + Default + Send,
    W: Fn(&[Flow], &mut Member<P>) -> Result<Notes, Failure> + Sync,
{
    let opened_ns = AtomicU64::new(0);
    let is_over = AtomicBool::new(false);
    let mut crew = shared_out(flows, threads as usize);
    let before = Sight::now();
    let attend = |group: &mut &[Flow], member: &mut Member<P>| {
        place::unshare_descriptors();
        member.start()?;
        opened_ns.store(member.opened_ns(), Ordering::Relaxed);
        let done = work(group, member);
        member.done();
        done.inspect_err(|_| flows.iter().for_each(Flow::cut))
    };
    let (outcome, looks) = thread::scope(|scope| {
        let onlooker = scope.spawn(|| look_on(end, flows, look, &opened_ns, &is_over));
        let outcome = team::execute(&mut crew, finish, P::default, attend);
        is_over.store(true, Ordering::Relaxed);
        onlooker.thread().unpark();
        (outcome, onlooker.join().unwrap_or_default())
    });
    let mut outcome = outcome?;
    if matches!(P::TIMING, Timing::Pass) {
        looks.divide(&mut outcome.reading);
    }
    let mut side = Sight::now().since(&before);
    for (&name, &count) in outcome.shares.iter().flat_map(|share| &share.value) {
        *side.counters.entry(name.to_owned()).or_default() += count;
    }
    Ok(Region {
        outcome,
        side,
        connections: looks.connections,
    })
}

/// Groups of neighbours, one for each thread, whose sizes differ by one at most; no more threads
/// than flows.
fn shared_out(flows: &[Flow], threads: usize) -> Vec<&[Flow]> {
    let threads = threads.clamp(1, flows.len().max(1));
    let edge = |thread: usize| thread * flows.len() / threads;
    (0..threads)
        .map(|thread| &flows[edge(thread)..edge(thread + 1)])
        .collect()
}

/// What an onlooker saw.
#[derive(Default)]
struct Looks {
    /// Instants since the gate opened, with the operations and bytes until then.
    counts: Vec<(u64, [u64; 2])>,
    connections: Vec<Connection>,
}

impl Looks {
    /// Divides a reading into slices that end with the looks.
    fn divide(&self, reading: &mut kit::Reading) {
        let whole = [reading.operations, reading.bytes];
        let last = (reading.elapsed_ns, whole);
        let inside = self.counts.iter().copied().filter(|(at_ns, count)| {
            *at_ns < reading.elapsed_ns && count[0] <= whole[0] && count[1] <= whole[1]
        });
        let mut before = [0; 2];
        let slice = |(end_ns, count): (u64, [u64; 2])| {
            let [operations, bytes] = [0, 1].map(|index| count[index] - before[index]);
            before = count;
            Slice {
                end_ns,
                operations,
                bytes,
            }
        };
        reading.slices = inside.chain([last]).map(slice).collect();
    }
}

/// Looks at flows until it is over.
fn look_on(
    end: WhichEnd,
    flows: &[Flow],
    look: Duration,
    opened_ns: &AtomicU64,
    is_over: &AtomicBool,
) -> Looks {
    let mut looks = Looks::default();
    let mut pause = look;
    while !is_over.load(Ordering::Relaxed) {
        thread::park_timeout(pause);
        let opened_ns = opened_ns.load(Ordering::Relaxed);
        if opened_ns == 0 || is_over.load(Ordering::Relaxed) {
            continue;
        }
        let at_ns = clock::now_ns() - opened_ns;
        let count = flows.iter().map(|flow| flow.tally.read());
        let count = count.fold([0; 2], |sum, more| [sum[0] + more[0], sum[1] + more[1]]);
        looks.counts.push((at_ns, count));
        let t_s = at_ns as f64 / 1e9;
        let seen = flows
            .iter()
            .filter_map(|flow| tcp_info::look(flow, end, t_s));
        looks.connections.extend(seen);
        if looks.counts.len().is_multiple_of(LOOKS_MAX) {
            pause *= 2;
        }
    }
    looks
}

#[cfg(test)]
mod tests {
    use super::*;
    use socket2::{Domain, Socket, Type};

    #[test]
    fn flows_are_shared_out_fairly() {
        let flow = |number| {
            Flow::new(
                number,
                Socket::new(Domain::UNIX, Type::STREAM, None).unwrap(),
            )
        };
        let flows: Vec<Flow> = (0..7).map(flow).collect();
        let numbers = |threads| -> Vec<Vec<u32>> {
            let groups = shared_out(&flows, threads).into_iter();
            groups
                .map(|group| group.iter().map(|flow| flow.number).collect())
                .collect()
        };
        assert_eq!(numbers(3), [vec![0, 1], vec![2, 3], vec![4, 5, 6]]);
        assert_eq!(numbers(1), [vec![0, 1, 2, 3, 4, 5, 6]]);
        assert_eq!(numbers(9).len(), 7);
        assert_eq!(shared_out(&[], 2).len(), 1);
    }

    #[test]
    fn slices_end_with_the_looks_and_sum_to_the_whole() {
        let looks = Looks {
            counts: vec![(10, [1, 100]), (20, [5, 500]), (31, [9, 900])],
            connections: Vec::new(),
        };
        let mut reading = kit::PassProbe::new().finish_at(0);
        (reading.operations, reading.bytes, reading.elapsed_ns) = (9, 900, 30);
        looks.divide(&mut reading);
        let slices: Vec<_> = reading
            .slices
            .iter()
            .map(|slice| (slice.end_ns, slice.operations, slice.bytes))
            .collect();
        assert_eq!(slices, [(10, 1, 100), (20, 4, 400), (30, 4, 400)]);
    }
}
