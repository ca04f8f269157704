"""Nobody walks around a rule for a path by spelling it otherwise: behind every server, whose parsers differ. Nor is any
request left out of the report there.

Each spelling is asked for twice: by a client that has used up its two requests, which must not reach the
view, and by one that has not, which tells whether the spelling reaches it at all.
"""

import contextlib

import pytest

from tests.serving.fixtures import kinds
from tests.serving.rawhttp import answers, connected
from tests.serving.servers import KINDS, OTHER_SERVERS, Served, new_address, until
from tests.support.spellings import SPELLINGS, Spelling

pytestmark = pytest.mark.slow


def status(served: Served, spelling: Spelling, client: str) -> int:
    with connected(served) as line:
        with contextlib.suppress(ConnectionError):  # the server has said no, and gone
            line.sendall(spelling.sent(client))
        told = answers(line, [spelling.method])
    return told[0].status if told else 0


def walked_around(served: Served, canonical: str, spellings: list[Spelling]) -> tuple[list[Spelling], int]:
    """The spellings that reached the view of a client that had used up its two, and how many reach it for others."""
    used_up = new_address()
    assert served.statuses(canonical, 3, used_up) == [200, 200, 429]
    reaching = sum(status(served, each, new_address()) == 200 for each in spellings)
    return [each for each in spellings if status(served, each, used_up) == 200], reaching


every_server = pytest.mark.parametrize("served", kinds(*KINDS, *OTHER_SERVERS), indirect=True)


@every_server
def test_no_spelling_of_a_path_passes_a_third_time(served: Served) -> None:
    passed, reaching = walked_around(served, "/login/", SPELLINGS)
    assert passed == []
    assert reaching >= 200


@every_server
@pytest.mark.parametrize(
    "canonical, others",
    [
        ("/search", ["/searchX", "/search/", "/search/deeper", "/search%2F", "/%73earch", "/search%0A", "/search;x"]),
        ("/loud/", ["/LOUD/", "/Loud/", "/loUd/", "/%4Coud/", "/l%4FUD/"]),
        ("/account/", ["/de/konto/", "/pt-br/account/", "/%64e/konto/", "/pt-br/%61ccount/"]),
        ("/orders/7/", ["/de/orders/7/", "/pt-br/orders/007/", "/de/orders/8/"]),
        ("/profile/ann/", ["/profile/ANN/", "/profile/Ann/", "/profile/%41nn/", "/profile/a%4En/"]),
        ("/two/", ["/two", "/tw%6f", "/%74wo/"]),
        ("/dotted/x/end", ["/dotted/%0a/end", "/dotted/x%0Ay/end", "/dotted/%0d%0a/end"]),
    ],
)
def test_no_other_text_that_a_site_takes_for_the_same_page_passes_a_third_time(
    served: Served, canonical: str, others: list[str]
) -> None:
    passed, reaching = walked_around(served, canonical, [Spelling(other) for other in others])
    assert passed == []
    assert reaching == len(others)


@every_server
def test_the_redirect_to_the_slash_is_not_the_page(served: Served) -> None:
    client = new_address()
    assert [served.get("/login", client).status for _ in range(3)] == [301, 301, 301]
    assert served.statuses("/login/", 3, client) == [200, 200, 429]


@every_server
def test_a_flood_of_paths_that_are_not_there_leaves_no_key_for_each(served: Served) -> None:
    before = set(served.place.redis.scan_iter())
    client = new_address()
    assert {served.get(f"/no-such-page-{number}/", client).status for number in range(50)} == {404}
    new = set(served.place.redis.scan_iter()) - before
    assert len([key for key in new if key.startswith("rw:s:")]) <= 1, new  # of the client
    assert len(new) < 25, new  # each minute that has begun has a few, for the report


@every_server
def test_six_hundred_requests_of_all_workers_are_reported_as_six_hundred(served: Served) -> None:
    for _ in range(6):
        client = new_address()
        assert [served.get("/many/", client).status for _ in range(100)] == [200] * 100
    until(lambda: sum(each.passed for name, each in served.place.counted().items() if name == "many") >= 600, "not all")
    assert served.place.counted()["many"].passed == 600
