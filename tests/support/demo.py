"""The demo as a program that tests start, ask and end."""

import http.client
import os
import signal
import subprocess
import sys
import tempfile
import threading
import uuid
from pathlib import Path

import pytest

from testproject.redis_server import free_port

CHECKOUT = Path(__file__).resolve().parents[2]
START_TIMEOUT_S = 90.0
END_TIMEOUT_S = 30.0


class Demo:
    """A running demo. `command` starts it; `said` is what it has printed."""

    def __init__(self, command, **environment):
        self.port = free_port()
        self.mark = f"TESTS_MARK={uuid.uuid4().hex}"
        own = {name: value for name, value in os.environ.items() if not name.startswith(("RATEWINDOW_", "TESTPROJECT_"))}
        self._folder = tempfile.TemporaryDirectory()
        own["TESTPROJECT_RUNNING"] = f"{self._folder.name}/running.json"  # other tests have demos, too
        self.environment = {**own, **environment}
        self.process = subprocess.Popen(
            [part.format(port=self.port) for part in command],
            cwd=CHECKOUT,
            env={**self.environment, **dict([self.mark.split("=")])},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )
        self.said = ""
        self._timer = threading.Timer(START_TIMEOUT_S, self._too_late)
        self._timer.start()

    def _too_late(self):
        os.killpg(self.process.pid, signal.SIGTERM)

    def wait_for(self, words):
        for line in self.process.stdout:
            self.said += line
            if words in line:
                self._timer.cancel()
                return
        raise AssertionError(f"the demo ended before it said {words!r}:\n{self.said}")

    def get(self, path, client="127.0.0.1"):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=20)
        connection.request("GET", path, headers={} if client == "127.0.0.1" else {"X-Forwarded-For": client})
        answer = connection.getresponse()
        answer.read()
        connection.close()
        return answer

    def manage(self, *arguments):
        """What `manage.py` says that a person starts beside the demo."""
        line = [sys.executable, "manage.py", *arguments]
        done = subprocess.run(line, cwd=CHECKOUT, env=self.environment, capture_output=True, text=True)
        return done.returncode, done.stdout + done.stderr

    def end(self):
        self._timer.cancel()
        if self.process.poll() is None:
            self.process.terminate()
        self.said += self.process.communicate(timeout=END_TIMEOUT_S)[0]
        self._folder.cleanup()


@pytest.fixture
def start_demo():
    """Starts demos, each on a free port, and ends what the test has not ended."""
    running = []

    def begin(*command, **environment):
        running.append(Demo(command or (sys.executable, "-m", "testproject.demo", "--port", "{port}"), **environment))
        return running[-1]

    yield begin
    for demo in running:
        demo.end()
