"""Whom a block or an exemption is about: what people may write, and the one form in which it is kept."""

from typing import Any

import pytest
from django.test import override_settings

from ratewindow.overrides.subjects import in_words, masked, parse_subject, read_subject, stored

ALL = {"RATEWINDOW": {"REDIS": "memory://", "ANONYMIZE": "all"}}
NONE = {"RATEWINDOW": {"REDIS": "memory://", "ANONYMIZE": "none"}}


@pytest.mark.parametrize(
    ("typed", "kept"),
    [
        ("*", "*"),
        (" ip:203.0.113.9 ", "ip:203.0.113.9"),
        ("ip:203.0.113.9/24", "ip:203.0.113.0/24"),
        ("ip:::ffff:203.0.113.9", "ip:203.0.113.9"),
        ("ip:2001:DB8::1", "ip:2001:db8::/64"),
        ("ip:2001:db8::1/128", "ip:2001:db8::1/128"),
        ("ip:2001:db8::/32", "ip:2001:db8::/32"),
        ("user:42", "user:42"),
        ("group: night shift ", "group:night shift"),
        ("header:X-Client:One", "header:x-client:One"),
        ("get:page:3", "query:page:3"),
        ("path:/login/", "path:/login/"),
        ("ip:203.0.113.9+post:username:ann", "14:ip:203.0.113.9+17:post:username:ann"),
        ("ip:203.0.113.9 + post:username:ann+tag@example.com", "14:ip:203.0.113.9+33:post:username:ann+tag@example.com"),
        ("user: 42 ", "user:42"),
        ("user:042", "user:42"),
        ("user:ann", "user:ann"),  # code may count by it; a block for it is refused where it is saved
        ("group:a+b", "group:a+b"),
        ("group:night  shift", "group:night  shift"),
        ("group:a\n999 forged", "group:a 999 forged"),
        ("header:x-client:a+b", "header:x-client:a+b"),
        ("14:ip:203.0.113.9+17:post:username:ann", "14:ip:203.0.113.9+17:post:username:ann"),
    ],
)
def test_there_is_one_form_for_each_subject(typed: str, kept: str) -> None:
    subject = parse_subject(typed)
    assert (subject.text, stored(subject)) == (kept, kept)
    assert parse_subject(kept) == read_subject(kept) == subject


@pytest.mark.parametrize(
    ("typed", "told"),
    [
        ("", "'' is not an identity: write its kind and value, such as user:42"),
        ("203.0.113.9", "'203.0.113.9' is not an identity"),
        ("ip:", "'' is neither an address nor a network: write for example 203.0.113.9 or 203.0.113.0/24"),
        ("ip:1.2.3.4/33", "an IPv4 network ends in /0 to /32"),
        ("ip:localhost", "'localhost' is neither an address nor a network"),
        ("user:", "'user:' is not an identity"),
        ("group:", "'group:' is not an identity"),
        ("shoe:42", "'shoe' is not a key: choose from ip, user"),
        ("header:x-api-key", "'header:x-api-key' is not an identity: write kind, name and value"),
        ("global", "'global' names no client: write for example ip:203.0.113.0/24, user:42, group:staff"),
        ("user_or_ip:42", "'user_or_ip:42' names no client"),
        ("ip:2001:db8::1/128+user:42", "'ip:2001:db8::1/128' is not one client, and cannot be joined"),
        ("ip:203.0.113.0/24+user:42", "'ip:203.0.113.0/24' is not one client, and cannot be joined"),
        (
            "group:staff+ip:203.0.113.9",
            "'group:staff+ip:203.0.113.9' joins a group, which stands alone: write one override for each part",
        ),
        ("user:42+group:staff", "joins a group, which stands alone: write one override for each part"),
        ("header:x-api-key:abc+group:staff", "'header:x-api-key:abc+group:staff' joins a group"),
        ("post:username:ann + group:staff", "joins a group"),
        ("group:staff + group:night", "'group:staff + group:night' joins a group, which stands alone"),
        # Each part may be stored in clear or hashed: with sixteen, 65,000 texts were looked for.
        ("+".join(f"user:{number}" for number in range(8)), "8 parts are joined with +: write at most 7"),
        ("+".join(f"6:user:{number}" for number in range(8)), "8 parts are joined with +: write at most 7"),
    ],
)
def test_anything_else_is_named_with_the_remedy(typed: str, told: str) -> None:
    with pytest.raises(ValueError) as raised:
        parse_subject(typed)
    assert told in str(raised.value)


