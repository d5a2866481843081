//! What all clients share: places, of which no host has all, and memory.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use super::Limits;
use network::networks::Network;

/// What the clients of a server share.
pub struct SharedState<'a> {
    /// What they may take.
    pub limits: &'a Limits,
    /// Their slots.
    pub places: Places,
    /// Memory left for their rings.
    pub memory: Memory,
}

impl<'a> SharedState<'a> {
    /// No client yet.
    pub fn new(limits: &'a Limits) -> Self {
        Self {
            limits,
            places: Places::new(limits.clients),
            memory: Memory(AtomicU64::new(limits.memory_bytes)),
        }
    }
}

/// Places for clients.
pub struct Places {
    most: usize,
    taken: Mutex<HashMap<IpAddr, usize>>,
}

impl Places {
    fn new(most: usize) -> Self {
        Self {
            most,
            taken: Mutex::default(),
        }
    }

    /// A place for a client from `address`; `None` when there is none for it. The last quarter is
    /// for other hosts than the one that has all the rest.
    pub fn take(&self, address: IpAddr) -> Option<Place<'_>> {
        let host = Network::of_host(address);
        let mut taken = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
        let all: usize = taken.values().sum();
        let of_host = taken.entry(host).or_default();
        let is_free = all < self.most && *of_host < self.most - self.most / 4;
        *of_host += usize::from(is_free);
        is_free.then(|| Place { places: self, host })
    }
}

/// One of them; given back when this is dropped.
pub struct Place<'a> {
    places: &'a Places,
    host: IpAddr,
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        let taken = &self.places.taken;
        let mut taken = taken.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(of_host) = taken.get_mut(&self.host) {
            *of_host -= 1;
        }
        taken.retain(|_, count| *count > 0);
    }
}

/// Bytes that no ring has taken.
pub struct Memory(AtomicU64);

impl Memory {
    /// Reserves `bytes`; `None` if not enough are left.
    pub fn take(&self, bytes: u64) -> Option<Share<'_>> {
        let less = |left: u64| left.checked_sub(bytes);
        let taken = self
            .0
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, less);
        taken.ok().map(|_| Share {
            memory: self,
            bytes,
        })
    }
}

/// A share of the memory; given back when this is dropped.
pub struct Share<'a> {
    memory: &'a Memory,
    bytes: u64,
}

impl Drop for Share<'_> {
    fn drop(&mut self) {
        self.memory.0.fetch_add(self.bytes, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_host_has_all_places() {
        let limits = Limits {
            clients: 4,
            ..Limits::default()
        };
        let shared = SharedState::new(&limits);
        let take = |address: &str| shared.places.take(address.parse().unwrap());
        let mut greedy: Vec<_> = (0..3).map(|_| take("192.0.2.1").unwrap()).collect();
        assert!(take("192.0.2.1").is_none() && take("::ffff:192.0.2.1").is_none());
        let other = take("192.0.2.2").unwrap();
        assert!(take("192.0.2.3").is_none());
        greedy.pop();
        drop(other);
        assert!(take("192.0.2.3").is_some() && take("192.0.2.1").is_some());
        drop(greedy);
        assert!(shared.places.taken.lock().unwrap().is_empty());
    }

    #[test]
    fn a_single_place_is_for_anybody() {
        let limits = Limits {
            clients: 1,
            ..Limits::default()
        };
        let shared = SharedState::new(&limits);
        let place = shared.places.take("::1".parse().unwrap()).unwrap();
        assert!(shared.places.take("192.0.2.1".parse().unwrap()).is_none());
        drop(place);
        assert!(shared.places.take("192.0.2.1".parse().unwrap()).is_some());
    }

    #[test]
    fn memory_is_given_back() {
        let memory = Memory(AtomicU64::new(100));
        let some = memory.take(60).unwrap();
        assert!(memory.take(41).is_none());
        let rest = memory.take(40);
        assert!(rest.is_some() && memory.take(1).is_none());
        drop((some, rest));
        assert!(memory.take(100).is_some());
    }
}
