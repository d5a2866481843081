//! What mapped memory does where a call would return an error: it raises SIGBUS, on a full disk,
//! a bad sector, or a file that became shorter. While this thread copies from or to a mapping,
//! the handler puts a page of zeroes where there is none, so that the copy ends, and remembers
//! that it was in vain. A SIGBUS of any other cause kills the process as ever.

use std::cell::Cell;
use std::io;
use std::ptr;
use std::sync::atomic::{compiler_fence, Ordering};
use std::sync::OnceLock;

thread_local! {
    /// First address of the mapped memory that is being copied, and its size.
    static COPIED: Cell<(usize, usize)> = const { Cell::new((0, 0)) };
    static HAS_FAULTED: Cell<bool> = const { Cell::new(false) };
}

/// Sees to it that faults are handled, from now on and once for the process.
///
/// # Errors
/// Those of sigaction(2).
pub fn install() -> io::Result<()> {
    static INSTALLED: OnceLock<Result<(), i32>> = OnceLock::new();
    INSTALLED
        .get_or_init(|| {
            let handler: extern "C" fn(_, _, _) = on_fault;
            // SAFETY: an all-zero sigaction is valid; the handler makes only calls that are safe
            // in it, and touches only cells of its own thread that need no setting up.
            let status = unsafe {
                let mut action: libc::sigaction = std::mem::zeroed();
                action.sa_sigaction = handler as usize;
                action.sa_flags = libc::SA_SIGINFO;
                libc::sigaction(libc::SIGBUS, &action, ptr::null_mut())
            };
            match status {
                0 => Ok(()),
                _ => Err(io::Error::last_os_error().raw_os_error().unwrap_or(0)),
            }
        })
        .map_err(io::Error::from_raw_os_error)
}

/// Copies `size_bytes` (0 too) between a buffer and mapped memory, which starts at `mapped`.
/// Gives whether all of the mapped memory was there.
///
/// # Safety
/// Both ranges must be valid but for pages of the mapping that the kernel cannot bring, and must
/// not overlap.
#[inline]
pub unsafe fn copy(from: *const u8, to: *mut u8, size_bytes: usize, mapped: usize) -> bool {
    COPIED.set((mapped, size_bytes));
    // The handler runs in this thread: the order of the instructions is all that counts.
    compiler_fence(Ordering::SeqCst);
    if size_bytes > 0 {
        // SAFETY: promised by the caller.
        unsafe { ptr::copy_nonoverlapping(from, to, size_bytes) };
    }
    compiler_fence(Ordering::SeqCst);
    COPIED.set((0, 0));
    !HAS_FAULTED.replace(false)
}

extern "C" fn on_fault(
    signal: libc::c_int,
    info: *mut libc::siginfo_t,
    _context: *mut libc::c_void,
) {
    // SAFETY: the kernel hands over a valid structure, whose address is set for SIGBUS.
    let address = unsafe { (*info).si_addr() } as usize;
    let (start, size_bytes) = COPIED.get();
    let is_ours = (start..start + size_bytes).contains(&address);
    if is_ours && replace_page(address) {
        HAS_FAULTED.set(true);
    } else {
        // The access is repeated on return, and ends the process.
        // SAFETY: the default action needs nothing.
        unsafe { libc::signal(signal, libc::SIG_DFL) };
    }
}

/// Zeroes instead of the page of the mapping that holds `address`.
fn replace_page(address: usize) -> bool {
    // SAFETY: asks for a constant.
    let page_bytes = unsafe { libc::sysconf(libc::_SC_PAGESIZE) } as usize;
    let start = (address & !(page_bytes - 1)) as *mut libc::c_void;
    let protection = libc::PROT_READ | libc::PROT_WRITE;
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED;
    // SAFETY: the page belongs to a mapping of this backend, which reaches memory by addresses
    // only; nothing borrows from it.
    unsafe { libc::mmap(start, page_bytes, protection, flags, -1, 0) == start }
}
