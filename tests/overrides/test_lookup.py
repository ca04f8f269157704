"""Finding what holds for whoever sent a request, or for a client that is named."""

from typing import Any

import pytest
import time_machine
from django.contrib.auth.models import AnonymousUser, User
from django.http import HttpRequest
from django.test import RequestFactory, override_settings

from ratewindow.overrides.lookup import ALLOW, BLOCK, Overrides, Ruling
from ratewindow.overrides.subjects import parse_subject, stored

GROUPS = {"user:42": ("night", "staff"), "user:43": ("staff",)}


def overrides(*subjects: str, **when: float) -> Overrides:
    """A block for each, told apart by the subject in the place of a rule's name."""
    return Overrides([(parse_subject(each), Ruling(BLOCK, each, **when)) for each in subjects], lambda groups: GROUPS)


def request(user: Any = None, **extra: Any) -> HttpRequest:
    made = RequestFactory().get("/", **{"REMOTE_ADDR": "203.0.113.9", **extra})
    made.user = user or AnonymousUser()
    return made


def found(held: Overrides, sent: HttpRequest) -> set[str]:
    return {each.rule for each in held.of_request(sent)}


def test_a_request_finds_networks_users_groups_and_other_identities() -> None:
    held = overrides(
        "ip:203.0.113.0/24", "ip:203.0.113.9", "ip:198.51.100.1", "user:42", "user:43", "group:staff", "group:night",
        "header:x-client:one", "header:x-client:two", "*",
    )  # fmt: skip
    assert found(held, request()) == {"ip:203.0.113.0/24", "ip:203.0.113.9", "*"}
    assert found(held, request(User(pk=42), REMOTE_ADDR="192.0.2.1")) == {"user:42", "group:staff", "group:night", "*"}
    assert found(held, request(User(pk=43), REMOTE_ADDR="192.0.2.1")) == {"user:43", "group:staff", "*"}
    assert found(held, request(REMOTE_ADDR="192.0.2.1", headers={"x-client": "two"})) == {"header:x-client:two", "*"}


def test_without_an_address_no_network_is_found() -> None:
    assert found(overrides("ip:0.0.0.0/0", "ip:::/0"), request(REMOTE_ADDR="")) == set()


def test_one_address_of_ipv6_is_its_network_unless_it_is_written_in_full() -> None:
    held = overrides("ip:2001:db8::1", "ip:2001:db8::2/128")
    assert found(held, request(REMOTE_ADDR="2001:db8::ffff")) == {"ip:2001:db8::1"}
    assert found(held, request(REMOTE_ADDR="2001:db8::2")) == {"ip:2001:db8::1", "ip:2001:db8::2/128"}


def test_an_ipv4_address_in_ipv6_is_itself() -> None:
    assert found(overrides("ip:203.0.113.0/24"), request(REMOTE_ADDR="::ffff:203.0.113.77")) == {"ip:203.0.113.0/24"}


@override_settings(RATEWINDOW={"REDIS": "memory://", "TRUSTED_PROXIES": ["10.0.0.0/8"]})
def test_behind_a_proxy_the_client_is_meant_and_not_the_proxy() -> None:
    held = overrides("ip:203.0.113.9", "ip:10.0.0.1")
    assert found(held, request(REMOTE_ADDR="10.0.0.1", HTTP_X_FORWARDED_FOR="1.2.3.4, 203.0.113.9")) == {"ip:203.0.113.9"}
    assert found(held, request(REMOTE_ADDR="192.0.2.1", HTTP_X_FORWARDED_FOR="203.0.113.9")) == set()


def test_all_parts_of_a_joined_one_must_be_there() -> None:
    held = overrides("ip:203.0.113.9+header:x-client:one")
    assert found(held, request(headers={"x-client": "one"}))
    assert not found(held, request(headers={"x-client": "two"}))
    assert not found(held, request(headers={"x-client": "one"}, REMOTE_ADDR="192.0.2.1"))
    assert not found(held, request())


@pytest.mark.parametrize("mode", ["none", "secrets", "all"])
def test_what_is_kept_as_a_hash_is_found_and_no_other(mode: str) -> None:
    with override_settings(RATEWINDOW={"REDIS": "memory://", "ANONYMIZE": mode}):
        kept = [stored(parse_subject(each)) for each in ("header:x-api-key:correct-horse", "ip:198.51.100.1", "user:42")]
    held = overrides(*kept)  # whatever the setting says by now
    assert found(held, request(headers={"x-api-key": "correct-horse"})) == {kept[0]}
    assert found(held, request(REMOTE_ADDR="198.51.100.1")) == {kept[1]}
    assert found(held, request(User(pk=42))) == {kept[2]}
    assert not found(held, request(headers={"x-api-key": "wrong-horse"}))
    assert not found(held, request(headers={"x-api-key": kept[0].removeprefix("header:x-api-key:")})) or mode == "none"


def test_a_client_that_is_named_finds_the_same() -> None:
    held = overrides(
        "ip:203.0.113.0/24", "ip:2001:db8::1", "user:42", "group:night", "header:x-client:one", "ip:203.0.113.9+user:42"
    )

    def rules(who: Any) -> set[str]:
        return {each.rule for each in held.of_identity(who)}

    assert rules("ip:203.0.113.9") == {"ip:203.0.113.0/24"}
    assert rules("ip:2001:db8::5") == rules("ip:2001:db8::/64") == {"ip:2001:db8::1"}
    assert rules("user:42") == {"user:42", "group:night"}
    assert rules("header:X-Client:one") == {"header:x-client:one"}
    assert rules(("ip:203.0.113.9", "user:42")) == {"ip:203.0.113.0/24", "user:42", "group:night", "ip:203.0.113.9+user:42"}
    assert rules("user:43") == rules("global") == set()


def test_each_holds_from_its_beginning_until_its_end() -> None:
    held = overrides("ip:203.0.113.9", starts_s=1000.0, expires_s=2000.0)
    holding = []
    for now_s in (999, 1000, 1999, 2000):
        with time_machine.travel(now_s, tick=False):
            holding.append(bool(held.of_request(request())))
    assert holding == [False, True, True, False]


def test_a_user_is_asked_for_only_where_some_override_is_about_one() -> None:
    asked = []

    class Unknown:
        @property
        def is_authenticated(self) -> bool:
            asked.append(True)
            return False

    overrides("ip:198.51.100.1", "header:x-client:one").of_request(request(Unknown()))
    assert not asked
    for count, subject in enumerate(("user:42", "group:staff"), 1):
        overrides(subject).of_request(request(Unknown()))
        assert len(asked) == count


def test_networks_of_one_ruling_share_it() -> None:
    ruling = Ruling(ALLOW)
    held = Overrides((parse_subject(f"ip:10.0.0.{number}"), ruling) for number in range(100))
    assert held.count == 100
    assert {id(each) for number in range(100) for each in held.of_identity(f"ip:10.0.0.{number}")} == {id(ruling)}
