"""Keys from the body, behind real servers: counted, left for the view, and not walked around by the way it is sent."""

import itertools
import json

import pytest

from tests.serving.rawhttp import answers, connected
from tests.serving.servers import Answer, Served

pytestmark = pytest.mark.slow

_names = (f"name-{number}" for number in itertools.count())
BOUNDARY = "a-boundary"
LARGE = 70_000  # bytes, more than are read


def send(served: Served, body: bytes, kind: str, chunked: bool = False) -> Answer:
    lines = ["POST /named/ HTTP/1.1", "Host: localhost", "Connection: close", f"Content-Type: {kind}"]
    lines.append("Transfer-Encoding: chunked" if chunked else f"Content-Length: {len(body)}")
    sent = b"%x\r\n%s\r\n0\r\n\r\n" % (len(body), body) if chunked else body
    with connected(served) as line:
        line.sendall("\r\n".join([*lines, "", ""]).encode() + sent)
        return answers(line, ["POST"])[0]


def form(name: str, padding: int = 0) -> tuple[bytes, str]:
    return f"username={name}&x={'y' * padding}".encode(), "application/x-www-form-urlencoded"


def upload(name: str, size: int = 5) -> tuple[bytes, str]:
    part = f"--{BOUNDARY}\r\nContent-Disposition: form-data; name="
    file = f'{part}"file"; filename="a"\r\n\r\n{"z" * size}\r\n'
    return f'{file}{part}"username"\r\n\r\n{name}\r\n--{BOUNDARY}--\r\n'.encode(), f"multipart/form-data; boundary={BOUNDARY}"


def member(name: str) -> tuple[bytes, str]:
    return json.dumps({"user": {"name": name}}).encode(), "application/json"


def test_a_name_counts_in_whichever_form_it_is_sent_and_the_view_finds_it(served: Served) -> None:
    name = next(_names)
    first = send(served, *form(name))
    assert (first.status, first.json()["form"]) == (200, {"username": name, "x": ""})
    assert send(served, *upload(name)).status == 429
    assert send(served, *form(f"{name.upper()}%20%20")).status == 429
    other = send(served, *upload(next(_names), 500))
    assert (other.status, other.json()["files"]) == (200, {"file": 500})


def test_a_member_of_json_counts_and_the_view_finds_the_body(served: Served) -> None:
    body, kind = member(next(_names))
    first = send(served, body, kind)
    assert (first.status, first.json()["length"]) == (200, len(body))
    assert send(served, body, kind).status == 429
    assert send(served, *member(next(_names))).status == 200


def test_a_large_body_is_left_to_the_view(served: Served) -> None:
    name = next(_names)
    for _ in range(2):
        told = send(served, *form(name, LARGE))
        assert (told.status, told.json()["form"]["username"]) == (200, name)
        told = send(served, *upload(name, LARGE))
        assert (told.status, told.json()["files"]) == (200, {"file": LARGE})


def test_in_chunks_a_name_counts_wherever_the_view_sees_it(served: Served) -> None:
    name = next(_names)
    told = [send(served, *form(name), chunked=True) for _ in range(2)]
    seen = [each.json()["form"].get("username") for each in told if each.status == 200]
    # Under WSGI, Django reads no body that does not say how long it is.
    assert ([each.status for each in told], seen) in [([200, 429], [name]), ([200, 200], [None, None])]


def test_a_body_that_is_neither_breaks_nothing(served: Served) -> None:
    for body in (b"", b"\xff\xfe\x00", b"[" * 60_000, b'{"user": {"name": NaN}}', b"--a-boundary"):
        for kind in (
            "application/json",
            "application/x-www-form-urlencoded",
            f"multipart/form-data; boundary={BOUNDARY}",
            "x/y",
            "",
        ):
            assert send(served, body, kind).status in (200, 400), (body[:20], kind)
    assert "Traceback" not in served.said()