def test_a_setting_says_how_much_of_an_address_is_one_client() -> None:
    with override_settings(RATEWINDOW={"REDIS": "memory://", "IPV4_PREFIX": 24, "IPV6_PREFIX": 56}):
        assert parse_subject("ip:203.0.113.9").text == "ip:203.0.113.0/24"
        assert parse_subject("ip:2001:db8:0:ff::1").text == "ip:2001:db8::/56"
        assert parse_subject("ip:203.0.113.9/32").text == "ip:203.0.113.9/32"
        assert parse_subject(parse_subject("ip:203.0.113.9/32").text).text == "ip:203.0.113.9/32"


def test_a_secret_is_kept_as_a_hash_with_a_hint_and_once_hashed_it_stays() -> None:
    kept = stored(parse_subject("header:X-Api-Key:correct-horse-battery"))
    assert kept.startswith("header:x-api-key:#")
    assert kept.endswith(".tery")
    assert "correct" not in kept
    again = parse_subject(kept)
    assert again.hashed
    assert stored(again) == kept


@pytest.mark.parametrize(
    ("settings", "typed", "is_hashed"),
    [
        (ALL, "ip:203.0.113.9", True),
        (ALL, "ip:203.0.113.0/24", False),
        (ALL, "user:42", True),
        (ALL, "group:staff", False),
        (ALL, "*", False),
        (NONE, "header:x-api-key:correct-horse-battery", False),
        ({}, "cookie:basket:correct-horse-battery", True),
        ({}, "ip:203.0.113.9+header:authorization:correct-horse-battery", True),
    ],
)
def test_the_setting_says_which_are_hashed(settings: dict[str, Any], typed: str, is_hashed: bool) -> None:
    with override_settings(**settings):
        kept = stored(parse_subject(typed))
        assert ("#" in kept) == is_hashed
        assert stored(parse_subject(kept)) == kept


@pytest.mark.parametrize(
    ("kept", "seen"),
    [
        ("ip:203.0.113.9", "ip:203.0.113.x"),
        ("ip:203.0.113.0/24", "ip:203.0.113.0/24"),
        ("ip:203.0.113.8/31", "ip:203.0.113.x"),
        ("ip:203.0.0.0/16", "ip:203.0.0.0/16"),
        ("ip:2001:db8:1:2::/64", "ip:2001:db8:1::/48"),
        ("ip:2001:db8:1:2::/56", "ip:2001:db8:1::/48"),
        ("ip:2001:db8::/32", "ip:2001:db8::/32"),
        ("ip:2001:db8:1:2::3/128", "ip:2001:db8:1::/48"),
        ("group:staff", "group:staff"),
        ("*", "*"),
        ("what is this", "somebody"),
    ],
)
def test_who_may_not_see_identities_sees_wide_networks_and_groups(kept: str, seen: str) -> None:
    assert masked(kept) == seen


def test_who_may_not_see_identities_can_still_tell_two_apart() -> None:
    one, two = masked("user:42"), masked("user:43")
    assert one != two
    assert one.startswith("user:#")
    assert "42" not in one
    assert "ann" not in masked("14:ip:203.0.113.9+17:post:username:ann")


@pytest.mark.parametrize(
    ("kept", "seen"),
    [
        ("user:42", "user:…"),
        ("14:ip:203.0.113.9+17:post:username:ann", "ip:… + post:username:…"),
        ("header:x-api-key:correct-horse-7f2c", "header:x-api-key:…7f2c"),
        ("header:x-api-key:#WyJk0dGx4mP3q8aB.7#2c", "header:x-api-key:…7#2c"),
        ("jwt:a%3Ab:#WyJk0dGx4mP3q8aB", "jwt:a%3Ab:…"),
        ("ip:203.0.113.9", "ip:203.0.113.x"),
        ("group:staff", "group:staff"),
    ],
)
def test_where_masks_could_be_compared_there_is_no_hash(kept: str, seen: str) -> None:
    assert masked(kept, veiled=True) == seen


def test_a_joined_one_is_shown_without_its_lengths() -> None:
    assert in_words("14:ip:203.0.113.9+17:post:username:ann") == "ip:203.0.113.9 + post:username:ann"


@pytest.mark.parametrize(
    "identity",
    ["header:priority:u=0, i", "header:te:trailers", "header:via:1.1 proxy", "header:dnt:1", "header:cookie:a=b"],
)
def test_what_browsers_and_proxies_send_of_many_is_nearly_everybody(identity: str) -> None:
    assert parse_subject(identity).meets_everybody
    assert not parse_subject(f"{identity.partition(':')[0]}:x-api-key:one" if "header" in identity else "user:1").meets_everybody
