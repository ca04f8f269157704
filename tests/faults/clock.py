"""A real server on a clock that a test can step: a shim of a few lines of C between it and the system."""

import contextlib
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.faults.injectors import OwnServer, own_server
from tests.servers import until

# The offset in seconds is text in a file that is read at each look at the clock; monotonic clocks go on as they are.
_SHIM = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static long offset_s(void) {
    char text[32] = {0};
    int file = open(getenv("CLOCK_OFFSET"), O_RDONLY);
    if (file < 0) return 0;
    long got = read(file, text, sizeof text - 1);
    close(file);
    return got > 0 ? atol(text) : 0;
}

int gettimeofday(struct timeval *restrict now, void *restrict zone) {
    struct timespec precise;
    clock_gettime(CLOCK_REALTIME, &precise);
    now->tv_sec = precise.tv_sec;
    now->tv_usec = precise.tv_nsec / 1000;
    return 0;
}

int clock_gettime(clockid_t clock, struct timespec *now) {
    static int (*own)(clockid_t, struct timespec *);
    if (!own) own = dlsym(RTLD_NEXT, "clock_gettime");
    int told = own(clock, now);
    if (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE) now->tv_sec += offset_s();
    return told;
}
"""


_TIME = "return redis.call('TIME')[1]"


class SteppedServer:
    """A server, and its clock."""

    def __init__(self, server: OwnServer, offset: Path) -> None:
        self.server, self._offset = server, offset

    def step(self, offset_s: int) -> None:
        """From now on its clock is wrong by so much, in its scripts, too, which see one that is looked at ten times a second."""
        beside = self._offset.with_suffix(".new")
        beside.write_text(str(offset_s))
        beside.replace(self._offset)  # at no moment is there half a number
        with self.server.client() as client:
            until(lambda: abs(int(client.eval(_TIME, 0)) - time.time() - offset_s) < 2, "the server's clock did not step")


@contextlib.contextmanager
def stepped_server() -> Iterator[SteppedServer]:
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("no C compiler here to make a clock that can be stepped: apt-get install gcc")
    with tempfile.TemporaryDirectory(prefix="ratewindow-clock-") as folder, pytest.MonkeyPatch.context() as environment:
        source, shim, offset = Path(folder) / "shim.c", Path(folder) / "shim.so", Path(folder) / "offset"
        source.write_text(_SHIM)
        subprocess.run([compiler, "-shared", "-fPIC", "-o", shim, source, "-ldl"], check=True, capture_output=True)
        environment.setenv("CLOCK_OFFSET", str(offset))
        environment.setenv("LD_PRELOAD", str(shim), prepend=os.pathsep)
        made = contextlib.ExitStack()
        server = made.enter_context(own_server())
        environment.undo()  # only the server, which has inherited it
        with made:
            yield SteppedServer(server, offset)
