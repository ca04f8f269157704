"""Answers and counting behind real web servers: what counts only by the answer, and refusals without a body."""

import pytest

from tests.serving.rawhttp import answers, connected, request
from tests.serving.servers import Served, new_address

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("path", ["/guess/", "/aguess/"])
def test_only_failed_logins_count_and_the_rule_says_how_it_refuses(served: Served, path: str) -> None:
    client = new_address()
    told = [served.get(f"{path}{word}/", client) for word in ("wrong", "right", "wrong", "right", "wrong", "right")]
    assert [each.status for each in told] == [200, 200, 200, 200, 200, 403]
    assert [each["X-RateLimit-Remaining"] for each in told] == ["2", "2", "1", "1", "0", "0"]
    assert told[-1].body == b"Enough.\n"


def test_what_django_makes_of_an_error_is_the_status_that_counts(served: Served) -> None:
    assert served.statuses("/lost/", 4) == [404, 404, 429, 429]


@pytest.mark.parametrize("path", ["/charged/", "/acharged/"])
def test_a_view_charges_and_refunds_what_its_work_has_cost(served: Served, path: str) -> None:
    client = new_address()
    told = [served.get(path, client) for _ in range(4)]
    assert [each.status for each in told] == [200, 200, 200, 429]
    assert [each["X-RateLimit-Remaining"] for each in told] == ["5", "1", "0", "0"]


def test_after_a_head_that_is_refused_the_connection_goes_on(served: Served) -> None:
    """A body behind HEAD, or a length that says another, would be taken for the next answer."""
    client = new_address()
    with connected(served) as connection:
        methods = ["GET", "GET", "HEAD", "HEAD", "GET"]
        for place, method in enumerate(methods):
            last = {"Connection": "close"} if place == len(methods) - 1 else {}
            connection.sendall(request(method, "/path/", client, **last))
        told = answers(connection, methods)
    assert [each.status for each in told][: len(told)] == [200, 200, 429, 429, 429][: len(told)]
    assert all(not each.body for each, method in zip(told, methods, strict=False) if method == "HEAD")
    assert told[-1].body if len(told) == len(methods) else True
