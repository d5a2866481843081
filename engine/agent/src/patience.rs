//! What is busy gets a moment: a stopped engine takes one to end, and a loop device to let go.

use std::thread;
use std::time::Duration;

const TRIES: u32 = 100;
const PAUSE: Duration = Duration::from_millis(50);

/// Whether it is so in the end.
pub fn until(mut is_so: impl FnMut() -> bool) -> bool {
    for _ in 0..TRIES {
        if is_so() {
            return true;
        }
        thread::sleep(PAUSE);
    }
    false
}
