//! The state that the processes of a team share in memory, through which they wait for each other,
//! learn when to stop, and leave their results.

use std::io;
use std::ops::Deref;
use std::ptr::{self, NonNull};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicU8, Ordering};

use kit::failure::{failure, interrupted};
use kit::{clock, stop};
use rustix::mm::{mmap_anonymous, munmap, MapFlags, ProtFlags};
use rustix::thread::futex;
use rustix::time::Timespec;
use wire::{Failure, FailureKind};

use super::params::CHILDREN_MAX;

const CLOSED: u32 = 0;
const OPEN: u32 = 1;
const CALLED_OFF: u32 = 2;

/// A child that waits looks this often whether it should end.
const LOOK_NS: i64 = 50_000_000;
/// Longer reasons are cut.
const REASON_BYTES: usize = 512;

/// What is shared. All zeroes is its initial state.
#[repr(C)]
pub struct SharedState {
    gate: AtomicU32,
    arrived: AtomicU32,
    opened_ns: AtomicU64,
    is_walled: AtomicBool,
    /// The number of the first child that failed, plus one.
    first_failed: AtomicU32,
    slots: [ResultSlot; CHILDREN_MAX as usize],
}

/// What one child leaves.
#[repr(C)]
pub struct ResultSlot {
    /// Operations that count.
    pub operations: AtomicU64,
    /// Their bytes.
    pub bytes: AtomicU64,
    /// When it began, on the system's monotonic clock.
    pub begun_ns: AtomicU64,
    /// When it was done.
    pub done_ns: AtomicU64,
    /// See [`super::super::pass::Part`].
    pub checksum: AtomicU64,
    /// See [`super::super::pass::Part`].
    pub thought_ns: AtomicU64,
    /// See [`super::super::pass::Part`].
    pub tail_ns: AtomicU64,
    has_result: AtomicBool,
    kind: AtomicU8,
    reason: [AtomicU8; REASON_BYTES],
}

/// Kinds of failure that a child can have, by the number under which they are left.
const KINDS: [FailureKind; 9] = [
    FailureKind::Internal,
    FailureKind::BadJob,
    FailureKind::HostLacks,
    FailureKind::Refused,
    FailureKind::NoSpace,
    FailureKind::Io,
    FailureKind::Verification,
    FailureKind::Access,
    FailureKind::Interrupted,
];

impl SharedState {
    /// Waits until all `children` are here; gives the instant of the last arrival.
    ///
    /// # Errors
    /// `Interrupted` when the phase will never begin.
    pub fn pass_gate(&self, children: u32) -> Result<u64, Failure> {
        if self.arrived.fetch_add(1, Ordering::SeqCst) + 1 == children {
            self.opened_ns.store(clock::now_ns(), Ordering::SeqCst);
            self.set_gate(OPEN);
        }
        let look = Timespec {
            tv_sec: 0,
            tv_nsec: LOOK_NS,
        };
        while self.gate.load(Ordering::SeqCst) == CLOSED && !stop::requested() {
            // It returns early, or in vain, for reasons that the loop looks at.
            let _ = futex::wait(&self.gate, futex::Flags::empty(), CLOSED, Some(&look));
        }
        match self.gate.load(Ordering::SeqCst) {
            OPEN => Ok(self.opened_ns()),
            _ => Err(interrupted()),
        }
    }

    /// When the gate was opened.
    pub fn opened_ns(&self) -> u64 {
        self.opened_ns.load(Ordering::SeqCst)
    }

    /// Tells those who wait that the phase will never begin, and all others to stop.
    pub fn call_off(&self) {
        self.hit_wall();
        self.set_gate(CALLED_OFF);
    }

    /// The first is done: all others stop.
    pub fn hit_wall(&self) {
        self.is_walled.store(true, Ordering::Relaxed);
    }

    /// Whether all should stop.
    #[inline]
    pub fn is_walled(&self) -> bool {
        self.is_walled.load(Ordering::Relaxed)
    }

    /// What child `index` leaves.
    pub fn slot(&self, index: u32) -> &ResultSlot {
        &self.slots[index as usize]
    }

    /// Child `index` has done its part.
    pub fn succeed(&self, index: u32) {
        self.slot(index).has_result.store(true, Ordering::SeqCst);
    }

