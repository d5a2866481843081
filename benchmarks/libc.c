/* What the engine asks of its C library: CPU nanoseconds a call, one line each.
 * Built with -fno-builtin, so that the calls are those of the library. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static volatile char sink;

static double cpu_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return now.tv_sec * 1e9 + now.tv_nsec;
}

#define MEASURE(name, count, call)                                         \
    do {                                                                   \
        double start_ns = cpu_ns();                                        \
        for (long i = 0; i < (count); i++) { call; }                       \
        printf("%s %.3f\n", name, (cpu_ns() - start_ns) / (count));        \
    } while (0)

int main(void) {
    enum { SIZE = 1 << 20 };
    char *to = aligned_alloc(4096, SIZE), *from = aligned_alloc(4096, SIZE);
    struct timespec now;
    FILE *file = tmpfile();
    if (!to || !from || !file) return 1;
    memset(to, 1, SIZE);
    memset(from, 2, SIZE);
    int descriptor = fileno(file);
    if (write(descriptor, to, SIZE) != SIZE) return 1;
    MEASURE("memcpy, 512 B", 400000, memcpy(to + ((i & 7) << 12), from, 512); sink = to[i & 511]);
    MEASURE("memcpy, 4 KiB", 200000, memcpy(to + ((i & 7) << 12), from, 4096); sink = to[i & 511]);
    MEASURE("memcpy, 64 KiB", 10000, memcpy(to + ((i & 1) << 16), from, 65536); sink = to[i & 511]);
    MEASURE("memset, 64 KiB", 10000, memset(to + ((i & 1) << 16), (int)i, 65536); sink = to[i & 511]);
    MEASURE("memcmp, 4 KiB", 200000, sink = (char)memcmp(from, from + 8192, 4096));
    MEASURE("clock_gettime", 400000, clock_gettime(CLOCK_MONOTONIC, &now); sink = (char)now.tv_nsec);
    MEASURE("pread, 4 KiB", 40000, if (pread(descriptor, to, 4096, (i & 255) << 12) != 4096) return 1);
    MEASURE("malloc and free, 4 KiB", 400000, char *p = malloc(4096 - 64 * (i & 7)); p[0] = 1; sink = p[0]; free(p));
    return 0;
}
