"""An identity as a caller writes it becomes the identity that requests have."""

import pytest

from ratewindow.identity import joined, parse_identity
from ratewindow.identity.typed_values import normalised


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
    with pytest.raises(ValueError, match=r"is not an (identity|address): write"):
        parse_identity(who)  # type: ignore[arg-type]


def test_for_a_rule_that_normalises_what_clients_type_is_named_so_too() -> None:
    assert parse_identity("post:email: Ann@Example.COM ", normalised) == "post:email:ann@example.com"
    assert parse_identity("tenant:ACME", normalised) == "tenant:acme"
    assert parse_identity("user:A", normalised) == "user:A"
    assert parse_identity("path:/A/", normalised) == "path:/A/"


@pytest.mark.parametrize(("who", "meant"), [("usr:42", "user:42"), ("users:42", "user:42"), ("heder:x:1", "header:x:1")])
def test_a_kind_that_is_one_letter_off_is_told_which_was_meant(who: str, meant: str) -> None:
    with pytest.raises(ValueError, match=f"'{who}' is of an unknown kind: did you mean {meant}\\?"):
        parse_identity(who)
