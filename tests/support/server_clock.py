"""The clock of a real server in the hands of a test: a shim of a few lines of C between the server and the system."""

import contextlib
import ctypes
import mmap
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

# Three numbers in a file that both processes see, in microseconds: what to add to the system's time; the time to tell
# instead, or 0; and what monotonic clocks tell meanwhile, by which some servers reckon between two looks at the time. A
# server that finds no counter of cycles in /proc/cpuinfo takes those of the system.
LOOKED_AT_US = 10_000  # Valkey 9 looks at the time once a millisecond
_SHIM = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static volatile int64_t *clock_us;

__attribute__((constructor)) static void begin(void) {
    int file = open(getenv("SERVER_CLOCK"), O_RDONLY);
    void *seen = mmap(NULL, 3 * sizeof *clock_us, PROT_READ, MAP_SHARED, file, 0);
    if (seen != MAP_FAILED) clock_us = seen;
    close(file);
}

int clock_gettime(clockid_t clock, struct timespec *now) {
    static int (*own)(clockid_t, struct timespec *);
    if (!own) own = dlsym(RTLD_NEXT, "clock_gettime");
    int result = own(clock, now);
    int64_t us = now->tv_sec * 1000000LL + now->tv_nsec / 1000;
    if (!clock_us) return result;
    if (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE) us = clock_us[1] ? clock_us[1] : us + clock_us[0];
    else if (clock == CLOCK_MONOTONIC && clock_us[1]) us = clock_us[2];
    else return result;
    now->tv_sec = us / 1000000;
    now->tv_nsec = us % 1000000 * 1000;
    return result;
}

FILE *fopen64(const char *restrict path, const char *restrict mode) {
    static FILE *(*own)(const char *, const char *);
    if (!own) own = dlsym(RTLD_NEXT, "fopen64");
    return strcmp(path, "/proc/cpuinfo") ? own(path, mode) : NULL;
}

FILE *fopen(const char *restrict path, const char *restrict mode) {
    return fopen64(path, mode);
}

int gettimeofday(struct timeval *restrict now, void *restrict zone) {
    struct timespec precise;
    clock_gettime(CLOCK_REALTIME, &precise);
    now->tv_sec = precise.tv_sec;
    now->tv_usec = precise.tv_nsec / 1000;
    return 0;
}
"""


class ServerClock:
    """What servers that were started under it take for the time."""

    def __init__(self, shared: mmap.mmap) -> None:
        self._clock_us = (ctypes.c_int64 * 3).from_buffer(shared)  # whose numbers are written whole

    def step(self, offset_us: int) -> None:
        """From now on it is wrong by so much."""
        self._clock_us[0] = offset_us

    def hold(self, now_us: int) -> None:
        """From now on it is this time, until another one is held: the next command finds that it must look at it."""
        self._clock_us[2] = max(self._clock_us[2] + LOOKED_AT_US, time.monotonic_ns() // 1000)
        self._clock_us[1] = now_us


@contextlib.contextmanager
def server_clock(environment: pytest.MonkeyPatch) -> Iterator[ServerClock]:
    """A clock for the servers that are started while `environment` lasts."""
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("no C compiler here to make a clock that a test can hold: apt-get install gcc")
    with tempfile.TemporaryDirectory(prefix="ratewindow-clock-") as folder:
        source, shim, file = Path(folder) / "shim.c", Path(folder) / "shim.so", Path(folder) / "clock"
        source.write_text(_SHIM)
        subprocess.run([compiler, "-shared", "-fPIC", "-o", shim, source, "-ldl"], check=True, capture_output=True)
        file.write_bytes(bytes(24))
        with file.open("r+b") as opened:
            clock = ServerClock(mmap.mmap(opened.fileno(), 24))
        environment.setenv("SERVER_CLOCK", str(file))
        environment.setenv("LD_PRELOAD", str(shim), prepend=os.pathsep)
        yield clock
