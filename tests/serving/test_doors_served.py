"""The doors behind real web servers: every case passes on each kind of server, with several workers.

Limits are by the hour, longer than any test, and each test asks from addresses that nobody used before.
"""

import contextlib
import json
import socket
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.serving.rawhttp import answers, connected, request
from tests.serving.servers import Answer, Served, exchange, new_address, until

pytestmark = pytest.mark.slow

FAMILIES = ("RateLimit", "RateLimit-Policy", "X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset")


def charged(served: Served, path: str, client: str, limit: int) -> int:
    """How many units this client has been charged before this request, which must pass."""
    answer = served.get(path, client)
    assert answer.status == 200, answer
    return limit - int(answer["X-RateLimit-Remaining"]) - 1


def test_a_rule_by_path_refuses_above_its_limit_whichever_worker_answers(served: Served) -> None:
    assert served.statuses("/path/", 4) == [200, 200, 429, 429]


def test_a_rule_by_prefix_meets_every_path_below_it(served: Served) -> None:
    client = new_address()
    assert [
        served.get(path, client).status for path in ("/prefix/found/", "/prefix/found/", "/prefix/lost/", "/prefix/lost/")
    ] == [
        200,
        200,
        404,
        429,
    ]


@pytest.mark.parametrize("path", ["/sync/", "/async/", "/class/", "/async-class/"])
def test_a_decorated_view_refuses_above_its_limit(served: Served, path: str) -> None:
    assert served.statuses(path, 4) == [200, 200, 429, 429]


@pytest.mark.parametrize("path", ["/rest/", "/async-rest/"])
def test_throttles_of_rest_framework_refuse_above_their_limits(served: Served, path: str) -> None:
    if (served.kind, path) == ("gevent", "/async-rest/"):
        pytest.skip("adrf asks throttles by a loop within a loop, which gevent's threads do not allow")
    client = new_address()
    told = [served.get(path, client) for _ in range(3)]
    assert [each.status for each in told] == [200, 200, 429]
    assert told[0]["RateLimit-Policy"] == '"rest.burst";q=2;w=3600, "rest.sustained";q=3;w=3600'
    assert int(told[2]["Retry-After"]) >= 1


def test_throttles_admit_no_more_when_all_ask_at_once(served: Served) -> None:
    client = new_address()
    with ThreadPoolExecutor(8) as pool:
        told = [each.status for each in pool.map(lambda _: served.get("/rest/", client), range(16))]
    assert sorted(told) == [200, 200, *[429] * 14]


def test_one_method_of_a_class_is_limited_and_the_other_is_not(served: Served) -> None:
    client = new_address()
    assert [served.ask(method, "/method/", client).status for method in ("POST", "POST", "GET", "GET")] == [200, 429, 200, 200]


def test_stacked_rates_hold_all_together(served: Served) -> None:
    client = new_address()
    told = [served.get("/stacked/", client) for _ in range(4)]
    assert [each.status for each in told] == [200, 200, 200, 429]
    assert told[0]["RateLimit-Policy"].count(";w=3600") == 2


@pytest.mark.parametrize("path", ["/decides/", "/adecides/"])
def test_without_block_the_view_decides(served: Served, path: str) -> None:
    client = new_address()
    told = [served.get(path, client) for _ in range(2)]
    assert [(each.status, each.json()["allowed"]) for each in told] == [(200, True), (200, False)]
    assert not any(each.has("Retry-After") for each in told)


def test_head_counts_as_get_and_is_told_the_same_without_a_body(served: Served) -> None:
    client = new_address()
    told = [served.ask("HEAD", "/path/", client) for _ in range(3)]
    assert [(each.status, each.body) for each in told] == [(200, b""), (200, b""), (429, b"")]
    assert told[0]["X-RateLimit-Remaining"] == "1"
    assert int(told[2]["Retry-After"]) >= 1
    assert served.get("/path/", client).status == 429