    /// Child `index` has failed.
    pub fn fail(&self, index: u32, failed: &Failure) {
        let slot = self.slot(index);
        let kind = KINDS.iter().position(|&kind| kind == failed.kind);
        slot.kind.store(kind.unwrap_or(0) as u8, Ordering::SeqCst);
        let text = failed.message.bytes().take(REASON_BYTES);
        for (place, byte) in slot.reason.iter().zip(text) {
            place.store(byte, Ordering::SeqCst);
        }
        self.note_failure(index);
    }

    /// Child `index` ended without leaving a result; `how` is its exit status or signal.
    pub fn lose(&self, index: u32, how: &str) {
        if !self.slot(index).has_result.load(Ordering::SeqCst) {
            let message = format!("child {index} ended before its work: {how}");
            self.fail(index, &failure(FailureKind::Internal, message));
        }
    }

    /// The failure of the child that failed first.
    pub fn failure(&self) -> Option<Failure> {
        let index = self.first_failed.load(Ordering::SeqCst).checked_sub(1)?;
        let slot = self.slot(index);
        let text: Vec<u8> = slot
            .reason
            .iter()
            .map(|place| place.load(Ordering::SeqCst))
            .take_while(|&byte| byte != 0)
            .collect();
        let kind = KINDS[usize::from(slot.kind.load(Ordering::SeqCst))];
        Some(failure(kind, String::from_utf8_lossy(&text).into_owned()))
    }

    fn note_failure(&self, index: u32) {
        self.slot(index).has_result.store(true, Ordering::SeqCst);
        // Another one that was first stays first.
        let _ =
            self.first_failed
                .compare_exchange(0, index + 1, Ordering::SeqCst, Ordering::SeqCst);
    }

    /// A gate that is open stays open.
    fn set_gate(&self, state: u32) {
        let set = self
            .gate
            .compare_exchange(CLOSED, state, Ordering::SeqCst, Ordering::SeqCst);
        if set.is_ok() {
            // It can only fail for an address that is not ours.
            let _ = futex::wake(&self.gate, futex::Flags::empty(), u32::MAX >> 1);
        }
    }
}

/// Memory with that state, shared with processes made after it.
pub struct SharedMapping(NonNull<SharedState>);

impl SharedMapping {
    /// In its initial state.
    ///
    /// # Errors
    /// `ENOMEM`.
    pub fn new() -> io::Result<Self> {
        // SAFETY: a new mapping at an address of the kernel's choice.
        let start = unsafe {
            mmap_anonymous(
                ptr::null_mut(),
                size_of::<SharedState>(),
                ProtFlags::READ | ProtFlags::WRITE,
                MapFlags::SHARED,
            )?
        };
        NonNull::new(start.cast())
            .map(Self)
            .ok_or_else(|| io::ErrorKind::OutOfMemory.into())
    }
}

impl Deref for SharedMapping {
    type Target = SharedState;

    fn deref(&self) -> &SharedState {
        // SAFETY: mapped, page-aligned and zeroed, which is a valid state; it consists of atomics
        // only, so that others may change it meanwhile.
        unsafe { self.0.as_ref() }
    }
}

impl Drop for SharedMapping {
    fn drop(&mut self) {
        // SAFETY: the mapping is ours and nothing borrows it any more.
        let _ = unsafe { munmap(self.0.as_ptr().cast(), size_of::<SharedState>()) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_failure_is_kept_with_its_kind() {
        let shared = SharedMapping::new().unwrap();
        assert!(shared.failure().is_none());
        shared.fail(3, &failure(FailureKind::NoSpace, "full"));
        shared.fail(1, &failure(FailureKind::Io, "later"));
        let first = shared.failure().unwrap();
        assert_eq!(
            (first.kind, first.message.as_str()),
            (FailureKind::NoSpace, "full")
        );
    }

    #[test]
    fn a_child_without_a_result_is_a_failure() {
        let shared = SharedMapping::new().unwrap();
        shared.succeed(0);
        shared.lose(0, "exit status 0");
        assert!(shared.failure().is_none());
        shared.lose(1, "signal 9");
        assert!(shared.failure().unwrap().message.contains("signal 9"));
    }

    #[test]
    fn the_gate_opens_for_the_last_one_and_stays_open() {
        let shared = SharedMapping::new().unwrap();
        let opened_ns = shared.pass_gate(1).unwrap();
        assert_eq!(opened_ns, shared.opened_ns());
        shared.call_off();
        assert!(shared.is_walled());
        assert_eq!(shared.pass_gate(9).unwrap(), opened_ns);
        let other = SharedMapping::new().unwrap();
        other.call_off();
        assert_eq!(
            other.pass_gate(2).unwrap_err().kind,
            FailureKind::Interrupted
        );
    }
}
