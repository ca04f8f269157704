"""Blocks and exemptions that may concern nearly all visitors take the permission to switch all limits off, on every page."""

from typing import Any

import pytest
from django.contrib.auth.models import Permission, User
from django.test import Client

from ratewindow import ratekey
from ratewindow.admin.concerns_many import concerns_many, counted_by
from ratewindow.identity import custom_keys
from ratewindow.models import Override, RateRule
from ratewindow.rules import code_rates
from tests.support.document_pages import IMPORT, written
from tests.support.documents import BLOCK, document
from tests.support.override_pages import ADD, LIST, UNDO, change, quick, typed, typed_above_the_list, undo_of
from tests.support.rule_pages import errors, said

pytestmark = pytest.mark.django_db

TOLD = "This may apply to all visitors, or nearly all. You need the permission to switch all limits off to save it."
OF_ALL = [
    "header:priority:u=0, i",
    "header:via:1.1 google",
    "header:cdn-loop:cloudflare; loops=1",
    'header:CF-Visitor:{"scheme":"https"}',
    "header:cf_visitor:https",
    "header:te:trailers",
    "header:DNT:1",
    "header:x-app-version:2.31",
    "header:x-tenant:acme",
    "header:x-api-version:2026-01-01",
    "header:x-amzn-apigateway-api-id:abcdef123456",
    "header:x-monkey:abcdef1234567890",
    "header:sec-websocket-key:dGhlIHNhbXBsZSBub25jZQ==",
    "header:sec_websocket_key:dGhlIHNhbXBsZSBub25jZQ==",
    "header:x-token:undefined",
    "header:authorization:Bearer null",
    "header:accept_language:de",
    "header:priority:u=0, i+header:te:trailers",
    "method:GET+header:te:trailers",
    "cookie:consent:yes",
    "cookie:user-agent:Mozilla/5.0",
    "jwt:iss:https://example.com",
    "header:priority:#AAAAAAAAAAAAAAAA.aaaa",
    "header:x-api-key:#AAAAAAAAAAAAAAAA",
    "post:next:/admin/",
    "post:username:ann",
    "post:grant_type:password",
    "post:next:#AAAAAAAAAAAAAAAA",
    "query:x:1",
    "get:x:1",
    "get:x:#AAAAAAAAAAAAAAAA",
    "query:utm_source:google",
    "query:key:short",
    "json:jsonrpc:2.0",
    "json:user.email:ann@example.com",
    "body:x:1",
    "route:login+post:next:/",
    "method:POST+post:next:/admin/",
    "header:priority:u=0, i+query:page:1",
    "country:DE",
    "country:DE+method:GET",
    "scope:public",
    "scope:public+method:GET",
    "scope:public+ip:0.0.0.0/0",
    "scope:public+header:te:trailers",
    "scope:public+country:DE",
]
OF_ONE = [
    "header:user-agent:a robot",
    "header:User_Agent:a robot",
    "header:x-api-key:correct-horse-battery",
    "header:X-Auth-Token:0123456789abcdef",
    "header:authorization:Bearer 0123456789abcdef",
    "header:x-api-key:#AAAAAAAAAAAAAAAA.aaaa",
    "cookie:sessionid:0123456789abcdef",
    "header:priority:u=0, i+user:42",
    "ip:203.0.113.9+header:te:trailers",
    "ip:203.0.113.9+post:username:ann",
    "post:next:/admin/+session:0123456789abcdef",
    "scope:acme+user:42",
    "scope:acme+ip:203.0.113.9",
    "country:DE+ip:203.0.113.9",
    "query:api_key:correct-horse-battery",
    "post:access_token:0123456789abcdef",
    "json:token:0123456789abcdef",
    "ip:203.0.113.0/24",
    "group:staff",
]


@pytest.fixture(autouse=True)
def country(monkeypatch: pytest.MonkeyPatch) -> None:
    """A key of the site's own, which is the same for all visitors but the authors of these blocks."""
    monkeypatch.setattr(custom_keys, "_registered", {})
    ratekey("country")(lambda request: "FR")


def staff(*codenames: str) -> Client:
    user, _ = User.objects.get_or_create(username="staff", is_staff=True)
    user.user_permissions.set(Permission.objects.filter(codename__in=codenames))
    client = Client()
    client.force_login(user)
    return client


@pytest.mark.parametrize("identity", OF_ALL)
@pytest.mark.parametrize("action", ["allow", "block", "rate"])
def test_what_identifies_nobody_takes_the_permission_in_both_forms(identity: str, action: str) -> None:
    adding, rate = staff("add_override", "view_override", "view_identity"), "99/s" if action == "rate" else ""
    sent = typed(action=action, identity=identity, rate=rate, rule="search")
    assert TOLD in errors(adding.post(ADD, sent))
    above = typed_above_the_list(action=action, identity=identity, rate=rate, rule="search")
    assert TOLD in errors(adding.post(LIST, above))
    assert not Override.objects.exists()
    assert staff("add_override", "switch_limits").post(ADD, sent).status_code == 302


@pytest.mark.parametrize("identity", OF_ONE)
def test_what_identifies_a_client_does_not(identity: str) -> None:
    assert not concerns_many(identity, counted_by())


def test_it_takes_it_also_to_edit_one_or_to_let_it_last_again() -> None:
    some = Override.objects.allow("header:priority:u=0, i", duration="1h")
    ended = Override.objects.allow("header:te:trailers", duration="1h")
    Override.objects.filter(pk=ended.pk).end()
    changing = staff("change_override", "view_override", "view_identity")
    for override in (some, ended):
        assert TOLD in errors(changing.post(change(override), typed(action="allow", lasts="9d")))
    changing.post(LIST, {"action": "extend", "_selected_action": [some.pk, ended.pk]})
    kept = dict(Override.objects.values_list("pk", "expires_at"))
    assert kept[some.pk] == some.expires_at


