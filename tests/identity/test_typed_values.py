"""Identities as text: joined and taken apart again, and as a caller names them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ratewindow.identity import joined, parse_identity, split
from ratewindow.identity.normalise import normalised
from ratewindow.identity.typed_values import beginning, kind_and_name

kinds = st.sampled_from(["ip:", "user:", "header:x-a:", "post:a:", "jwt:a%3Ab:", "shop.limits.tenant:"])
parts = st.tuples(kinds, st.text(min_size=1, max_size=20)).map("".join)


@given(st.lists(parts, min_size=2, max_size=4))
def test_what_is_joined_can_be_taken_apart(values: list[str]) -> None:
    assert split(joined(values)) == tuple(values)


@given(parts)
def test_a_single_value_is_one_part(value: str) -> None:
    assert split(value) == (value,)


@pytest.mark.parametrize("text", ["", "3:abcX3:abc", "9:abc", "3:abc+", "3:abc+x", "99999999:a", "1:"])
def test_what_nobody_joined_stays_whole(text: str) -> None:
    assert split(text) == (text,)


@given(st.text(min_size=1, max_size=20), st.text(max_size=20))
def test_the_name_of_a_claim_may_have_colons_and_stays_apart_from_the_value(name: str, value: str) -> None:
    assert kind_and_name(beginning("jwt", name) + value) == ("jwt", name, value)


@pytest.mark.parametrize(
    ("who", "expected"),
    [
        ("user:42", "user:42"),
        ("global", "global"),
        ("ip:2001:db8::1", "ip:2001:db8::/64"),
        ("ip:::ffff:203.0.113.9", "ip:203.0.113.9"),
        ("header:X-API-Key:Abc", "header:x-api-key:Abc"),
        ("get:token:a:b", "query:token:a:b"),
        ("tenant:acme", "tenant:acme"),
        ("shop.limits.tenant:acme", "shop.limits.tenant:acme"),
        (("ip:203.0.113.9", "post:username:ann"), joined(["ip:203.0.113.9", "post:username:ann"])),
    ],
)
def test_an_identity_that_is_named_is_the_one_of_requests(who: str | tuple[str, ...], expected: str) -> None:
    assert parse_identity(who) == expected


@pytest.mark.parametrize(
    "who", ["", "42", ":42", "user:", "header:x-api-key", "post:username:", "post:username: ", "ip:nowhere", (), ("user:1", "x")]
)
def test_what_is_no_identity_is_named(who: object) -> None:
    with pytest.raises(ValueError, match=r"is no (identity|address): write"):
        parse_identity(who)  # type: ignore[arg-type]


@pytest.mark.parametrize(("who", "meant"), [("usr:42", "user:42"), ("users:42", "user:42"), ("heder:x:1", "header:x:1")])
def test_a_kind_that_is_one_letter_off_is_told_which_was_meant(who: str, meant: str) -> None:
    with pytest.raises(ValueError, match=f"'{who}' is of no kind that is known: did you mean {meant}\\?"):
        parse_identity(who)


def test_for_a_rule_that_normalises_what_clients_type_is_named_so_too() -> None:
    assert parse_identity("post:email: Ann@Example.COM ", normalised) == "post:email:ann@example.com"
    assert parse_identity("tenant:ACME", normalised) == "tenant:acme"
    assert parse_identity("user:A", normalised) == "user:A"
    assert parse_identity("path:/A/", normalised) == "path:/A/"
