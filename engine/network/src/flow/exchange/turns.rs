//! Several flows on one thread: each has a turn when something has come for it, or when it has
//! asked for one.

use std::io;
use std::os::fd::BorrowedFd;
use std::time::Duration;

use kit::team::Member;
use kit::{clock, pace, Probe};
use rustix::buffer::spare_capacity;
use rustix::event::epoll::{self, CreateFlags, Event, EventData, EventFlags};
use rustix::event::Timespec;
use rustix::io::Errno;

/// Messages of one turn at most, so that no flow starves.
pub const TURN: usize = 16;
/// Flows that are named at once.
const NAMED: usize = 64;

/// A flow that never waits.
pub trait Turn {
    /// Does what can be done now.
    ///
    /// # Errors
    /// Whatever breaks the flow.
    fn turn<P: Probe>(&mut self, member: &mut Member<P>) -> io::Result<Next>;

    /// Whether it has something to send that the kernel has not taken.
    fn owes(&self) -> bool;

    /// Its socket.
    fn fd(&self) -> BorrowedFd<'_>;
}

/// When a flow is to have another turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Next {
    /// When something has come, or can be sent that is owed.
    Event,
    /// Then, or at an instant of the clock, in ns.
    At(u64),
    /// Never: it has come to its end.
    Never,
}

/// Gives turns to `flows` until all have come to their ends.
///
/// # Errors
/// The first of any flow; as epoll(7).
pub fn execute<T: Turn, P: Probe>(flows: &mut [T], member: &mut Member<P>) -> io::Result<()> {
    let mut table = Table::new(flows)?;
    while table.open > 0 {
        let now_ns = clock::now_ns();
        for (index, flow) in flows.iter_mut().enumerate() {
            if table.rows[index].due_ns <= now_ns {
                let next = flow.turn(member)?;
                table.put_down(index, flow, next)?;
            }
        }
        if table.open == 0 {
            break;
        }
        table.wait()?;
        for at in 0..table.events.len() {
            let index = table.events[at].data.u64() as usize;
            let next = flows[index].turn(member)?;
            table.put_down(index, &flows[index], next)?;
        }
    }
    Ok(())
}

/// Who is to have a turn when.
struct Table {
    epoll: rustix::fd::OwnedFd,
    events: Vec<Event>,
    rows: Vec<Row>,
    open: usize,
}

/// One flow.
struct Row {
    due_ns: u64,
    waits_for_room: bool,
}

impl Table {
    /// All have a first turn now.
    fn new<T: Turn>(flows: &[T]) -> io::Result<Self> {
        let epoll = epoll::create(CreateFlags::CLOEXEC)?;
        for (index, flow) in flows.iter().enumerate() {
            epoll::add(&epoll, flow.fd(), data(index), EventFlags::IN)?;
        }
        let row = |_| Row {
            due_ns: 0,
            waits_for_room: false,
        };
        Ok(Self {
            epoll,
            events: Vec::with_capacity(NAMED),
            rows: (0..flows.len()).map(row).collect(),
            open: flows.len(),
        })
    }

    fn put_down<T: Turn>(&mut self, index: usize, flow: &T, next: Next) -> io::Result<()> {
        let row = &mut self.rows[index];
        row.due_ns = match next {
            Next::At(instant_ns) => instant_ns,
            Next::Event | Next::Never => u64::MAX,
        };
        if next == Next::Never {
            self.open -= 1;
            return Ok(epoll::delete(&self.epoll, flow.fd())?);
        }
        if row.waits_for_room != flow.owes() {
            row.waits_for_room = flow.owes();
            let flags = match row.waits_for_room {
                true => EventFlags::IN | EventFlags::OUT,
                false => EventFlags::IN,
            };
            epoll::modify(&self.epoll, flow.fd(), data(index), flags)?;
        }
        Ok(())
    }

    /// Waits until something has come for a flow, or one is due; the last part of it awake.
    fn wait(&mut self) -> io::Result<()> {
        let due_ns = self.rows.iter().map(|row| row.due_ns).min();
        let left_ns = due_ns.unwrap_or(u64::MAX).saturating_sub(clock::now_ns());
        let nap = pace::nap(left_ns).unwrap_or(Duration::ZERO);
        let nap = Timespec::try_from(nap).ok();
        self.events.clear();
        match epoll::wait(&self.epoll, spare_capacity(&mut self.events), nap.as_ref()) {
            Ok(_) | Err(Errno::INTR) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }
}

fn data(index: usize) -> EventData {
    EventData::new_u64(index as u64)
}
