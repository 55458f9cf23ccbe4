/* Preloaded into a command: counts what changes files below a folder, and at one such call kills it or fails.

   FAULTY_UNDER   the folder
   FAULTY_COUNT   a file of eight bytes that all processes of the command share: how many calls there were
   FAULTY_AT      at which of them; 0 is none
   FAULTY_HOW     "kill": half of what is to be written is written before; "eio": it fails, and so do as many as
   FAULTY_TIMES   says, one after the other */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

static _Atomic long *count;
static const char *under;
static long at, times;
static int kills;

__attribute__((constructor)) static void begin(void) {
    const char *shared = getenv("FAULTY_COUNT"), *how = getenv("FAULTY_HOW");
    under = getenv("FAULTY_UNDER");
    if (!shared || !under) return;
    at = atol(getenv("FAULTY_AT") ?: "0");
    times = atol(getenv("FAULTY_TIMES") ?: "1");
    kills = how && !strcmp(how, "kill");
    int fd = syscall(SYS_openat, AT_FDCWD, shared, O_RDWR, 0);
    void *mapped = fd < 0 ? MAP_FAILED : mmap(NULL, sizeof *count, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (fd >= 0) close(fd);
    if (mapped != MAP_FAILED) count = mapped;
}

static int is_under(const char *path) { return path && !strncmp(path, under, strlen(under)); }

static int fd_is_under(int fd) {
    char link[64], path[4096];
    if (!count) return 0;
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t n = syscall(SYS_readlinkat, AT_FDCWD, link, path, sizeof path - 1);
    if (n < 0) return 0;
    path[n] = 0;
    return is_under(path);
}

/* 0: go on; 1: fail; 2: kill, after half of it is done */
static int fault(void) {
    if (!count) return 0;
    long n = atomic_fetch_add(count, 1) + 1;
    if (!at || n < at) return 0;
    if (kills) return 2;
    return n < at + times;
}

#define REAL(type, name, ...) static type (*real)(__VA_ARGS__); if (!real) real = dlsym(RTLD_NEXT, name)

#define GUARDED(is_ours, half, call) \
    int now = (is_ours) ? fault() : 0; \
    if (now == 1) { errno = EIO; return -1; } \
    if (now == 2) { half; raise(SIGKILL); } \
    return call

ssize_t write(int fd, const void *data, size_t n) {
    REAL(ssize_t, "write", int, const void *, size_t);
    GUARDED(fd_is_under(fd), real(fd, data, n / 2), real(fd, data, n));
}
ssize_t pwrite(int fd, const void *data, size_t n, off_t to) {
    REAL(ssize_t, "pwrite", int, const void *, size_t, off_t);
    GUARDED(fd_is_under(fd), real(fd, data, n / 2, to), real(fd, data, n, to));
}
ssize_t pwrite64(int fd, const void *data, size_t n, off64_t to) {
    REAL(ssize_t, "pwrite64", int, const void *, size_t, off64_t);
    GUARDED(fd_is_under(fd), real(fd, data, n / 2, to), real(fd, data, n, to));
}
ssize_t writev(int fd, const struct iovec *parts, int n) {
    REAL(ssize_t, "writev", int, const struct iovec *, int);
    GUARDED(fd_is_under(fd), real(fd, parts, n / 2), real(fd, parts, n));
}
int fsync(int fd) {
    REAL(int, "fsync", int);
    GUARDED(fd_is_under(fd), (void)0, real(fd));
}
int fdatasync(int fd) {
    REAL(int, "fdatasync", int);
    GUARDED(fd_is_under(fd), (void)0, real(fd));
}
int ftruncate(int fd, off_t n) {
    REAL(int, "ftruncate", int, off_t);
    GUARDED(fd_is_under(fd), (void)0, real(fd, n));
}
int ftruncate64(int fd, off64_t n) {
    REAL(int, "ftruncate64", int, off64_t);
    GUARDED(fd_is_under(fd), (void)0, real(fd, n));
}
int rename(const char *from, const char *to) {
    REAL(int, "rename", const char *, const char *);
    GUARDED(count && is_under(to), (void)0, real(from, to));
}
int unlink(const char *path) {
    REAL(int, "unlink", const char *);
    GUARDED(count && is_under(path), (void)0, real(path));
}
