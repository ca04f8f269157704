"""The page Explain."""

import json
import re
from html import unescape
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import pytest
from asgiref.sync import sync_to_async
from django.contrib.auth.models import User
from django.db import connection
from django.test import AsyncClient, Client, RequestFactory
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from ratewindow import ratelimit
from ratewindow.contrib.explain import codes
from ratewindow.counting.counters import counters
from ratewindow.counting.sums import Sums
from ratewindow.models import Override
from ratewindow.rulebook import reading
from tests.support.doors import answer, behind_middleware, plain, statuses
from tests.support.rule_pages import LIST, count, define, look, said
from tests.support.staff import staff

pytestmark = pytest.mark.django_db(transaction=True)

EXPLAIN = reverse("admin:ratewindow_explain")
ASKED = {"path": "/login/", "address": "203.0.113.9"}


def use_up(count: int) -> list[int]:
    return statuses(behind_middleware(plain(False)), count, "/login/", REMOTE_ADDR="203.0.113.9")


def a_code(key: str = "ip", path: str = "/login/", address: str = "203.0.113.9") -> str:
    view = ratelimit("explained.page", "0/h", key=key)(plain(False))
    request = RequestFactory().post(
        path, {"username": "ann"}, REMOTE_ADDR=address, headers={"Accept": "application/problem+json"}
    )
    return str(json.loads(answer(view, request).content)["code"])


def links(response: Any) -> dict[str, str]:
    """What can be done, with the addresses."""
    found = re.search(r'<ul class="rw-actions">(.*?)</ul>', response.content.decode(), re.DOTALL)
    return (
        {}
        if found is None
        else {label: unescape(url) for url, label in re.findall(r'<a[^>]* href="([^"]*)">([^<]*)</a>', found[1])}
    )


def test_an_empty_form_explains_nothing(page: Client) -> None:
    by_code, by_request = said(page.get(EXPLAIN)), said(page.get(EXPLAIN, {"by": "request"}))
    assert "A refused visitor reads it in the answer. It is known for an hour." in by_code and "Address" not in by_code
    assert "Address" in by_request and "a refused visitor" not in by_request and "Free again" not in by_request


def test_a_request_is_explained_and_the_address_shows_the_same_to_a_colleague(page: Client) -> None:
    define("login", "1/h", path="/login/", mode="enforce")
    define("api", "9/h", prefix="/api/", mode="enforce")
    assert use_up(2) == [200, 429]
    sent = page.post(EXPLAIN, {"method": "POST", **ASKED})
    assert sent.status_code == 302
    response = page.get(sent["Location"])
    text = said(response)
    assert "REFUSED by login: its limit is reached. Next let through at" in text and "1 of 1 in 1h" in text
    assert "api does not match the path is not below /api/" in text
    assert list(links(response)) == [
        "Exempt…",
        "Raise for this client…",
        "Release…",
        "Block…",
        "Open rule",
        "Make a rule for this…",
    ]


def test_what_can_be_done_is_filled_in_there(page: Client) -> None:
    define("login", "1/h", path="/login/", mode="enforce")
    use_up(2)
    found = links(page.get(EXPLAIN, ASKED))
    release = page.get(found["Release…"])
    assert 'value="ip:203.0.113.9"' in release.content.decode() and 'value="login"' in release.content.decode()
    exempt = page.get(found["Exempt…"]).content.decode()
    assert (
        'value="ip:203.0.113.9"' in exempt
        and 'value="1h"' in exempt
        and re.search(r'value="allow"[^>]* (checked|selected)', exempt)
    )


def test_a_code_says_what_was_refused_then_and_what_holds_now(page: Client) -> None:
    code = a_code("ip+post:username")
    text = said(page.post(EXPLAIN, {"code": f"[{code}]"}, follow=True))
    assert f"{code}: refused at" in text and "on POST /login/" in text
    assert "REFUSED by explained.page: its limit is reached. 0/h · ip:203.0.113.9 + post:username:ann" in text
    link = links(page.get(EXPLAIN, {"code": code}))["What is answered now"]
    assert "POST /login/, at" in said(page.get(link))


