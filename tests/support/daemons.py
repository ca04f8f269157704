"""Servers of databases that tests start: in a folder of their own, and not as root, as which they refuse to run."""

import contextlib
import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

START_TIMEOUT_S = 60.0


@contextlib.contextmanager
def own_folder(prefix: str, user: str) -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix=prefix) as name:
        if os.getuid() == 0:
            shutil.chown(name, user, user)
        yield Path(name)


def as_user(command: Sequence[object], user: str) -> list[str]:
    words = [str(each) for each in command]
    return words if os.getuid() else ["setpriv", f"--reuid={user}", f"--regid={user}", "--clear-groups", *words]


@contextlib.contextmanager
def running(command: Sequence[object], folder: Path, user: str, end: signal.Signals) -> Iterator[None]:
    """A server until the block ends, when it is sent this signal."""
    with (folder / f"{Path(str(command[0])).name}.log").open("wb") as log:
        process = subprocess.Popen(
            as_user(command, user), cwd=folder, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True
        )
    try:
        yield
    finally:
        process.send_signal(end)
        try:
            process.wait(START_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def wait_until_ready(asking: Sequence[object]) -> None:
    """Until this command succeeds."""
    deadline_s = time.monotonic() + START_TIMEOUT_S
    command = [str(each) for each in asking]
    while subprocess.run(command, capture_output=True).returncode:
        if time.monotonic() > deadline_s:
            raise TimeoutError(f"no answer to {' '.join(command)}")
        time.sleep(0.05)  # between two attempts, not in the hope of anything
