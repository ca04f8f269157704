"""What clients send to be somebody else each time, on real servers: long, missing, empty, twice, or no text at all."""

import itertools
from urllib.parse import quote

import pytest

from tests.serving.rawhttp import answers, connected
from tests.serving.servers import Served, new_address

pytestmark = pytest.mark.slow

LONGEST_KEY = 160  # characters of a key in Redis
_numbers = itertools.count()


def keyed(served: Served, client: str, *headers: bytes) -> int:
    """The answer to a request with these lines, at a page that one X-API-Key may ask for once."""
    head = [b"GET /keyed/ HTTP/1.1", b"Host: x", b"Connection: close", b"X-Forwarded-For: " + client.encode(), *headers]
    with connected(served) as line:
        line.sendall(b"\r\n".join([*head, b"", b""]))
        return answers(line, ["GET"])[0].status


def post(served: Served, client: str, body: str) -> int:
    form = {"Content_Type": "application/x-www-form-urlencoded"}
    return served.ask("POST", "/named/", client, body, **form).status


def test_a_header_of_seven_kilobytes_is_one_client_with_a_short_key(served: Served) -> None:
    long = f"{next(_numbers)}-".encode() + b"k" * 7000
    assert [keyed(served, new_address(), b"X-API-Key: " + long) for _ in range(2)] == [200, 429]
    assert keyed(served, new_address(), b"X-API-Key: " + long[:-1] + b"l") == 200  # another one, to the last letter
    keys = list(served.place.redis.scan_iter("rw:s:*"))
    assert keys and max(map(len, keys)) < LONGEST_KEY


def test_a_field_of_a_megabyte_is_answered_and_makes_no_long_key(served: Served) -> None:
    name = f"{next(_numbers)}-" + "n" * 1_000_000
    assert {post(served, new_address(), f"username={name}") for _ in range(2)} == {200}  # beyond 64 KiB nobody reads it
    name = name[:60_000]
    assert [post(served, new_address(), f"username={name}") for _ in range(2)] == [200, 429]
    assert max(map(len, served.place.redis.scan_iter("rw:s:*"))) < LONGEST_KEY


def test_a_header_that_is_missing_or_empty_counts_by_address(served: Served) -> None:
    client = new_address()
    told = [keyed(served, client, *lines) for lines in ([], [b"X-API-Key:"], [b"X-API-Key:   "], [b"x-api-key: \t"])]
    assert told == [200, 429, 429, 429]


def test_a_header_that_is_sent_twice_is_one_value_and_the_order_is_part_of_it(served: Served) -> None:
    """Servers join what comes twice; so does every view, and nothing is a fresh client for each request."""
    one, two = (f"X-API-Key: {next(_numbers)}-key".encode() for _ in range(2))
    assert [keyed(served, new_address(), one, two) for _ in range(3)] == [200, 429, 429]
    assert [keyed(served, new_address(), one) for _ in range(2)] == [200, 429]


def test_a_header_with_an_underscore_is_not_the_one_with_a_dash(served: Served) -> None:
    client = new_address()
    assert [keyed(served, client, f"X_API_Key: {next(_numbers)}".encode()) for _ in range(3)] == [200, 429, 429]


def test_a_field_that_is_sent_twice_is_what_the_view_sees(served: Served) -> None:
    name = f"ann-{next(_numbers)}"
    bodies = [f"username={name}", f"username=other&username={name}", f"x=1&username=&username={name}"]
    assert [post(served, new_address(), body) for body in bodies] == [200, 429, 429]


def test_bytes_that_are_no_text_are_one_client_and_no_error(served: Served) -> None:
    key = f"{next(_numbers)}-".encode() + b"\xff\xfe\xc0\xaf\xed\xa0\x80"
    assert [keyed(served, new_address(), b"X-API-Key: " + key) for _ in range(2)] == [200, 429]
    name = f"{next(_numbers)}-{quote(key)}"
    assert [post(served, new_address(), f"username={name}") for _ in range(2)] == [200, 429]
    assert "Traceback" not in served.said()


def test_another_host_each_time_is_no_new_client(served: Served) -> None:
    client = new_address()
    hosts = ["localhost", "127.0.0.1:80", "a.example.com", "b.example.com", "[::1]:9000"]
    assert [served.get("/path/", client, Host=host).status for host in hosts] == [200, 200, 429, 429, 429]


def test_dropping_or_making_up_cookies_is_no_new_client(served: Served) -> None:
    client = new_address()
    cookies = [{}, {"Cookie": "sessionid=" + "a" * 32}, {"Cookie": "sessionid=" + "b" * 32}, {"Cookie": "x=1; ; =; sessionid"}]
    assert [served.get("/mine/", client, **cookie).status for cookie in cookies] == [200, 200, 429, 429]


def test_logging_in_does_not_begin_the_limit_of_the_address_anew(served: Served) -> None:
    client = new_address()
    assert served.get("/path/", client).status == 200
    cookie = served.get("/log-in/ann/", client).session
    assert [served.get("/path/", client, Cookie=cookie).status for _ in range(2)] == [200, 429]
