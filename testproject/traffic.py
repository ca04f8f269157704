"""A little traffic for the demo's report: ordinary visitors, a script, one that guesses passwords, some that are blocked."""

import http.client
from collections.abc import Callable, Iterator

Request = tuple[str, str, str]  # client, method, path

WRONG_LOGIN = "username=root&password=letmein"  # not admin: strangers would lock a new browser of his out
# A browser would have read the token from the form.
FORM = {"Content-Type": "application/x-www-form-urlencoded", "Cookie": f"csrftoken={'x' * 32}", "X-CSRFToken": "x" * 32}


def _requests() -> Iterator[Request]:
    for number in range(12):
        client = f"198.51.100.{10 + number}"
        paths = ("/", "/search/?q=order+7", f"/api/orders/{number + 1}/", "/limited/", "/api/orders/")
        yield from ((client, "GET", path) for path in paths[: 2 + number % 4])
    yield from (("203.0.113.9", "GET", f"/api/orders/{number % 20 + 1}/") for number in range(45))  # a script
    yield from (("203.0.113.66", "POST", "/login/") for _ in range(16))  # guesses passwords
    yield from (("2001:db8:7::1", "GET", f"/search/?q=order+{number}") for number in range(25))  # a crawler, only in shadow
    yield from (("198.51.100.30", "GET", "/limited/") for _ in range(8))  # a partner, with a rate of its own
    yield from ((f"2001:db8:bad:{number}::1", "GET", "/search/") for number in range(7))  # scrapers, whose network is blocked


def visit(port: int, check: Callable[[], None]) -> int:
    """Send the traffic and wait for every response; returns how many requests were refused."""
    refused = 0
    for client, method, path in _requests():
        check()
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
        try:
            body = WRONG_LOGIN if method == "POST" else None
            connection.request(method, path, body, {"X-Forwarded-For": client, **(FORM if body else {})})
            refused += connection.getresponse().status == 429
        finally:
            connection.close()
    return refused
