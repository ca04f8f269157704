"""`make demo` as a visitor and an operator meet it: it answers, it limits, and it leaves nothing behind."""

import json
import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from testproject import running_demo
from tests.support.demo import CHECKOUT, END_TIMEOUT_S
from tests.support.processes import marked

pytestmark = [pytest.mark.slow, pytest.mark.skipif(not Path("/proc").exists(), reason="looks for processes in /proc")]


def test_the_demo_answers_limits_and_ends_without_a_trace(start_demo):
    demo = start_demo()
    demo.wait_for("Ctrl-C ends everything")
    for place in ("/", "/admin/ratewindow/throttlestat/", "user admin, password admin"):
        assert place in demo.said
    assert len(marked(demo.mark)) >= 6  # the demo, Redis, web and its workers, worker, beat

    answers = [demo.get("/limited/") for _ in range(6)]
    assert [answer.status for answer in answers] == [200] * 5 + [429]
    assert 1 <= int(answers[5].headers["Retry-After"]) <= 61  # a bucket leaves as a whole
    assert demo.get("/limited/", client="192.0.2.77").status == 200
    assert demo.get("/", client="2001:db8:bad::1").status == 429  # its network is blocked
    assert demo.get("/any/path/of/a/log.gif").status == 200
    assert demo.get("/static/demo/site.css").status == 200

    status, said = demo.manage("ratewindow", "rules")  # what its own pages tell a person to type
    assert status == 0 and "demo.limited" in said and "api.minute" in said
    status, said = demo.manage("ratewindow", "release", "ip:127.0.0.1")
    assert status == 0 and "demo.limited" in said
    assert demo.get("/limited/").status == 200

    demo.process.send_signal(signal.SIGINT)
    demo.end()
    assert demo.process.returncode == 0, demo.said
    assert marked(demo.mark) == []


def test_manage_speaks_to_a_demo_that_runs_and_to_no_other(tmp_path, monkeypatch):
    for name in running_demo._NAMES:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TESTPROJECT_RUNNING", str(tmp_path / "running.json"))
    assert running_demo.environment() == {}
    own = dict.fromkeys(running_demo._NAMES, "its own")
    with running_demo.announced(own):
        assert running_demo.environment() == own
        monkeypatch.setenv("TESTPROJECT_DATABASE", "named by a person")
        assert running_demo.environment() == {}
        monkeypatch.delenv("TESTPROJECT_DATABASE")
        ended = subprocess.run([sys.executable, "-c", "import os; print(os.getpid())"], capture_output=True, text=True).stdout
        (tmp_path / "running.json").write_text(json.dumps({"pid": int(ended), **own}))
        assert running_demo.environment() == {}


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_to_make_alone_ends_the_demo_too(start_demo, number, tmp_path):
    makefile = tmp_path / "Makefile"
    makefile.write_text(f"demo:\n\t@cd {CHECKOUT} && exec {sys.executable} -m testproject.demo --port $(PORT)\n")
    demo = start_demo("make", "-f", str(makefile), "demo", "PORT={port}")
    demo.wait_for("Ctrl-C ends everything")
    demo.process.send_signal(number)
    demo.end()
    assert marked(demo.mark) == []


def test_a_signal_during_the_start_leaves_nothing_either(start_demo):
    demo = start_demo()
    demo.wait_for("Making the database")
    demo.process.send_signal(signal.SIGTERM)
    demo.end()
    assert marked(demo.mark) == []


def test_a_child_that_dies_is_named_and_everything_ends(start_demo):
    demo = start_demo()
    demo.wait_for("Ctrl-C ends everything")
    beat = next(pid for pid in marked(demo.mark) if b"beat" in Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0"))
    os.kill(beat, signal.SIGKILL)
    demo.process.wait(END_TIMEOUT_S)
    demo.end()
    assert "beat ended by itself" in demo.said
    assert demo.process.returncode == 1
    assert marked(demo.mark) == []


def test_a_busy_port_is_said_at_once(start_demo):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        demo = start_demo(sys.executable, "-m", "testproject.demo", "--port", str(taken.getsockname()[1]))
        demo.process.wait(END_TIMEOUT_S)
        demo.end()
    assert "is in use: choose another, such as make demo PORT=" in demo.said
    assert demo.process.returncode == 1


def test_a_port_that_is_none_is_refused(start_demo):
    demo = start_demo(sys.executable, "-m", "testproject.demo", "--port", "70000")
    demo.process.wait(END_TIMEOUT_S)
    demo.end()
    assert "from 1 to 65535" in demo.said