def test_a_refusal_to_extend_names_whom_it_is_about() -> None:
    some = Override.objects.allow("header:priority:u=0, i", duration="1h")
    client = Override.objects.allow("ip:203.0.113.9", duration="1h")
    changing = staff("change_override", "view_override", "view_identity")
    response = changing.post(LIST, {"action": "extend", "_selected_action": [some.pk, client.pk]}, follow=True)
    assert "to extend what applies to all visitors, or nearly all: header:priority:u=0, i." in said(response)


def test_an_import_of_many_reads_the_rules_once(django_assert_max_num_queries: Any) -> None:
    RateRule.objects.define("tenants", "5/m", key="header:x-tenant", mode="enforce")
    many = [{**BLOCK, "identity": f"header:x-tenant:{number}", "action": "allow"} for number in range(50)]
    names = ("add_raterule", "change_raterule", "view_raterule", "add_override", "view_override", "view_identity")
    importing, sent = staff(*names), {"pasted": written(document(overrides=many))}
    with django_assert_max_num_queries(30):
        assert "header:x-tenant:49" in importing.post(IMPORT, sent).content.decode()


@pytest.mark.parametrize("identity", ["header:te:trailers", "post:next:/admin/", "country:DE", "scope:public"])
def test_it_takes_it_also_to_import_one(identity: str) -> None:
    one = {**BLOCK, "identity": identity, "action": "allow"}
    names = ("add_raterule", "change_raterule", "view_raterule", "add_override", "view_override", "view_identity")
    sent = {"pasted": written(document(overrides=[one]))}
    told = "which takes the permission to switch all limits off"
    assert told in staff(*names).post(IMPORT, sent).content.decode()
    assert told not in staff(*names, "switch_limits").post(IMPORT, sent).content.decode()


@pytest.mark.parametrize(
    ("key", "mode", "identity", "is_of_one"),
    [
        ("header:x-tenant", "enforce", "header:X-Tenant:acme", True),
        ("header:X-Tenant", "enforce", "header:x-tenant:acme", True),
        ("ip+header:x-tenant", "enforce", "header:x-tenant:acme", True),
        ("jwt:tenant", "enforce", "jwt:tenant:acme", True),
        ("header:x-tenant", "shadow", "header:x-tenant:acme", False),
        ("header:x-tenant", "off", "header:x-tenant:acme", False),
        ("header:x-tenant", "enforce", "header:te:trailers", False),
        ("ip+header:user-agent+header:accept-language", "enforce", "header:accept-language:de", False),
        ("header:x-a+header:x-b", "enforce", "header:x-a:1+header:x-b:2", True),
        ("header:x-a+header:x-b", "enforce", "header:x-a:1+header:te:trailers", False),
        ("header:x-tenant", "enforce", "header:x-tenant:acme+header:te:trailers", True),
        ("header:x-tenant", "enforce", "scope:acme+header:x-tenant:acme", True),
        ("ip+post:username", "enforce", "post:username:ann", True),
        ("ip+post:username", "enforce", "post:next:/admin/", False),
        ("ip+post:username", "shadow", "post:username:ann", False),
        ("get:token", "enforce", "query:token:1", True),
        ("json:user.email+route", "enforce", "json:user.email:ann@example.com", True),
        ("country", "enforce", "country:DE", True),
        ("country", "shadow", "country:DE", False),
        ("ip+country", "enforce", "country:DE", False),
        ("scope", "enforce", "scope:acme", True),
        ("scope", "enforce", "scope:acme+method:GET", True),
        ("scope", "shadow", "scope:acme", False),
        ("user+scope", "enforce", "scope:acme", False),
        ("scope+country", "enforce", "scope:acme", False),
        ("ip+route", "enforce", "route:login+post:next:/", False),
        ("global", "enforce", "post:next:/admin/", False),
    ],
)
def test_what_an_enforced_rule_counts_by_identifies_clients(key: str, mode: str, identity: str, is_of_one: bool) -> None:
    """Whoever may add rules in shadow may not enforce them, and so not make a field one that counts."""
    RateRule.objects.define("tenants", "5/m", key=key, mode=mode)
    assert concerns_many(identity, counted_by()) is not is_of_one


def test_a_rate_in_code_counts_by_it_too(monkeypatch: Any) -> None:
    use = code_rates.CodeRate("export", "5/m", "header:x-tenant", frozenset(), "shop.views.export")
    monkeypatch.setattr(code_rates, "uses", lambda: {"export": {use}})
    assert not concerns_many("header:x-tenant:acme", counted_by())
    assert concerns_many("header:te:trailers", counted_by())


def test_an_undo_that_lets_it_last_longer_takes_it_too(admin_client: Client) -> None:
    """What somebody else has meant to end, too, is as it was: ended already."""
    wide = Override.objects.allow("*", rule="search", duration="1h")
    changing = staff("change_override", "view_override")
    response = changing.post(quick("end", wide), follow=True)
    admin_client.post(quick("end", wide))
    response = changing.post(UNDO, {"before": undo_of(response)}, follow=True)
    assert "You need the permission to switch all limits off to extend" in said(response)
    assert "Nothing" not in said(response)
    assert not Override.objects.in_force().exists()


def test_an_undo_that_lets_it_last_no_longer_does_not() -> None:
    Override.objects.allow("*", rule="search", duration="1h")
    both = staff("change_override", "view_override", "switch_limits")
    (wide,) = Override.objects.in_force()
    response = both.post(quick("extend", wide), follow=True)
    staff("change_override", "view_override").post(UNDO, {"before": undo_of(response)})
    assert Override.objects.get().expires_at == wide.expires_at
