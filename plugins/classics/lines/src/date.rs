//! The date and time of the place, as the originals print them.

use std::ffi::{c_char, CStr};
use std::mem::MaybeUninit;
use std::ptr;

/// As ctime(3) writes it.
pub const CTIME: &CStr = c"%a %b %e %H:%M:%S %Y";
const ROOM_BYTES: usize = 64;

/// Now, as strftime(3) writes it by `format`; empty when that takes more than 63 bytes.
pub fn now(format: &CStr) -> String {
    let mut parts = MaybeUninit::uninit();
    let mut text = [0_u8; ROOM_BYTES];
    // SAFETY: time(3) takes a null pointer; localtime_r(3) fills `parts`, or returns null, which
    // is looked at before they are used; strftime(3) gets the size of the buffer.
    let written = unsafe {
        let seconds = libc::time(ptr::null_mut());
        if libc::localtime_r(&seconds, parts.as_mut_ptr()).is_null() {
            return String::new();
        }
        let begin = text.as_mut_ptr().cast::<c_char>();
        libc::strftime(begin, ROOM_BYTES, format.as_ptr(), parts.as_ptr())
    };
    String::from_utf8_lossy(&text[..written]).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_date_has_the_words_of_ctime() {
        let date = now(CTIME);
        assert_eq!(date.split_whitespace().count(), 5, "{date}");
        assert_eq!(date.split(':').count(), 3, "{date}");
        assert_eq!(now(c"%% %n").len(), 3);
    }
}
