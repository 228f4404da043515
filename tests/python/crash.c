/* Kills the process at its CRASH_AT-th call that touches files: a crash of the machine's making, at a place of ours. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

static atomic_long calls;

static void count(void) {
    static long at = -1;
    if (at < 0) {
        const char *text = getenv("CRASH_AT");
        at = text ? atol(text) : 0;
    }
    if (atomic_fetch_add(&calls, 1) + 1 == at) kill(getpid(), SIGKILL);
}

/* Where CRASH_COUNT names a file, it gets the number of calls at exit. */
__attribute__((destructor)) static void report(void) {
    const char *path = getenv("CRASH_COUNT");
    if (!path) return;
    FILE *file = fopen(path, "w");
    if (file) {
        fprintf(file, "%ld", atomic_load(&calls));
        fclose(file);
    }
}

#define REAL(type, name, ...) ((type(*)(__VA_ARGS__))dlsym(RTLD_NEXT, #name))
#define WRAP(type, name, parameters, arguments, ...) \
    type name parameters { \
        static type (*real)(__VA_ARGS__); \
        if (!real) real = REAL(type, name, __VA_ARGS__); \
        count(); \
        return real arguments; \
    }

WRAP(ssize_t, write, (int fd, const void *bytes, size_t n), (fd, bytes, n), int, const void *, size_t)
WRAP(ssize_t, writev, (int fd, const void *v, int n), (fd, v, n), int, const void *, int)
WRAP(int, fsync, (int fd), (fd), int)
WRAP(int, fdatasync, (int fd), (fd), int)
WRAP(int, ftruncate64, (int fd, off64_t n), (fd, n), int, off64_t)
WRAP(int, rename, (const char *from, const char *to), (from, to), const char *, const char *)
WRAP(int, mkdir, (const char *path, mode_t mode), (path, mode), const char *, mode_t)
WRAP(int, rmdir, (const char *path), (path), const char *)
WRAP(int, unlink, (const char *path), (path), const char *)
WRAP(int, unlinkat, (int dir, const char *path, int flags), (dir, path, flags), int, const char *, int)
WRAP(int, chmod, (const char *path, mode_t mode), (path, mode), const char *, mode_t)
WRAP(int, flock, (int fd, int how), (fd, how), int, int)
WRAP(ssize_t, copy_file_range, (int in, off64_t *at, int out, off64_t *to, size_t n, unsigned flags),
     (in, at, out, to, n, flags), int, off64_t *, int, off64_t *, size_t, unsigned)

#define OPEN(name, ...) \
    int name(__VA_ARGS__, int flags, ...) { \
        static int (*real)(__VA_ARGS__, int, ...); \
        if (!real) real = dlsym(RTLD_NEXT, #name); \
        mode_t mode = 0; \
        if (flags & (O_CREAT | O_TMPFILE)) { \
            va_list list; \
            va_start(list, flags); \
            mode = va_arg(list, mode_t); \
            va_end(list); \
        }
#define CALL(...) \
        if (flags & (O_CREAT | O_WRONLY | O_RDWR | O_DIRECTORY)) count(); \
        return real(__VA_ARGS__, flags, mode); \
    }
OPEN(open, const char *path) CALL(path)
OPEN(open64, const char *path) CALL(path)
OPEN(openat, int dir, const char *path) CALL(dir, path)
OPEN(openat64, int dir, const char *path) CALL(dir, path)
