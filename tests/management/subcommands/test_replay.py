"""`manage.py ratewindow replay` as a person uses it."""

import io

import pytest
from django.core.management import CommandError, call_command

from testproject.redis_server import free_port

LOG = """\
a.example - - [01/Jul/1995:00:00:01 -0400] "GET /one HTTP/1.0" 200 1
b.example - - [01/Jul/1995:00:00:02 -0400] "GET /?status=429 HTTP/1.0" 200 1
what is this
a.example - - [01/Jul/1995:00:02:01 -0400] "GET /two" 200 1
"""


@pytest.fixture
def log(tmp_path):
    path = tmp_path / "access.log"
    path.write_text(LOG)
    return str(path)


def replay(*arguments):
    out = io.StringIO()
    call_command("ratewindow", "replay", *arguments, stdout=out)
    return out.getvalue()


def test_it_says_what_it_will_do_and_what_came_of_it(recorder, log):
    said = replay(log, "--url", f"http://127.0.0.1:{recorder.server_port}", "--speed", "1000")
    assert f"Format: common\n1 line left out:\n  {log}, line 3: not in the format common" in said
    assert "3 requests of 2 clients, 2 min of log, at 1000 times the pace: about 0.1 s" in said
    table = [line.split() for line in said.splitlines()]
    assert ["200", "2", "66.7%"] in table
    assert ["429", "1", "33.3%"] in table
    assert ["Total", "3", "100.0%"] in table
    assert "Refused clients: 1; most often b.example (1)." in said


def test_a_log_in_any_format_is_sent(recorder, tmp_path):
    path = tmp_path / "access.log"
    path.write_text("20/Nov/2026:09:00:00 +0000|203.0.113.9|GET /one HTTP/1.1\n")
    named = "$time_local|$remote_addr|$request"
    replay(str(path), "--format", named, "--url", f"http://127.0.0.1:{recorder.server_port}", "--speed", "inf")
    assert recorder.seen == {"203.0.113.9": [("GET", "/one")]}


def test_standard_input_is_refused_since_the_log_is_read_twice():
    with pytest.raises(CommandError, match="Write it to a file first"):
        replay("-", "--url", "http://127.0.0.1:1")


def test_every_client_comes_from_an_address_of_its_own(recorder, log):
    replay(log, "--url", f"http://127.0.0.1:{recorder.server_port}", "--speed", "inf")
    assert sorted(recorder.seen.values()) == [[("GET", "/?status=429")], [("GET", "/one"), ("GET", "/two")]]
    assert all(address.startswith("2001:db8:") for address in recorder.seen)


def test_the_path_of_the_url_comes_before_the_paths_of_the_log(recorder, log):
    replay(log, "--url", f"http://127.0.0.1:{recorder.server_port}/shop/", "--speed", "inf", "--limit", "1")
    assert list(recorder.seen.values()) == [[("GET", "/shop/one")]]


def test_a_site_that_is_not_there_is_said_before_anything_is_sent(log):
    with pytest.raises(CommandError, match=r"Nothing answers at http://127.0.0.1:\d+: .*refused.* Start the site first"):
        replay(log, "--url", f"http://127.0.0.1:{free_port()}")


def test_an_address_that_is_none_is_refused(log):
    with pytest.raises(CommandError, match="write for example http://"):
        replay(log, "--url", "127.0.0.1:8000")


def test_a_log_that_is_not_there_is_named():
    with pytest.raises(CommandError, match=r"nowhere\.log"):
        replay("nowhere.log", "--url", "http://127.0.0.1:1")


def test_a_log_without_a_request_is_refused(tmp_path):
    (tmp_path / "empty.log").write_text("\n\n")
    with pytest.raises(CommandError, match="no request that could be sent"):
        replay(str(tmp_path / "empty.log"), "--url", "http://127.0.0.1:1")


@pytest.mark.parametrize("speed", ["0", "-1", "fast", "nan"])
def test_a_speed_that_is_none_is_refused(log, speed):
    with pytest.raises(CommandError, match="is not a speed: write 1 for"):
        replay(log, "--url", "http://127.0.0.1:1", f"--speed={speed}")