def test_a_method_that_nobody_knows_counts_too(served: Served) -> None:
    assert served.statuses("/path/", 3, method="BREW") == [200, 200, 429]


def test_a_rule_for_one_method_leaves_the_others_alone(served: Served) -> None:
    client = new_address()
    assert [served.ask(method, "/form/", client).status for method in ("POST", "POST", "GET", "PUT")] == [200, 429, 200, 200]


def test_a_flood_of_paths_that_do_not_exist_leaves_one_state_for_one_client(served: Served) -> None:
    client, before = new_address(), _states(served)
    told = [served.get(f"/prefix/{number}/", client).status for number in range(30)]
    assert told == [404] * 3 + [429] * 27
    assert len(_states(served) - before) == 1


def _states(served: Served) -> set[str]:
    return set(served.place.redis.scan_iter("rw:s:*", count=1000))


@pytest.mark.parametrize("path", ["/stream/", "/astream/"])
def test_a_stream_arrives_whole_with_its_headers_and_the_next_is_refused(served: Served, path: str) -> None:
    client = new_address()
    first, second = served.get(path, client), served.get(path, client)
    assert (first.status, first.body) == (200, b"".join(b"%d\n" % number for number in range(100)))
    assert first["X-RateLimit-Remaining"] == "0"
    assert second.status == 429


@pytest.mark.parametrize(
    ("accept", "content_type"),
    [
        ("text/html,application/xhtml+xml,*/*;q=0.8", "text/html; charset=utf-8"),
        ("text/plain", "text/plain; charset=utf-8"),
        ("application/problem+json", "application/problem+json"),
        ("application/json", "application/problem+json"),
        ("", "text/plain; charset=utf-8"),
    ],
)
def test_a_refusal_comes_as_the_client_prefers(served: Served, accept: str, content_type: str) -> None:
    client = new_address()
    served.statuses("/path/", 2, client)
    refused = served.get("/path/", client, **({"Accept": accept} if accept else {}))
    assert (refused.status, refused["Content-Type"], refused["Cache-Control"]) == (429, content_type, "no-store")
    if content_type == "application/problem+json":
        assert json.loads(refused.body)["violated-policies"] == ["by.path"]
    else:
        assert b"oo many requests" in refused.body


def test_every_header_comes_once_where_middleware_and_decorator_meet_the_same_rule(served: Served) -> None:
    client = new_address()
    told = [served.get("/both/", client) for _ in range(4)]
    assert [each.status for each in told] == [200, 200, 200, 429]
    assert [[each[name] for name in FAMILIES[2:4]] for each in told] == [["3", "2"], ["3", "1"], ["3", "0"], ["3", "0"]]
    assert all(each[name] for each in told for name in FAMILIES)


def test_retry_after_is_a_whole_number_and_comes_with_refusals_alone(served: Served) -> None:
    client = new_address()
    told = [served.get("/path/", client) for _ in range(3)]
    assert [each.has("Retry-After") for each in told] == [False, False, True]
    assert told[2]["Retry-After"].isdigit() and 1 <= int(told[2]["Retry-After"]) <= 3660


def test_headers_that_the_view_sets_win(served: Served) -> None:
    told = served.get("/headers/", new_address())
    assert (told["X-RateLimit-Limit"], told["RateLimit"], told["X-RateLimit-Remaining"]) == ("7", '"mine";r=7', "4")


def test_a_rule_in_shadow_refuses_nobody_and_says_nothing(served: Served) -> None:
    client = new_address()
    told = [served.get("/silent/", client) for _ in range(3)]
    assert [each.status for each in told] == [200] * 3
    assert not any(each.has(name) for each in told for name in FAMILIES)


