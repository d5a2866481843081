/* The bare loop: nothing but the system calls, and one clock read before and after all of them.
 *
 * usage: loop FILE FILE_BYTES RECORD_BYTES PASSES sequential|random compare|trust
 * Writes FILE, reads it once so that it is cached, reads it again in so many passes, and prints the
 * seconds that these took. "compare" looks at eight bytes of each 4 KiB page. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { PAGE = 4096 };

static void need(int ok, const char *what)
{
    if (!ok) {
        perror(what);
        exit(1);
    }
}

static double now_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec + now.tv_nsec / 1e9;
}

static void shuffle(uint64_t *order, uint64_t records)
{
    uint64_t state = 88172645463325252u;
    for (uint64_t last = records; last > 1; last--) {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        uint64_t other = state % last, kept = order[last - 1];
        order[last - 1] = order[other];
        order[other] = kept;
    }
}

int main(int argc, char **argv)
{
    need(argc == 7, "six arguments");
    uint64_t size = strtoull(argv[3], NULL, 10), records = strtoull(argv[2], NULL, 10) / size;
    int is_sequential = !strcmp(argv[5], "sequential");
    int compares = !strcmp(argv[6], "compare");
    unsigned char *record, *expected;
    need(!posix_memalign((void **)&record, PAGE, size), "memory");
    need(!posix_memalign((void **)&expected, PAGE, size), "memory");
    memset(expected, 0x5f, size);
    memset(record, 0, size);
    uint64_t *order = malloc(records * sizeof *order);
    need(order != NULL, "memory");
    for (uint64_t index = 0; index < records; index++)
        order[index] = index;
    if (!is_sequential)
        shuffle(order, records);

    int file = open(argv[1], O_RDWR | O_CREAT | O_EXCL, 0600);
    need(file >= 0, argv[1]);
    for (uint64_t index = 0; index < records; index++)
        need(write(file, expected, size) == (ssize_t)size, "write");
    need(fsync(file) == 0, "fsync");
    for (uint64_t index = 0; index < records; index++)
        need(pread(file, record, size, index * size) == (ssize_t)size, "pread");
    need(lseek(file, 0, SEEK_SET) == 0, "lseek");

    uint64_t reads = strtoull(argv[4], NULL, 10) * records, index = 0;
    double begin_s = now_s();
    for (uint64_t done = 0; done < reads; done++) {
        if (is_sequential) {
            need(read(file, record, size) == (ssize_t)size, "read");
        } else {
            need(pread(file, record, size, order[index] * size) == (ssize_t)size, "pread");
        }
        for (uint64_t page = 0; compares && page < size; page += PAGE)
            need(!memcmp(record + page, expected + page, 8), "compare");
        if (++index == records) {
            index = 0;
            need(!is_sequential || lseek(file, 0, SEEK_SET) == 0, "lseek");
        }
    }
    printf("%.9f\n", now_s() - begin_s);
    return 0;
}
