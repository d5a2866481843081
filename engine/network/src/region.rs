//! A timed region at one end: all flows start together, in a thread each or several in one, and
//! others look on.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use kit::slices::Slice;
use kit::team::{self, Finish, Member, Outcome};
use kit::{clock, place, Probe};
use wire::{Connection, Failure, Side, Timing, WhichEnd};

use crate::flow::{self, Flow, Notes};
use crate::side::Sight;
use crate::socket::tcp_info;

/// Looks at one flow are at most so many together, that a report of them is not too long for the
/// control connection.
const VIEWS_MAX: usize = 20_000;
/// So many looks are kept, however many flows there are.
const LOOKS_MIN: usize = 8;

/// What a region gave.
pub struct Region {
    /// What the threads did; its slices are the looks when the clock was read around the whole.
    pub outcome: Outcome<Notes>,
    /// The host meanwhile; what was moved and granted is for others to say.
    pub side: Side,
    /// How the kernel saw the connections.
    pub connections: Vec<Connection>,
}

/// A region as an end wants it.
pub struct Plan<'a> {
    /// Which end this is.
    pub end: WhichEnd,
    /// Among which the flows are shared out.
    pub threads: u32,
    /// When flows that could go on stop.
    pub finish: Finish,
    /// Between two looks.
    pub look: Duration,
    /// What is done when all threads have prepared, before the first instant.
    pub ready: &'a (dyn Fn() -> Result<(), Failure> + Sync),
}

/// Executes `work` in threads among which `flows` are shared out, and looks at all of them
/// meanwhile. `work` prepares what it needs, and calls [`Member::start`].
///
/// # Errors
/// The first failure of any thread; all flows are cut.
pub fn run<P, W>(plan: &Plan, flows: &[Flow], work: W) -> Result<Region, Failure>
where
    P: Probe + Default + Send,
    W: Fn(&[Flow], &mut Member<P>) -> Result<Notes, Failure> + Sync,
{
    let opened_ns = AtomicU64::new(0);
    let is_over = AtomicBool::new(false);
    let mut workers = shared_out(flows, plan.threads as usize);
    let before = Sight::now();
    let attend = |group: &mut &[Flow], member: &mut Member<P>| {
        place::unshare_descriptors();
        let done = work(group, member);
        opened_ns.store(member.opened_ns(), Ordering::Relaxed);
        member.done();
        done.inspect_err(|_| flows.iter().for_each(Flow::cut))
    };
    let (outcome, looks) = thread::scope(|scope| {
        let onlooker = scope.spawn(|| look_on(plan, flows, &is_over));
        let (ready, finish) = (plan.ready, plan.finish);
        let outcome = team::execute_when_ready(&mut workers, finish, P::default, ready, attend);
        is_over.store(true, Ordering::Relaxed);
        onlooker.thread().unpark();
        (outcome, onlooker.join().unwrap_or_default())
    });
    let mut outcome = outcome?;
    let looks = looks.since(opened_ns.into_inner());
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
        connections: looks.into_connections(),
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

/// One look at all flows.
#[derive(Default)]
struct Look {
    /// By the clock, later since the gate opened.
    at_ns: u64,
    /// Operations and bytes until then.
    count: [u64; 2],
    connections: Vec<Connection>,
}

/// What an onlooker saw.
#[derive(Default)]
struct Looks(Vec<Look>);

impl Looks {
    /// Keeps every second one: a long region is looked at less often, and memory has a limit.
    fn thin(&mut self) {
        let mut keep = false;
        self.0.retain(|_| {
            keep = !keep;
            keep
        });
    }

    /// On the time axis of the gate that opened then; what was seen before is forgotten.
    fn since(mut self, opened_ns: u64) -> Self {
        self.0.retain(|look| look.at_ns > opened_ns);
        for look in &mut self.0 {
            look.at_ns -= opened_ns;
            for connection in &mut look.connections {
                connection.t_s = look.at_ns as f64 / 1e9;
            }
        }
        self
    }

    /// Divides a reading into slices that end with the looks.
    fn divide(&self, reading: &mut kit::Reading) {
        let total = [reading.operations, reading.bytes];
        let last = (reading.elapsed_ns, total);
        let counts = self.0.iter().map(|look| (look.at_ns, look.count));
        let inside = counts.filter(|(at_ns, count)| {
            *at_ns < reading.elapsed_ns && count[0] <= total[0] && count[1] <= total[1]
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

    fn into_connections(self) -> Vec<Connection> {
        let looks = self.0.into_iter();
        looks.flat_map(|look| look.connections).collect()
    }
}

/// Looks at flows until it is over.
fn look_on(plan: &Plan, flows: &[Flow], is_over: &AtomicBool) -> Looks {
    let looks_max = (VIEWS_MAX / flows.len().max(1)).max(LOOKS_MIN);
    let mut looks = Looks::default();
    let mut pause = plan.look;
    while !is_over.load(Ordering::Relaxed) {
        thread::park_timeout(pause);
        if is_over.load(Ordering::Relaxed) {
            break;
        }
        if looks.0.len() >= looks_max {
            looks.thin();
            pause *= 2;
        }
        looks.0.push(look_at(plan.end, flows));
    }
    looks
}

fn look_at(end: WhichEnd, flows: &[Flow]) -> Look {
    let at_ns = clock::now_ns();
    Look {
        at_ns,
        count: flow::moved(flows),
        connections: flows
            .iter()
            .filter_map(|flow| tcp_info::look(flow, end, 0.0))
            .collect(),
    }
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

    fn look(at_ns: u64, count: [u64; 2]) -> Look {
        Look {
            at_ns,
            count,
            connections: Vec::new(),
        }
    }

    #[test]
    fn slices_end_with_the_looks_and_sum_to_the_whole() {
        let seen = [
            (1_000, 0, 0),
            (1_010, 1, 100),
            (1_020, 5, 500),
            (1_031, 9, 900),
        ];
        let looks = seen.map(|(at_ns, operations, bytes)| look(at_ns, [operations, bytes]));
        let looks = Looks(looks.into()).since(1_000);
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

    #[test]
    fn thinning_keeps_every_second_look() {
        let mut looks = Looks((0..5).map(|at_ns| look(at_ns, [0; 2])).collect());
        looks.thin();
        let left: Vec<u64> = looks.0.iter().map(|look| look.at_ns).collect();
        assert_eq!(left, [0, 2, 4]);
    }
}