@pytest.mark.parametrize(("path", "rule"), [("/broken/", "code.broken"), ("/abroken/", "code.abroken")])
def test_an_error_of_the_view_stays_its_own_and_is_counted(served: Served, path: str, rule: str) -> None:
    assert served.statuses(path, 3) == [500, 429, 429]
    until(lambda: rule in (counted := served.place.counted()) and counted[rule][:2] == (1, 2), f"{rule} was not counted")


@pytest.mark.parametrize("path", ["/raises/", "/araises/"])
def test_rate_limited_that_a_view_raises_is_answered_with_429(served: Served, path: str) -> None:
    client = new_address()
    told = [served.get(path, client) for _ in range(4)]
    assert [each.status for each in told] == [200, 200, 200, 429]
    assert int(told[3]["Retry-After"]) >= 1
    assert told[3]["X-RateLimit-Remaining"] == "0"


@pytest.mark.parametrize("path", ["/asks/", "/aasks/"])
def test_a_view_peeks_for_nothing_and_hits_for_one(served: Served, path: str) -> None:
    client = new_address()
    told = [served.get(path, client).json() for _ in range(4)]
    assert [each["peeked"] for each in told] == [3, 2, 1, 0]
    assert [(each["allowed"], each["remaining"]) for each in told] == [(True, 2), (True, 1), (True, 0), (False, 0)]


def test_users_count_by_their_sessions_from_whatever_address(served: Served) -> None:
    ann, bob = _logged_in(served, "ann"), _logged_in(served, "bob")
    told = [served.get("/mine/", new_address(), Cookie=cookie).status for cookie in (ann, ann, ann, bob)]
    assert told == [200, 200, 429, 200]
    assert served.statuses("/mine/", 3) == [200, 200, 429]  # a stranger, by address


def _logged_in(served: Served, name: str) -> str:
    return served.get(f"/log-in/{name}/").session


def test_the_body_of_a_refused_request_is_not_read(served: Served) -> None:
    client, body = new_address(), b"x" * 2_000_000
    told = [served.ask("POST", "/upload/", client, body) for _ in range(2)]
    assert [each.json() for each in told] == [{"received": len(body)}] * 2
    # A server may hang up on a client that is still sending; who has sent little has its answer.
    refused = served.ask("POST", "/upload/", client, b"x" * 30_000)
    assert (refused.status, refused["X-Body-Read"]) == (429, "False")


def test_a_large_body_that_is_refused_leaves_the_worker_well(served: Served) -> None:
    client = new_address()
    served.statuses("/upload/", 2, client, "POST")
    body = b"x" * 8_000_000
    with connected(served) as connection:
        sent = threading.Thread(target=_send_what_is_taken, args=(connection, request("POST", "/upload/", client, body)))
        sent.start()
        with contextlib.suppress(OSError):  # a server may hang up before the answer is read
            assert [each.status for each in answers(connection, ["POST"])] in ([429], [])
            connection.shutdown(socket.SHUT_RDWR)
        sent.join()
    assert served.statuses("/upload/", 3, client, "POST") == [429] * 3
    assert served.statuses("/path/", 1) == [200]


def _send_what_is_taken(connection: socket.socket, data: bytes) -> None:
    with contextlib.suppress(OSError):
        connection.sendall(data)


def test_a_client_goes_on_with_its_connection_after_a_refusal(served: Served) -> None:
    client, connection = new_address(), served.connection()
    told = [exchange(connection, "GET", "/path/", client) for _ in range(3)]
    told += [exchange(connection, "POST", "/upload/", client, b"some words") for _ in range(3)]
    told += [exchange(connection, "GET", "/silent/", client)]
    connection.close()
    assert [each.status for each in told] == [200, 200, 429, 200, 200, 429, 200]


def test_each_of_twenty_pipelined_requests_counts(served: Served) -> None:
    client = new_address()
    with connected(served) as connection:
        connection.sendall(request("GET", "/pipelined/", client) * 20)
        told = answers(connection, ["GET"] * 20)
    # A sync worker answers one request of a connection, and hangs up.
    assert len(told) == (1 if served.kind in ("sync", "preload") else 20)
    assert [each.status for each in told] == ([200] * 5 + [429] * 15)[: len(told)]
    if len(told) == 1:
        assert charged(served, "/pipelined/", client, 5) == 1