@pytest.mark.parametrize("address", ["203.0.113.9", "2001:db8::1"])
@pytest.mark.parametrize("path", ["/login/", "/shop/7/"])
def test_whom_a_code_is_about_is_exempt_by_a_click_wherever_it_was_refused(page: Client, path: str, address: str) -> None:
    rule = define("explained.page", "0/h", mode="enforce")
    for reader in (page, staff("view_raterule", "add_override")):  # one sees masks
        response = reader.get(EXPLAIN, {"code": a_code(path=path, address=address)})
        found = links(response)
        assert {"Block…", "Exempt…", "Open rule"} < {*found, "Release…"}
        assert ("Release…" in found) == (reader is page) and found["Open rule"] == look(rule)
        if reader is not page:
            assert address not in response.content.decode()
        form = dict(parse_qsl(urlsplit(found["Exempt…"]).query))
        assert reader.post(found["Exempt…"], {**form, "reason": "knows us"}).status_code == 302
        reading.reload()
        with pytest.raises(json.JSONDecodeError):  # the view answers
            a_code(path=path, address=address)
        Override.objects.all().delete()
        reading.reload()


def test_without_the_permission_to_see_identities_they_are_masked_and_nothing_is_filled_in() -> None:
    viewer, code = staff("view_raterule", "add_override"), a_code()
    response = viewer.get(EXPLAIN, {"code": code})
    text = said(response)
    assert "ip:203.0.113.x" in text and "203.0.113.9" not in response.content.decode()
    assert "What is answered now" not in text
    define("login", "1/h", path="/login/", mode="enforce")
    use_up(2)
    response = viewer.get(EXPLAIN, ASKED)  # the hash of who is typed could be compared with that of a code
    assert "REFUSED by login" in said(response) and links(response) == {}


def test_the_link_beside_a_client_leads_to_its_newest_refusal_for_who_sees_clients(page: Client) -> None:
    link = f"{EXPLAIN}?by=request&last=ip%3A203.0.113.9&address=203.0.113.9"
    assert 'value="203.0.113.9"' in page.get(link).content.decode()
    code = a_code(path="/shop/7/")
    codes.find(code)
    codes.of_process.send()
    assert page.get(link)["Location"] == f"{EXPLAIN}?code={code}"
    assert staff("view_raterule").get(link).status_code == 200
    Override.objects.block("ip:203.0.113.9")
    reading.reload()
    blocked = a_code()
    codes.find(blocked)
    codes.of_process.send()
    assert page.get(link)["Location"] == f"{EXPLAIN}?code={blocked}"
    assert staff("view_raterule", "view_identity").get(link)["Location"] == f"{EXPLAIN}?code={code}"


def test_users_are_found_by_name_only_for_those_who_may_view_them(page: Client) -> None:
    ann = User.objects.create_user("ann")
    define("login", "1/h", path="/login/", key="user", mode="enforce")
    assert f"user:{ann.pk}" in said(page.get(EXPLAIN, {**ASKED, "user": "ann"}))
    viewer = staff("view_raterule", "view_identity")
    for unknown in ("ann", "nobody"):
        assert "you need the permission to view users" in viewer.get(EXPLAIN, {**ASKED, "user": unknown}).content.decode()
    for number in (ann.pk, 999_999):  # whether there is one is not said
        assert f"user:{number}" in said(viewer.get(EXPLAIN, {**ASKED, "user": f"user:{number}"}))


def test_it_takes_the_permission_to_view_rules() -> None:
    assert staff("view_raterule").get(EXPLAIN).status_code == 200
    assert staff("change_raterule").get(EXPLAIN).status_code == 200
    for permission in ("view_override", "view_throttlestat", "release_identity", "view_identity"):
        assert staff(permission).get(EXPLAIN).status_code == 403
        assert staff(permission).post(EXPLAIN, ASKED).status_code == 403


def test_headers_and_fields_may_be_secrets_and_do_not_get_into_an_address(page: Client) -> None:
    define("login", "5/h", path="/login/", key="post:username", mode="enforce")
    for typed in ({"headers": "Cookie: sessionid=abc"}, {"fields_": "username=ann"}):
        response = page.post(EXPLAIN, {**ASKED, "method": "POST", **typed})
        assert response.status_code == 200 and "PASSES" in said(response)


@pytest.mark.parametrize(
    "typed, wrong",
    [
        ({"path": "login"}, "&#x27;login&#x27; is not a path: begin with /, as in /login/."),
        ({"path": "/", "address": "x"}, "&#x27;x&#x27; is not an address"),
        ({"path": "/", "headers": "x"}, "has no &#x27;:&#x27;: write NAME: VALUE"),
        ({"path": "/", "fields_": "x"}, "has no &#x27;=&#x27;: write NAME= VALUE"),
        ({"path": "/", "method": "BREW"}, "BREW is not one of the available choices"),
        ({"code": "11111"}, "is not a code: it has five letters and digits"),
        ({"code": "zzzzz"}, "No refusal with this code is known. It may be mistyped, older than an hour"),
    ],
)
def test_what_cannot_be_explained_says_what_to_write(page: Client, typed: dict[str, str], wrong: str) -> None:
    for response in (page.get(EXPLAIN, typed), page.post(EXPLAIN, typed)):
        assert response.status_code == 200 and wrong in response.content.decode()


