"""What may be stored and shown of an identity."""

from typing import Any

import pytest
from django.test import override_settings
from hypothesis import given, strategies as st

from ratewindow.identity import forms, hashed, is_hashed, joined, kept, shown, stored
from ratewindow.identity.privacy import MOST_KEPT
from ratewindow.overrides.subjects import in_words, masked, parse_subject

KEY = "sk-live-4711-abcdefgh-7f2c"


def in_mode(mode: str) -> Any:
    return override_settings(RATEWINDOW={"REDIS": "memory://", "ANONYMIZE": mode})


SECRETS = [
    f"session:{KEY}",
    f"cookie:basket:{KEY}",
    f"jwt:tenant:{KEY}",
    f"header:x-api-key:{KEY}",
    f"header:authorization:{KEY}",
    f"header:cookie:{KEY}",
    f"query:access_token:{KEY}",
    f"post:password:{KEY}",
    f"json:user.secret:{KEY}",
    f"shop.limits.api_key:{KEY}",
]
OPEN = ["ip:203.0.113.9", "user:42", "header:x-tenant:acme", "post:username:ann", "json:email:a@b.c", "tenant:acme", "path:/a/"]
NOBODYS = ["global", "method:GET", "route:shop:pay", "group:staff"]


@pytest.mark.parametrize("part", SECRETS)
@pytest.mark.parametrize("mode", ["secrets", "all"])
def test_what_opens_doors_is_shown_as_a_hash_with_a_hint_of_four_characters(part: str, mode: str) -> None:
    with in_mode(mode):
        told = shown(part)
    assert told == hashed(part)
    assert told.startswith(part.removesuffix(KEY) + "#")
    assert told.endswith(".7f2c")
    assert is_hashed(told)
    assert KEY not in told


@pytest.mark.parametrize("part", OPEN)
def test_what_only_names_a_client_is_shown_unless_all_is_to_be_hidden(part: str) -> None:
    with in_mode("secrets"):
        assert shown(part) == part
    with in_mode("all"):
        assert shown(part) == hashed(part) != part


@pytest.mark.parametrize("mode", ["none", "secrets", "all"])
@pytest.mark.parametrize("part", NOBODYS)
def test_what_names_no_client_is_always_shown(part: str, mode: str) -> None:
    with in_mode(mode):
        assert shown(part) == part


@pytest.mark.parametrize("part", SECRETS)
def test_secrets_are_shown_where_the_setting_says_so(part: str) -> None:
    with in_mode("none"):
        assert shown(part) == part


def test_each_part_of_a_joined_identity_is_shown_quiet_log() -> None:
    with in_mode("secrets"):
        assert shown(joined(["ip:203.0.113.9", f"header:x-api-key:{KEY}"])) == f"ip:203.0.113.9 + {hashed(SECRETS[3])}"


@pytest.mark.parametrize("value", ["a\x00b", "a\r\nb", "\u202egpj.exe", "\udcff", "x" * 5000, "\u2028"])
@pytest.mark.parametrize("mode", ["none", "secrets", "all"])
def test_what_would_break_a_page_or_a_database_is_hashed_in_any_case(value: str, mode: str) -> None:
    with in_mode(mode):
        told = shown(f"post:username:{value}")
    assert told.isprintable() and len(told) < 60
    told.encode()


@given(st.text(min_size=1, max_size=300), st.text(min_size=1, max_size=300))
def test_different_clients_are_shown_differently_and_always_in_print(one: str, other: str) -> None:
    told = [shown(f"post:username:{each}") for each in (one, other)]
    assert all(each.isprintable() and len(each) <= 220 for each in told)
    assert (told[0] == told[1]) == (one == other)


def test_a_short_value_has_no_hint_for_it_would_tell_too_much() -> None:
    assert hashed("session:abcd1234").count(".") == 0
    assert hashed("user:42").count(".") == 0
    assert is_hashed(hashed("user:42"))


@pytest.mark.parametrize("end", ["\u202eab", "a b", "é1"])
def test_a_hint_is_plain_text(end: str) -> None:
    assert "." not in hashed(f"session:{'x' * 20}{end}")


