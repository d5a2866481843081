//! Which transactions are under way, and since when.

/// A number that no transaction has.
const NONE: u64 = u64::MAX;

/// Transactions under way, found by their numbers. Numbers ascend, and a transaction begins no
/// earlier than those with lower numbers.
#[derive(Debug)]
pub struct UnderWay {
    /// A transaction is in the place that the lowest bits of its number say.
    places: Box<[Place]>,
    /// Bits of a number that come back with a response.
    seen: u64,
    /// None with a lower number is under way.
    oldest: u64,
    next: u64,
    count: u64,
}

#[derive(Debug, Clone, Copy)]
struct Place {
    number: u64,
    began_ns: u64,
}

impl UnderWay {
    /// For `capacity` of them at least. `number_bits` of a number come back with a response;
    /// more than `capacity` numbers must be told apart by them.
    pub fn new(capacity: u64, number_bits: u32) -> Self {
        let capacity = capacity.next_power_of_two();
        let empty = Place {
            number: NONE,
            began_ns: 0,
        };
        let seen = u64::MAX >> (64 - number_bits);
        debug_assert!(capacity - 1 <= seen);
        Self {
            places: vec![empty; capacity as usize].into(),
            seen,
            oldest: 0,
            next: 0,
            count: 0,
        }
    }

    /// How many there are.
    #[inline]
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Whether there is no room for another.
    pub fn is_full(&self) -> bool {
        self.count == self.places.len() as u64
    }

    /// One more, unless it is full; gives its number. A place that a lost one still holds is
    /// passed over, and its number with it.
    #[inline]
    pub fn begin(&mut self, began_ns: u64) -> u64 {
        while self.place(self.next).number != NONE {
            self.next += 1;
        }
        let number = self.next;
        *self.place(number) = Place { number, began_ns };
        self.next += 1;
        self.count += 1;
        number
    }

    /// A response came whose number ends with the bits of `seen`: returns when its transaction
    /// began; `None` when that is not under way (any more).
    #[inline]
    pub fn answer(&mut self, seen: u64) -> Option<u64> {
        let mask = self.seen;
        let place = self.place(seen);
        if place.number == NONE || (place.number ^ seen) & mask != 0 {
            return None;
        }
        place.number = NONE;
        let began_ns = place.began_ns;
        self.count -= 1;
        Some(began_ns)
    }

    /// Gives up those that began at `instant_ns` or before; returns how many.
    #[inline]
    pub fn give_up(&mut self, instant_ns: u64) -> u64 {
        let mut lost = 0;
        while self.oldest < self.next {
            let oldest = self.oldest;
            let place = self.place(oldest);
            if place.number == oldest {
                if place.began_ns > instant_ns {
                    break;
                }
                place.number = NONE;
                lost += 1;
            }
            self.oldest += 1;
        }
        self.count -= lost;
        lost
    }

    #[inline]
    fn place(&mut self, number: u64) -> &mut Place {
        let index = number as usize & (self.places.len() - 1);
        &mut self.places[index]
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn an_answer_counts_once_and_in_any_order() {
        let mut under_way = UnderWay::new(3, 64);
        let numbers = [10, 20, 30].map(|began_ns| under_way.begin(began_ns));
        assert_eq!((numbers, under_way.count()), ([0, 1, 2], 3));
        assert_eq!(under_way.answer(1), Some(20));
        assert_eq!(under_way.answer(1), None);
        assert_eq!(under_way.answer(7), None);
        assert_eq!(under_way.answer(2), Some(30));
        assert_eq!(under_way.answer(0), Some(10));
        assert_eq!(under_way.count(), 0);
    }

    #[test]
    fn what_comes_after_it_was_given_up_is_late() {
        let mut under_way = UnderWay::new(1, 8);
        for number in 0..300 {
            assert_eq!(under_way.begin(number), number);
            assert_eq!(under_way.give_up(number), 1);
        }
        let number = under_way.begin(300);
        assert_eq!(under_way.answer((number - 1) & 0xff), None);
        assert_eq!(under_way.answer(number & 0xff), Some(300));
    }

    #[test]
    fn a_lost_one_holds_up_no_other() {
        let mut under_way = UnderWay::new(2, 64);
        let lost = under_way.begin(0);
        for began_ns in 1..10 {
            let number = under_way.begin(began_ns);
            assert_eq!(under_way.answer(number), Some(began_ns));
        }
        assert_eq!(under_way.give_up(0), 1);
        assert_eq!(under_way.answer(lost), None);
    }

    proptest! {
        #[test]
        fn it_agrees_with_a_map(actions in prop::collection::vec((0_u8..3, 0_u64..40), 1..400)) {
            let mut under_way = UnderWay::new(8, 16);
            let mut known = BTreeMap::new();
            for (now_ns, (action, choice)) in (1..).zip(actions) {
                match action {
                    0 if !under_way.is_full() => {
                        known.insert(under_way.begin(now_ns), now_ns);
                    }
                    1 => prop_assert_eq!(under_way.answer(choice), known.remove(&choice)),
                    _ => {
                        let before = known.len();
                        known.retain(|_, &mut began_ns| began_ns > choice);
                        let lost = (before - known.len()) as u64;
                        prop_assert_eq!(under_way.give_up(choice), lost);
                    }
                }
                prop_assert_eq!(under_way.count(), known.len() as u64);
            }
        }
    }
}