def test_of_sixty_at_the_same_moment_exactly_the_limit_is_admitted(served: Served) -> None:
    client = new_address()
    with ThreadPoolExecutor(12) as pool:
        told = list(pool.map(lambda _: served.get("/crowd/", client).status, range(60)))
    assert (told.count(200), told.count(429)) == (25, 35)


def test_a_client_that_leaves_amid_a_stream_was_counted_once_and_its_stream_ends(served: Served) -> None:
    # Of the server's own kind: Django reads one of the other kind to its end before it sends anything.
    client, path = new_address(), "/adrip/" if served.is_asgi else "/drip/"
    with connected(served) as connection:
        connection.sendall(request("GET", path, client))
        assert connection.recv(1000).startswith(b"HTTP/1.1 200")
    until(lambda: not any(each.json()["dripping"] for each in served.workers().values()), "the stream did not end")
    with connected(served) as connection:
        connection.sendall(request("GET", path, client))
        head = connection.recv(4000).decode().lower()
    assert "x-ratelimit-remaining: 7" in head


def test_a_client_that_waits_for_100_continue_is_refused_without_its_body(served: Served) -> None:
    client = new_address()
    served.statuses("/upload/", 2, client, "POST")
    with connected(served) as connection:
        connection.sendall(request("POST", "/upload/", client, Content_Length="10", Expect="100-continue"))
        told = _after_continue(connection, b"ten bytes!")
    assert told.status == 429


def test_a_client_that_waits_for_100_continue_is_served(served: Served) -> None:
    with connected(served) as connection:
        connection.sendall(request("POST", "/upload/", new_address(), Content_Length="10", Expect="100-continue"))
        told = _after_continue(connection, b"ten bytes!")
    assert (told.status, told.json()) == (200, {"received": 10})


def _after_continue(connection: socket.socket, body: bytes) -> Answer:
    """The final answer; the body is sent when the server asks for it."""
    head = connection.recv(25, socket.MSG_PEEK)
    if b" 100 " in head:
        connection.sendall(body)
    (told,) = answers(connection, ["POST"])  # http.client passes over 100 Continue
    return told


def test_an_upload_in_chunks_is_read_whole_and_counted(served: Served) -> None:
    client = new_address()

    def upload() -> Answer:
        with connected(served) as connection:
            head = request("POST", "/upload/", client, Transfer_Encoding="chunked")
            connection.sendall(head + b"4\r\nsome\r\n6\r\n words\r\n0\r\n\r\n")
            (told,) = answers(connection, ["POST"])
            return told

    told = [upload() for _ in range(3)]
    assert [each.status for each in told] == [200, 200, 429]
    # WSGI tells the length of a body or nothing, and Django takes nothing for an empty one.
    assert told[0].json() == {"received": 10 if served.is_asgi else 0}


def test_the_redirect_that_appends_a_slash_charges_nothing(served: Served) -> None:
    client = new_address()
    for _ in range(5):
        told = served.get("/slashed", client)
        assert (told.status, told["Location"]) == (301, "/slashed/")
    assert served.statuses("/slashed/", 4, client) == [200, 200, 200, 429]


def test_nothing_of_all_this_was_decided_without_redis_or_ended_in_an_error_of_ours(served: Served) -> None:
    """Last, because it looks back on the tests before it."""
    assert served.statuses("/path/", 1) == [200]
    until(lambda: any(each.passed for name, each in served.place.counted().items() if name == "by.path"), "nothing was counted")
    assert {rule: sums.fallback for rule, sums in served.place.counted().items() if sums.fallback} == {}
    assert served.complaints() == []
