/* A bare loop of posix_spawn(3) and waitpid(2): the median time of one, in seconds.
 *
 * spawn COUNT PROGRAM [ARGUMENT …]
 */
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>

extern char **environ;

static double now_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec + now.tv_nsec / 1e9;
}

static int ascending(const void *left, const void *right)
{
    double difference = *(const double *)left - *(const double *)right;
    return (difference > 0) - (difference < 0);
}

int main(int argc, char **argv)
{
    int count = argc > 2 ? atoi(argv[1]) : 0;
    double *times_s = calloc(count > 0 ? count : 1, sizeof *times_s);
    if (count < 1 || times_s == NULL)
        return 2;
    for (int index = 0; index < count; index++) {
        pid_t pid;
        int status;
        double began_s = now_s();
        if (posix_spawn(&pid, argv[2], NULL, NULL, argv + 2, environ) != 0)
            return 1;
        if (waitpid(pid, &status, 0) != pid || status != 0)
            return 1;
        times_s[index] = now_s() - began_s;
    }
    qsort(times_s, count, sizeof *times_s, ascending);
    printf("%.9f\n", times_s[count / 2]);
    return 0;
}
