// A ptrace(2) that restores all of a CPU's vector state, for kernels that know less of it.
//
// User-Mode Linux before 6.13 keeps 2,696 bytes of it (HOST_FP_SIZE), a CPU with AMX has 11,008,
// and this host's kernel refuses to restore a part (xstateregs_set: EFAULT), so that each guest
// dies with its first program. What is missing its programs cannot have used: it is restored as
// zeros, which stand for "never used" (Intel SDM 1, 13.4.2).
#define _GNU_SOURCE
#include <dlfcn.h>
#include <elf.h>
#include <string.h>
#include <sys/uio.h>

enum { GETREGSET = 0x4204, SETREGSET = 0x4205, ROOM = 1 << 16 };
typedef long (*Ptrace)(int, int, unsigned long, void *);

static char state[ROOM] __attribute__((aligned(64)));
static size_t size; // of the CPU's whole state; the kernel that calls us has one thread

long ptrace(int request, int pid, unsigned long address, void *data)
{
    Ptrace real = (Ptrace)dlsym(RTLD_NEXT, "ptrace");
    struct iovec *given = data, all = {state, sizeof state};
    if (request != SETREGSET || address != NT_X86_XSTATE)
        return real(request, pid, address, data);
    if (size == 0) {
        if (real(GETREGSET, pid, NT_X86_XSTATE, &all) == 0)
            size = all.iov_len;
        memset(state, 0, sizeof state);
    }
    if (given->iov_len >= size)
        return real(request, pid, address, data);
    memcpy(state, given->iov_base, given->iov_len);
    all.iov_len = size;
    return real(request, pid, NT_X86_XSTATE, &all);
}
