"""Requests whose parts are no such thing: what a client prefers, a query, a body. Each is answered, and counts once."""

import pytest

from tests.support.doors import decorated, get

pytestmark = pytest.mark.django_db(transaction=True)

PREFERENCES = [
    "text/html;q=NaN", "text/html;q=1e400", "*/*;q=-1", ";;;", ",,,,", "a/b/c", "/", "text/", "/html", "*/html", "*/*;q=0",
    "text/html;" * 300, "," * 4000, "a/b," * 1300, "text/html;q=" + "9" * 5000, 'text/html;x="\\"' * 200, "\xff\xfe",
    "application/problem+json;q=0", "text/html;charset=\u0130", "application/json;version=%00", "text/*;q=0.5, text/html;q=",
]  # fmt: skip
BODIES = [
    b"[" * 60_000, b"{" * 60_000, b'{"user":' * 7_000, b"9" * 60_000, b'{"user":{"name":' + b"9" * 60_000 + b"}}",
    b'{"user":{"name":1e999}}', b'{"user":{"name":NaN}}', b'{"user":{"name":"\\ud800"}}', b'{"user":{"name":"\\u0000"}}',
    b'{"user":{"name":true}}', b'{"user":{"name":1.0}}', b'{"user":{"name":"a"},"user":{"name":"b"}}',
    b'\xef\xbb\xbf{"user":{"name":"x"}}', b"\xff\xfe{\x00}\x00", b'{"user":[{"name":"x"}]}', b"null", b'"x"',
    b'{"user":{"name":["x"]}}', b'{"user":{"na\\u006de":"x"}}', b'{"user":{"name":{"__proto__":1}}}',
]  # fmt: skip
QUERIES = [
    "a=1&" * 3000, "username=x&" * 2000, "%" * 8000, "username=%", "username=%zz", "username", "=x", "username=&username=x",
    "username[]=x", "username=x;username=y", "user%6eame=x", "USERNAME=x", " username=x", "&&&&", "username=%F0%9F%92%A9",
]  # fmt: skip


def numbered(cases: list[object]) -> list[int]:
    return list(range(len(cases)))


@pytest.mark.parametrize("number", numbered([*PREFERENCES]))
def test_whatever_a_refused_client_prefers_it_is_told(number: int) -> None:
    told = get(decorated(False, "none", "0/m"), HTTP_ACCEPT=PREFERENCES[number])
    assert (told.status_code, bool(told.content)) == (429, True)
    assert told["Content-Type"].partition(";")[0] in ("text/html", "text/plain", "application/problem+json")


@pytest.mark.parametrize("number", numbered([*BODIES]))
def test_whatever_is_sent_as_json_it_counts_once(number: int) -> None:
    view = decorated(False, "member", "1/h", key="json:user.name")
    sent = {"data": BODIES[number], "content_type": "application/json"}
    assert [get(view, "/", "POST", **sent).status_code for _ in range(2)] == [200, 429]


@pytest.mark.parametrize("number", numbered([*QUERIES]))
def test_whatever_is_sent_as_a_query_it_counts_once(number: int) -> None:
    view = decorated(False, "field", "1/h", key="query:username")
    assert [get(view, QUERY_STRING=QUERIES[number]).status_code for _ in range(2)] == [200, 429]
