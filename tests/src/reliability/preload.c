/* Loaded into the built binary before its C library: kills it with SIGKILL at a chosen call, and sets its clock.
 *
 * What survives a kill is what the system was told, so each state that a killed process can leave behind begins or ends
 * with one of these calls. AT_PLACE names the call, AT_PART says `before`, `half` or `after`, and AT_PASS the how
 * manieth it is. CLOCK_FILE holds seconds that are added to the wall clock, as an int64; they may change at any time. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

/* Where SQLite keeps the lock of whoever writes to the log: in the shared memory beside it. */
#define WRITE_LOCK 120

static char place[32], part[16];
static long pass_at;
static atomic_long passes;
static const volatile int64_t *offset;

__attribute__((constructor)) static void read_orders(void) {
    const char *value;
    if ((value = getenv("AT_PLACE"))) snprintf(place, sizeof place, "%s", value);
    if ((value = getenv("AT_PART"))) snprintf(part, sizeof part, "%s", value);
    if ((value = getenv("AT_PASS"))) pass_at = atol(value);
    if ((value = getenv("CLOCK_FILE"))) {
        int file = open(value, O_RDONLY | O_CLOEXEC);
        void *memory = mmap(NULL, sizeof *offset, PROT_READ, MAP_SHARED, file, 0);
        if (memory != MAP_FAILED) offset = memory;
        close(file);
    }
    /* Not for the commands that it runs. */
    unsetenv("LD_PRELOAD");
    unsetenv("AT_PLACE");
}

static void die(void) {
    kill(getpid(), SIGKILL);
    for (;;) pause();
}

/* Which of the store's files this is, or the pipe to the editor. */
static const char *of(int file) {
    char link[32], path[4096];
    if (file == STDOUT_FILENO) return "answer";
    snprintf(link, sizeof link, "/proc/self/fd/%d", file);
    ssize_t length = readlink(link, path, sizeof path - 1);
    if (length < 0) return "";
    path[length] = 0;
    const char *name = strrchr(path, '/');
    if (!name) return "";
    if (!strcmp(name, "/state.db")) return "database";
    if (!strcmp(name, "/state.db-wal")) return "log";
    if (!strcmp(name, "/state.db-shm")) return "shared memory";
    return "";
}

/* Whether this call is the one. */
static int is_now(const char *what, const char *does) {
    char name[48];
    if (!*place || !*what) return 0;
    snprintf(name, sizeof name, "%s%s", what, does);
    return !strcmp(name, place) && atomic_fetch_add(&passes, 1) + 1 == pass_at;
}

#define NEXT(name) ((__typeof__(&name))next(&next_##name, #name))
static void *next(void **slot, const char *name) {
    if (!*slot) *slot = dlsym(RTLD_NEXT, name);
    return *slot;
}
static void *next_write, *next_pwrite64, *next_writev, *next_fsync, *next_fdatasync, *next_ftruncate64, *next_unlink,
    *next_fcntl64, *next_fcntl, *next_clock_gettime;

#define AROUND(now, type, call, half)              \
    do {                                           \
        int now_ = (now), error_;                  \
        type result_;                              \
        if (now_ && !strcmp(part, "before")) die(); \
        if (now_ && !strcmp(part, "half")) {       \
            half;                                  \
            die();                                 \
        }                                          \
        result_ = (call);                          \
        error_ = errno;                            \
        if (now_) die();                           \
        errno = error_;                            \
        return result_;                            \
    } while (0)

ssize_t write(int file, const void *bytes, size_t count) {
    AROUND(is_now(of(file), ""), ssize_t, NEXT(write)(file, bytes, count), NEXT(write)(file, bytes, count / 2));
}

ssize_t pwrite64(int file, const void *bytes, size_t count, off64_t at) {
    AROUND(is_now(of(file), ""), ssize_t, NEXT(pwrite64)(file, bytes, count, at),
           NEXT(pwrite64)(file, bytes, count / 2, at));
}

ssize_t writev(int file, const struct iovec *pieces, int count) {
    AROUND(is_now(of(file), ""), ssize_t, NEXT(writev)(file, pieces, count),
           NEXT(write)(file, pieces[0].iov_base, pieces[0].iov_len / 2));
}

int fsync(int file) { AROUND(is_now(of(file), " sync"), int, NEXT(fsync)(file), (void)0); }

int fdatasync(int file) { AROUND(is_now(of(file), " sync"), int, NEXT(fdatasync)(file), (void)0); }

int ftruncate64(int file, off64_t size) {
    AROUND(is_now(of(file), " cut"), int, NEXT(ftruncate64)(file, size), (void)0);
}

int unlink(const char *path) {
    const char *name = strrchr(path, '/');
    AROUND(is_now(name && !strcmp(name, "/state.db-wal") ? "log" : "", " removed"), int, NEXT(unlink)(path), (void)0);
}

/* `lock` is the begin of a transaction that writes, `unlock` its end. */
static const char *locking(int file, int command, void *argument) {
    if (command != F_SETLK && command != F_SETLK64) return "";
    const struct flock64 *lock = argument;
    if (lock->l_start != WRITE_LOCK || lock->l_len != 1 || strcmp(of(file), "shared memory")) return "";
    return lock->l_type == F_UNLCK ? "unlock" : "lock";
}

int fcntl64(int file, int command, ...) {
    va_list arguments;
    va_start(arguments, command);
    void *argument = va_arg(arguments, void *);
    va_end(arguments);
    AROUND(is_now(locking(file, command, argument), ""), int, NEXT(fcntl64)(file, command, argument), (void)0);
}

int fcntl(int file, int command, ...) {
    va_list arguments;
    va_start(arguments, command);
    void *argument = va_arg(arguments, void *);
    va_end(arguments);
    AROUND(is_now(locking(file, command, argument), ""), int, NEXT(fcntl)(file, command, argument), (void)0);
}

int clock_gettime(clockid_t clock, struct timespec *time) {
    int result = NEXT(clock_gettime)(clock, time);
    if (offset && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) time->tv_sec += *offset;
    return result;
}