def test_nobody_without_the_secret_key_makes_the_same_hash() -> None:
    with override_settings(SECRET_KEY="another"):
        another = hashed("user:42")
    assert another != hashed("user:42")


def test_the_same_value_in_two_fields_has_two_hashes() -> None:
    assert hashed(f"cookie:a:{KEY}").rpartition("#")[2] != hashed(f"cookie:b:{KEY}").rpartition("#")[2]


class TestFinding:
    """A stored identity is found again, whatever the setting said when it was stored."""

    @pytest.mark.parametrize("mode", ["none", "secrets", "all"])
    @pytest.mark.parametrize("part", [*SECRETS, *OPEN])
    def test_a_request_is_found_under_one_of_its_two_forms(self, part: str, mode: str) -> None:
        with in_mode(mode):
            kept = stored(part)
        for later in ("none", "secrets", "all"):
            with in_mode(later):
                assert kept in forms(part)

    def test_another_client_is_not(self) -> None:
        assert not set(forms("user:42")) & set(forms("user:43"))

    @pytest.mark.parametrize("part", SECRETS)
    def test_who_sends_the_hash_itself_is_not_taken_for_the_one_it_stands_for(self, part: str) -> None:
        kept = hashed(part)
        assert kept not in forms(kept)
        for mode in ("none", "secrets", "all"):
            with in_mode(mode):
                assert shown(kept) != kept

    @pytest.mark.parametrize("mode", ["none", "secrets", "all"])
    def test_what_a_person_saves_again_stays_as_it_is(self, mode: str) -> None:
        with in_mode(mode):
            once = stored(f"header:x-api-key:{KEY}")
            assert stored(once) == once

    def test_a_range_of_addresses_is_stored_as_it_is_for_it_is_compared_and_not_looked_up(self) -> None:
        with in_mode("all"):
            assert stored("ip:203.0.113.0/24") == "ip:203.0.113.0/24"
            assert stored("ip:2001:db8::/48") == "ip:2001:db8::/48"
            assert is_hashed(stored("ip:203.0.113.9"))
            assert is_hashed(stored("ip:2001:db8::/64"))  # one client

    @pytest.mark.parametrize("prefix", [64, 48])
    def test_a_range_that_is_one_client_is_no_longer_a_range(self, prefix: int) -> None:
        with override_settings(RATEWINDOW={"REDIS": "memory://", "ANONYMIZE": "all", "IPV6_PREFIX": prefix}):
            kept = {length: is_hashed(stored(f"ip:2001:db8::/{length}")) for length in (64, 48)}
        assert kept == {length: length == prefix for length in (64, 48)}


@pytest.mark.parametrize("value", ["2001:db8::/64", "203.0.113.0/24", "203.0.113.199", "2001:db8::1234"])
def test_of_an_address_there_is_no_hint_since_its_end_and_its_network_would_name_it(value: str) -> None:
    assert "." not in hashed(f"ip:{value}")


def test_a_hash_is_its_own_mask() -> None:
    assert masked(hashed("user:1234567890ab")) == hashed("user:1234567890ab")


class TestKept:
    """Identities as rows of the report keep them."""

    def test_a_joined_identity_stays_one_that_a_block_can_name(self) -> None:
        identity = joined(["ip:203.0.113.9", f"header:x-api-key:{KEY}"])
        with in_mode("secrets"):
            assert kept(identity) == joined(["ip:203.0.113.9", hashed(f"header:x-api-key:{KEY}")])
            assert parse_subject(kept(identity)).text == kept(identity)

    def test_what_is_kept_already_stays_as_it_is(self) -> None:
        with in_mode("all"):
            once = kept("ip:203.0.113.0/24")
            assert is_hashed(once) and kept(once) is once
            assert masked(once) == in_words(once) == once

    def test_it_is_of_bounded_length_whatever_clients_send(self) -> None:
        with in_mode("none"):
            assert len(kept(joined([f"query:{name}:{'x' * 190}" for name in "abcdef"]))) <= MOST_KEPT
            assert len(kept(f"query:q:{'x' * 10_000}")) < 50
