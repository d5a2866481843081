//! A `ptrace` that restores all of a CPU's state, for kernels that know less of it than the CPU has.
//!
//! User-Mode Linux before 6.13 keeps 2,696 bytes of a guest program's vector state
//! (`HOST_FP_SIZE`). A CPU with AMX has 11,008 bytes of it, and this host's kernel then refuses to
//! restore a part (`xstateregs_set`: `EFAULT`), so that each guest dies with its first program.
//! What is missing is state that its programs cannot have used: it is restored as zeros, which
//! stand for "never used" (Intel SDM 1, 13.4.2).
//!
//! Built as a library of its own, and loaded in front of the C library's (ld.so(8), `LD_PRELOAD`).
#![no_std]

use core::ffi::{c_char, c_int, c_long, c_void};
use core::ptr::{addr_of_mut, copy_nonoverlapping};

const GETREGSET: c_int = 0x4204;
const SETREGSET: c_int = 0x4205;
const NT_X86_XSTATE: usize = 0x202;
const NEXT: *mut c_void = -1_isize as *mut c_void;
const ROOM_BYTES: usize = 1 << 16;

#[repr(C)]
struct IoVec {
    base: *mut c_void,
    len: usize,
}

type Ptrace = unsafe extern "C" fn(c_int, c_int, usize, *mut c_void) -> c_long;

unsafe extern "C" {
    fn dlsym(handle: *mut c_void, symbol: *const c_char) -> *mut c_void;
    fn abort() -> !;
}

#[repr(C, align(64))]
struct State([u8; ROOM_BYTES]);

// The kernel that calls us has one thread.
static mut STATE: State = State([0; ROOM_BYTES]);
static mut SIZE_BYTES: usize = 0;
static mut REAL: Option<Ptrace> = None;

/// ptrace(2) of the C library, but for the one request.
///
/// # Safety
/// That of ptrace(2).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ptrace(
    request: c_int,
    pid: c_int,
    address: usize,
    data: *mut c_void,
) -> c_long {
    unsafe {
        let real = REAL.unwrap_or_else(|| find_real());
        REAL = Some(real);
        if request == SETREGSET && address == NT_X86_XSTATE {
            return restore(real, pid, data.cast());
        }
        real(request, pid, address, data)
    }
}

/// Restores what is given, and zeros up to the size that the CPU has.
unsafe fn restore(real: Ptrace, pid: c_int, given: *mut IoVec) -> c_long {
    unsafe {
        let state = addr_of_mut!(STATE).cast::<u8>();
        if SIZE_BYTES == 0 {
            let mut all = IoVec {
                base: state.cast(),
                len: ROOM_BYTES,
            };
            if real(GETREGSET, pid, NT_X86_XSTATE, (&raw mut all).cast()) == 0 {
                SIZE_BYTES = all.len;
            }
            state.write_bytes(0, ROOM_BYTES);
        }
        if (*given).len >= SIZE_BYTES {
            return real(SETREGSET, pid, NT_X86_XSTATE, given.cast());
        }
        copy_nonoverlapping((*given).base.cast::<u8>(), state, (*given).len);
        let mut all = IoVec {
            base: state.cast(),
            len: SIZE_BYTES,
        };
        real(SETREGSET, pid, NT_X86_XSTATE, (&raw mut all).cast())
    }
}

unsafe fn find_real() -> Ptrace {
    unsafe {
        let found = dlsym(NEXT, c"ptrace".as_ptr());
        if found.is_null() {
            abort();
        }
        core::mem::transmute::<*mut c_void, Ptrace>(found)
    }
}

#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    unsafe { abort() }
}