def test_codes_while_redis_is_away(page: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    def away(*_: object) -> None:
        raise ConnectionError

    monkeypatch.setattr("ratewindow.contrib.explain.codes.read", away)
    assert "Codes are looked up in Redis, which does not answer now." in said(page.get(EXPLAIN, {"code": "zzzzz"}))


def test_it_counts_nothing_and_changes_nothing(page: Client, redis_client: Any) -> None:
    define("login", "5/h", path="/login/", mode="enforce")
    page.get(EXPLAIN, ASKED)
    counters.reset()
    before = sorted(redis_client.scan_iter("rw:s:*"))
    page.post(EXPLAIN, ASKED)
    page.get(EXPLAIN, ASKED)
    assert sorted(redis_client.scan_iter("rw:s:*")) == before
    assert not counters.since_start()


def test_thirty_rules_take_as_many_queries_as_one(page: Client) -> None:
    def queries() -> int:
        with CaptureQueriesContext(connection) as captured:
            assert page.get(EXPLAIN, ASKED).status_code == 200
        return len(captured)

    define("login", "5/h", path="/login/", mode="enforce")
    Override.objects.rate("ip:203.0.113.9", "7/h", rule="login")
    queries()
    first = queries()
    for number in range(30):
        define(f"r{number}", "5/h", path="/login/", mode="enforce")
        Override.objects.rate("ip:203.0.113.9", "8/h", rule=f"r{number}")
    assert queries() == first


def test_an_empty_form_says_what_to_enter(page: Client) -> None:
    assert "&#x27;&#x27; is not a code: it has five letters and digits" in said(page.post(EXPLAIN, {"code": ""}))
    assert "&#x27;&#x27; is not a path: begin with /, as in /login/." in said(page.post(EXPLAIN, {"method": "GET", "path": ""}))


def test_every_page_a_rule_and_a_block_link_to_it(page: Client) -> None:
    rule = define("login", "5/h", path="/login/", methods="POST")
    block = Override.objects.block("ip:203.0.113.9")
    for address in (LIST, reverse("admin:ratewindow_report"), reverse("admin:app_list", args=["ratewindow"])):
        assert f'href="{EXPLAIN}"' in page.get(address).content.decode()
    assert f"{EXPLAIN}?by=request&amp;method=POST&amp;path=%2Flogin%2F" in page.get(look(rule)).content.decode()
    override = reverse("admin:ratewindow_override_change", args=[block.pk])
    assert f"{EXPLAIN}?by=request&amp;last=ip%3A203.0.113.9&amp;address=203.0.113.9" in page.get(override).content.decode()


def test_what_clients_sent_is_shown_as_text(page: Client) -> None:
    define("login", "5/h", path="/login/", key="post:name", mode="enforce")
    text = page.get(EXPLAIN, {**ASKED, "method": "POST", "fields_": "name=<script>alert(1)</script>"}).content.decode()
    assert "<script>alert" not in text and "&lt;script&gt;alert(1)" in text


async def test_under_asgi_it_says_the_same() -> None:
    @sync_to_async
    def boss() -> Any:
        define("login", "5/h", path="/login/", key="session+user", on_missing="allow", mode="enforce")
        Override.objects.rate("user:1", "9/h")
        return User.objects.create_superuser("boss")

    client = AsyncClient()
    await client.aforce_login(await boss())
    response = await client.get(EXPLAIN, ASKED)
    assert "the request has no session+user, and such requests pass uncounted" in said(response)


def test_a_rule_for_a_request_begins_with_what_clients_have_sent(page: Client) -> None:
    asked = {"path": "/login/", "address": "203.0.113.9"}
    fields = dict(parse_qsl(urlsplit(links(page.get(EXPLAIN, asked))["Make a rule for this…"]).query))
    assert (fields["windows-0-limit"], fields["key"]) == ("60", "user_or_ip") and "not known yet" in fields["description"]
    define("all", "100/m", applies_to="all", key="ip", mode="enforce")
    count(all=Sums(passed=500, used={"100/m:25": 500}))
    fields = dict(parse_qsl(urlsplit(links(page.get(EXPLAIN, asked))["Make a rule for this…"]).query))
    assert (fields["windows-0-limit"], fields["windows-0-period"], fields["key"]) == ("40", "1m", "ip")
    assert "No client had sent more than 25 in 1 minute" in fields["description"]
    waiting = define("login", "5/m", path="/login/", mode="shadow")
    assert links(page.get(EXPLAIN, asked))["login already waits in shadow: open it"] == look(waiting)
