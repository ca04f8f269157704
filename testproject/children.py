"""Programs that run while the demo does: started in order, watched, and ended without a trace in reverse."""

import contextlib
import os
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

END_TIMEOUT_S = 5.0


class Child:
    """One program with a process group of its own and its output in a file."""

    def __init__(self, name: str, command: Sequence[str], environment: Mapping[str, str], logs: Path) -> None:
        self.name = name
        self.log = logs / f"{name}.log"
        with self.log.open("wb") as output:
            # Its own session, so that Ctrl-C in the terminal reaches only us and the order of ending is ours.
            self.process = subprocess.Popen(
                command, env=environment, stdin=subprocess.DEVNULL, stdout=output, stderr=output, start_new_session=True
            )

    def tail(self, lines: int = 20) -> str:
        return "\n".join(self.log.read_text(errors="replace").splitlines()[-lines:])

    def ask_to_end(self) -> None:
        if self.process.poll() is None:
            self.process.terminate()

    def end(self) -> None:
        """Wait a moment for the program, then end whatever is left of its group."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(END_TIMEOUT_S)
        for _ in range(100):
            try:
                os.killpg(self.process.pid, signal.SIGKILL)
            except (ProcessLookupError, PermissionError):  # macOS says the second of a group of zombies
                break
            self.process.poll()  # a zombie of ours still counts as the group
            time.sleep(0.02)
        self.process.wait()


class Children:
    """A context: what was started in it has ended when it is left. `check` raises when it is time to leave."""

    def __init__(self, environment: Mapping[str, str], logs: Path, check: Callable[[], None]) -> None:
        self._environment, self._logs, self._check = environment, logs, check
        self._all: list[Child] = []

    def __enter__(self) -> "Children":
        return self

    def __exit__(self, *_: object) -> None:
        for child in reversed(self._all):
            child.ask_to_end()
        for child in reversed(self._all):
            child.end()

    def start(self, name: str, *command: str) -> Child:
        self._all.append(Child(name, command, self._environment, self._logs))
        return self._all[-1]

    def run(self, name: str, *command: str) -> None:
        """Run to the end; RuntimeError with the last lines when it fails."""
        child = self.start(name, *command)
        while child.process.poll() is None:
            self._check()
            time.sleep(0.05)
        self._all.remove(child)
        if child.process.returncode:
            raise RuntimeError(f"{name} failed:\n{child.tail()}")

    def watch(self) -> None:
        """To be called now and then: raises when it is time to leave, or RuntimeError when a program has ended."""
        self._check()
        for child in self._all:
            if child.process.poll() is not None:
                raise RuntimeError(f"{child.name} ended by itself, with status {child.process.returncode}:\n{child.tail()}")
