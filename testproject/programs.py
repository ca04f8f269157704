"""The programs of the demo: started in order, watched, and ended in reverse order."""

import contextlib
import os
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

END_TIMEOUT_S = 5.0


class Program:
    """One program with a process group of its own and its output in a file."""

    def __init__(self, name: str, command: Sequence[str], environment: Mapping[str, str], logs: Path) -> None:
        self.name = name
        self.log = logs / f"{name}.log"
        with self.log.open("wb") as output:
            # In a session of its own, so that Ctrl-C in the terminal reaches only the demo, which ends its programs in order.
            self.process = subprocess.Popen(
                command, env=environment, stdin=subprocess.DEVNULL, stdout=output, stderr=output, start_new_session=True
            )

    def tail(self, lines: int = 20) -> str:
        return "\n".join(self.log.read_text(errors="replace").splitlines()[-lines:])

    def terminate(self) -> None:
        if self.process.poll() is None:
            self.process.terminate()

    def end(self) -> None:
        """Wait for the program for a moment, then kill what is left of its process group."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(END_TIMEOUT_S)
        for _ in range(100):
            try:
                os.killpg(self.process.pid, signal.SIGKILL)
            except (ProcessLookupError, PermissionError):  # on macOS the second, for a group of zombies
                break
            self.process.poll()  # reaps our zombie, which still counts as the group
            time.sleep(0.02)
        self.process.wait()


class Programs:
    """A context manager that ends all programs at its exit. `check` raises when the demo has to stop."""

    def __init__(self, environment: Mapping[str, str], logs: Path, check: Callable[[], None]) -> None:
        self._environment, self._logs, self._check = environment, logs, check
        self._all: list[Program] = []

    def __enter__(self) -> "Programs":
        return self

    def __exit__(self, *_: object) -> None:
        for program in reversed(self._all):
            program.terminate()
        for program in reversed(self._all):
            program.end()

    def start(self, name: str, *command: str) -> Program:
        self._all.append(Program(name, command, self._environment, self._logs))
        return self._all[-1]

    def run(self, name: str, *command: str) -> None:
        """Run a program to its end. Raises RuntimeError with its last lines if it fails."""
        program = self.start(name, *command)
        while program.process.poll() is None:
            self._check()
            time.sleep(0.05)
        self._all.remove(program)
        if program.process.returncode:
            raise RuntimeError(f"{name} failed:\n{program.tail()}")

    def watch(self) -> None:
        """Call this often: raises when the demo has to stop, and RuntimeError if a program has ended."""
        self._check()
        for program in self._all:
            if program.process.poll() is not None:
                raise RuntimeError(f"{program.name} ended by itself, with status {program.process.returncode}:\n{program.tail()}")
